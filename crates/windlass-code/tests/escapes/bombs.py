Bombs: memory, time, depth.

# == a long text
"a" * 10**10
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a long list
[0] * 10**10
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a long tuple of long tuples
((0,) * 10**5,) * 10**9
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a large power
10 ** 10 ** 8
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a large shift
1 << 10**11
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == pow with three arguments
print(pow(2, 10**6, 10**9 + 7))
# -> done null | printed "235042059\n"

# == a product of large numbers
x = 10 ** 100000
for i in range(30): x = x * x
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == factorial
import math
math.factorial(10**7)
# -> raised line 2: OverflowError: int too large to convert to factorial

# == a list that doubles
a = [1]
while True: a = a + a
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a text that doubles
a = "x"
while True: a += a
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a list that grows
a = []
while True: a.append("x" * 1000)
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == a list of many small lists
a = []
while True: a.append([])
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == a dict that grows
d = {}
i = 0
while True:
    d[i] = i
    i += 1
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == a set that grows
s = set()
i = 0
while True:
    s.add(i)
    i += 1
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == the billion laughs
a = "lol"
for i in range(9): a = a * 10
print(len(a))
b = [a * 100 for _ in range(1000)]
# -> limit memory_mb line 2: the code needed more than 64 MiB of memory (hint: keep less at once)

# == nested list comprehension
[[[[0 for d in range(1000)] for c in range(1000)] for b in range(1000)] for a in range(1000)]
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == range to a list
list(range(10**10))
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == sum of a range
sum(range(10**12))
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == an endless loop
while True: pass
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == an endless iterator
import itertools
for i in itertools.count(): pass
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == an endless iterator to a list
import itertools
list(itertools.count())
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == itertools.repeat and sum
import itertools
sum(itertools.repeat(1))
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == a product of iterators
import itertools
for x in itertools.product(range(10**4), repeat=10): pass
# -> raised line 2: AttributeError: module 'itertools' has no attribute 'product' (hint: use loops)

# == permutations
import itertools
len(list(itertools.permutations(range(12))))
# -> raised line 2: AttributeError: module 'itertools' has no attribute 'permutations' (hint: use loops)

# == endless recursion
def f(): return f()
f()
# -> raised line 1: RecursionError: maximum recursion depth exceeded

# == endless recursion that is caught
def f():
    try:
        return f()
    except RecursionError:
        return f()
f()
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == mutual recursion by repr
class A:
    def __repr__(self): return repr(self)
repr(A())
# -> raised line 2: RecursionError: maximum recursion depth exceeded

# == recursion by a key function
def key(x): return sorted([1, 2], key=key)
sorted([1, 2], key=key)
# -> raised line 1: RecursionError: maximum recursion depth exceeded

# == recursion by __eq__
class A:
    def __eq__(self, other): return self == other
A() == A()
# -> raised line 2: RecursionError: maximum recursion depth exceeded

# == recursion by __getattr__
class A:
    def __getattr__(self, name): return getattr(self, name + "x")
A().x
# -> raised line 3: AttributeError: 'A' object has no attribute 'x'

# == a list in itself
a = []
a.append(a)
print(a, a == a)
# -> done null | printed "[[[...]]] True\n"

# == two lists in each other
a, b = [], []
a.append(b)
b.append(a)
a == b
# -> raised line 4: RecursionError: maximum recursion depth exceeded

# == a deep list
a = []
for i in range(5000): a = [a]
print(len(a))
# -> done null | printed "1\n"

# == a deep list as text
a = []
for i in range(5000): a = [a]
str(a)
# -> done "[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[[

# == a deep list as the result
a = []
for i in range(5000): a = [a]
return a
# -> limit depth: the result cannot be returned: it is nested more than 100 levels deep (hint: return less)

# == a deep dict as the result
d = {}
for i in range(300): d = {"d": d}
return d
# -> limit depth: the result cannot be returned: it is nested more than 100 levels deep (hint: return less)

# == a wide result
return [0] * 10**6
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == many lambdas in each other
f = lambda: 0
for i in range(2000):
    f = (lambda g: lambda: g())(f)
f()
# -> raised line 3: RecursionError: maximum recursion depth exceeded

# == much output
while True: print("x" * 10000)
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end) | printed "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

# == a long line of output
print("x" * 10**7)
# -> done null | printed "xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx

# == str.replace that grows
("a" * 10**5).replace("a", "b" * 10**5)
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == str.join that grows
("x" * 10**5).join(["y"] * 10**5)
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == str.ljust
"x".ljust(10**10)
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == str.zfill
"x".zfill(10**10)
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == expandtabs
"\t".expandtabs(10**10)
# -> raised line 1: OverflowError: Python int too large to convert to C int

# == bytes of a length
bytes(10**10)
# -> limit memory_mb line 1: the code needed more than 64 MiB of memory (hint: keep less at once)

# == int.to_bytes
(1).to_bytes(10**10, "big")
# -> raised line 1: AttributeError: 'int' object has no attribute 'to_bytes'

# == a huge slice
a = [0] * 10
a[::1] = [0] * 10**9
# -> limit memory_mb line 2: the code needed more than 64 MiB of memory (hint: keep less at once)

# == json.dumps with a large indent
import json
json.dumps([[1]], indent=10**9)
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == round with many digits
round(10 ** 1000, -10**9)
# -> raised line 1: TypeError: type int doesn't define __round__ method

# == float of a long text
float("1" * 10**6)
# -> done "inf"

# == a regex on a long text
import re
for i in range(10**6): re.sub("a*", "b" * 1000, "a" * 10**6)
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == base64 of a long text
import base64
x = b"x" * 10**7
for i in range(10): x = base64.b64encode(x)
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == deque without a bound
from collections import deque
d = deque()
while True: d.append("x" * 100)
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == counter of a long range
from collections import Counter
Counter(range(10**9))
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == many tasks
import asyncio
async def f(): return 1
await asyncio.gather(*[f() for i in range(10**7)])
# -> limit memory_mb: the code needed more than 64 MiB of memory (hint: keep less at once)

# == gather in gather
import asyncio
async def f(n):
    if n: await asyncio.gather(f(n - 1))
await f(10**5)
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == a class that makes classes
def f():
    class A: pass
    return A
a = []
while True: a.append(f())
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == string hashing by chosen keys
d = {str(i) * 100: i for i in range(10**6)}
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == str.format with a wide field
"{:>10000000000}".format("x")
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == an f-string with a wide field
f"{1:>{10**10}}"
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == catching everything
try:
    while True: pass
except BaseException:
    print("caught")
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == finally after a limit
try:
    while True: pass
finally:
    print("still here")
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)

# == return in finally after a limit
def f():
    try:
        while True: pass
    finally:
        return 1
f()
# -> limit seconds: the code ran for longer than 0.5 s (hint: do less in one step, or look for a loop without an end)
