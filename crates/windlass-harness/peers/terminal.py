"""`windlass chat` in a real terminal: tmux.

    terminal.py WINDLASS SNAPSHOTS      what tmux shows, against the snapshots of the emulator that the tests have
    terminal.py WINDLASS --figures      how soon a key is shown amid a stream, and what showing a stream costs

The model is a small server in this process. Everything is stopped by its id at the end.
"""

import http.server
import json
import os
import pathlib
import pty
import re
import resource
import select
import statistics
import subprocess
import sys
import tempfile
import threading
import time
import fcntl
import struct
import termios

PATIENCE = 30


class Model(http.server.BaseHTTPRequestHandler):
    """Streams `text` in pieces of `size` characters, `rate` a second; waits at each `stops` piece for a word."""

    protocol_version = "HTTP/1.1"
    text, size, rate, stops = "", 7, 0, {}
    calls = []

    def log_message(self, *_):
        pass

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        try:
            begun = time.monotonic()
            pieces = [self.text[at : at + self.size] for at in range(0, len(self.text), self.size)]
            for number, piece in enumerate(pieces):
                if number in self.stops:
                    self.stops[number].wait(PATIENCE)
                self.piece({"content": piece})
                if self.rate:
                    time.sleep(max(0, begun + (number + 1) / self.rate - time.monotonic()))
            self.piece({}, "stop")
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def piece(self, delta, end=None):
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        if end:
            body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")
        self.wfile.flush()


def served(**settings):
    model = type("Served", (Model,), settings)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def home(server):
    folder = pathlib.Path(tempfile.mkdtemp())
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    (folder / "agent.yaml").write_text(f'name: x\nmodel: {{ use: openai/m, base_url: "{address}" }}\n')
    return folder


def environment(folder):
    kept = {name: os.environ[name] for name in ("PATH",) if name in os.environ}
    own = {"HOME": str(folder), "WINDLASS_HOME": str(folder / "home"), "WINDLASS_OFFLINE": "1"}
    return kept | own | {"LC_ALL": "C.UTF-8", "TERM": "xterm-256color", "NO_COLOR": "1"}


def until(what, holds):
    end = time.monotonic() + PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise SystemExit(f"not within {PATIENCE} s: {what}")
        time.sleep(0.02)


class Tmux:
    """A session of a tmux server of its own."""

    def __init__(self, folder, command, columns, rows):
        self.socket = str(folder / "tmux")
        variables = [f"{name}={value}" for name, value in environment(folder).items() if name != "TERM"]
        command = ["env", *variables, *command]
        words = ["new-session", "-d", "-s", "w", "-x", str(columns), "-y", str(rows), "-c", str(folder)]
        subprocess.run(["tmux", "-S", self.socket, "-f", "/dev/null", *words, *command], check=True)
        self.tmux("set", "-g", "history-limit", "20000")

    def tmux(self, *words):
        done = subprocess.run(["tmux", "-S", self.socket, *words], capture_output=True, text=True, check=True)
        return done.stdout

    def keys(self, *keys):
        self.tmux("send-keys", "-t", "w", *keys)

    def whole(self):
        shown = self.tmux("capture-pane", "-p", "-S", "-", "-t", "w")
        return "\n".join(row.rstrip() for row in shown.splitlines()).rstrip()

    def shows(self, text):
        try:
            until(repr(text), lambda: text in self.whole())
        except SystemExit as missing:
            raise SystemExit(f"{missing}\n{self.whole()}") from None

    def process(self):
        return int(self.tmux("list-panes", "-t", "w", "-F", "#{pane_pid}"))

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


def test_text(snapshots):
    """The answer of the tests, which stands in their source."""
    source = (snapshots.parent / "face.rs").read_text()
    literal = re.search(r'const TEXT: &str = "\\\n(.*?)";\n', source, re.DOTALL).group(1)
    return literal


def widths(windlass, snapshots):
    text = test_text(snapshots)
    for columns in (40, 80, 200):
        server = served(text=text)
        folder = home(server)
        seat = Tmux(folder, [windlass, "chat", "agent.yaml"], columns, 24)
        try:
            seat.shows("/help lists the commands")
            seat.shows("\n>")
            seat.keys("Show it", "Enter")
            seat.shows("answered: ")
            seat.shows("\n>\nopenai/m ")
            shown = seat.whole()
            # What a run took differs from run to run.
            kept = re.sub(r"(?ms)^answered: .*?(?=^>)", "", shown)
            snapshot = (snapshots / f"it__face__answer_{columns}.snap").read_text().split("---\n", 2)[2].rstrip()
            if kept != snapshot:
                raise SystemExit(f"{columns} columns:\n{shown}\n--- but the emulator shows\n{snapshot}")
            for word in ("A plan", "東京", "Bergen", "fn main() {}", "That is all."):
                if shown.count(word) != 1:
                    raise SystemExit(f"{word!r} is shown {shown.count(word)} times:\n{shown}")
        finally:
            seat.end()
            server.shutdown()
    print("answers at 40, 80 and 200 columns: as the emulator of the tests shows them")


def resizes(windlass, snapshots):
    text = test_text(snapshots)
    stops = {number: threading.Event() for number in (8, 30, 60)}
    server = served(text=text, stops=stops)
    folder = home(server)
    seat = Tmux(folder, [windlass, "chat", "agent.yaml"], 100, 30)
    try:
        seat.shows("\n>")
        seat.keys("Show it", "Enter")
        seat.shows("A long para")
        for columns, word, stop in ((50, "A long para", 8), (120, "First", 30), (60, "others", 60)):
            seat.shows(word)
            seat.tmux("resize-window", "-t", "w", "-x", str(columns), "-y", "30")
            seat.keys("x")
            seat.shows("> x")
            seat.keys("BSpace")
            stops[stop].set()
        seat.shows("answered: ")
        seat.tmux("resize-window", "-t", "w", "-x", "100", "-y", "30")
        shown = seat.whole()
        for word in ("A plan", "broken.", "unit tests", "Bergen", "fn main() {}", "That is all.", "waiting for"):
            wanted = 0 if word == "waiting for" else 1
            if shown.count(word) != wanted:
                raise SystemExit(f"{word!r} is shown {shown.count(word)} times:\n{shown}")
    finally:
        seat.end()
        server.shutdown()
    print("three changes of size amid a stream: nothing is repeated, nothing of the tail is left behind")


def kills(windlass, snapshots):
    text = test_text(snapshots)
    stops = {20: threading.Event()}
    server = served(text=text, stops=stops)
    folder = home(server)
    command = [windlass, "chat", "agent.yaml", "--session", "s"]
    seat = Tmux(folder, command, 80, 24)
    try:
        seat.shows("\n>")
        seat.keys("Show it", "Enter")
        seat.shows("A long para")
        os.kill(seat.process(), 9)
        until("tmux has seen the end", lambda: subprocess.run(["tmux", "-S", seat.socket, "has-session"], capture_output=True).returncode)
        stops[20].set()
        seat.end()
        seat = Tmux(folder, command, 80, 24)
        seat.shows("which had not ended")
        seat.shows("That is all.")
        seat.shows("answered: ")
    finally:
        seat.end()
        server.shutdown()
    print("kill -9 amid a stream, and the same command again: the run goes on to its answer")


def figures(windlass):
    """Measured on this machine; nothing is refused."""
    text = "One line of an answer with `code` and **weight**.\n\n" * 2_400
    server = served(text=text, size=12, rate=1_000)
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
        snapshots = pathlib.Path(sys.argv[2])
        widths(binary, snapshots)
        resizes(binary, snapshots)
        kills(binary, snapshots)
