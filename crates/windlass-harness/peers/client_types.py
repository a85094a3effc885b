"""Holds requests against the request types of the providers' own Python clients.

Usage: client_types.py FOLDER, which has a file of JSON lines for each API. A request is good if the client's type takes it and knows each of
its fields. What a type does not say, and the provider's page does, stands in KNOWN with the page.
"""

import json
import sys
from collections import Counter
from pathlib import Path
from typing import Any

from anthropic.types.beta import message_create_params as anthropic_params
from google.genai import types as gemini
from ollama import _types as ollama
from openai.types.chat import completion_create_params as chat_params
from openai.types.responses import response_create_params as responses_params
from pydantic import TypeAdapter, ValidationError

# Fields of an API that its client's type does not have, with the page that has them.
KNOWN: dict[str, dict[str, str]] = {
    # The client has left them out since newer models refuse them; Windlass sends them to older ones.
    "anthropic_messages": dict.fromkeys((".temperature", ".top_p", ".top_k"), "API reference, Messages"),
    "ollama": dict.fromkeys((".truncate", ".shift"), "ollama, api/types.go, ChatRequest"),
}

# Below these stands any JSON Schema.
SCHEMAS = (".tools[].input_schema", ".tools[].function.parameters")


def consumed(value: Any) -> Any:
    """The same with what is validated as it is read: clients' lists are `Iterable`s."""
    if isinstance(value, dict):
        return {key: consumed(item) for key, item in value.items()}
    if isinstance(value, (str, bytes)) or value is None or isinstance(value, (int, float, bool)):
        return value
    if hasattr(value, "__iter__") and not hasattr(value, "model_dump"):
        return [consumed(item) for item in value]
    return value


def lost(sent: Any, taken: Any, path: str) -> list[str]:
    """The fields that the type does not know: they are gone once it has taken the request."""
    if isinstance(sent, dict) and isinstance(taken, dict):
        gone = [f"{path}.{key}" for key in sent if key not in taken]
        return gone + [one for key in sent if key in taken for one in lost(sent[key], taken[key], f"{path}.{key}")]
    if isinstance(sent, list) and isinstance(taken, list):
        return [one for left, right in zip(sent, taken) for one in lost(left, right, f"{path}[]")]
    return []


def typed_dict(kind: Any):
    adapter = TypeAdapter(kind)

    def check(body: dict) -> list[str]:
        return lost(body, consumed(adapter.validate_python(body)), "")

    return check


def models(fields: dict[str, Any]):
    """A body whose fields have pydantic models, which refuse unknown fields themselves."""
    adapters = {name: TypeAdapter(kind) for name, kind in fields.items()}

    def check(body: dict) -> list[str]:
        unknown = [f".{name}" for name in body if name not in adapters]
        for name, value in body.items():
            if name in adapters:
                adapters[name].validate_python(value)
        return unknown

    return check


def gemini_check():
    return models(
        {
            "contents": list[gemini.Content],
            "systemInstruction": gemini.Content,
            "tools": list[gemini.Tool],
            "toolConfig": gemini.ToolConfig,
            "safetySettings": list[gemini.SafetySetting],
            "generationConfig": gemini.GenerationConfig,
            "cachedContent": str,
        }
    )


def ollama_check():
    adapter = TypeAdapter(ollama.ChatRequest)

    def check(body: dict) -> list[str]:
        options = [f".options.{name}" for name in body.get("options", {}) if name not in ollama.Options.model_fields]
        return options + lost(body, adapter.validate_python(body).model_dump(by_alias=True), "")

    return check


CHECKS = {
    "openai_chat": lambda: typed_dict(chat_params.CompletionCreateParams),
    "openai_responses": lambda: typed_dict(responses_params.ResponseCreateParams),
    "anthropic_messages": lambda: typed_dict(anthropic_params.MessageCreateParams),
    "gemini": gemini_check,
    "ollama": ollama_check,
}


def main() -> int:
    folder, bad = Path(sys.argv[1]), Counter()
    examples: dict[tuple[str, str], str] = {}
    for api, make in CHECKS.items():
        check, count = make(), 0
        for line in (folder / f"{api}.jsonl").read_text().splitlines():
            count += 1
            body = json.loads(line)
            try:
                unknown = [path for path in check(body) if not path.startswith(SCHEMAS)]
                faults = [f"unknown field {path}" for path in unknown if path not in KNOWN.get(api, {})]
            except ValidationError as error:
                first = error.errors()[0]
                place = ".".join("[]" if isinstance(part, int) else str(part) for part in first["loc"])
                faults = [f"{place}: {first['msg']}"]
            for fault in faults:
                bad[(api, fault)] += 1
                examples.setdefault((api, fault), line[:1000])
        print(f"{api}: {count} requests")
        if count == 0:
            print(f"{api} has no requests", file=sys.stderr)
            return 1
    for (api, fault), count in bad.most_common():
        print(f"{api}: {fault} ({count} requests)\n  {examples[(api, fault)]}", file=sys.stderr)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
