--- What of a scenario a candidate decides, and what it does not.
local blis = require "blis"
local decides = require "blis.eval.decides"
local small = require "spec.support.small"

local suite = { tie = "random" }

local function experiment(options, policies, is_oracle)
  return decides.experiment(options, policies, suite, { oracle = is_oracle or false })
end

local function fails(says, options, policies)
  small.says(small.message_of(experiment, options, policies), says)
end

describe("a candidate", function()
  it("scales only where the scenario says how far", function()
    local scaling = { max_replicas = 4 }
    assert.equal("hpa", experiment({ scaling = scaling }, { autoscaler = "hpa" }).autoscaler)
    fails("has no 'scaling'", {}, { autoscaler = "hpa" })
    fails("uses future information", { scaling = scaling }, { autoscaler = "oracle" })
    assert.equal("oracle", experiment({ scaling = scaling }, { autoscaler = "oracle" },
      true).autoscaler)
  end)

  it("escalates, and does not say how good answers are", function()
    local own = { chain = { "small", "large" }, quality = function() return -1 end }
    local function escalate() return true end
    for _, given in ipairs { escalate, { escalate = escalate }, { name = "x",
      escalate = escalate } } do
      local made = experiment({ cascade = own }, { cascade = given }).cascade
      assert.equal(escalate, made.escalate)
      assert.equal(own.quality, made.quality)
      assert.equal(own.chain, made.chain)
    end
    fails("this scenario has no cascade", {}, { cascade = escalate })
    fails("cannot set 'quality'", { cascade = own }, { cascade = { quality = escalate } })
    fails("cannot set 'chain'", { cascade = own }, { cascade = { chain = { "small" } } })
  end)

  it("hands off, over the links of the scenario", function()
    local own = { bandwidth_gb_s = 10 }
    local made = experiment({ disaggregation = own }, { disaggregation = "always" })
    assert.same({ bandwidth_gb_s = 10, decider = "always" }, made.disaggregation)
    assert.same({ bandwidth_gb_s = 10 }, own)
    fails("cannot set 'bandwidth_gb_s'", { disaggregation = own },
      { disaggregation = { bandwidth_gb_s = 99 } })
  end)

  it("leaves ties to the suite, where its picker has any", function()
    local function tie_of(routing)
      local made = experiment({}, { routing = routing }).routing
      local definition = require("blis.core").policy_definition(made)
      for _, one in ipairs(definition and definition.parameters or {}) do
        if one.name == "tie" then return one.value end
      end
    end
    assert.equal("random", tie_of "weighted")
    assert.equal("random", tie_of "lmetric")
    assert.equal("random", tie_of(blis.router { "weighted", scorers = "queue-depth:1" }))
    assert.is_nil(tie_of { "weighted", scorers = "queue-depth:1", picker = "softmax" })
    assert.is_nil(tie_of "round-robin")
    fails("breaks ties by 'random'", {}, { routing = { "weighted", tie = "first" } })
    for _, stage in ipairs { "prefill_routing", "decode_routing", "encode_routing" } do
      fails("breaks ties by 'random'", { disaggregation = "always" },
        { disaggregation = { [stage] = { "least-loaded", tie = "first" } } })
      assert.is_userdata(experiment({ disaggregation = "always" },
        { disaggregation = { [stage] = "least-loaded" } }).disaggregation[stage])
    end
  end)
end)
