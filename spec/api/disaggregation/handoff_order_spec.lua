--- What is due of hand-offs is not in the queue of the other events, and comes in order with them.
local blis = require "blis"

--- A workload of these requests.
local function of(rows)
  local i = 0
  return function()
    i = i + 1
    return rows[i]
  end
end

describe("events of hand-offs", function()
  it("are what happens next, in order", function()
    local rows = {}
    for i = 1, 80 do
      local arrival_us = i * 50000
      rows[i] = { arrival_us = arrival_us, prompt_tokens = 600, output_tokens = 60,
        deadline_us = i % 3 == 0 and arrival_us + 2000000 or 0 }
    end
    local sim = blis.simulation {
      cluster = { prefill_instances = 2, decode_instances = 2, kv_blocks = 300 },
      disaggregation = { bandwidth_gb_s = 0.25, transfer_timeout_us = 1800000, decider = "always" },
      workload = of(rows),
    }
    local handoffs, last_us = 0, 0
    while sim.next_us do
      local events = sim:events()
      local first = events[1]
      assert.equal(first.time_us, sim.next_us)
      for i = 2, #events do assert.is_true(events[i - 1].time_us <= events[i].time_us) end
      assert.is_true(first.time_us >= last_us)
      assert.is_true(sim:step())
      if first.kind ~= "instance" then assert.equal(first.time_us, sim.now_us) end
      handoffs = handoffs + (first.kind == "hand-off" and 1 or 0)
      last_us = first.time_us
    end
    local result = sim:run()
    assert.is_true(handoffs > 100)
    assert.is_true(result.handoffs.timed_out > 5 and result.handoffs.failed > 5)
    assert.is_true(result.handoffs.completed > 5)
  end)

  --- What was logged, with a second request that arrives then.
  local function log_of(arrival_us)
    local log = {}
    local function note(text, time_us) log[#log + 1] = text .. " " .. time_us end
    blis.run {
      cluster = { prefill_instances = 1, decode_instances = 1, routing_latency_us = 700 },
      disaggregation = { base_latency_ms = 5, decider = "always" },
      workload = of {
        { arrival_us = 0, prompt_tokens = 300, output_tokens = 20 },
        arrival_us and { arrival_us = arrival_us, prompt_tokens = 300, output_tokens = 20 },
      },
      routing = blis.router {
        name = "first",
        events = { "kv_transfer_complete" },
        route = function(request)
          if request.stage == "decode" then note("routed", request.arrival_us + 700) end
          return 1
        end,
        on_event = function(event) note("moved", event.time_us) end,
      },
    }
    return log
  end

  it("come after the routing of their time", function()
    local alone = log_of()
    assert.equal(2, #alone)
    local moved_us = alone[2]:match "moved (%d+)"
    local log = log_of(moved_us - 700)
    assert.equal("routed " .. moved_us, log[2])
    assert.equal("moved " .. moved_us, log[3])
  end)

  it("end those of one last moment in the order in which they began to wait", function()
    local ended = {}
    local rows = {}
    for i, deadline_us in ipairs { 10000000, 20000000, 10000000, 10000000 } do
      rows[i] = { arrival_us = i, prompt_tokens = 100, output_tokens = 5,
        deadline_us = deadline_us }
    end
    local result = blis.run {
      cluster = { prefill_instances = 1, decode_instances = 1 },
      disaggregation = { bandwidth_gb_s = 1e-6, decider = "always" },
      workload = of(rows),
      routing = blis.router {
        name = "first",
        events = { "request_failed" },
        route = function() return 1 end,
        on_event = function(event) ended[#ended + 1] = event.request.id:match "%d+" end,
      },
    }
    assert.equal(4, result.handoffs.timed_out)
    assert.equal("0 2 3 1", table.concat(ended, " "))
  end)
end)
