#!/usr/bin/env blis
-- A burst of three classes in front of four instances: what does a queue at the gateway do for each
-- of them, what does it cost the others, and what can admission do alone? And what goes wrong with
-- old samples and low thresholds.
local blis = require "blis"

local seconds = blis.seconds

--- People who wait, ordinary requests, and jobs of the night; the jobs come all at once.
local function traffic(rng)
  local list = {}
  local function add(class, rate, from_s, to_s, prompt, output)
    local now_us = seconds(from_s)
    while true do
      now_us = now_us + rng:exponential(1e6 / rate)
      if now_us >= seconds(to_s) then return end
      list[#list + 1] = {
        arrival_us = now_us // 1 | 0, slo_class = class, tenant = class,
        prompt_tokens = rng:integer(prompt // 2, 3 * prompt // 2),
        output_tokens = rng:integer(output // 2, 3 * output // 2),
      }
    end
  end
  add("critical", 6, 0, 120, 400, 100)
  add("standard", 4, 0, 120, 800, 150)
  add("batch", 60, 30, 60, 2000, 300)
  table.sort(list, function(a, b) return a.arrival_us < b.arrival_us end)
  return list
end

--- In order, for a run.
local function each(list)
  local i = 0
  return function()
    i = i + 1
    return list[i]
  end
end

local requests = traffic(blis.rng(11, "three classes"))

local function run(name, experiment)
  experiment.cluster = { model = "qwen3-14b", hardware = "H100", instances = 4,
    snapshot_refresh_us = experiment.scrape_us }
  experiment.scrape_us = nil
  experiment.routing = "least-loaded"
  experiment.workload = each(requests)
  local result = blis.run(experiment)
  local by_class, queue = result.by_slo_class, rawget(result, "queue")
  print(("%-34s %9.0f %9.0f %9.1f %7d %7d %6.0f"):format(name, by_class.critical.ttft_ms.p99,
    by_class.standard.ttft_ms.p99, by_class.batch.ttft_ms.p99 / 1000, by_class.batch.completed,
    queue and queue.expired + queue.rejected + queue.evicted or result.rejected,
    result.duration_us / 1e6))
  return result
end

print("TTFT p99                            critical  standard     batch   batch  turned    last")
print("                                          ms        ms         s    done    away  answer")

-- Without a queue, all requests wait at the engines, and admission can only reject.
local plain = run("no queue", {})
run("admission: shed when saturated", { admission = "gaie-legacy" })

-- With one, what has not been sent yet can still be overtaken.
local concurrency = { "concurrency", max_concurrency = 32 }
local queued = run("queue, 32 per instance", { queue = { saturation = concurrency, ttl_us = 0 } })
run("  and 30 s at most", { queue = { saturation = concurrency, ttl_us = seconds(30) } })
run("  and as soon as there is room", {
  queue = { saturation = concurrency, ttl_us = 0, dispatch = "event" } })
run("  and jobs held back at 60 %", { queue = { saturation = concurrency, ttl_us = 0,
  usage_limit = { "priority-holdback", min_ceiling = 0.6 } } })

-- A gateway that uses the length of the engines' queues reads them as of the last scrape. Between
-- two scrapes, it sends one request per cycle, whatever the engines received in between.
local scraped = run("queue by utilization, scrapes", { scrape_us = 50000, queue = { ttl_us = 0 } })

-- Saturation that stays at 1: jobs fill the detector's threshold, and the gate is closed for
-- everybody, although the engines could take more. Keeping a share free of jobs opens it for the
-- highest class; the middle one, which has a lower ceiling, too, waits longer. Evicting two jobs at
-- most every 500 ms helps less.
local stuck = { "concurrency", max_concurrency = 4 }
local closed = run("stuck: threshold too low", { queue = { saturation = stuck, ttl_us = 0 } })
local evicting = run("  and jobs are evicted", {
  queue = { saturation = stuck, ttl_us = 0, eviction = true } })
local held = run("  and jobs are held back at 50 %", { queue = { saturation = stuck, ttl_us = 0,
  usage_limit = { "priority-holdback", min_ceiling = 0.5 } } })

--- Prints what the metrics show, and fails if they do not show it.
local function claim(text, holds)
  assert(holds, text)
  print(text)
end

local function critical(result) return result.by_slo_class.critical.ttft_ms.p99 end
local function standard(result) return result.by_slo_class.standard.ttft_ms.p99 end
print()
claim("The queue keeps the burst from the important ones", critical(queued) < critical(plain) / 2)
claim("Old samples let the burst through", critical(scraped) > critical(queued))
claim("A threshold too low makes everybody wait", critical(closed) > critical(queued))
claim("Holding back mends that for the highest class", critical(held) < critical(closed))
claim("The class below it pays", standard(held) > standard(closed))
claim("Evicting helps the highest class less than holding back",
  critical(evicting) > critical(held))

-- Strict order starves: the lowest class gets nothing while higher classes keep the instances full.
-- Within a class, tenants may alternate, or the tenant with the least service is first.
print()
print("Tenants of one class, TTFT p50 in ms:         many     few")
for _, fairness in ipairs { "global-strict", "round-robin", "least-service" } do
  local list, rng = {}, blis.rng(12, "two tenants")
  for i = 1, 600 do
    local is_few = i % 20 == 0
    list[i] = { arrival_us = i * 10000 + rng:integer(0, 9999), slo_class = "standard",
      tenant = is_few and "few" or "many", prompt_tokens = 500, output_tokens = 150 }
  end
  local result = blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100" }, workload = each(list),
    queue = { saturation = concurrency, ttl_us = 0, fairness = fairness },
  }
  print(("%-40s %9.0f %7.0f"):format(fairness, result.by_tenant.many.ttft_ms.p50,
    result.by_tenant.few.ttft_ms.p50))
end
