Text that becomes code or attributes, and odd source.

# == eval
eval("1+1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == exec
exec("import os")
# -> raised line 1: NameError: name 'exec' is not defined here: code cannot run other code: write it out

# == compile
compile("1", "x", "eval")
# -> raised line 1: NameError: name 'compile' is not defined here: code cannot run other code: write it out

# == eval by another name
e = eval
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == input
input()
# -> raised line 1: NameError: name 'input' is not defined here: nobody is at a terminal: return or print what is to be seen

# == breakpoint
breakpoint()
# -> raised line 1: NameError: name 'breakpoint' is not defined here: nobody is at a terminal: return or print what is to be seen

# == help
help()
# -> raised line 1: NameError: name 'help' is not defined here: nobody is at a terminal: return or print what is to be seen

# == open for reading
open("/etc/passwd").read()
# -> raised line 1: PermissionError: open is not allowed: code reaches no files: use a tool that reads or writes them

# == open for writing
with open("/tmp/windlass-escape", "w") as f:
    f.write("x")
# -> raised line 1: PermissionError: open is not allowed: code reaches no files: use a tool that reads or writes them

# == open a file descriptor
open(0).read()
# -> raised line 1: TypeError: expected str, bytes or os.PathLike object, not int

# == open /proc
open("/proc/self/environ", "rb").read()
# -> raised line 1: PermissionError: open is not allowed: code reaches no files: use a tool that reads or writes them

# == open, caught
try:
    open("/etc/passwd")
except OSError as error:
    print(error)
# -> done null | printed "open is not allowed: code reaches no files: use a tool that reads or writes them\n"

# == str.format with attributes
"{0.__class__.__mro__}".format(())
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == str.format with items
"{0[__class__]}".format({})
# -> raised line 1: KeyError: __class__

# == str.format with a function's globals
def f(): pass
"{f.__globals__}".format(f=f)
# -> raised line 2: AttributeError: 'function' object has no attribute '__globals__'

# == str.format_map
"{a.__class__}".format_map({"a": 1})
# -> raised line 1: AttributeError: 'str' object has no attribute 'format_map'

# == an f-string with attributes
x = ()
f"{x.__class__.__mro__}"
# -> raised line 2: AttributeError: 'tuple' object has no attribute '__class__'

# == an f-string with an import
f"{__import__('os')}"
# -> raised line 1: NameError: name '__import__' is not defined here: code cannot run other code: write it out

# == nested f-strings
f"{f'{f"{1}"}'}"
# -> done "1"

# == % formatting with a wide field
"%10000000000d" % 1
# -> raised line 1: TypeError: unsupported operand type(s) for %: 'str' and 'int' (hint: use an f-string)

# == bytes decoding by a strange codec
b"x".decode("unicode_escape")
# -> raised line 1: LookupError: unknown encoding: unicode_escape

# == a codec that runs code
"import os".encode("rot13")
# -> raised line 1: LookupError: unknown encoding: rot13

# == encoding declared in a comment
# -*- coding: utf-7 -*-
+AGkAbQBwAG8AcgB0 os
# -> syntax line 2: SyntaxError: Simple statements must be separated by newlines or semicolons

# == unicode lookalikes of names
ｅｖａｌ("1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == unicode lookalikes of attributes
().__ｃｌａｓｓ__
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == unicode italics
𝘪𝘮𝘱𝘰𝘳𝘵 os
# -> syntax line 1: SyntaxError: Simple statements must be separated by newlines or semicolons

# == a right-to-left mark in the source
x = "‮" # ‮
print(len(x))
# -> done null | printed "1\n"

# == a zero-width space in a name
a​b = 1
# -> syntax line 1: SyntaxError: Got unexpected token ​

# == a form feed before code
import os
# -> done null

# == a line continuation at the end
x = 1 \
# -> syntax line 1: SyntaxError: Expected a newline after line continuation character

# == tabs and spaces
if True:
	x = 1
        y = 2
# -> syntax line 3: SyntaxError: Unexpected indentation

# == a byte order mark
﻿print("bom")
# -> done null | printed "bom\n"

# == carriage returns
print("a")print("b")
# -> syntax line 1: SyntaxError: Simple statements must be separated by newlines or semicolons

# == a semicolon after an import
import math; import os; os.system("id")
# -> raised line 1: AttributeError: module 'os' has no attribute 'system'

# == star import
from os import *
# -> unsupported line 1: NotImplementedError: Wildcard imports (`from ... import *`) are not supported (hint: name what is imported)

# == from __future__
from __future__ import braces
# -> syntax line 1: SyntaxError: future feature braces is not defined

# == from __future__ barry
from __future__ import barry_as_FLUFL
# -> unsupported line 1: NotImplementedError: this Python does not have the 'barry_as_FLUFL' future feature

# == shell escape of IPython
!id
# -> syntax line 1: SyntaxError: Expected a statement

# == magic of IPython
%run x
# -> syntax line 1: SyntaxError: Expected a statement

# == a question mark
print?
# -> syntax line 1: SyntaxError: Got unexpected token ?

# == yield outside
yield 1
# -> unsupported line 1: NotImplementedError: this Python does not have yield expressions (hint: build a list and return it: there are no generator functions)

# == nonlocal outside
nonlocal x
# -> syntax line 1: SyntaxError: nonlocal declaration not allowed at module level

# == return in a class
class A:
    return 1
# -> unsupported line 2: NotImplementedError: this Python does not have class bodies containing anything other than methods and simple class variables

# == break outside
break
# -> syntax line 1: SyntaxError: 'break' outside loop

# == del
x = 1
del x
# -> unsupported line 2: NotImplementedError: this Python does not have the 'del' statement (hint: use d.pop(key), lst.pop(i), or assign None)

# == global of a tool
def f():
    global add
    add = 1
f()
print(add)
# -> done null | printed "1\n"

# == assigning a builtin
print = 1
len = 2
# -> done null

# == assigning True
True = 0
# -> syntax line 1: SyntaxError: Invalid assignment target

# == assigning __debug__
__debug__ = 1
# -> unsupported line 1: NotImplementedError: cannot reassign read-only module attribute '__debug__'

# == __name__ and __file__
print(__name__)
# -> done null | printed "__main__\n"

# == __file__
print(__file__)
# -> raised line 1: NameError: name '__file__' is not defined

# == __doc__, __loader__, __spec__
__loader__
# -> raised line 1: NameError: name '__loader__' is not defined

# == type annotations that run
x: __import__("os").system("id") = 1
print(x)
# -> done null | printed "1\n"

# == assert with a message that runs
assert False, eval("1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == raise of a class that is none
raise 1
# -> raised line 1: TypeError: exceptions must derive from BaseException

# == raise SystemExit
raise SystemExit(0)
# -> raised: RuntimeError: Internal error in monty: exceptions can only be called with zero or one string argument (hint: write it another way: this is a fault of the interpreter)

# == raise KeyboardInterrupt
raise KeyboardInterrupt
# -> raised line 1: KeyboardInterrupt

# == catching a memory limit
try:
    x = "a" * 10**10
except BaseException:
    print("caught")
# -> limit memory_mb line 2: the code needed more than 64 MiB of memory (hint: keep less at once)
