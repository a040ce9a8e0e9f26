--- The evaluators for frameworks, each against a stub loop that keeps the framework's contract.
local adapters = require "blis.eval.adapters"
local program = require "spec.support.program"
local small = require "spec.support.small"

local suite = "spec/eval/small_suite.lua"

describe("an adapter #host", function()
  if program.shell("command -v python3").status ~= 0 then return end

  for _, name in ipairs(adapters.names) do
    it("keeps the contract of " .. name, function()
      local result = program.shell(([[folder=$(mktemp -d) || exit 1
        "$BLIS" eval $SUITE --emit-adapter $NAME >$folder/evaluator.py || exit 1
        PYTHONDONTWRITEBYTECODE=1 python3 spec/eval/stub_loops.py $NAME $folder "$BLIS"
        status=$?; rm -rf "$folder"; exit $status]]):gsub("%$(%u+)",
        { SUITE = suite, NAME = name }))
      assert.equal("", result.err)
      assert.equal("kept\n", result.out)
    end)
  end

  it("is for a framework that is known", function()
    small.says(program.run("eval", suite, "--emit-adapter", "other").err, "skydiscover-container")
  end)
end)
