-- What the gateway's queue can do is explained by help, each word with its source.
local commands = require "spec.support.commands"
local core = require "blis.core"
local queue = require "blis.feature.queue.options"

--- Of choices of the options, and of the policies of other kinds that stand at the gateway.
local function names()
  local list = {}
  for _, option in ipairs(queue.options) do
    if option.name == "dispatch" or option.name == "fairness" or option.name == "order" then
      for _, choice in ipairs(option.choices) do list[#list + 1] = choice end
    end
  end
  for _, kind in ipairs { "saturation_detectors", "usage_limits" } do
    for _, entry in ipairs(core.policies(kind)) do list[#list + 1] = entry.name end
  end
  list[#list + 1] = "probabilistic"
  list[#list + 1] = "latency-slo"
  return list
end

describe("help #host", function()
  it("explains every policy of the gateway's queue with its source", function()
    local list = names()
    assert.is_true(#list >= 18)
    for _, name in ipairs(list) do
      local text = commands.output_of("help", name)
      assert.matches("\nFrom %S", text, nil, name)
    end
  end)

  it("says what least-service goes by, and where that is set", function()
    local text = commands.output_of("help", "least-service")
    assert.matches("program%-aware%-fairness", text)
    assert.matches("service_half_life_s", text)
  end)
end)

describe("policies", function()
  it("lists them, and tells of one", function()
    local text = commands.output_of("policies", "global-strict")
    assert.equal("fairness of the queue global-strict: arrival order across all tenants "
      .. "of the band\n  from llm-d-router, global-strict-fairness-policy; BLIS (Go)\n", text)
  end)
end)
