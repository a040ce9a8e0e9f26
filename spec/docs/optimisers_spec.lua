--- The code of docs/optimisers.md, run against stand-ins for the tools that it is for.
local files = require "spec.support.files"
local folders = require "spec.support.folders"
local program = require "spec.support.program"

local has_python = program.shell("command -v python3").status == 0

--- The Python blocks of the page, in their order.
local function blocks()
  local list = {}
  for block in files.read("docs/optimisers.md"):gmatch "```python\n(.-)```" do
    list[#list + 1] = block
  end
  return list
end

--- Runs a block in a folder that has what it needs, with requests enough for a test.
local function run(block)
  local outcome
  folders.with(function(folder)
    assert(os.execute(("mkdir -p %s/bin %s/examples"):format(folder, folder)))
    local function put(name, text)
      local out <close> = assert(io.open(folder .. "/" .. name, "w"))
      out:write(text)
    end
    put("experiment.py", (blocks()[2]:gsub('"requests": 1000', '"requests": 50')))
    put("block.py", block)
    put("examples/sweep.lua", (files.read("examples/sweep.lua"):gsub("requests = 1000",
      "requests = 50")))
    outcome = program.shell(([[ln -s "$(realpath "$BLIS")" %s/bin/blis
      here=$PWD; cd %s; export PATH=$PWD/bin:$PATH BLIS_PROGRAM=$PWD/bin/blis
      PYTHONDONTWRITEBYTECODE=1 PYTHONPATH=$here/share/python:$here/spec/docs/optimisers \
        timeout 200 python3 block.py; status=$?
      [ ! -e tuned.sweep ] || blis sweep table tuned.sweep --format csv | wc -l
      exit $status]]):format(folder, folder))
  end)
  assert.equal("", outcome.err)
  assert.equal(0, outcome.status)
  return outcome.out
end

describe("docs/optimisers.md #host", function()
  if not has_python then return pending("needs python3", function() end) end

  it("searches with the standard library, through a sweep's store", function()
    local out = run(blocks()[1])
    assert.matches("^best %d+%.?%d* %d%.%d+\n9\n$", out)
  end)

  for i, name in ipairs { "Optuna", "Ray Tune", "Ax" } do
    it("searches with " .. name, function()
      local block = blocks()[i + 2]
      assert.matches(({ "import blis, optuna", "from ray import tune", "from ax%.api" })[i], block)
      assert.matches("^best .*prefix", run(block))
    end)
  end
end)
