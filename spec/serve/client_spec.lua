--- The Python package, against the program: standard library alone, as in a fresh environment.
local files = require "spec.support.files"
local program = require "spec.support.program"
local small = require "spec.support.small"

local has_python = program.shell("command -v python3").status == 0

local function python(code, ...)
  local arguments, outcome = { ... }, nil
  for i, one in ipairs(arguments) do arguments[i] = program.quote(one) end
  program.with_file(code, function(path)
    outcome = program.shell(("PYTHONPATH=share/python PYTHONDONTWRITEBYTECODE=1 "
      .. "BLIS_PROGRAM=\"$BLIS\" timeout 200 python3 -I -B -c 'import sys; sys.path.insert(0, "
      .. "\"share/python\"); exec(open(sys.argv.pop(1)).read())' %s %s"):format(path,
      table.concat(arguments, " ")))
  end)
  return outcome
end

local function prints(code, ...)
  local outcome = python(code, ...)
  assert.equal("", outcome.err)
  assert.equal(0, outcome.status)
  return outcome.out
end

local base = [[
import blis, json, os, signal, subprocess, sys, time
base = {"cluster": {"instances": 2},
        "workload": {"rate": 30, "requests": 60, "prompt_tokens": 100, "output_tokens": 5}}
scorer = blis.policy("""local blis = require "blis"
local p = ...
return blis.scorer { name = "mine", score = function(request, instance)
  return p.high / (1 + instance.queue_depth)
end }""", high=1)
]]

local same_in_lua = [[
local blis = require "blis"
print(blis.run { cluster = { instances = 2 }, workload = { rate = 30, requests = 60,
  prompt_tokens = 100, output_tokens = 5 }, routing = { "weighted", scorers = {
  { blis.scorer { name = "mine", score = function(_, instance)
    return 1 / (1 + instance.queue_depth) end }, 1 } } } }.hash)]]

describe("the Python package #host", function()
  if not has_python then return end

  it("runs what Lua runs, with the same result", function()
    local out = prints(base .. [==[
r = blis.run({**base, "routing": ("weighted", {"scorers": [[scorer, 1]]})}, requests=True)
assert len(r["requests"]["ttft_us"]) == len(r["requests"]["instance"]) == 60
assert r["ttft_ms"]["p99"] > 0 and "weighted(mine:1)" in r["text"]
print(r["hash"])]==])
    assert.equal(program.run("-e", same_in_lua).out, out)
  end)

  it("compares, sweeps and tells of progress, in columns", function()
    assert.equal("done\n", prints(base .. [==[
found = blis.compare({**base, "routing": ["round-robin", ("weighted", {"scorers": [[scorer, 1]]})]})
assert found["table"]["routing"] == ["round-robin", "weighted(mine:1)"]
assert len(found["table"]["ttft_ms.p99"]) == 2 == len(found["results"])
found = blis.compare({**base, "routing": ["round-robin", "least-loaded"], "replications": 4})
assert found["against"]["policy"][0] == "least-loaded" and found["replications"] == 4
assert set(map(len, found["table"].values())) == {2}
told = []
def trial(p):
    return {**base, "workload": {**base["workload"], "rate": p["rate"]}}
t = blis.sweep(trial, {"rate": [20, 40, -1]}, seeds=[1, 2], progress=lambda *a: told.append(a))
assert told == [(i, 6) for i in range(1, 7)]
assert t["rate"] == [20, 20, 40, 40, -1, -1] and t["seed"] == [1, 2] * 3
assert set(map(len, t.values())) == {6}
assert all(t["ttft_ms.p99"][:4]) and t["ttft_ms.p99"][4] is None and "-1" in t["error"][5]
assert len(set(t["hash"][:4])) == 4
again = blis.sweep(trial, {"rate": [20, 40, -1]}, seeds=[1, 2])
assert again == t
series = blis.run({**base, "series_interval_us": 100000}, series=True)["series"]
assert len(set(map(len, series.values()))) == 1 and series["t_us"]
seen = []
r = blis.evaluate("least-loaded", scenario="a", seeds=[1, 2], progress=seen.append,
                  server=blis.Server("--suite", sys.argv[1]))
assert r["objectives"]["ttft_p99_ms"] > 0 and seen[0]["done"] == 0.5
print("done")]==], "spec/eval/small_suite.lua"))
  end)

  it("names values that are no data, and a series that is not recorded", function()
    local out = prints(base .. [==[
for value in (float("nan"), float("inf"), object(), {1}):
    try:
        blis.run({**base, "workload": {"rate": value}})
    except (ValueError, TypeError) as e:
        print(type(e).__name__, e)
try:
    blis.run(base, series=True)
except blis.BlisError as e:
    print(e)
class Scalar:  # as numpy has them
    def tolist(self):
        return 42
print(blis.run({**base, "seed": Scalar()})["hash"] == blis.run(base)["hash"])
print(len(blis.run({**base, "series_interval_us": 1000000}, series=True)["series"]) > 0)]==])
    assert.equal([==[
ValueError workload.rate: invalid value nan: expected a finite number
ValueError workload.rate: invalid value inf: expected a finite number
TypeError workload.rate: invalid value of type object: expected a number, string, ]==] .. [==[
boolean, list, tuple, or mapping
TypeError workload.rate: invalid value of type set: expected a number, string, ]==] .. [==[
boolean, list, tuple, or mapping
want: series needs experiment.series_interval_us, such as 1000000 for a row per second
True
True
]==], out)
  end)

  it("raises errors with the texts of the program", function()
    local out = prints(base .. [==[
def problem(fn):
    try:
        fn()
    except blis.BlisError as e:
        print(e.code, e, e.where and e.where["line"])
problem(lambda: blis.run({"cluster": {"instnces": 2}}))
problem(lambda: blis.run({**base, "routing": blis.policy("\nreturn function() error('boom') end")}))
endless = blis.policy("return function() while true do end end")
problem(lambda: blis.run({**base, "routing": endless},
                         limits={"call_instructions": 10 ** 6}))
problem(lambda: blis.run({**base, "routing": blis.policy("local f <", name="mine.lua")}))
problem(lambda: blis.run(base, limits={"wall_s": -1}))
problem(lambda: blis.evaluate("least-laoded", scenario="chat-steady"))
problem(lambda: blis.run({**base, "seed": 2 ** 63}))
with blis.Server() as server:
    try:
        server.call("run", {"experiment": {"seed": float("nan")}})
    except ValueError:
        print("open", len(server._open))
    try:
        blis.evaluate("round-robin", scenario="chat-steady", seeds=[1, 2], server=server,
                      progress=lambda p: 1 // 0)
    except ZeroDivisionError:
        print("raised", server.call("describe", {}).result(60) != {})]==])
    local _, message = pcall(require("blis").run, { cluster = { instnces = 2 } })
    small.says(out, "invalid_params " .. message.message:gsub("^%S+:%d+: ", "") .. " None\n")
    small.says(out, "policy.lua:2: boom 2\n")
    small.says(out, "timeout policy.lua: more than 1000000 Lua instructions")
    small.says(out, "mine.lua:1:")
    small.says(out, "invalid_params limits.wall_s: invalid value -1")
    small.says(out, "did you mean 'least-loaded'?")
    small.says(out, "parse_error column")
    small.says(out, "integer '9223372036854775808' is out of range; "
      .. "expected -9223372036854775808 to 9223372036854775807 None\nopen 0\nraised True\n")
  end)

  it("refuses Python functions as policies, and says what to write", function()
    local out = prints(base .. [==[
for experiment in ({**base, "routing": lambda r, i: 0}, {**base, "admission": print},
                   {**base, "routing": ("weighted", {"scorers": [[lambda r, i: 1, 1]]})}):
    try:
        blis.run(experiment)
    except TypeError as e:
        print(e)
        text = str(e)
        lua = text[text.index('"""') + 3:text.rindex('"""')]
        place = "admission" if "admission" in text[:20] else "routing"
        policy = blis.policy(lua)
        if "scorers" in text[:40]:
            policy = ("weighted", {"scorers": [[policy, 1]]})
        assert blis.run({**base, place: policy})["completed"] == 60]==])
    for _, place in ipairs { "routing", "admission", "routing.scorers[1][1]" } do
      small.says(out, place .. ": a Python function cannot be a policy: ")
    end
  end)

  it("leaves no process behind, however Python ends", function()
    assert.equal("done\n", prints(base .. [==[
def children(pid):
    out = subprocess.run(["ps", "-eo", "pid,ppid"], capture_output=True, text=True).stdout
    rows = [line.split() for line in out.splitlines()[1:]]
    own = [int(p) for p, parent in rows if int(parent) == pid]
    return own + [deeper for one in own for deeper in children(one)]
def gone(pids):
    while any(os.path.exists("/proc/%d" % p) and open("/proc/%d/stat" % p).read().split()[2] != "Z"
              for p in pids):
        time.sleep(0.05)
start = ("import sys; sys.path.insert(0, 'share/python'); import blis\n"
         "f = blis.Server().call('run', {'experiment': {'workload': {'rate': 9, 'requests': 9},"
         "'routing': {'lua': 'return function() while true do end end'}},"
         "'limits': {'call_instructions': 10 ** 15, 'all_instructions': 10 ** 15}})\n"
         "print('up', flush=True)\n")
for ending in ("f.result()", "raise SystemExit(3)", "import os; os._exit(1)"):
    one = subprocess.Popen([sys.executable, "-c", start + ending], stdout=subprocess.PIPE)
    one.stdout.readline()
    below = []
    while ending.startswith("f.") and len(below) < 2:
        below = children(one.pid)
    if below:
        one.send_signal(signal.SIGKILL)
    one.wait()
    gone(below)
with blis.Server() as server:
    pid = server.process.pid
gone([pid])
print("done")]==]))
  end)

  it("searches by ask and tell", function()
    assert.equal("done\n", prints(base .. [==[
import search
with blis.Server("--suite", sys.argv[1]) as s:
    study = search.search(s, {"queue": (0.1, 10.0), "prefix": (0.1, 10.0)}, "a", 6, batch=3)
assert len(study.trials) == 6 and study.best[0] > 0
print("done")]==], "spec/eval/small_suite.lua"))
  end)

  it("runs the documentation's first example as Lua does", function()
    local code = assert(files.read "share/python/README.md"):match "```python\n(.-)```"
    local lua = assert(files.read "README.md"):match "```lua\n(.-)```"
    assert.equal(program.run("-e", lua).out, prints(code))
  end)
end)
