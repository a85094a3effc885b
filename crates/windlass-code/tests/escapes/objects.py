Walks over objects, classes, frames and code.

# == __class__.__mro__
().__class__.__mro__[1]
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == __subclasses__
().__class__.__base__.__subclasses__()
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == object.__subclasses__
object.__subclasses__()
# -> raised line 1: AttributeError: type object 'object' has no attribute '__subclasses__'

# == type.__subclasses__
type.__subclasses__(type)
# -> raised line 1: AttributeError: 'builtin_function_or_method' object has no attribute '__subclasses__'

# == __class__.__bases__
"".__class__.__bases__[0]
# -> raised line 1: AttributeError: 'str' object has no attribute '__class__'

# == the classic: warnings' catch
[c for c in ().__class__.__base__.__subclasses__() if c.__name__ == "catch_warnings"][0]()._module.__builtins__["__import__"]("os").system("id")
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == the classic: Popen among the subclasses
"".__class__.__mro__[-1].__subclasses__()[104].__init__.__globals__["sys"].modules["os"].system("id")
# -> raised line 1: AttributeError: 'str' object has no attribute '__class__'

# == __builtins__
__builtins__
# -> raised line 1: NameError: name '__builtins__' is not defined

# == __builtins__ by attribute
__builtins__.__import__("os")
# -> raised line 1: NameError: name '__builtins__' is not defined

# == print.__self__
print.__self__
# -> raised line 1: AttributeError: 'builtin_function_or_method' object has no attribute '__self__'

# == len.__module__
len.__module__
# -> raised line 1: AttributeError: 'builtin_function_or_method' object has no attribute '__module__'

# == __globals__
def f(): pass
f.__globals__
# -> raised line 2: AttributeError: 'function' object has no attribute '__globals__'

# == __code__
def f(): pass
f.__code__
# -> raised line 2: AttributeError: 'function' object has no attribute '__code__'

# == replacing __code__
def f(): pass
f.__code__ = f.__code__.replace(co_code=b"")
# -> raised line 2: AttributeError: 'function' object has no attribute '__code__'

# == __closure__
def g():
    x = 1
    def f(): return x
    return f
g().__closure__[0].cell_contents
# -> raised line 5: AttributeError: 'function' object has no attribute '__closure__'

# == __defaults__
def f(a=1): pass
f.__defaults__
# -> raised line 2: AttributeError: 'function' object has no attribute '__defaults__'

# == __reduce__
().__reduce__()
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__reduce__'

# == __reduce_ex__
"".__reduce_ex__(3)
# -> raised line 1: AttributeError: 'str' object has no attribute '__reduce_ex__'

# == __getattribute__
"".__getattribute__("__class__")
# -> raised line 1: AttributeError: 'str' object has no attribute '__getattribute__'

# == __dict__ of a class
class A: pass
A.__dict__
# -> raised line 2: AttributeError: type object 'A' has no attribute '__dict__'

# == __dict__ of an object
class A:
    def __init__(self): self.x = 1
print(A().__dict__)
# -> raised line 3: AttributeError: 'A' object has no attribute '__dict__'

# == __init__.__globals__
class A:
    def __init__(self): pass
A.__init__.__globals__
# -> raised line 3: AttributeError: 'function' object has no attribute '__globals__'

# == __subclasshook__ and friends
object.__subclasshook__
# -> raised line 1: AttributeError: type object 'object' has no attribute '__subclasshook__'

# == vars, dir, globals, locals
vars()
# -> raised line 1: NameError: name 'vars' is not defined here: there is no look at the interpreter: use a dict of your own

# == dir
dir()
# -> raised line 1: NameError: name 'dir' is not defined here: there is no look at the interpreter: use a dict of your own

# == globals
globals()
# -> raised line 1: NameError: name 'globals' is not defined here: there is no look at the interpreter: use a dict of your own

# == locals
locals()
# -> raised line 1: NameError: name 'locals' is not defined here: there is no look at the interpreter: use a dict of your own

# == getattr with a built name
getattr((), "__cl" + "ass__")
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == getattr chain
getattr(getattr(getattr((), "__class__"), "__base__"), "__subclasses__")()
# -> raised line 1: AttributeError: 'tuple' object has no attribute '__class__'

# == setattr on a builtin
setattr(int, "x", 1)
# -> raised line 1: AttributeError: 'type' object has no attribute 'x' and no __dict__ for setting new attributes

# == setattr on a module
import math
math.pi = 3
# -> raised line 2: AttributeError: 'module' object has no attribute 'pi' and no __dict__ for setting new attributes

# == object.__setattr__
object.__setattr__(str, "upper", None)
# -> raised line 1: AttributeError: 'type' object has no attribute 'upper' and no __dict__ for setting new attributes

# == type() makes a class
type("A", (object,), {"__del__": lambda self: print("x")})
# -> raised line 1: TypeError: type() bases are not supported

# == a metaclass
class M(type): pass
# -> unsupported line 1: NotImplementedError: this Python does not have class inheritance and metaclasses (hint: use a class without bases, a dict, or a function)

# == metaclass keyword
class A(metaclass=type): pass
# -> unsupported line 1: NotImplementedError: this Python does not have class inheritance and metaclasses (hint: use a class without bases, a dict, or a function)

# == __init_subclass__
class A:
    def __init_subclass__(cls): print("x")
# -> done null

# == __class_getitem__
class A:
    def __class_getitem__(cls, item): return item
print(A["x"])
# -> raised line 3: TypeError: 'type' object is not subscriptable

# == __del__
class A:
    def __del__(self): print("deleted")
a = A()
a = None
# -> done null

# == __eq__ that lies
class A:
    def __eq__(self, other): return True
print("x" == A(), A() in ["y"])
# -> done null | printed "True True\n"

# == __hash__ that changes
class A:
    n = 0
    def __hash__(self):
        A.n += 1
        return A.n
a = A()
d = {a: 1}
print(a in d)
# -> done null | printed "False\n"

# == an iterator that changes its list
a = [1]
for x in a:
    a.append(x)
    if len(a) > 5: break
print(a)
# -> done null | printed "[1, 1, 1, 1, 1, 1]\n"

# == a key function that changes the list that is sorted
a = [3, 1, 2]
def key(x):
    a.clear()
    return x
a.sort(key=key)
print(a)
# -> done null | printed "[1, 2, 3]\n"

# == a dict that changes while it is walked
d = {1: 1}
for k in d:
    d[k + 1] = 1
# -> raised line 2: RuntimeError: dictionary changed size during iteration

# == exception attributes: __traceback__
try:
    1 / 0
except Exception as e:
    print(e.__traceback__)
# -> raised line 4: AttributeError: 'ZeroDivisionError' object has no attribute '__traceback__'

# == exception attributes: tb_frame
try:
    1 / 0
except Exception as e:
    e.__traceback__.tb_frame.f_back.f_globals
# -> raised line 4: AttributeError: 'ZeroDivisionError' object has no attribute '__traceback__'

# == exception attributes: __context__
try:
    1 / 0
except Exception as e:
    print(e.__context__)
# -> raised line 4: AttributeError: 'ZeroDivisionError' object has no attribute '__context__'

# == NameError.name and obj
try:
    x.y
except NameError as e:
    print(e.name)
# -> raised line 4: AttributeError: 'NameError' object has no attribute 'name'

# == AttributeError.obj
try:
    (1).nothing
except AttributeError as e:
    e.obj.__class__
# -> raised line 4: AttributeError: 'AttributeError' object has no attribute 'obj'

# == generator frames
g = (x for x in [1])
g.gi_frame.f_back.f_globals
# -> raised line 2: AttributeError: 'list' object has no attribute 'gi_frame'

# == generator code
(x for x in [1]).gi_code
# -> raised line 1: AttributeError: 'list' object has no attribute 'gi_code'

# == coroutine frames
async def f(): pass
f().cr_frame
# -> raised line 2: AttributeError: 'coroutine' object has no attribute 'cr_frame'

# == async generators
async def f():
    yield 1
# -> unsupported line 2: NotImplementedError: this Python does not have yield expressions (hint: build a list and return it: there are no generator functions)

# == await of an object of one's own
class A:
    def __await__(self): return iter([1])
await A()
# -> raised line 3: TypeError: 'A' object can't be awaited (hint: a tool returns its result at once: leave await out, or write it right before the call)

# == asyncio.run in itself
import asyncio
async def f():
    asyncio.run(f())
asyncio.run(f())
# -> raised line 3: RecursionError: maximum recursion depth exceeded

# == tool: a result that is awaited
f = nothing()
await f
# -> done null | called nothing{}

# == tool: attributes of a tool
print(add, add.__name__ if hasattr(add, "__name__") else "-")
# -> done null | printed "<function 'add' external> -\n"

# == tool: __globals__ of a tool
add.__globals__
# -> raised line 1: AttributeError: 'function' object has no attribute '__globals__'

# == tool: __self__ of a tool
add.__self__
# -> raised line 1: AttributeError: 'function' object has no attribute '__self__'

# == tool: a name of the crate's own
__later_add(1, 2)
# -> done "<coroutine external_future(0)>"

# == tool: a deferred call that is never awaited
x = [add(1, 2)]
if False:
    await parallel(*x)
print(x)
# -> done null | printed "[<coroutine external_future(0)>]\n"

# == tool: parallel with a made-up future
class A:
    def __repr__(self): return "<coroutine external_future(7)>"
print(parallel(A()))
# -> raised line 3: TypeError: parallel() takes calls such as ("tool", argument, ..) or tool(argument), and results of calls

# == tool: calling by attribute
parallel.__class__
# -> raised line 1: AttributeError: 'function' object has no attribute '__class__'

# == tool: parallel of an unknown tool
parallel(("os.system", "id"))
# -> raised line 1: NameError: no tool is named "os.system"; the tools are add, search, broken, get_weather, nothing

# == tool: an argument that is no value
add(add, print)
# -> raised line 1: TypeError: add(): argument 'a': <function 'add' external> cannot be sent: pass texts, numbers, booleans, None, lists and dicts

# == tool: a cycle as an argument
a = []
a.append(a)
add(a, 1)
# -> raised line 3: TypeError: add(): argument 'a': [...] cannot be sent: pass texts, numbers, booleans, None, lists and dicts

# == decorators
@print
def f(): pass
# -> done null | printed "<function 'f' at 0xc>\n"

# == a decorator with eval
@eval
@input
class A: pass
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == lambda with defaults
print((lambda x=[]: x)())
# -> done null | printed "[]\n"

# == match with a class pattern
match 1:
    case int(): pass
# -> unsupported line 1: NotImplementedError: this Python does not have pattern matching (match statements) (hint: use if and elif)

# == walrus in a comprehension
print([y := 1, y ** 2])
# -> done null | printed "[1, 1]\n"

# == slots and descriptors
class A:
    x = property(lambda self: 1)
print(A().x)
# -> raised line 2: TypeError: cannot create 'property' instances

# == __missing__
class D(dict):
    def __missing__(self, k): return k
# -> unsupported line 1: NotImplementedError: this Python does not have class inheritance and metaclasses (hint: use a class without bases, a dict, or a function)

# == str.translate, maketrans
print("a".translate({97: "b"}))
# -> raised line 1: AttributeError: 'str' object has no attribute 'translate'

# == int from a huge text
int("9" * 100000)
# -> raised line 1: ValueError: Exceeds the limit (4300 digits) for integer string conversion: value has 100000 digits; use sys.set_int_max_str_digits() to increase the limit

# == a huge number as text
str(10 ** 5000)
# -> raised line 1: ValueError: Exceeds the limit (4300 digits) for integer string conversion; use sys.set_int_max_str_digits() to increase the limit
