# Runs code that comes as JSON lines, and answers each with a JSON line. Started by `sandbox/interpreter.rs`.
# What code may name is limited so that it does no harm by mistake. That is no wall against somebody who means harm.
import builtins
import contextlib
import io
import json
import os
import signal
import sys

SETTINGS = json.loads(sys.argv[1])
MOST = SETTINGS["most"]
HARMLESS = """
    abs all any bool dict divmod enumerate filter float format getattr hasattr hash int isinstance issubclass iter len
    list map max min next pow print range repr reversed round set sorted str sum tuple type zip __build_class__
""".split()

# Code sees neither the questions nor the place of the answers.
questions = os.fdopen(os.dup(0), encoding="utf-8")
answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
nowhere = os.open(os.devnull, os.O_RDWR)
for stream in (0, 1, 2):
    os.dup2(nowhere, stream)

with contextlib.suppress(ImportError, ValueError, OSError):
    import resource

    resource.setrlimit(resource.RLIMIT_AS, (SETTINGS["memory"], SETTINGS["memory"]))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def importing(name, *rest, **named):
    if name.split(".")[0] not in SETTINGS["modules"]:
        raise ImportError(f"Import of '{name}' is not allowed")
    return __import__(name, *rest, **named)


def fresh():
    known = {name: getattr(builtins, name) for name in HARMLESS + SETTINGS["builtins"] if hasattr(builtins, name)}
    errors = {name: kind for name, kind in vars(builtins).items() if isinstance(kind, type) and issubclass(kind, Exception)}
    return {"__name__": "__sandbox__", "__builtins__": {**errors, **known, "__import__": importing}}


class Kept(io.TextIOBase):
    """The beginning of what is written, so that a loop that prints does not fill the memory."""

    def __init__(self):
        self.text, self.left = [], MOST

    def writable(self):
        return True

    def write(self, text):
        self.text.append(text[: self.left])
        self.left -= min(len(text), self.left)
        return len(text)

    def whole(self):
        return plain("".join(self.text) + ("\n[the rest is left out]" if self.left == 0 else ""))


def plain(text):
    return text.encode("utf-8", "replace").decode("utf-8")


def alarm(seconds):
    # Should nobody be left who would stop this process, it ends by itself.
    if hasattr(signal, "alarm"):
        signal.alarm(seconds)


def run(code, names):
    out, err, value, success = Kept(), Kept(), None, True
    alarm(SETTINGS["seconds"] + 5)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                expression = compile(code, "<sandbox>", "eval")
            except SyntaxError:
                exec(compile(code, "<sandbox>", "exec"), names)
                value = "None"
            else:
                result = eval(expression, names)
                value = None if result is None else plain(repr(result)[:MOST])
    except BaseException as error:
        with contextlib.suppress(BaseException):
            err.write(f"{type(error).__name__}: {error}\n")
        value, success = None, False
    alarm(0)
    return {"stdout": out.whole(), "stderr": err.whole(), "return_value": value, "success": success}


names = fresh()
for line in questions:
    question = json.loads(line)
    if question is None:
        names = fresh()
    answer = {} if question is None else run(question, names)
    answers.write(json.dumps(answer) + "\n")
    answers.flush()
