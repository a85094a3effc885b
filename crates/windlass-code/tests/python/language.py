The language. Each case is a row of docs/code.md.

# == `if`, `elif`, `else`, `while`, `for`, `break`, `continue`, `else` of loops
for i in range(9):
    if i == 3: break
    elif i == 1: continue
else:
    i = -1
n = 0
while n < 5: n += 1
return [i, n]
# -> done [3,5]

# == functions: defaults, `*args`, `**kwargs`, keyword-only
def f(a, b=2, *c, d=4, **e): return [a, b, c, d, e]
return f(1, 3, 5, d=6, x=7)
# -> done [1,3,[5],6,{"x":7}]

# == closures, `nonlocal`, `global`
x = 0
def outer():
    n = 0
    def inner():
        nonlocal n
        global x
        n += 1
        x += 10
        return n
    inner()
    return inner()
return [outer(), x]
# -> done [2,20]

# == `lambda`, `map`, `filter`, `sorted(key=..)`, `zip`, `enumerate`
return [sorted([3, 1, 2], key=lambda x: -x), list(map(str, [1])), list(filter(None, [0, 2])), list(zip("ab", [1, 2])), list(enumerate("a"))]
# -> done [[3,2,1],["1"],[2],[["a",1],["b",2]],[[0,"a"]]]

# == comprehensions of lists, dicts and sets; generator expressions
return [[x for x in range(3) if x], {k: v for k, v in [("a", 1)]}, len({x % 2 for x in range(9)}), sum(x for x in range(4))]
# -> done [[1,2],{"a":1},2,6]

# == unpacking: `a, *b = ..`, `[*x, *y]`, `{**d}`
a, *b = [1, 2, 3]
return [a, b, [*b, *b], {**{"x": 1}, "y": 2}]
# -> done [1,[2,3],[2,3,2,3],{"x":1,"y":2}]

# == slices, negative indexes
a = [1, 2, 3, 4]
return [a[1:3], a[-1], "hello"[::-1]]
# -> done [[2,3],4,"olleh"]

# == assignment to slices
a = [1, 2, 3, 4]
a[1:3] = [9]
# -> raised line 2: TypeError: list indices must be integers or slices, not slice (hint: build a new list: a[:1] + new + a[3:])

# == f-strings with formats, `str.format`
x = 3.14159
return [f"{x:.2f} {x!r:>10} {1000000:,}", "{} {a}".format(1, a=2)]
# -> done ["3.14    3.14159 1,000,000","1 2"]

# == `"%s" % value`
return "%s-%05.1f" % ("a", 2.5)
# -> raised line 1: TypeError: unsupported operand type(s) for %: 'str' and 'tuple' (hint: use an f-string)

# == `try`, `except`, `else`, `finally`, `raise .. from`
log = []
try:
    raise ValueError("a") from KeyError("b")
except (ValueError, TypeError) as error:
    log.append(str(error))
else:
    log.append("no")
finally:
    log.append("end")
return log
# -> done ["a","end"]

# == `assert` (its error shows the values)
a = [1]
assert len(a) == 2
# -> raised line 2: AssertionError: assert 1 == 2

# == classes without bases: methods, attributes, `__init__`, `__repr__`, `__eq__`
class Box:
    n = 0
    def __init__(self, x): self.x = x
    def __repr__(self): return f"Box({self.x})"
    def __eq__(self, other): return self.x == other.x
    def half(self): return self.x / 2
return [repr(Box(3)), Box(4) == Box(4), Box(5).half(), Box.n]
# -> done ["Box(3)",true,2.5,0]

# == `__len__`, `__getitem__`, `__iter__` of classes
class Box:
    def __len__(self): return 1
return len(Box())
# -> raised line 3: TypeError: object of type 'Box' has no len()

# == dataclasses
from dataclasses import dataclass
@dataclass
class Point:
    x: int
    y: int = 0
return [Point(1), repr(Point(1, 2)), Point(1) == Point(1)]
# -> done [{"x":1,"y":0},"Point(x=1, y=2)",true]

# == decorators of functions
def twice(f):
    return lambda *a: f(*a) * 2
@twice
def g(x): return x
return g(4)
# -> done 8

# == type hints
def f(x: int | None, y: list[str] = []) -> dict[str, int]: return {"x": x}
z: "whatever" = 1
return f(1)
# -> done {"x":1}

# == walrus, conditional expressions, chained comparisons
return [(n := 5), n if 1 < n < 10 else 0]
# -> done [5,5]

# == whole numbers of any size, floats, `//`, `%`, `**`, bit operators
return [2 ** 40 // 3, -7 // 2, -7 % 3, 0.1 + 0.2, 5 ^ 3, ~5, 1_000]
# -> done [366503875925,-4,2,0.30000000000000004,6,-6,1000]

# == `async def`, `await`, `asyncio.gather`, `asyncio.run`
import asyncio
async def f(x): return x * 2
async def main(): return await asyncio.gather(f(1), f(2))
return asyncio.run(main())
# -> done [2,4]

# == `return` outside of functions
return "yes"
# -> done "yes"

# == the last expression as the value
1 + 1
# -> done 2

# == `with` a context manager of one's own
class C:
    def __enter__(self): return 1
    def __exit__(self, *a): return False
with C() as c:
    x = c
return x
# -> done 1

# == `__bool__` of classes is ignored: objects are true
class Box:
    def __bool__(self): return False
return "true" if Box() else "false"
# -> done "true"

# == sets, `|`, `&`, `-`, `issubset`
return [len({1, 2} | {3}), sorted({1, 2} & {2, 3}), {1}.issubset({1, 2})]
# -> done [3,[2],true]

# == `<=` of sets
return {1} <= {1, 2}
# -> raised line 1: TypeError: '<=' not supported between instances of 'set' and 'set' (hint: use a.issubset(b))

# == methods of texts
return ["a,b".split(","), " x ".strip(), "Ab".lower(), "a".join("bc"), "abc".find("c"), "x".isdigit(), "äö".encode().decode(), "abc".removeprefix("a")]
# -> done [["a","b"],"x","ab","bac",2,false,"äö","bc"]

# == methods of lists and dicts
a = [3, 1]
a.sort()
a.insert(0, 9)
d = {"a": 1}
d.setdefault("b", []).append(2)
return [a, a.index(1), a.pop(), d.get("z", 0), list(d.items()), d.pop("a"), {**d, "c": 3}]
# -> done [[9,1],1,3,0,[["a",1],["b",[2]]],1,{"b":[2],"c":3}]

# == `|` of dicts
return {"a": 1} | {"b": 2}
# -> raised line 1: TypeError: unsupported operand type(s) for |: 'dict' and 'dict' (hint: use {**a, **b})

# == `print` with `sep` and `end`
print(1, 2, sep="-", end="!")
return None
# -> done null | printed "1-2!"

# == `isinstance`, `type(x).__name__`; `hasattr` and `getattr` of objects of classes
class A:
    x = 1
return [isinstance(1, (int, str)), type([]).__name__, hasattr(A(), "x"), getattr(A(), "y", 2)]
# -> done [true,"list",true,2]

# == methods of texts and lists as values
return getattr("a", "upper")()
# -> raised line 1: AttributeError: 'str' object has no attribute 'upper'

# == `min`, `max`, `sum`, `any`, `all`, `abs`, `round`, `divmod`, `pow`, `reversed`, `ord`, `chr`, `hex`
return [min(3, 1), max([1, 2], key=lambda x: -x), sum([1, 2], 10), any([0, 1]), all([]), abs(-1), round(2.567, 2), divmod(7, 2), pow(2, 5), list(reversed([1, 2])), ord("a"), chr(98), hex(255)]
# -> done [1,1,13,true,true,1,2.57,[3,1],32,[2,1],97,"b","0xff"]

# == `yield`: generator functions
def f():
    yield 1
return list(f())
# -> unsupported line 2: NotImplementedError: this Python does not have yield expressions (hint: build a list and return it: there are no generator functions)

# == `match`
match 1:
    case 1: return "one"
# -> unsupported line 1: NotImplementedError: this Python does not have pattern matching (match statements) (hint: use if and elif)

# == classes with bases, exceptions of one's own
class MyError(Exception): pass
# -> unsupported line 1: NotImplementedError: this Python does not have class inheritance and metaclasses (hint: use a class without bases, a dict, or a function)

# == `del`
d = {"a": 1}
del d["a"]
return d
# -> unsupported line 2: NotImplementedError: this Python does not have the 'del' statement (hint: use d.pop(key), lst.pop(i), or assign None)

# == `super`, `property`, `staticmethod`
class A:
    @property
    def x(self): return 1
    @staticmethod
    def y(): return 2
return [A().x, A.y()]
# -> unsupported line 2: NotImplementedError: this Python does not have method decorators (classmethod/staticmethod/property) (hint: use functions and plain methods)

# == `async for`, `async with`
async def f():
    async for x in y: pass
# -> unsupported line 2: NotImplementedError: this Python does not have async for loops (hint: use for over a list of results)

# == `iter`, `next`
i = iter([1, 2])
return [next(i), next(i), next(i, "end")]
# -> done [1,2,"end"]

# == `input`
input("name?")
# -> raised line 1: NameError: name 'input' is not defined here: nobody is at a terminal: return or print what is to be seen

# == `eval`, `exec`
eval("1 + 1")
# -> raised line 1: NameError: name 'eval' is not defined here: code cannot run other code: write it out

# == `open`
open("a.txt").read()
# -> raised line 1: PermissionError: open is not allowed: code reaches no files: use a tool that reads or writes them

# == complex numbers
return 1j
# -> unsupported line 1: NotImplementedError: this Python does not have complex constants (hint: there are no complex numbers: keep two floats)

# == `callable`, `issubclass`
return callable(print)
# -> raised line 1: NameError: name 'callable' is not defined here: use hasattr, or try the call

# == `global` names by `globals()`
return globals()["x"]
# -> raised line 1: NameError: name 'globals' is not defined here: there is no look at the interpreter: use a dict of your own

# == `except*`
try:
    pass
except* ValueError:
    pass
# -> unsupported line 1: NotImplementedError: this Python does not have exception groups (try*/except*) (hint: use except)

# == `lambda` with `await`
f = lambda x: await add(x, 1)
return f(1)
# -> done 2 | called add{"a":1,"b":1}
