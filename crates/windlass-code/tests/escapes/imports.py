Modules that reach the system. Each is missing, or has nothing that reaches it.

# == import of the system's modules
import subprocess
# -> raised line 1: ModuleNotFoundError: No module named 'subprocess' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == socket
import socket
socket.socket()
# -> raised line 1: ModuleNotFoundError: No module named 'socket' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == ctypes
import ctypes
# -> raised line 1: ModuleNotFoundError: No module named 'ctypes' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == pickle
import pickle
pickle.loads(b"cos\nsystem\n(S'id'\ntR.")
# -> raised line 1: ModuleNotFoundError: No module named 'pickle' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == importlib
import importlib
importlib.import_module("os")
# -> raised line 1: ModuleNotFoundError: No module named 'importlib' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == builtins
import builtins
builtins.eval("1")
# -> raised line 1: ModuleNotFoundError: No module named 'builtins' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == posix
import posix
# -> raised line 1: ModuleNotFoundError: No module named 'posix' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == shutil
import shutil
# -> raised line 1: ModuleNotFoundError: No module named 'shutil' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == multiprocessing
import multiprocessing
# -> raised line 1: ModuleNotFoundError: No module named 'multiprocessing' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == threading
import threading
# -> raised line 1: ModuleNotFoundError: No module named 'threading' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == signal
import signal
# -> raised line 1: ModuleNotFoundError: No module named 'signal' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == code and codeop
import code
code.interact()
# -> raised line 1: ModuleNotFoundError: No module named 'code' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == inspect
import inspect
# -> raised line 1: ModuleNotFoundError: No module named 'inspect' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == gc, the way to all objects
import gc
gc.get_objects()
# -> raised line 1: ModuleNotFoundError: No module named 'gc' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == marshal and types
import marshal
# -> raised line 1: ModuleNotFoundError: No module named 'marshal' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == types.FunctionType
import types
types.FunctionType
# -> raised line 1: ModuleNotFoundError: No module named 'types' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == operator.attrgetter
import operator
operator.attrgetter("__class__")
# -> raised line 1: ModuleNotFoundError: No module named 'operator' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == urllib
from urllib.request import urlopen
# -> raised line 1: ModuleNotFoundError: No module named 'urllib.request' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == http
import http.client
# -> raised line 1: ModuleNotFoundError: No module named 'http.client' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == tempfile
import tempfile
# -> raised line 1: ModuleNotFoundError: No module named 'tempfile' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == webbrowser and antigravity
import webbrowser
# -> raised line 1: ModuleNotFoundError: No module named 'webbrowser' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == sqlite3
import sqlite3
# -> raised line 1: ModuleNotFoundError: No module named 'sqlite3' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == zipimport
import zipimport
# -> raised line 1: ModuleNotFoundError: No module named 'zipimport' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == relative import
from . import os
# -> syntax line 1: ImportError: attempted relative import with no known parent package

# == __import__
__import__("os").system("id")
# -> raised line 1: NameError: name '__import__' is not defined here: code cannot run other code: write it out

# == os.system
import os
os.system("id")
# -> raised line 2: AttributeError: module 'os' has no attribute 'system'

# == os.popen
import os
os.popen("id").read()
# -> raised line 2: AttributeError: module 'os' has no attribute 'popen'

# == os.listdir
import os
os.listdir("/")
# -> raised line 2: PermissionError: Path.iterdir is not allowed: code reaches no files: use a tool that reads or writes them

# == os.environ
import os
print(os.environ)
# -> raised line 2: PermissionError: os.environ is not allowed: code sees no environment variables

# == os.environ by item
import os
os.environ["PATH"]
# -> raised line 2: PermissionError: os.environ is not allowed: code sees no environment variables

# == os.getenv
import os
print(os.getenv("HOME"), os.getenv("WINDLASS_CODE_CHILD", "x"))
# -> raised line 2: PermissionError: os.getenv is not allowed: code sees no environment variables

# == os.fork
import os
os.fork()
# -> raised line 2: AttributeError: module 'os' has no attribute 'fork'

# == os.open
import os
os.open("/etc/passwd", 0)
# -> raised line 2: AttributeError: module 'os' has no attribute 'open'

# == os.__dict__
import os
os.__dict__
# -> raised line 2: AttributeError: 'module' object has no attribute '__dict__'

# == os by another name
from os import system as s
s("id")
# -> raised line 1: ImportError: cannot import name 'system' from 'os' (unknown location)

# == sys.modules
import sys
sys.modules["os"]
# -> raised line 2: AttributeError: 'module' object has no attribute 'modules'

# == sys attributes
import sys
print([n for n in ("argv", "executable", "path", "modules", "stdin", "_getframe", "settrace", "exit") if hasattr(sys, n)])
# -> done null | printed "[]\n"

# == sys.exit
import sys
sys.exit(0)
# -> raised line 2: AttributeError: module 'sys' has no attribute 'exit'

# == sys.stdout.write
import sys
sys.stdout.write("x")
# -> raised line 2: AttributeError: '_io.TextIOWrapper' object has no attribute 'write'

# == sys.stdout.buffer
import sys
sys.stdout.buffer.write(b"x")
# -> raised line 2: AttributeError: '_io.TextIOWrapper' object has no attribute 'buffer'

# == sys._getframe
import sys
sys._getframe(0).f_globals
# -> raised line 2: AttributeError: module 'sys' has no attribute '_getframe'

# == sys.setrecursionlimit
import sys
sys.setrecursionlimit(10**9)
# -> raised line 2: AttributeError: module 'sys' has no attribute 'setrecursionlimit'

# == pathlib reads a file
from pathlib import Path
print(Path("/etc/passwd").read_text())
# -> raised line 2: PermissionError: Path.read_text is not allowed: code reaches no files: use a tool that reads or writes them

# == pathlib writes a file
from pathlib import Path
Path("/tmp/windlass-escape").write_text("x")
# -> raised line 2: PermissionError: Path.write_text is not allowed: code reaches no files: use a tool that reads or writes them

# == pathlib lists a folder
from pathlib import Path
print(list(Path("/").iterdir()))
# -> raised line 2: PermissionError: Path.iterdir is not allowed: code reaches no files: use a tool that reads or writes them

# == pathlib's home
from pathlib import Path
print(Path.home())
# -> raised line 2: AttributeError: type object 'PosixPath' has no attribute 'home'

# == pathlib's working folder
from pathlib import Path
print(Path.cwd())
# -> raised line 2: AttributeError: type object 'PosixPath' has no attribute 'cwd'

# == pathlib follows a link
from pathlib import Path
print(Path("/proc/self/exe").resolve())
# -> raised line 2: PermissionError: Path.resolve is not allowed: code reaches no files: use a tool that reads or writes them

# == pathlib makes and removes
from pathlib import Path
for f in (lambda p: p.mkdir(), lambda p: p.unlink(), lambda p: p.rmdir(), lambda p: p.exists(), lambda p: p.rename("y"), lambda p: p.stat()):
    try:
        f(Path("/tmp/x"))
    except PermissionError as error:
        print(error)
# -> done null | printed "Path.mkdir is not allowed: code reaches no files: use a tool that reads or writes them\nPath.unlink is not allowed: code reaches no files: use a tool that reads or writes them\nPath.rmdir is not allowed: code reaches no files: use a tool that reads or writes them\nPath.exists is not allowed: code reaches no files: use a tool that reads or writes them\nPath.rename is not allowed: code reaches no files: use a tool that reads or writes them\nPath.stat is not allowed: code reaches no files: use a tool that reads or writes them\n"

# == date and time
import datetime
for f in (lambda: datetime.datetime.now(), lambda: datetime.date.today(), lambda: datetime.datetime.now(datetime.timezone.utc)):
    try:
        print(f())
    except PermissionError as error:
        print(error)
# -> done null | printed "datetime.now is not allowed: code has no clock: take the time from a tool or the task\ndate.today is not allowed: code has no clock: take the time from a tool or the task\ndatetime.now is not allowed: code has no clock: take the time from a tool or the task\n"

# == time
import time
time.sleep(100)
# -> raised line 1: ModuleNotFoundError: No module named 'time' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == random
import random
# -> raised line 1: ModuleNotFoundError: No module named 'random' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == uuid
import uuid
# -> raised line 1: ModuleNotFoundError: No module named 'uuid' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == secrets
import secrets
# -> raised line 1: ModuleNotFoundError: No module named 'secrets' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == asyncio beyond gather and run
import asyncio
asyncio.create_subprocess_exec("id")
# -> raised line 2: AttributeError: module 'asyncio' has no attribute 'create_subprocess_exec' (hint: asyncio has only gather and run here)

# == asyncio.get_event_loop
import asyncio
asyncio.get_event_loop()
# -> raised line 2: AttributeError: module 'asyncio' has no attribute 'get_event_loop' (hint: asyncio has only gather and run here)

# == asyncio.sleep
import asyncio
await asyncio.sleep(1000)
# -> raised line 2: AttributeError: module 'asyncio' has no attribute 'sleep' (hint: asyncio has only gather and run here)

# == typing.get_type_hints evaluates strings
import typing
typing.get_type_hints
# -> raised line 2: AttributeError: 'module' object has no attribute 'get_type_hints'

# == dataclasses with a string annotation
from dataclasses import dataclass
@dataclass
class A:
    x: "__import__('os').system('id')" = 1
print(A())
# -> done null | printed "A(x=1)\n"

# == collections.namedtuple with code in a name
from collections import namedtuple
namedtuple("A", "x,y=__import__('os')")
# -> raised line 2: ValueError: Type names and field names must be valid identifiers: "y=__import__('os')"

# == re with a catastrophe
import re
re.match(r"(a+)+$", "a" * 40 + "b")
# -> done null

# == re with a backreference catastrophe
import re
re.match(r"(a|aa)+\1$", "a" * 60 + "b")
# -> raised line 2: re.PatternError: Error executing regex: Max limit for backtracking count exceeded

# == re with a huge repetition
import re
re.compile(r"(((a{1,1000}){1,1000}){1,1000}){1,1000}")
# -> raised line 2: re.PatternError: Error compiling regex: Regex error: error building NFA

# == json.loads nested deeply
import json
json.loads("[" * 100000)
# -> raised line 2: json.JSONDecodeError: recursion limit exceeded: line 1 column 201 (char 200)

# == json.dumps of a cycle
import json
a = []
a.append(a)
json.dumps(a)
# -> raised line 4: ValueError: Circular reference detected
