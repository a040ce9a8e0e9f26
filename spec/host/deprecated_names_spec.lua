-- Old names of options, values, flags, and methods still work, and print a warning.
local program = require "spec.support.program"
local small = require "spec.support.small"
local blis = require "blis"

local says = small.says

local function deprecated(old, new)
  return ("'%s' is deprecated and will be removed in blis 2.0.0; use '%s'"):format(old, new)
end

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
      full_prompt = "all", find = "objective", least = "min", turned_away = "unserved" } do
      says(outcome.err, deprecated(old, new))
    end
  end)

  it("of metrics and of answers of autoscalers give the values of the new names", function()
    local outcome = program.run("-e", [[
      local blis = require "blis"
      local figures = require "blis.results.figures"
      local function hash(name)
        local result = blis.run { cluster = { prefill_instances = 1, decode_instances = 1 },
          workload = { rate = 20, requests = 20, prompt_tokens = 100, output_tokens = 4 },
          autoscaler = blis.autoscaler { name = "two", interval_us = 100000,
            decide = function(context)
              local own = context.own or { wish = 0, unconstrained_target = 0 }
              assert(own.wish == own.unconstrained_target)
              return { target = 1, [name] = 2 }
            end } }
        for old, new in pairs {
          ["cache_belief.believed_tokens"] = "cache_prediction.predicted_tokens",
          ["scaling.phases.short.seconds"] = "scaling.phases.under_provisioned.seconds",
          ["scaling.phases.surplus.seconds"] = "scaling.phases.over_provisioned.seconds" } do
          local _, value = figures.find(old, result)
          assert(value and value == select(2, figures.find(new, result)))
        end
        return result.hash
      end
      assert(hash "wish" == hash "unconstrained_target")
    ]])
    assert.equal(0, outcome.status, outcome.err)
    for old, new in pairs { wish = "unconstrained_target",
      ["cache_belief.believed_tokens"] = "cache_prediction.predicted_tokens",
      ["scaling.phases.short.seconds"] = "scaling.phases.under_provisioned.seconds" } do
      says(outcome.err, deprecated(old, new))
    end
  end)

  it("in saved results are read and compared", function()
    local files = require "spec.support.files"
    local experiment = { workload = { rate = 20, requests = 20, prompt_tokens = 100,
      output_tokens = 4 }, autoscaler = function() return 1 end,
      faults = { { kind = "crash", at = blis.seconds(1), instance = "instance_0",
        recover_after = blis.seconds(1) } } }
    local result = blis.run(experiment)
    local path = os.tmpname()
    result:save(path)
    local old = files.read(path)
    for new, name in pairs { cache_prediction = "cache_belief",
      predicted_tokens = "believed_tokens",
      predicted_hit_rate = "believed_hit_rate", instance_counts = "presence",
      under_provisioned = "short", over_provisioned = "surplus" } do
      local count
      old, count = old:gsub('"' .. new .. '":', '"' .. name .. '":')
      assert.equal(1, count, new)
    end
    os.remove(path)
    files.with(old, function(old_path)
      local loaded = blis.load_result(old_path)
      assert.is_true(blis.diff(old_path, result).is_equal)
      assert.same(result.scaling.phases, loaded.scaling.phases)
      assert.equal(#result.instance_counts, #loaded.instance_counts)
    end)
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
