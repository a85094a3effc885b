"""Exchanges that other projects recorded with real providers, as VCR cassettes, against a second reader. Run by hand:

    python3 -m venv /tmp/oracle && /tmp/oracle/bin/pip install pyyaml
    /tmp/oracle/bin/python exchanges.py extract REPOSITORY FOLDER    # the git directory of a project with cassettes
    WINDLASS_CORPUS=FOLDER WINDLASS_CORPUS_OUT=FILE \\
        cargo nextest run -p windlass-models foreign --run-ignored only --no-capture
    /tmp/oracle/bin/python exchanges.py compare FOLDER FILE          # texts, calls, usage; then what goes back

Nothing of these exchanges is part of this project.
"""

import base64
import collections
import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import yaml

LOADER = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
yaml.add_constructor("!binary", lambda _, node: base64.b64decode(node.value), Loader=LOADER)

CASSETTE = re.compile(r"cassettes/.*\.ya?ml$")
APIS = [
    ("chat", re.compile(r"/chat/completions$")),
    ("responses", re.compile(r"/responses$")),
    ("anthropic", re.compile(r"/messages$")),
    ("gemini", re.compile(r"generatecontent$", re.IGNORECASE)),
    ("ollama", re.compile(r"/api/chat$")),
]


def git(repository, *words):
    """A snapshot may lack its largest files: they are read as empty."""
    return subprocess.run(["git", "-C", repository, *words], capture_output=True, check=False).stdout


def exchanges(repository):
    """The address, status and body of each exchange that a project recorded."""
    for name in git(repository, "ls-tree", "-r", "--name-only", "HEAD").decode().splitlines():
        if not CASSETTE.search(name):
            continue
        recorded = yaml.load(git(repository, "show", f"HEAD:{name}"), Loader=LOADER)
        recorded = recorded if isinstance(recorded, dict) else {}
        for one in recorded.get("interactions") or recorded.get("http_interactions") or []:
            if "request" in one and "response" in one:
                request, response = one["request"], one["response"]
                status = response.get("status")
                status = status.get("code") if isinstance(status, dict) else status
                yield request.get("uri") or request.get("url") or "", status, body(response)


def body(response):
    if "parsed_body" in response:
        return json.dumps(response["parsed_body"], ensure_ascii=False)
    found = response.get("body") or ""
    found = found.get("string") or "" if isinstance(found, dict) else found
    if isinstance(found, bytes) and found.startswith(b"\x1f\x8b"):
        found = gzip.decompress(found)
    return found.decode(errors="replace") if isinstance(found, bytes) else found


def extract(repository, folder):
    counts = collections.Counter()
    Path(folder).mkdir(parents=True)
    for uri, status, text in exchanges(repository):
        path = uri.split("?")[0]
        api = next((api for api, pattern in APIS if pattern.search(path)), None)
        if api is None or status != 200 or not text.strip():
            continue
        whole = text.lstrip()[0] in "{[" and not (api == "ollama" and text.strip().count("\n"))
        end = ".json" if whole else ".chunks.txt" if api == "ollama" else ".sse"
        counts[api + end] += 1
        (Path(folder) / f"{counts.total():05}.{api}{end}").write_text(text, newline="")
    print(dict(counts))


def pieces(name, text):
    """The events of a stream, or the one body of a reply."""
    if name.endswith(".json"):
        return [json.loads(text)]
    lines = (line.removeprefix("data:").strip() for line in text.splitlines())
    return [json.loads(line) for line in lines if line.startswith("{")]


def arguments(given):
    if isinstance(given, dict):
        return given
    try:
        return json.loads(given or "{}") or {}
    except ValueError:
        return given


def said_by_chat(all_pieces):
    text, calls, kept = "", {}, 0
    for choice in (choice for one in all_pieces for choice in (one.get("choices") or [])[:1]):
        if choice.get("index", 0) != kept:
            continue
        names = ["message", "delta"] if len(all_pieces) == 1 else ["delta", "message"]
        said = next((choice[name] for name in names if choice.get(name)), {})
        content = said.get("content") or ""
        parts = content if isinstance(content, list) else [{"type": "text", "text": content}]
        text += "".join(part["text"] for part in parts if part.get("type") == "text")
        one = said.get("function_call") or {}
        old = [{"function": one}] if one.get("name") or one.get("arguments") else []
        for at, call in enumerate(said.get("tool_calls") or old):
            function = call.get("function") or {}
            own = calls.setdefault(at if len(all_pieces) == 1 else call.get("index", at), ["", ""])
            own[0] = own[0] or function.get("name") or ""
            more = function.get("arguments") or ""
            own[1] += more if isinstance(more, str) else json.dumps(more)
    return text, [(name, arguments(args)) for name, args in calls.values()]


def said_by_anthropic(all_pieces):
    if "content" in all_pieces[0]:
        blocks = all_pieces[0]["content"]
    else:
        blocks = {}
        for one in all_pieces:
            if one["type"] == "content_block_start":
                blocks[one["index"]] = {**one["content_block"], "json": ""}
            elif one["type"] == "content_block_delta":
                block, delta = blocks[one["index"]], one["delta"]
                block["text"] = block.get("text", "") + delta.get("text", "")
                block["json"] += delta.get("partial_json", "")
        blocks = list(blocks.values())
    text = "".join(block.get("text", "") for block in blocks if block["type"] == "text")
    used = [block for block in blocks if block["type"] == "tool_use"]
    return text, [(block["name"], arguments(block.get("json") or block.get("input"))) for block in used]


def said_by_responses(all_pieces):
    done = [one["item"] for one in all_pieces if one.get("type") == "response.output_item.done"]
    items = done or all_pieces[-1].get("output") or all_pieces[-1].get("response", {}).get("output") or []
    parts = [part for item in items if item["type"] == "message" for part in item["content"]]
    calls = [item for item in items if item["type"] == "function_call"]
    text = "".join(part.get("text") or part.get("refusal") or "" for part in parts)
    return text, [(call["name"], arguments(call["arguments"])) for call in calls]


def said_by_gemini(all_pieces):
    candidates = [candidate for one in all_pieces for candidate in (one.get("candidates") or [])[:1]]
    parts = [part for one in candidates for part in (one.get("content") or {}).get("parts") or []]
    text = "".join(part["text"] for part in parts if "text" in part and not part.get("thought"))
    calls = [part["functionCall"] for part in parts if "functionCall" in part]
    return text, [(call["name"], call.get("args") or {}) for call in calls]


def said_by_ollama(all_pieces):
    messages = [one.get("message") or {} for one in all_pieces]
    calls = [call["function"] for message in messages for call in message.get("tool_calls") or []]
    text = "".join(message.get("content") or "" for message in messages)
    return text, [(call["name"], call.get("arguments") or {}) for call in calls]


READERS = {
    "chat": said_by_chat,
    "responses": said_by_responses,
    "anthropic": said_by_anthropic,
    "gemini": said_by_gemini,
    "ollama": said_by_ollama,
}


def own_parts(api, reply, sent):
    """The parts of a whole reply, and those that the next request has in their place; `None`: not compared."""
    if api == "anthropic":
        said = [message["content"] for message in sent["messages"] if message["role"] == "assistant"]
        return reply["content"], [part for content in said for part in content]
    if api == "gemini":
        said = [content["parts"] for content in sent["contents"] if content["role"] == "model"]
        first = (reply.get("candidates") or [{}])[0]
        return (first.get("content") or {}).get("parts") or [], [part for parts in said for part in parts]
    if api == "responses":
        sent = [item for item in sent["input"] if item.get("role") != "user"]
        return reply["output"], [item for item in sent if item.get("type") != "function_call_output"]
    return None


def plain(value):
    if isinstance(value, dict):
        return {key: plain(of) for key, of in value.items() if of is not None and of != []}
    return [plain(one) for one in value] if isinstance(value, list) else value


def compare(folder, replies):
    counts = collections.Counter()
    for line in Path(replies).read_text().splitlines():
        line = json.loads(line)
        path = Path(folder) / Path(line["file"]).name
        api = path.name.split(".")[1]
        reply = line.get("reply")
        if reply is None:
            counts[api, "failed"] += 1
            continue
        with path.open(newline="") as file:
            found = pieces(path.name, file.read())
        text, calls = READERS[api](found)
        own = [(call["name"], arguments(call["args"])) for call in reply.get("calls") or []]
        same = (reply.get("text") or "", own) == (text, calls)
        counts[api, "read alike" if same else "read otherwise"] += 1
        if not same:
            print(f"{path.name}: {reply.get('text')!r} {own} for {text!r} {calls}"[:400])
        if path.suffix == ".json" and (parts := own_parts(api, found[0], line["sent"])):
            back = plain(parts[0]) == plain(parts[1])
            counts[api, "goes back as it came" if back else "goes back otherwise"] += 1
    for what, count in sorted(counts.items()):
        print(*what, count)


if __name__ == "__main__":
    {"extract": extract, "compare": compare}[sys.argv[1]](*sys.argv[2:])
