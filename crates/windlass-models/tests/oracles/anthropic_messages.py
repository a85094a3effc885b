"""Lets Anthropic's own client library judge what Windlass reads and sends. Run by hand, outside of the test suite.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install anthropic
    /tmp/oracle/bin/python anthropic_messages.py replies       # what the library reads in each file of the corpus, as JSON
    /tmp/oracle/bin/python anthropic_messages.py requests < F  # F has a request body on each line: what do the types not know?
"""

import json
import sys
import warnings

import anthropic
import pydantic
from anthropic.types.beta.message_create_params import MessageCreateParamsNonStreaming, MessageCreateParamsStreaming

from recorded import Corpus

# What is not of the library's types is said in what it read.
warnings.filterwarnings("ignore")

CORPUS = Corpus("anthropic_messages")


def read(port, name):
    client = anthropic.Anthropic(api_key="none", base_url=f"http://127.0.0.1:{port}/{name}", max_retries=0)
    asked = {"model": "m", "max_tokens": 9, "messages": [{"role": "user", "content": "Hi"}]}
    try:
        if name.endswith(".sse"):
            with client.beta.messages.stream(**asked) as stream:
                return stream.get_final_message().to_dict()
        return client.beta.messages.create(**asked).to_dict()
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def replies():
    with CORPUS:
        print(json.dumps({name: read(CORPUS.port, name) for name in CORPUS.names}, indent=1, default=str))


def walked(value):
    """The value with its iterators read: pydantic looks at their elements only then."""
    if isinstance(value, dict):
        return {key: walked(field) for key, field in value.items()}
    if isinstance(value, (str, int, float, bool, type(None))):
        return value
    return [walked(element) for element in value]


def lost(body, known, path=""):
    """The paths in a body that the library's types do not know."""
    if isinstance(body, dict) and isinstance(known, dict):
        for key, field in body.items():
            yield from lost(field, known[key], f"{path}.{key}") if key in known else [f"{path}.{key}"]
    elif isinstance(body, list) and isinstance(known, list):
        for at, (one, other) in enumerate(zip(body, known)):
            yield from lost(one, other, f"{path}[{at}]")
    elif body != known:
        yield path


def requests():
    kinds = {True: MessageCreateParamsStreaming, False: MessageCreateParamsNonStreaming}
    judges = {stream: pydantic.TypeAdapter(kind) for stream, kind in kinds.items()}
    for number, line in enumerate(filter(str.strip, sys.stdin), 1):
        body = json.loads(line)
        try:
            known = walked(judges[body.get("stream", False)].validate_python(body))
            print(number, "unknown:", list(lost(body, known)))
        except pydantic.ValidationError as error:
            print(number, error)


if __name__ == "__main__":
    {"replies": replies, "requests": requests}[sys.argv[1]]()
