"""Lets Google's own client library judge what Windlass reads and sends. Run by hand, outside of the test suite.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install google-genai
    /tmp/oracle/bin/python gemini.py replies       # what the library reads in each file of the corpus, as JSON
    WINDLASS_ORACLE=F cargo nextest run -p windlass-models e58_any_history_is_one_that_the_schema_allows
    /tmp/oracle/bin/python gemini.py requests < F  # F has a request body on each line: is it of the library's types?
"""

import json
import sys

import pydantic
from google import genai
from google.genai import types

from recorded import Corpus

CORPUS = Corpus("gemini")


def shown(responses):
    """The parts, reasons and last counts of a reply, or of all pieces of one."""
    candidates = [(response.candidates or [None])[0] for response in responses]
    candidates = [candidate for candidate in candidates if candidate]
    contents = [candidate.content for candidate in candidates if candidate.content]
    parts = [part for content in contents for part in content.parts or []]
    counts = [response.usage_metadata for response in responses if response.usage_metadata]
    feedback = [response.prompt_feedback for response in responses if response.prompt_feedback]
    plain = {"mode": "json", "exclude_none": True, "by_alias": True}
    return {
        "parts": [part.model_dump(**plain) for part in parts],
        "ends": [candidate.finish_reason for candidate in candidates if candidate.finish_reason],
        "counts": counts[-1].model_dump(**plain) if counts else None,
        "feedback": [one.model_dump(**plain) for one in feedback],
    }


def read(port, name):
    options = types.HttpOptions(base_url=f"http://127.0.0.1:{port}/{name}")
    client = genai.Client(api_key="none", http_options=options)
    try:
        if name.endswith(".sse"):
            return shown(list(client.models.generate_content_stream(model="m", contents="Hi")))
        return shown([client.models.generate_content(model="m", contents="Hi")])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:300]}


def replies():
    with CORPUS:
        print(json.dumps({name: read(CORPUS.port, name) for name in CORPUS.names}, indent=1, default=str))


# The types of the parts of a request: the library has none for the whole of it.
KINDS = {
    "systemInstruction": types.Content,
    "contents": list[types.Content],
    "tools": list[types.Tool],
    "toolConfig": types.ToolConfig,
    "generationConfig": types.GenerationConfig,
}


def requests():
    for number, line in enumerate(filter(str.strip, sys.stdin), 1):
        body = json.loads(line)
        faults = [f"unknown field {name}" for name in body.keys() - KINDS.keys()]
        for name in body.keys() & KINDS.keys():
            try:
                pydantic.TypeAdapter(KINDS[name]).validate_json(json.dumps(body[name]))
            except pydantic.ValidationError as error:
                faults.append(f"{name}: {error}")
        print(number, "; ".join(faults) or "fits")


if __name__ == "__main__":
    {"replies": replies, "requests": requests}[sys.argv[1]]()
