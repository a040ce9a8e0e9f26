#!/usr/bin/env blis
-- A routing policy with events. It keeps a cost for every instance, like RouteSim's
-- cost_escalation. Sending a request there raises the cost; the end of its prefill and its
-- completion lower it. Requests of the class batch get a low priority in the queue, and are
-- rejected when every instance is busy. A custom metric counts these rejections.
--   blis examples/events.lua
-- Only listed events are delivered, one call each. token_generated and batch_schedule make the
-- engines compute every step: try them, and compare the run times.
local blis = require "blis"

local escalating = {
  name = "escalating",
  new = function(context)
    local costs, refused, most = {}, 0, 0
    for i = 1, context.instances do costs[i] = 0 end
    local function cheapest(instances)
      local best = 1
      for i, instance in ipairs(instances) do
        if costs[instance.index] < costs[instances[best].index] then best = i end
      end
      return best
    end
    return {
      route = function(request, instances)
        local best = cheapest(instances)
        local is_batch = request.slo_class == "batch"
        if is_batch and costs[instances[best].index] > 30 then
          refused = refused + 1
          return blis.reject "too-costly"
        end
        return best, is_batch and -1 or 1
      end,
      observe = function(request, chosen)
        local i = chosen.index
        costs[i] = costs[i] + 1 + request.prompt_tokens / 1000
        most = math.max(most, costs[i])
      end,
      events = { "prefill_complete", "request_complete" },
      on_event = function(event)
        local i = event.instance.index
        local share = event.kind == "prefill_complete" and event.request.prompt_tokens / 1000 or 1
        costs[i] = math.max(0, costs[i] - share)
      end,
      custom_metrics = function() return { refused = refused, most_cost = most } end,
    }
  end,
}

local function run(routing)
  return blis.run {
    cluster = { instances = 4, scheduler = "priority-fcfs" },
    workload = {
      rate = 40, requests = 1200, seed = 7,
      clients = {
        { id = "people", rate_fraction = 0.6, slo_class = "standard",
          input_distribution = { "constant", value = 500 },
          output_distribution = { "constant", value = 150 } },
        { id = "jobs", rate_fraction = 0.4, slo_class = "batch",
          input_distribution = { "constant", value = 2000 },
          output_distribution = { "constant", value = 300 } },
      },
    },
    routing = routing,
  }
end

local listening, least = run(escalating), run "least-loaded"
print(listening)
print(("standard, TTFT p99: %.0f ms; least-loaded: %.0f ms"):format(
  listening.by_slo_class.standard.ttft_ms.p99, least.by_slo_class.standard.ttft_ms.p99))
assert(listening.custom_metrics.refused == listening.rejected)
assert(listening.completed + listening.rejected == listening.arrived)
