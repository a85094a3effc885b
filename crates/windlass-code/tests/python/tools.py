Tools, and values that pass between code and tools. Each case is a row of docs/code.md.

# == arguments by position, by name, unpacked
return [add(1, 2), add(a=1, b=2), add(*[1, 2]), add(**{"a": 1, "b": 2})]
# -> done [3,3,3,3] | called add{"a":1,"b":2}, add{"a":1,"b":2}, add{"a":1,"b":2}, add{"a":1,"b":2}

# == too many arguments
add(1, 2, 3)
# -> raised line 1: TypeError: add() takes at most 2 positional arguments (a, b), and 3 were given

# == an argument twice
add(1, a=2)
# -> raised line 1: TypeError: add() got multiple values for argument 'a'

# == a tool that does not exist
serch("x")
# -> raised line 1: NameError: name 'serch' is not defined; the tools are add, search, broken, get_weather, nothing

# == a tool as a value: `map(tool, list)`
return list(map(get_weather, ["Oslo", "Rome"]))
# -> unsupported line 1: NotImplementedError: map(): external function 'get_weather' is not yet supported in this context (hint: call the tool in a comprehension: [tool(x) for x in items])

# == a tool in an f-string, a default, a condition
return f"{add(1, 1)} {'yes' if add(0, 0) == 0 else 'no'}"
# -> done "2 yes" | called add{"a":1,"b":1}, add{"a":0,"b":0}

# == a tool's name with characters that Python's names do not have
return get_weather("Oslo")
# -> done "sunny in Oslo" | called get-weather{"city":"Oslo"}

# == texts, numbers, `None`, lists, dicts as arguments
return search({"a": [1, 2.5, None, True, "x"]}, [[]])
# -> done {"query":{"a":[1,2.5,null,true,"x"]},"found":[1,2]} | called search{"query":{"a":[1,2.5,null,true,"x"]},"limit":[[]]}

# == tuples, sets, dates, dataclasses, dicts with numbers as keys: they become arrays, texts, maps
from datetime import date, datetime
from dataclasses import dataclass
@dataclass
class P:
    x: int
return search([(1, 2), {3}, date(2024, 1, 2), datetime(2024, 1, 2, 3, 4, 5, 600000), P(1), {7: 2, None: 3, True: 4}], limit=None)
# -> done {"query":[[1,2],[3],"2024-01-02","2024-01-02T03:04:05.600000",{"x":1},{"7":2,"null":3,"true":4}],"found":[1,2]} | called search{"query":[[1,2],[3],"2024-01-02","2024-01-02T03:04:05.600000",{"x":1},{"7":2,"null":3,"true":4}],"limit":null}

# == bytes as an argument
search(b"x")
# -> raised line 1: TypeError: search(): argument 'query': b'x' is bytes, which cannot be sent: decode it to a str first

# == a whole number beyond 64 bits as an argument
search(2 ** 80)
# -> raised line 1: TypeError: search(): argument 'query': 1208925819614629174706176 has more than 64 bits, which cannot be sent: pass str(number)

# == NaN as an argument
search(float("nan"))
# -> raised line 1: TypeError: search(): argument 'query': nan is no JSON number: pass None or a text

# == a function as an argument
search(lambda: 1)
# -> raised line 1: TypeError: search(): argument 'query': <function '<lambda>' at 0xc> cannot be sent: pass texts, numbers, booleans, None, lists and dicts

# == the same as the final value: shown as text
return [b"x", 2 ** 80, float("inf"), len, {(1, 2): 3}]
# -> done ["b'x'","1208925819614629174706176","inf","<built-in function len>",{"<key>":3}]

# == a whole number of 64 bits
return [2 ** 63, 2 ** 64 - 1, -2 ** 63]
# -> done [9223372036854775808,18446744073709551615,-9223372036854775808]

# == an error of a tool, caught as `ToolError`
try:
    broken("a")
except ToolError as error:
    return str(error)
# -> done "it broke: a" | called broken{"why":"a"}

# == an error of a tool, not caught
broken("b")
# -> raised line 1: RuntimeError: it broke: b | called broken{"why":"b"}

# == an error within `parallel`
parallel(add(1, 2), broken("c"))
# -> raised line 1: RuntimeError: it broke: c | called add{"a":1,"b":2}, broken{"why":"c"}

# == `parallel` of nothing
return parallel()
# -> done []

# == `parallel` of results that are there already
def f(x): return add(x, x)
return parallel(f(1), f(2))
# -> done [2,4] | called add{"a":1,"b":1}, add{"a":2,"b":2}

# == `parallel` of coroutines
async def f(): return 1
parallel(f(), f())
# -> raised line 2: TypeError: parallel() takes tool calls: use asyncio.gather for coroutines

# == `gather` of results that are there already
import asyncio
def f(x): return add(x, x)
await asyncio.gather(f(1), f(2))
# -> raised line 3: TypeError: An asyncio.Future, a coroutine or an awaitable is required (hint: write the tool calls inside gather(...), or use parallel(("tool", argument), ...)) | called add{"a":1,"b":1}, add{"a":2,"b":2}

# == `await` of a result that is there already
x = [add(1, 2)][0]
await x
# -> raised line 2: TypeError: 'int' object can't be awaited (hint: a tool returns its result at once: leave await out, or write it right before the call) | called add{"a":1,"b":2}

# == a call that is awaited later
f = add(1, 2)
g = add(3, 4)
return [await f, await g]
# -> done [3,7] | called add{"a":1,"b":2}, add{"a":3,"b":4}

# == a name of a tool taken for something else
add = 5
return add
# -> done 5

# == `result` without `return`
result = add(1, 2)
# -> done 3 | called add{"a":1,"b":2}
