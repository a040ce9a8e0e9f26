--- Workload functions that do not end: an error names the function.
local blis = require "blis"
local small = require "spec.support.small"

local function message_of(workload)
  return small.message_of(blis.run, { workload = workload })
end

describe("a workload function without an end", function()
  it("is named when its time advances #lengthy", function()
    local time_us = 0
    local message = message_of(function()
      time_us = time_us + 1
      return { arrival_us = time_us, prompt_tokens = 10, output_tokens = 1 }
    end)
    small.says(message, "workload: request 5000001: the function at ")
    assert.matches("endless_workload_spec.lua:%d+ returned 5000000 requests and no nil; return "
      .. "nil at the end, or give requests = COUNT", message)
  end)

  it("is named when its time stands still, also before a horizon #lengthy", function()
    for _, horizon_us in ipairs { 0, 1000000 } do
      local workload = { horizon_us = horizon_us > 0 and horizon_us or nil, generator = function()
        return { arrival_us = 5, prompt_tokens = 10, output_tokens = 1 }
      end }
      local message = message_of(workload)
      assert.matches("endless_workload_spec.lua:%d+ returned 1000000 requests in a row with "
        .. "arrival_us = 5; advance arrival_us", message)
    end
  end)

  it("is named when its graphs all start at one time", function()
    local message = message_of { horizon_us = 1000000, graphs = function()
      return { start_us = 7, { id = "a", prompt_tokens = 1, output_tokens = 1 } }
    end }
    assert.matches("endless_workload_spec.lua:%d+ returned 100000 graphs in a row with start_us = "
      .. "7; advance start_us, or set count", message)
  end)
end)

describe("a workload function with a stated number", function()
  it("may return requests of one time", function()
    local function generator()
      return { arrival_us = 5, prompt_tokens = 10, output_tokens = 1 }
    end
    local result = blis.run { workload = { requests = 2000, generator = generator } }
    assert.equal(2000, result.arrived)
  end)

  it("may start graphs of one time", function()
    local result = blis.run { workload = { count = 300,
      graphs = function()
        return { start_us = 7, { id = "a", prompt_tokens = 1, output_tokens = 1 } }
      end } }
    assert.equal(300, result.arrived)
  end)
end)
