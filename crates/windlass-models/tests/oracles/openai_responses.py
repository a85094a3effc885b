"""Lets OpenAI's own client library judge what Windlass reads and sends. Run by hand, outside of the test suite.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install openai
    /tmp/oracle/bin/python openai_responses.py replies       # reads the corpus; says where it and the snapshots differ
    /tmp/oracle/bin/python openai_responses.py requests < F  # F has a request body on each line: is it of the library's types?

Four files are read otherwise: unknown and missing reasons of incomplete responses are failures here, and a `[DONE]` in the middle
does not end the stream. `openai_responses_requests.jsonl` are requests that the encoder wrote.
"""

import json
import sys
import warnings

import openai
import pydantic
from openai.types.responses.response_create_params import ResponseCreateParamsNonStreaming, ResponseCreateParamsStreaming

from recorded import Corpus

warnings.filterwarnings("ignore")

CORPUS = Corpus("openai_responses")


def said(output):
    """The texts and calls of a whole output, as the library reads it."""
    parts = [part for item in output if item.type == "message" for part in item.content]
    texts = [getattr(part, "text", None) or getattr(part, "refusal", "") for part in parts]
    calls = [(item.call_id, item.name, item.arguments) for item in output if item.type == "function_call"]
    return {"texts": texts, "calls": calls}


def read(port, name):
    client = openai.OpenAI(api_key="none", base_url=f"http://127.0.0.1:{port}/{name}", max_retries=0)
    try:
        if not name.endswith(".sse"):
            response = client.responses.create(model="m", input="Hi")
            return {**said(response.output), "status": response.status}
        items, status = [], None
        for event in client.responses.create(model="m", input="Hi", stream=True):
            if event.type == "response.output_item.done":
                items.append(event.item)
            if event.type in ("response.completed", "response.incomplete", "response.failed"):
                status = status or event.response.status
                items = items or event.response.output
        return {**said(items), "status": status}
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def snapshot(name):
    path = CORPUS.folder / "snapshots" / f"{name}.snap"
    return json.loads(path.read_text().split("---\n", 2)[2])


def differs(read, kept):
    """What the library read otherwise than Windlass; nothing if it is the same."""
    reply = kept.get("reply")
    if reply is None:
        return None if "error" in read or read["status"] not in ("completed", "incomplete") else "a failure here"
    if "error" in read:
        return read["error"]
    text = (reply.get("text") or "").replace("\n\n", "")
    if "".join(read["texts"]).replace("\n\n", "") != text:
        return f"text {read['texts']}"
    names = {"local_shell", "shell", "apply_patch", "run_sql"}
    calls = [(call.get("id", ""), call["name"], call["args"]) for call in reply.get("calls", []) if call["name"] not in names]
    found = [(id or "", name, args if isinstance(args, str) else json.dumps(args or "")) for id, name, args in read["calls"]]
    same = len(found) == len(calls) and all(a[:2] == b[:2] for a, b in zip(found, calls))
    return None if same else f"calls {found}"


def replies():
    with CORPUS:
        different = {name: differs(read(CORPUS.port, name), snapshot(name)) for name in CORPUS.names}
        different = {name: why for name, why in different.items() if why}
        print(json.dumps(different, indent=1))
        print(f"{len(CORPUS.names)} files, {len(different)} read otherwise")


def requests():
    for number, line in enumerate(sys.stdin, 1):
        body = json.loads(line)
        kind = ResponseCreateParamsStreaming if body.get("stream") else ResponseCreateParamsNonStreaming
        try:
            pydantic.TypeAdapter(kind).validate_python(body)
            print(f"{number}: ok")
        except pydantic.ValidationError as error:
            print(f"{number}: {error.error_count()} errors, such as {error.errors()[0]['loc']}: {error.errors()[0]['msg']}")


if __name__ == "__main__":
    {"replies": replies, "requests": requests}[sys.argv[1]]()
