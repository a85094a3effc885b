"""`windlass chat` and `windlass run` in a real terminal: tmux.

    terminal.py WINDLASS SNAPSHOTS      what tmux shows, against the snapshots of the emulator that the tests have
    terminal.py WINDLASS --figures      how soon a key is shown amid a stream, and what showing a stream costs

The model is a small server in this process. Everything is stopped by its id at the end.
"""

import fcntl
import json
import os
import pathlib
import pty
import re
import select
import statistics
import struct
import subprocess
import sys
import termios
import threading
import time

from tmux import PROMPT, TAIL, environment, home, seated, served, until

# What steers a terminal: colours, a title, the clipboard, C1 controls, text that runs backwards, a line that is written over.
HOSTILE = "h\x1b[31m\x1b[2J\x1b]0;owned\x07\x1b]2;owned\x1b\\\x1b]52;c;aGk=\x07\x1bkowned\x1b\\\x9b2J\x9d0;owned\x9c\u202e\u2066\rx\x08"


def test_text(snapshots):
    """The answer of the tests, which stands in their source."""
    source = (snapshots.parent / "face.rs").read_text()
    literal = re.search(r'const TEXT: &str = "\\\n(.*?)";\n', source, re.DOTALL).group(1)
    return literal


def widths(windlass, snapshots):
    text = test_text(snapshots)
    for columns in (40, 80, 200):
        with seated([windlass, "chat", "agent.yaml"], (columns, 24), replies=[text]) as seat:
            seat.send("Show it")
            seat.shows("answered: ")
            seat.rests()
            # What a run took differs from run to run.
            kept = re.sub(r"(?ms)^answered: .*?(?=^>)", "", seat.whole())
            snapshot = (snapshots / f"it__face__answer_{columns}.snap").read_text().split("---\n", 2)[2].rstrip()
            if kept != snapshot:
                raise SystemExit(f"{columns} columns:\n{seat.whole()}\n--- but the emulator shows\n{snapshot}")
            seat.counts(dict.fromkeys(("A plan", "東京", "Bergen", "fn main() {}", "That is all."), 1))
    print("answers at 40, 80 and 200 columns: as the emulator of the tests shows them")


def resizes(windlass, snapshots):
    stops = {number: threading.Event() for number in (8, 30, 60)}
    command = [windlass, "chat", "agent.yaml"]
    with seated(command, (100, 30), replies=[test_text(snapshots)], stops=stops) as seat:
        seat.send("Show it")
        for columns, word, stop in ((50, "A long para", 8), (120, "First", 30), (60, "others", 60)):
            seat.shows(word)
            seat.tmux("resize-window", "-t", "w", "-x", str(columns), "-y", "30")
            seat.keys("x")
            seat.shows("> x")
            seat.keys("BSpace")
            stops[stop].set()
        seat.shows("answered: ")
        seat.tmux("resize-window", "-t", "w", "-x", "100", "-y", "30")
        words = ("A plan", "broken.", "unit tests", "Bergen", "fn main() {}", "That is all.")
        seat.counts(dict.fromkeys(words, 1) | {"Ctrl-C stops": 0})
    print("three changes of size amid a stream: nothing is repeated, nothing of the tail is left behind")


def kills(windlass, snapshots):
    stops = {20: threading.Event()}
    command = [windlass, "chat", "agent.yaml", "--session", "s"]
    with seated(command, replies=[test_text(snapshots)], stops=stops) as seat:
        seat.send("Show it")
        seat.shows("A long para")
        os.kill(seat.process(), 9)
        stops[20].set()
        seat.again(command)
        seat.shows("which had not ended")
        seat.shows("That is all.")
        seat.shows("answered: ")
    print("kill -9 amid a stream, and the same command again: the run goes on to its answer")


# A tool that ends when the file `go` is there, and one that a person has to allow.
TOOLS = """
tools:
  - command: { name: slow, run: [sh, -c, "echo x >> began; while [ ! -e go ]; do sleep 0.02; done; echo done"], effect: read_only }
  - command: { name: careful, run: [echo, done], effect: read_only, approve: true, parameters: { type: object, properties: { text: { type: string } } } }
"""


def stops_by_keys(windlass, _):
    """Ctrl-C at each point. Afterwards the same terminal takes the next message."""
    stops = {number: threading.Event() for number in (0, 20)}
    text = "A first paragraph.\n\nA second one, which goes on, and a third. " * 4
    slow, careful = [("slow", {})], [("careful", {"text": "a"})]
    replies = [text, text, slow, careful, "It was allowed.", "Gone on.", slow, "At last."]
    command = [windlass, "chat", "agent.yaml"]
    with seated(command, (100, 50), more=TOOLS, replies=replies, stops=stops) as seat:
        file = seat.folder / "began"
        began = lambda: len(file.read_text().split()) if file.exists() else 0
        seat.keys("C-c")
        seat.shows("Ctrl-C again, /quit or Ctrl-D leaves the conversation")
        seat.keys("a draft")
        seat.shows("> a draft")
        seat.keys("C-c")
        seat.shows("Up brings it back")
        seat.keys("Up")
        seat.shows("> a draft")
        seat.keys("C-u")
        seat.rests()
        ends = "cancelled: "
        seat.send("While it is waited for")
        seat.shows("Ctrl-C stops")
        seat.keys("C-c")
        seat.shows(ends)
        seat.rests()
        stops[0].set()
        seat.send("While text streams")
        seat.shows("which goes")
        seat.keys("C-c")
        seat.shows(ends, 2)
        seat.rests()
        stops[20].set()
        seat.send("While a tool runs")
        until("the tool has begun", lambda: began() == 1)
        seat.keys("C-c")
        seat.shows(ends, 3)
        seat.shows("✗ slow {} → interrupted")
        seat.rests()
        seat.send("While an approval stands")
        seat.shows("[y]es")
        seat.keys("C-c")
        seat.shows("your next message puts the question again first")
        seat.rests()
        # It is put once more before the next message.
        seat.send("Go on")
        seat.shows("[y]es")
        seat.keys("y")
        seat.shows("It was allowed.")
        seat.shows("Gone on.")
        seat.send("Twice")
        until("the tool has begun once more", lambda: began() == 2)
        seat.keys("C-c")
        seat.keys("C-c")
        # The second one leaves the run as it is, unless the first has ended it.
        seat.shows_that("an end", lambda whole: "was left before its end" in whole or whole.count(ends) == 4)
        (seat.folder / "go").touch()
        seat.send("Once more")
        seat.shows("At last.")
        seat.rests()
        # What had come of the text that was stopped is still there.
        seat.counts({"A first paragraph": 2, "the reply broke off": 0})
    print("Ctrl-C at a prompt, a draft, a wait, a text, a tool and an approval, and twice: the conversation goes on")


def stops_runs(windlass, _):
    """Ctrl-C at each point of `windlass run`. Afterwards the terminal is as it was, and belongs to the shell."""
    stops = {number: threading.Event() for number in (0, 20)}
    text = "A first paragraph.\n\nA second one, which goes on, and a third. " * 4
    replies = [text, text, [("slow", {})], [("careful", {"text": "a"})]]
    points = ("wait", "text", "tool", "approval")
    each = f'for point in {" ".join(points)}; do {windlass} run agent.yaml $point; echo "$point ends with $?"; done'
    command = ["sh", "-c", f'trap : INT; before=$(stty -g); {each}; [ "$(stty -g)" = "$before" ] && echo as before; cat']
    with seated(command, (120, 60), more=TOOLS, ready=("Ctrl-C stops",), replies=replies, stops=stops) as seat:
        seat.keys("C-c")
        seat.shows("wait ends with 130")
        stops[0].set()
        seat.shows("which goes")
        seat.keys("C-c")
        seat.shows("text ends with 130")
        stops[20].set()
        until("the tool has begun", (seat.folder / "began").exists)
        seat.keys("C-c")
        seat.shows("tool ends with 130")
        seat.shows("[y]es")
        seat.keys("C-c")
        seat.shows("approval ends with 75")
        seat.shows("as before")
        seat.send("An echo")
        seat.shows("An echo\nAn echo")
        says = {"'go on'` continues the conversation": 3, "windlass runs answer ": 2}
        seat.counts(dict.fromkeys((*TAIL, PROMPT), 0) | says)
    print("Ctrl-C at a wait, a text, a tool and an approval of `windlass run`: the terminal is the shell's as before")


def closes(windlass, _):
    """A terminal that closes amid a stream: the process ends, its run is interrupted, and the session goes on elsewhere."""
    chat, text = [windlass, "chat", "agent.yaml", "--session", "s"], "A text of several pieces, and its end."
    run = [windlass, "run", "agent.yaml", "--session", "s", "Tell"]
    for command, closes in ((chat, "kill-session"), (chat, "kill-pane"), (chat, "kill-server"), (run, "kill-session")):
        stops = {2: threading.Event()}
        ready = {} if command == chat else {"ready": ()}
        with seated(command, replies=[text], stops=stops, **ready) as seat:
            if command == chat:
                seat.send("Tell")
            seat.shows("A text of")
            process = pathlib.Path(f"/proc/{seat.process()}")
            seat.tmux(closes)
            until("the process has ended", lambda: not process.exists())
            listed = [windlass, "runs", "list", "--json"]
            done = subprocess.run(listed, env=environment(seat.folder), capture_output=True, text=True, check=True)
            if json.loads(done.stdout)["status"] != "interrupted":
                raise SystemExit(f"the run is not interrupted: {done.stdout}")
            stops[2].set()
            seat.again(chat)
            seat.shows("which had not ended")
            seat.shows("and its end.")
            seat.shows("answered: ")
            seat.rests()
            seat.counts({"answered: ": 1})
    print("a terminal that closes amid a stream: the run is interrupted, and goes on in another terminal")


def steers(windlass, _):
    """What is typed while text streams is shown apart from it, and sent."""
    stops = {number: threading.Event() for number in (1, 2)}
    replies = ["The first twenty ... the second twenty .. the rest of it.", "I am brief."]
    with seated([windlass, "chat", "agent.yaml"], replies=replies, stops=stops, size=20) as seat:
        seat.send("Tell")
        seat.shows("The first twenty ...")
        seat.keys("be bri")
        seat.shows("> be bri")
        stops[1].set()
        seat.shows("the second twenty")
        seat.shows("> be bri")
        seat.send("ef")
        seat.shows("not heard yet: be brief")
        stops[2].set()
        seat.shows("I am brief.")
        seat.shows("answered: ")
        seat.rests()
        seat.counts({"The first twenty ... the second twenty .. the rest of it.": 1, "not heard yet": 0})
        if "be brief" not in json.dumps(seat.requests[1]):
            raise SystemExit(f"the model has not heard it: {seat.requests[1]}")
    print("a message amid a stream: apart from the text, and heard by the model")


def pastes(windlass, _):
    lines = [f"line {number}" for number in range(1, 301)]
    with seated([windlass, "chat", "agent.yaml"], replies=["Read."]) as seat:
        seat.paste("\n".join(lines))
        seat.shows("  line 300")
        seat.counts({"line 200": 0})
        seat.keys("Enter")
        seat.shows("Read.")
        seat.shows("answered: ")
        seat.rests()
        seat.counts({"  line 200\n": 1, "  line 300\n": 1})
        if len(seat.requests) != 1 or seat.requests[0][-1]["content"] != "\n".join(lines):
            raise SystemExit(f"not one message of 300 lines: {seat.requests}")
    print("a paste of 300 lines: one message, whole")


def approves(windlass, _):
    calls = [("careful", {"text": text}) for text in ("one", "two", "three")]
    with seated([windlass, "chat", "agent.yaml"], more=TOOLS, replies=[calls, "All done."]) as seat:
        seat.send("Do it")
        for place, keys in enumerate((["y"], ["n", "not today", "Enter"], ["y"]), 1):
            seat.shows(f"q{place} ({place} of 3)")
            seat.shows_that("its answers", lambda whole: "[y]es" in whole[whole.rfind(f"q{place} (") :])
            seat.keys(*keys)
        seat.shows("answered: ")
        seat.rests()
        seat.counts({"→ done": 2, "not today": 1, "[y]es": 0})
    print("three approvals in one reply: one after another, two calls ran")


HOSTILE_TOOLS = """
agents: [ ./child.yaml ]
tools:
  - builtin: [ask]
  - command: { name: shown, run: [cat, hostile], effect: read_only, parameters: { type: object } }
  - command: { name: failed, run: [sh, -c, "cat short >&2; exit 1"], effect: read_only, parameters: { type: object } }
  - command: { name: careful, run: [cat, hostile], effect: read_only, approve: true, parameters: { type: object, properties: { text: { type: string } } } }
"""


def withstands(windlass, _):
    """Text that would steer the terminal, and lines of 100 kB, on every path to the face."""
    huge = HOSTILE + "東京x" * 20_000
    table, code = f"| {HOSTILE} |\n|--|\n| {HOSTILE} |", f"```{HOSTILE}\n{HOSTILE}\n```"
    text = "\n\n".join([HOSTILE, f"- {HOSTILE}", table.replace("\r", ""), code, f"[{HOSTILE}](http://{HOSTILE})", huge])
    calls = [("shown", {"text": HOSTILE}), ("failed", {HOSTILE: HOSTILE}), (HOSTILE, {"text": huge}), ("child", {"task": huge})]
    replies = [text, *[[call] for call in calls], HOSTILE, [("careful", {"text": huge})], [("ask", {"question": huge})], huge]
    command = [windlass, "chat", "agent.yaml", "--session", HOSTILE]

    def prepare(folder):
        (folder / "short").write_text(HOSTILE)
        (folder / "hostile").write_text("\n".join([HOSTILE, huge, HOSTILE]))
        head = (folder / "agent.yaml").read_text().partition("\nagents:")[0].replace("name: x", "name: child")
        (folder / "child.yaml").write_text(f"{head}\ndescription: {json.dumps(HOSTILE)}\n")

    with seated(command, (300, 50), HOSTILE_TOOLS, f"openai/m{HOSTILE}", prepare, replies=replies, size=4_000) as seat:
        seat.tmux("set", "-g", "set-clipboard", "on")
        seat.tmux("set", "-w", "-t", "w", "allow-rename", "on")
        seat.tmux("set", "-w", "-t", "w", "automatic-rename", "off")
        names = seat.names()
        begin = r"h\u{1b}[31m\u{1b}[2J\u{1b}]0;owned\u{7}"
        for shown in (f"openai/m{begin}", f"session {begin}"):
            seat.shows(shown)

        def holds():
            shown = seat.tmux("capture-pane", "-p", "-e", "-S", "-", "-t", "w")
            weights = re.sub(r"\x1b\[[0-9;]*m", "", shown)
            steering = [char for char in weights if char != "\n" and (ord(char) < 32 or 127 <= ord(char) < 160 or char in "\u202e\u2066")]
            if steering or "\x1b[31" in shown:
                raise SystemExit(f"shown as it is: {steering}\n{shown[-6_000:]}")
            if seat.names() != names:
                raise SystemExit(f"title, window and clipboard were {names}, and are {seat.names()}")

        seat.send(HOSTILE.replace("\r", ""))
        seat.shows("answered: ")
        seat.rests()
        holds()
        seat.send("Calls")
        rows = ("✓ shown .*bytes\\) BEGIN", "✗ failed .* code 1: BEGIN", "✗ BEGIN.*unknown tool", "✓ child .* → BEGIN")
        for row in rows:
            row = row.replace("BEGIN", re.escape(begin))
            seat.shows_that(row, lambda whole: re.search(row, whole))
        seat.shows("q1: May `careful` run?")
        seat.shows("[y]es")
        holds()
        seat.keys("s")
        seat.shows("q1, whole:")
        seat.keys("y")
        seat.shows("q2: h")
        seat.shows("type the answer")
        holds()
        seat.send("an answer")
        seat.shows("answered: ", 2)
        # The text of a question, too, is one of the calls that are shown whole.
        seat.keys("C-o")
        seat.shows_that("the calls", lambda whole: whole.rfind("careful {") > whole.rfind("answered: "))
        seat.rests()
        holds()
    print("hostile text as text, tool, arguments, result, error, question, model and session: shown, and without effect")


CASES = (widths, resizes, kills, stops_by_keys, stops_runs, closes, steers, pastes, approves, withstands)


def figures(windlass):
    """Measured on this machine; nothing is refused."""
    text = "One line of an answer with `code` and **weight**.\n\n" * 2_400
    server = served(replies=[text], size=12, rate=1_000)
    folder = home(server)
    command = [windlass, "chat", "agent.yaml"]
    pid, master = pty.fork()
    if pid == 0:
        os.chdir(folder)
        os.execvpe(windlass, command, environment(folder))
    fcntl.ioctl(master, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
    seen = bytearray()

    def drain(seconds):
        end = time.monotonic() + seconds
        while (left := end - time.monotonic()) > 0:
            if select.select([master], [], [], left)[0]:
                seen.extend(os.read(master, 65_536))

    drain(1.0)
    os.write(master, b"Go\r")
    drain(1.0)
    times = []
    for number in range(100):
        key = b"abcdefghij"[number % 10 : number % 10 + 1]
        if number % 10 == 0:
            os.write(master, b"\x15")
            drain(0.05)
        # The prompt before it is dim.
        typed = b"\x1b[0m" + b"abcdefghij"[: number % 10 + 1]
        seen.clear()
        begun = time.monotonic()
        os.write(master, key)
        while typed not in seen:
            seen.extend(os.read(master, 65_536))
        times.append((time.monotonic() - begun) * 1_000)
        drain(0.02)
    while b"answered: " not in seen:
        seen.extend(os.read(master, 65_536))
    drain(0.2)
    os.write(master, b"\x15\x04")
    _, _, shown = os.wait4(pid, 0)
    plain = subprocess.Popen(
        [*command, "--quiet"], cwd=folder, env=environment(folder), stdin=subprocess.PIPE, stdout=subprocess.DEVNULL
    )
    plain.stdin.write(b"Go\n")
    plain.stdin.close()
    _, _, hidden = os.wait4(plain.pid, 0)
    cpu = lambda usage: usage.ru_utime + usage.ru_stime
    times.sort()
    print(f"a key is shown after {statistics.median(times):.2f} ms in the median, {times[94]:.2f} ms for 95 of 100, {times[-1]:.2f} ms at most")
    print(f"CPU of an answer of {len(text)} characters at 1,000 pieces a second: {cpu(shown):.2f} s shown, {cpu(hidden):.2f} s not shown: {cpu(shown) / cpu(hidden):.2f} times")
    server.shutdown()


if __name__ == "__main__":
    binary = str(pathlib.Path(sys.argv[1]).resolve())
    if sys.argv[2] == "--figures":
        figures(binary)
    else:
        for case in CASES:
            case(binary, pathlib.Path(sys.argv[2]))
