Further payloads of public collections.

# == license's printer
license._Printer__filenames = ["/etc/passwd"]
license()
# -> raised line 1: NameError: name 'license' is not defined here: nobody is at a terminal: return or print what is to be seen

# == help's site builtins
help.__class__.__init__.__globals__["sys"]
# -> raised line 1: NameError: name 'help' is not defined here: nobody is at a terminal: return or print what is to be seen

# == copyright and credits
copyright()
# -> raised line 1: NameError: name 'copyright' is not defined here: nobody is at a terminal: return or print what is to be seen

# == __build_class__
__build_class__
# -> raised line 1: NameError: name '__build_class__' is not defined

# == mro()
int.mro()
# -> raised line 1: AttributeError: type object 'int' has no attribute 'mro'

# == type.mro
type.mro(int)
# -> raised line 1: AttributeError: 'builtin_function_or_method' object has no attribute 'mro'

# == object.__new__
object.__new__(type)
# -> raised line 1: AttributeError: type object 'object' has no attribute '__new__'

# == __getitem__ by name
[].__getitem__.__self__
# -> raised line 1: AttributeError: 'list' object has no attribute '__getitem__'

# == a bound method's function
"".join.__func__
# -> raised line 1: AttributeError: 'str' object has no attribute 'join'

# == an unbound method
str.upper.__get__
# -> raised line 1: AttributeError: type object 'str' has no attribute 'upper'

# == print.__call__
print.__call__.__class__
# -> raised line 1: AttributeError: 'builtin_function_or_method' object has no attribute '__call__'

# == an iterator's reduce
iter([]).__reduce__()
# -> raised line 1: AttributeError: 'list_iterator' object has no attribute '__reduce__'

# == __annotations__
def f(x: int): pass
f.__annotations__
# -> raised line 2: AttributeError: 'function' object has no attribute '__annotations__'

# == __wrapped__ and __kwdefaults__
def f(): pass
f.__kwdefaults__
# -> raised line 2: AttributeError: 'function' object has no attribute '__kwdefaults__'

# == __dict__ of int
int.__dict__["__add__"]
# -> raised line 1: AttributeError: type object 'int' has no attribute '__dict__'

# == subclass check by __instancecheck__
class A:
    def __instancecheck__(self, x): return True
print(isinstance(1, A))
# -> done null | printed "False\n"

# == an exception named __builtins__
try:
    1 / 0
except Exception as __builtins__:
    print(__builtins__)
# -> done null | printed "division by zero\n"

# == import as __builtins__
import math as __builtins__
__builtins__.eval("1")
# -> raised line 2: AttributeError: module 'math' has no attribute 'eval'

# == __import__ by assignment
__import__ = print
import os
print(os.sep if hasattr(os, "sep") else "-")
# -> done null | printed "/\n"

# == assigning __builtins__
__builtins__ = {"eval": 1}
eval("1")
# -> raised line 2: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == exec by decorators
@exec
@input
class X: pass
# -> raised line 1: NameError: name 'exec' is not defined here: code cannot run other code: write it out

# == __class_getitem__ = exec
class X:
    __class_getitem__ = exec
X["import os"]
# -> raised line 2: NameError: name 'exec' is not defined here: code cannot run other code: write it out

# == __getitem__ = system
class X:
    def __getitem__(self, x): return x
print(X()["id"])
# -> raised line 3: TypeError: 'X' object is not subscriptable

# == __contains__ and __format__ hooks
class X:
    def __format__(self, spec): return "hooked"
print(f"{X():abc}")
# -> syntax line 3: SyntaxError: Invalid format specifier 'abc'

# == __str__ that returns no text
class X:
    def __str__(self): return 1
print(X())
# -> raised line 3: TypeError: __str__ returned non-string (type int)

# == __repr__ of an error
class X:
    def __repr__(self): return 1 / 0
print([X()])
# -> raised line 2: ZeroDivisionError: division by zero

# == __bool__ hook
class X:
    def __bool__(self): return False
print("yes" if X() else "no")
# -> done null | printed "yes\n"

# == __call__ hook
class X:
    def __call__(self): return 1
print(X()())
# -> raised line 3: TypeError: 'X' object is not callable

# == __enter__ of a builtin
with print: pass
# -> raised line 1: TypeError: 'builtin_function_or_method' object does not support the context manager protocol (missed __exit__ method)

# == format spec with attributes
"{0:{1.__class__}}".format(1, 2)
# -> raised line 1: AttributeError: 'int' object has no attribute '__class__'

# == format with indexes of attributes
"{0.real.__class__}".format(1)
# -> raised line 1: AttributeError: 'int' object has no attribute 'real'

# == str.format of a tool
"{0.__globals__}".format(add)
# -> raised line 1: AttributeError: 'function' object has no attribute '__globals__'

# == Template strings
t"{add}"
# -> unsupported line 1: NotImplementedError: this Python does not have template strings (t-strings) (hint: use an f-string)

# == bytes of a class path
b"__import__".decode()
# -> done "__import__"

# == getattr with a default of a dunder
print(getattr((), "__class__", "none"))
# -> done null | printed "none\n"

# == hasattr of dunders
print([n for n in ("__class__", "__dict__", "__subclasses__", "__globals__", "__code__") if hasattr(print, n) or hasattr((), n) or hasattr(add, n)])
# -> done null | printed "[]\n"

# == type(x).__subclasses__
type(1).__subclasses__()
# -> raised line 1: AttributeError: type object 'int' has no attribute '__subclasses__'

# == type(x)(..) of a function
type(lambda: 0)
# -> done "<class 'function'>"

# == type of a module
import math
type(math)("os")
# -> raised line 2: TypeError: cannot create 'module' instances

# == type of a tool
type(add)("system")
# -> raised line 1: TypeError: cannot create 'function' instances

# == type of a builtin
type(print)("eval")
# -> raised line 1: TypeError: cannot create 'builtin_function_or_method' instances

# == isinstance with a crafted tuple
t = (int,)
for i in range(10**4): t = (t,)
isinstance("x", t)
# -> raised line 3: RecursionError: maximum recursion depth exceeded

# == walrus of a builtin
(print := eval)("1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == dict of builtins by name
{"e": eval}["e"]("1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == a lambda in a default that recurses
f = lambda n=0: f(n + 1)
f()
# -> raised line 1: RecursionError: maximum recursion depth exceeded

# == sorted with a cmp that never ends
import functools
sorted([1, 2], key=functools.cmp_to_key(lambda a, b: 0))
# -> raised line 2: AttributeError: module 'functools' has no attribute 'cmp_to_key'

# == tool: partial of a tool
import functools
functools.partial(add, 1)(2)
# -> done 3 | called add{"a":1,"b":2}

# == tool: reduce with a tool
import functools
functools.reduce(add, [1, 2])
# -> unsupported line 2: NotImplementedError: reduce(): external function 'add' is not yet supported in this context (hint: call the tool in a comprehension: [tool(x) for x in items])

# == open through io
import io
io.open("/etc/passwd")
# -> raised line 1: ModuleNotFoundError: No module named 'io' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == open through codecs
import codecs
codecs.open("/etc/passwd")
# -> raised line 1: ModuleNotFoundError: No module named 'codecs' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == fileinput and linecache
import linecache
linecache.getline("/etc/passwd", 1)
# -> raised line 1: ModuleNotFoundError: No module named 'linecache' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == platform
import platform
# -> raised line 1: ModuleNotFoundError: No module named 'platform' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == getpass
import getpass
# -> raised line 1: ModuleNotFoundError: No module named 'getpass' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == pty
import pty
pty.spawn("/bin/sh")
# -> raised line 1: ModuleNotFoundError: No module named 'pty' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == timeit
import timeit
timeit.timeit("import os")
# -> raised line 1: ModuleNotFoundError: No module named 'timeit' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == cProfile
import cProfile
cProfile.run("import os")
# -> raised line 1: ModuleNotFoundError: No module named 'cProfile' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == pdb
import pdb
pdb.os.system("id")
# -> raised line 1: ModuleNotFoundError: No module named 'pdb' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == bdb and trace
import bdb
# -> raised line 1: ModuleNotFoundError: No module named 'bdb' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == distutils
import distutils.spawn
# -> raised line 1: ModuleNotFoundError: No module named 'distutils.spawn' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == commands
import commands
# -> raised line 1: ModuleNotFoundError: No module named 'commands' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == _posixsubprocess
import _posixsubprocess
# -> raised line 1: ModuleNotFoundError: No module named '_posixsubprocess' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == _io
import _io
_io.FileIO("/etc/passwd")
# -> raised line 1: ModuleNotFoundError: No module named '_io' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == ctypes by cffi
import cffi
# -> raised line 1: ModuleNotFoundError: No module named 'cffi' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == encodings
import encodings
# -> raised line 1: ModuleNotFoundError: No module named 'encodings' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == unicodedata's module
import unicodedata
unicodedata.__loader__
# -> raised line 2: AttributeError: 'module' object has no attribute '__loader__'

# == re's scanner and its globals
import re
re.sre_parse
# -> raised line 2: AttributeError: 'module' object has no attribute 'sre_parse'

# == re.sub with a callback
import re
print(re.sub("a", lambda m: m.re.pattern, "a"))
# -> raised line 2: TypeError: callable replacement is not yet supported in re.sub()

# == re.Match attributes
import re
re.match("a", "a").__class__
# -> raised line 2: AttributeError: 're.Match' object has no attribute '__class__'

# == json hooks
import json
json.loads('{"a": 1}', object_hook=eval)
# -> raised line 2: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == json default
import json
json.dumps(print, default=eval)
# -> raised line 2: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == dataclass factories
from dataclasses import dataclass, field
@dataclass
class A:
    x: list = field(default_factory=eval)
A()
# -> raised line 1: ImportError: cannot import name 'field' from 'dataclasses' (unknown location)

# == defaultdict with a builtin
from collections import defaultdict
defaultdict(eval)
# -> raised line 2: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == namedtuple attributes
from collections import namedtuple
namedtuple("A", "x")(1).__class__
# -> raised line 2: AttributeError: 'A' object has no attribute '__class__'

# == namedtuple with a verbose source
from collections import namedtuple
namedtuple("A", "x", verbose=True)
# -> raised line 2: TypeError: namedtuple() got an unexpected keyword argument 'verbose'

# == datetime formats
from datetime import datetime
print(datetime(2024, 1, 1).strftime("%" * 1000 + "Y"))
# -> done null | printed "%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%%Y\n"

# == pathlib's parts of the system
from pathlib import Path
Path("~").expanduser()
# -> raised line 2: AttributeError: 'PosixPath' object has no attribute 'expanduser'

# == pathlib open
from pathlib import Path
Path("/etc/passwd").open()
# -> raised line 2: PermissionError: open is not allowed: code reaches no files: use a tool that reads or writes them

# == tool: asyncio.run of a tool's coroutine twice
import asyncio
async def f(): return add(1, 2)
c = f()
print(type(c))
# -> done null | printed "<class 'coroutine'>\n"

# == throw into a coroutine
async def f(): pass
f().throw(ValueError)
# -> raised line 2: AttributeError: 'coroutine' object has no attribute 'throw'

# == send to a coroutine
async def f(): pass
f().send(None)
# -> raised line 2: AttributeError: 'coroutine' object has no attribute 'send'

# == close a coroutine
async def f(): pass
f().close()
# -> raised line 2: AttributeError: 'coroutine' object has no attribute 'close'

# == a coroutine awaited twice
async def f(): return 1
c = f()
await c
await c
# -> raised line 4: RuntimeError: cannot reuse already awaited coroutine

# == gather of one future twice
import asyncio
async def f(): return 1
c = f()
await asyncio.gather(c, c)
# -> done [1,1]

# == a coroutine that awaits itself
async def f(): return await c
c = f()
await c
# -> raised line 1: RuntimeError: cannot reuse already awaited coroutine
