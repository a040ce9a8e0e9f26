-- Old names of options, values, flags, and methods still work, and print a warning.
local program = require "spec.support.program"
local small = require "spec.support.small"

local says = small.says

describe("deprecated names #host", function()
  it("of options and values give the results of the new names", function()
    local outcome = program.run("-e", [[
      local blis = require "blis"
      local function hash(disaggregation)
        local result = blis.run { cluster = { prefill_instances = 1, decode_instances = 1 },
          workload = { rate = 20, requests = 20, prompt_tokens = 100, output_tokens = 4 },
          disaggregation = disaggregation }
        assert(#result.requests:turned_away() == #result.requests:unserved())
        return result.hash
      end
      local old = hash { on_no_room = "drop", charged = "full_prompt" }
      assert(old == hash { on_destination_full = "drop", transfer_content = "all" })
      local found = blis.capacity { find = "least", to = 2, targets = { y = 1 }, replications = 1,
        trial = function(p) return { y = p.rate } end }
      print(found.objective)
    ]])
    assert.equal(0, outcome.status, outcome.err)
    assert.equal("min\n", outcome.out)
    for old, new in pairs { on_no_room = "on_destination_full", charged = "transfer_content",
      full_prompt = "all", find = "objective", least = "min" } do
      says(outcome.err, ("'%s' is deprecated, and gone in blis 2.0.0: say '%s'"):format(old, new))
    end
  end)

  it("of flags work", function()
    local few = { "--num-requests", "5", "--prefill-instances", "1", "--decode-instances", "1" }
    local outcome = program.run("run", "--pd-on-no-room", "drop", "--pd-charged", "full_prompt",
      table.unpack(few))
    assert.equal(0, outcome.status, outcome.err)
    says(outcome.err, "'--pd-on-no-room' is deprecated")
    says(outcome.err, "'full_prompt' is deprecated")
  end)
end)
