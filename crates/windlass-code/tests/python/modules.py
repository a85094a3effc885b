Modules. Each case is a row of docs/code.md.

# == `json`
import json
return [json.loads('{"a": [1, null]}'), json.dumps({"b": True}, indent=1, sort_keys=True)]
# -> done [{"a":[1,null]},"{\n \"b\": true\n}"]

# == `re`
import re
return [re.findall(r"\d+", "a1b22"), re.sub(r"(a)(b)", r"\2\1", "ab"), re.match(r"(?P<x>\w)", "q").group("x"), re.split(r",\s*", "a, b")]
# -> done [["1","22"],"ba","q",["a","b"]]

# == `math`
import math
return [math.sqrt(16), math.floor(2.5), math.pi, math.gcd(12, 18), math.isclose(0.1 + 0.2, 0.3)]
# -> done [4.0,2,3.141592653589793,6,true]

# == `datetime`, without `now` and `today`
from datetime import date, datetime, timedelta
return [date(2024, 2, 28) + timedelta(days=2), datetime(2024, 1, 1, 12).isoformat(), (date(2024, 3, 1) - date(2024, 1, 1)).days, datetime.strptime("2024-05-06", "%Y-%m-%d").strftime("%d.%m.")]
# -> done ["2024-03-01","2024-01-01T12:00:00",60,"06.05."]

# == `datetime.now()`
from datetime import datetime
return datetime.now()
# -> raised line 2: PermissionError: datetime.now is not allowed: code has no clock: take the time from a tool or the task

# == `collections`: `Counter`, `defaultdict`, `deque`, `namedtuple`
from collections import Counter, defaultdict, deque, namedtuple
d = defaultdict(list)
d["a"].append(1)
P = namedtuple("P", "x y")
return [Counter("aab").most_common(1), d, list(deque([1, 2], maxlen=1)), P(1, 2).y]
# -> done [[["a",2]],{"a":[1]},[2],2]

# == `itertools`: `chain`, `islice`, `count`, `repeat`, `accumulate`, `batched`, `pairwise`, `takewhile`, `zip_longest`
import itertools
return [list(itertools.chain([1], [2])), list(itertools.islice(itertools.count(), 2)), list(itertools.pairwise([1, 2, 3])), list(itertools.accumulate([1, 2])), list(itertools.batched("abc", 2)), list(itertools.takewhile(bool, [1, 0])), list(itertools.zip_longest([1], [])), list(itertools.repeat(1, 2))]
# -> done [[1,2],[0,1],[[1,2],[2,3]],[1,3],[["a","b"],["c"]],[1],[[1,null]],[1,1]]

# == `itertools`: `combinations`, `permutations`, `product`
import itertools
return list(itertools.combinations("abc", 2))
# -> raised line 2: AttributeError: module 'itertools' has no attribute 'combinations' (hint: use loops)

# == `itertools.groupby`
import itertools
return [[k, list(g)] for k, g in itertools.groupby("aab")]
# -> raised line 2: AttributeError: module 'itertools' has no attribute 'groupby' (hint: collect the groups in a dict)

# == `functools`: `reduce`, `partial`
from functools import partial, reduce
return [reduce(lambda a, b: a + b, [1, 2, 3]), partial(pow, 2)(5)]
# -> done [6,32]

# == `functools.lru_cache`
from functools import lru_cache
# -> raised line 1: ImportError: cannot import name 'lru_cache' from 'functools' (unknown location)

# == `base64`, `binascii`
import base64, binascii
return [base64.b64encode(b"hi").decode(), binascii.crc32(b"hi")]
# -> done ["aGk=",3633523372]

# == `unicodedata`
import unicodedata
return unicodedata.normalize("NFC", "é")
# -> done "é"

# == `pathlib`, paths only
from pathlib import Path
return [str(Path("a") / "b.txt"), Path("a/b.txt").suffix, Path("a/b.txt").name]
# -> done ["a/b.txt",".txt","b.txt"]

# == `typing`
from typing import Any, Optional
def f(x: Optional[int]) -> Any: return x
return f(1)
# -> done 1

# == `statistics`, `decimal`, `fractions`
import statistics
# -> raised line 1: ModuleNotFoundError: No module named 'statistics' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `string`, `textwrap`
import string
# -> raised line 1: ModuleNotFoundError: No module named 'string' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `csv`, `io`
import csv
# -> raised line 1: ModuleNotFoundError: No module named 'csv' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `hashlib`
import hashlib
# -> raised line 1: ModuleNotFoundError: No module named 'hashlib' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `random`, `time`, `uuid`
import random
# -> raised line 1: ModuleNotFoundError: No module named 'random' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `os`, `sys`: nothing of the system
import os
return os.getenv("HOME")
# -> raised line 2: PermissionError: os.getenv is not allowed: code sees no environment variables

# == `requests`, `urllib`
import requests
# -> raised line 1: ModuleNotFoundError: No module named 'requests' (hint: code reaches nothing but its tools, and has neither clock nor chance. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `numpy`, `pandas`
import pandas as pd
# -> raised line 1: ModuleNotFoundError: No module named 'pandas' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == a tool as a module
from tools import add
# -> raised line 1: ModuleNotFoundError: No module named 'tools' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)

# == `contextlib`, `enum`, `operator`, `copy`
import copy
# -> raised line 1: ModuleNotFoundError: No module named 'copy' (hint: tools are functions here already, without an import. Modules: asyncio, base64, binascii, collections, dataclasses, datetime, functools, itertools, json, math, pathlib, re, typing, unicodedata)
