--- The Python client, against the program.
local program = require "spec.support.program"
local small = require "spec.support.small"

local function has_python() return program.shell("command -v python3").status == 0 end

local suite = "spec/eval/small_suite.lua"

local function python(code)
  local outcome
  program.with_file(code, function(path)
    outcome = program.shell(("PYTHONPATH=share PYTHONDONTWRITEBYTECODE=1 python3 %s \"$BLIS\" "
      .. "--suite %s"):format(path, suite))
  end)
  return outcome
end

describe("the Python client #host", function()
  if not has_python() then return end

  it("has fewer than 60 lines", function()
    local count = 0
    for _ in io.lines "share/blis_client.py" do count = count + 1 end
    assert.is_true(count < 60, count)
  end)

  it("evaluates, compares, lists and tells of errors", function()
    local result = python [[
import sys
from blis_client import Blis, BlisError
import blis_python as b
with Blis(*sys.argv[1:]) as s:
    r = b.run("a", "least-loaded", s)
    assert r.ttft_p99_ms > 0 and r.algorithm == "least-loaded"
    try:
        r.ttft_p99_ms = 0
        raise SystemExit("it can be written")
    except AttributeError:
        pass
    both = b.compare("a", ["least-loaded", "return function() return 1 end"], s, seeds=[1, 2])
    assert both[0].balance_cv < both[1].balance_cv
    assert "round-robin" in b.list_algorithms(s)
    try:
        b.run("a", "return function() error('boom') end", s)
        raise SystemExit("no error")
    except BlisError as e:
        print(e, e.where["line"])
    import time
    over = []
    for _ in range(5):
        start = time.monotonic()
        try:
            s.evaluate({"lua": "return function() while true do end end"}, scenario="a",
                       limits={"wall_s": 0.2, "instructions": 10 ** 15})
        except BlisError as e:
            assert e.code == "timeout"
        over.append(time.monotonic() - start - 0.2)
    assert min(over) < 0.1, over
    study = b.search(s, {"queue": (0.1, 10.0), "prefix": (0.1, 10.0)}, "a", 6, batch=3)
    assert len(study.trials) == 6 and study.best[0] > 0
print("done")
]]
    assert.equal("", result.err)
    small.says(result.out, "boom 1")
    small.says(result.out, "done")
  end)
end)
