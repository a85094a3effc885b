"""Follows runs with httpx. Each reader is cut at random bytes, comes back with Last-Event-ID, and must see an unbroken sequence.

follow.py SERVER [--uds SOCKET] [--agent NAME] [--input TEXT] [--runs N] [--cuts N] [--seed N] [--silence SECONDS]
The token is WINDLASS_TOKEN. Prints one line of figures; ends with 1 where a promise was broken.
"""

import argparse
import json
import os
import random
import sys
import time

import httpx

parser = argparse.ArgumentParser()
parser.add_argument("server")
parser.add_argument("--uds")
parser.add_argument("--agent", default="courier")
parser.add_argument("--input", default="part 1")
parser.add_argument("--runs", type=int, default=1)
parser.add_argument("--cuts", type=int, default=0)
parser.add_argument("--seed", type=int, default=1)
parser.add_argument("--silence", type=float, default=10.5)
args = parser.parse_args()
chance = random.Random(args.seed)
transport = httpx.HTTPTransport(uds=args.uds) if args.uds else None
headers = {"Authorization": f"Bearer {os.environ['WINDLASS_TOKEN']}"}
client = httpx.Client(base_url=args.server, headers=headers, transport=transport, timeout=httpx.Timeout(30))
figures = {"cuts": 0, "events": 0, "pieces": 0, "longest_silence_s": 0.0, "first_s": 0.0}


def broken(why):
    print(f"broken: {why}", file=sys.stderr)
    sys.exit(1)


def blocks(response, most):
    """The blocks of a stream, up to so many bytes."""
    text, read, last = b"", 0, time.monotonic()
    for piece in response.iter_raw():
        now = time.monotonic()
        figures["longest_silence_s"] = max(figures["longest_silence_s"], now - last)
        last = now
        if most is not None and read + len(piece) > most:
            return
        read += len(piece)
        text += piece
        while b"\n\n" in text:
            block, text = text.split(b"\n\n", 1)
            yield block.decode()


def take(seen, block):
    """Takes an event: facts in order, and replies whose pieces are all of them."""
    fields = dict(line.split(": ", 1) for line in block.split("\n") if ": " in line)
    if "data" not in fields:
        return False
    data = json.loads(fields["data"])
    seen["id"] = fields["id"]
    match fields["event"]:
        case "events":
            for fact in data["events"]:
                figures["events"] += 1
                if fact["seq"] != seen["seq"] + 1:
                    broken(f"event {fact['seq']} after {seen['seq']}")
                seen["seq"] = fact["seq"]
                if fact["event"] == "TurnCompleted":
                    whole = fact["data"].get("text") or ""
                    if seen["text"] not in ("", whole):
                        broken(f"pieces {seen['text']!r} of {whole!r}")
                    seen["text"] = ""
        case "text":
            figures["pieces"] += 1
            seen["text"] += data["text"]
        case "void":
            seen["text"] = ""
        case "end":
            return data["reason"] == "finished"
    return False


def follow(number):
    body = {"agent": args.agent, "input": args.input}
    started = client.post("/v1/runs", json=body, headers={"Idempotency-Key": f"{args.seed}-{number}-{os.getpid()}"})
    started.raise_for_status()
    run, seen, cuts = started.json()["run"], {"seq": 0, "text": "", "id": None}, args.cuts
    begun = time.monotonic()
    while True:
        most = chance.randrange(4_000) if cuts > 0 else None
        cuts -= 1
        back = {"Last-Event-ID": seen["id"]} if seen["id"] else {}
        with client.stream("GET", f"/v1/runs/{run}/stream", headers=back) as response:
            response.raise_for_status()
            for block in blocks(response, most):
                if not figures["first_s"]:
                    figures["first_s"] = time.monotonic() - begun
                if take(seen, block):
                    return
        if most is None:
            broken(f"the stream of {run} ended without its end, at {seen['id']}")
        figures["cuts"] += 1


try:
    for number in range(args.runs):
        follow(number)
except httpx.HTTPError as error:
    broken(f"{type(error).__name__}: {error}")
if figures["longest_silence_s"] > args.silence:
    broken(f"silent for {figures['longest_silence_s']:.1f} s")
print(json.dumps({"runs": args.runs, **{name: round(value, 2) for name, value in figures.items()}}))
