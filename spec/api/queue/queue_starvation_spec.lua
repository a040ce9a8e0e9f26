-- A class that starves at the gateway: the summary says where to look.
local blis = require "blis"

local function starving_run(queue)
  local n = 0
  return blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100", instances = 1 }, queue = queue,
    workload = function()
      n = n + 1
      if n <= 200 then
        return { arrival_us = n, prompt_tokens = 100, output_tokens = 20,
          slo_class = n % 2 == 0 and "critical" or "batch" }
      end
    end,
  }
end

describe("a class that starves in the gateway's queue", function()
  it("has the queue named first among what to look at", function()
    local text = tostring(starving_run { bands = { { priority = -1, max_requests = 1 } },
      saturation = { "concurrency", max_concurrency = 1 } })
    assert.matches("class batch starves", text, 1, true)
    assert.matches("check the gateway's queue, scheduler, priority, and admission", text, 1, true)
  end)
end)
