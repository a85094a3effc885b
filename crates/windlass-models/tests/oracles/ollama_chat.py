"""Lets Ollama's own client library judge what Windlass reads and sends. Run by hand, outside of the test suite.

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install ollama
    /tmp/oracle/bin/python ollama_chat.py replies            # reads the corpus; says where it and the snapshots differ
    /tmp/oracle/bin/python ollama_chat.py requests < FILE    # FILE has a request body on each line (ollama_requests.jsonl)
"""

import json
import sys

import ollama
import pydantic
from ollama._types import ChatRequest

from recorded import Corpus

CORPUS = Corpus("ollama")


def fold(parts):
    """What the library's pieces say together, in the words of a snapshot."""
    said = {"text": "", "reasoning": "", "calls": [], "stop": None, "input": None, "output": None}
    for part in parts:
        said["text"] += part.message.content or ""
        said["reasoning"] += part.message.thinking or ""
        for call in part.message.tool_calls or []:
            said["calls"].append([call.function.name, dict(call.function.arguments)])
        if part.done:
            said["stop"] = said["stop"] or part.done_reason
            said["input"] = said["input"] or part.prompt_eval_count
            said["output"] = said["output"] or part.eval_count
    return said


def read(port, name):
    client = ollama.Client(host=f"http://127.0.0.1:{port}/{name}")
    asked = {"model": "m", "messages": [{"role": "user", "content": "Hi"}]}
    try:
        if name.endswith(".jsonl"):
            return fold(client.chat(**asked, stream=True))
        return fold([client.chat(**asked)])
    except Exception as error:
        return {"error": f"{type(error).__name__}: {error}"[:200]}


def ours(name):
    """The snapshot in the same words."""
    text = (CORPUS.folder / "snapshots" / f"{name}.snap").read_text()
    outcome = json.loads(text.split("---\n", 2)[2])
    if "failure" in outcome:
        return {"error": outcome["failure"]["message"]}
    reply = outcome["reply"]
    counted = {} if reply["usage"].get("estimated") else reply["usage"]
    return {
        "text": reply.get("text", ""),
        "reasoning": reply.get("reasoning", {}).get("text", ""),
        "calls": [[call["name"], json.loads(call["args"])] for call in reply.get("calls", [])],
        "stop": "stop" if reply["stop"] == "tool_calls" else reply["stop"],
        "input": counted.get("input"),
        "output": counted.get("output"),
    }


def replies():
    with CORPUS:
        same = 0
        for name in CORPUS.names:
            theirs, own = read(CORPUS.port, name), ours(name)
            if theirs == own or ("error" in theirs and "error" in own):
                same += 1
                continue
            print(f"{name}\n  the library: {theirs}\n  Windlass:    {own}")
        print(f"{same} of {len(CORPUS.names)} are the same")


def requests():
    for number, line in enumerate(filter(str.strip, sys.stdin), 1):
        body = json.loads(line)
        try:
            known = ChatRequest.model_validate(body).model_dump(exclude_none=True)
        except pydantic.ValidationError as error:
            print(number, error)
            continue
        print(number, "fits; the library does not know", sorted(set(body) - set(known)))


if __name__ == "__main__":
    {"replies": replies, "requests": requests}[sys.argv[1]]()
