"""A terminal, which is tmux, and a model of this process, for `windlass chat`."""

import contextlib
import http.server
import json
import os
import pathlib
import subprocess
import tempfile
import threading
import time

PATIENCE = 30
# Characters of a terminal that a failure shows.
SHOWN = 6_000
PROMPT = "\n>"
# What belongs to the tail alone, and stands in no scrollback: the wait, the line of status and the pictures of the spinner.
TAIL = ("Ctrl-C stops", "\nopenai/", *"⠋⠙⠹⠸⠼⠴⠦⠧⠇⠏")


class Model(http.server.BaseHTTPRequestHandler):
    """Gives each request the next of `replies`, and the last one again: a text, or calls as pairs of name and arguments.

    A text is streamed in pieces of `size` characters, `rate` a second, and waits at each `stops` piece for a word.
    """

    protocol_version = "HTTP/1.1"
    replies, size, rate, stops = ("",), 7, 0, {}

    def log_message(self, *_):
        pass

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.send_header("connection", "close")
        self.end_headers()
        reply = self.replies[min(len(self.requests), len(self.replies) - 1)]
        self.requests.append(body["messages"])
        try:
            if isinstance(reply, str):
                self.text(reply)
                self.piece({}, "stop")
            else:
                self.calls(reply)
                self.piece({}, "tool_calls")
            self.wfile.write(b"data: [DONE]\n\n")
        except (BrokenPipeError, ConnectionResetError):
            pass

    def text(self, text):
        begun = time.monotonic()
        pieces = [text[at : at + self.size] for at in range(0, len(text), self.size)]
        for number, piece in enumerate(pieces):
            if number in self.stops:
                self.stops[number].wait(PATIENCE)
            self.piece({"content": piece})
            if self.rate:
                time.sleep(max(0, begun + (number + 1) / self.rate - time.monotonic()))

    def calls(self, calls):
        for index, (name, arguments) in enumerate(calls):
            function = {"name": name, "arguments": json.dumps(arguments)}
            identity = f"c{len(self.requests)}_{index}"
            self.piece({"tool_calls": [{"index": index, "id": identity, "type": "function", "function": function}]})

    def piece(self, delta, end=None):
        choice = {"index": 0, "delta": delta, "finish_reason": end}
        body = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "m", "choices": [choice]}
        if end:
            body["usage"] = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
        self.wfile.write(b"data: " + json.dumps(body).encode() + b"\n\n")
        self.wfile.flush()


def served(**settings):
    model = type("Served", (Model,), settings | {"requests": []})
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server


def home(server, more="", model="openai/m"):
    folder = pathlib.Path(tempfile.mkdtemp())
    address = f"http://127.0.0.1:{server.server_address[1]}/v1"
    settings = json.dumps({"use": model, "base_url": address})
    (folder / "agent.yaml").write_text(f"name: x\nmodel: {settings}\n{more}")
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
        self.folder, self.size, self.socket = folder, (columns, rows), str(folder / "tmux")
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

    def send(self, text):
        """Types a message, and sends it."""
        self.keys("-l", text)
        self.keys("Enter")

    def paste(self, text):
        """Pastes as tmux does for a person: between marks, if the program has asked for them."""
        (self.folder / "paste").write_text(text)
        self.tmux("load-buffer", str(self.folder / "paste"))
        self.tmux("paste-buffer", "-p", "-t", "w")

    def whole(self):
        shown = self.tmux("capture-pane", "-p", "-S", "-", "-t", "w")
        return "\n".join(row.rstrip() for row in shown.splitlines()).rstrip()

    def shows(self, text, times=1):
        self.shows_that(f"{text!r}, {times} times", lambda whole: whole.count(text) >= times)

    def shows_that(self, what, holds):
        try:
            until(what, lambda: holds(self.whole()))
        except SystemExit as missing:
            raise SystemExit(f"{missing}\n{self.whole()[-SHOWN:]}") from None

    def counts(self, counts):
        """Holds that each text is shown so often."""
        shown = self.whole()
        for text, times in counts.items():
            if shown.count(text) != times:
                raise SystemExit(f"{text!r} is shown {shown.count(text)} times, and not {times}:\n{shown[-SHOWN:]}")

    def rests(self):
        """Waits for the prompt, and holds that nothing of an earlier tail is left."""
        self.shows_that("the prompt at rest", lambda whole: f"{PROMPT}\nopenai/" in whole[whole.rfind(PROMPT) :])
        self.counts({text: 1 if text.startswith("\n") else 0 for text in TAIL})

    def names(self):
        """What a text could change that is shown elsewhere: the pane's title, the window's name, the clipboard."""
        names = self.tmux("display-message", "-p", "-t", "w", "#{pane_title} #{window_name}").strip()
        return names, self.tmux("list-buffers")

    def process(self):
        return int(self.tmux("list-panes", "-t", "w", "-F", "#{pane_pid}"))

    def again(self, command):
        """Waits until the command and its terminal have ended, and runs this one in another terminal."""
        has = ["tmux", "-S", self.socket, "has-session"]
        until("the command has ended", lambda: subprocess.run(has, capture_output=True).returncode)
        self.end()
        self.__init__(self.folder, command, *self.size)

    def end(self):
        subprocess.run(["tmux", "-S", self.socket, "kill-server"], capture_output=True)


@contextlib.contextmanager
def seated(command, screen=(80, 24), more="", model="openai/m", prepare=None, ready=("/help lists the commands", PROMPT), **settings):
    """A terminal with `command` and the agent file, once it shows what is to be `ready`, and the model that answers there."""
    server = served(**settings)
    folder = home(server, more, model)
    if prepare:
        prepare(folder)
    seat = Tmux(folder, command, *screen)
    seat.requests = server.RequestHandlerClass.requests
    try:
        for text in ready:
            seat.shows(text)
        yield seat
    finally:
        seat.end()
        server.shutdown()
