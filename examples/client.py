"""Runs an agent and prints its answer as it comes. docs/python.md explains it.

    python3 examples/client.py examples/quickstart.yaml "What is 17% of 2350, and which files are here?"
"""
from __future__ import annotations
import json, sys, tempfile
from subprocess import DEVNULL, PIPE, Popen, check_output
from typing import Any


def run(agent_file: str, question: str, session: str | None = None) -> dict[str, Any]:
    """Runs the agent and returns the last line: its end, or a suspended run with its questions."""
    return follow("run", "--json", *(["--session", session] if session else []), "--", agent_file, question)


def answer(run: str, question_id: str, answer: str) -> dict[str, Any]:
    """Answers a question, resumes the run and returns its last line."""
    return follow("runs", "answer", "--json", run, question_id, *answer.split(" ", 1), run=run)


def resume(run: str) -> dict[str, Any]:
    """Resumes a run whose process died. Finished calls do not run again."""
    state: dict[str, Any] = json.loads(check_output(["windlass", "runs", "show", "--json", run]))
    return follow("runs", "resume", "--json", run, run=run) if state["status"] == "running" else state


def follow(*command: str, run: str | None = None) -> dict[str, Any]:
    """Prints the pieces of the answer and returns the last line. Resumes a killed run once."""
    last: dict[str, Any] = {}
    with tempfile.TemporaryFile("w+", encoding="utf-8", errors="replace") as stderr:
        with Popen(["windlass", *command], stdin=DEVNULL, stdout=PIPE, stderr=stderr) as process:
            for raw in process.stdout or ():
                line = json.loads(raw) if raw.endswith(b"\n") else {}  # a killed process may leave half a line
                if line.get("type") in ("text", "void"):  # void: the pieces so far do not count
                    print(line.get("text", "\n[the reply broke off and begins again]\n"), end="", flush=True)
                elif line.get("event") == "RunStarted":
                    run = line["data"]["run"]
                last = line if line.get("type") == "run" else last
        stderr.seek(0)
        message = f"windlass: exit code {process.returncode}\n{stderr.read()}"  # `error:`, `hint:`, for people
    if process.returncode < 0 and run and command[1] != "resume":
        return resume(run)
    if process.returncode not in (0, 75) or not last:
        raise RuntimeError(message)
    return last


if __name__ == "__main__":
    try:
        end = run(*sys.argv[1:4])
        while end["questions"]:
            asked = end["questions"][0]
            print(f"\nrun {end['run']} asks {asked['id']}: {asked['text']}\nanswers: {asked['expects']}")
            end = answer(end["run"], f"{asked['id']}@{asked['digest']}", input("> "))
        print(f"\n[{end['status']}: run {end['run']}]")
    except (EOFError, RuntimeError) as error:
        sys.exit(f"\n{error}")
