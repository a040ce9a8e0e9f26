#!/usr/bin/env blis
-- The cost of faults: the same traffic with an instance that crashes, hangs, slows down, is
-- partitioned, has stale signals, loses its cache, is reclaimed, or flaps. Also a rolling restart,
-- several faults at once, and random crashes, with and without replacement.
local blis = require "blis"

local seconds = blis.seconds

local function experiment(faults, more)
  local spec = {
    cluster = { model = "qwen3-14b", tp = 1, instances = 4 },
    workload = { rate = 24, requests = 3000, prompt_tokens = 400, output_tokens = 200,
      prefixes = { groups = 12, tokens = 1024, zipf = 1 } },
    routing = { "weighted", scorers = "prefix-affinity:1,queue-depth:2" },

    slo_targets = { default = { ttft_ms = 1000, e2e_ms = 15000 } },
    faults = faults,
  }
  for key, value in pairs(more or {}) do spec[key] = value end
  return spec
end

local function show(name, r)
  print(("%-36s %5d %5d %7d %8.1f %% %8.0f %8.0f"):format(name, r.completed, r.failed,
    #(rawget(r, "faults") or {}), 100 * r.goodput.attainment, r.ttft_ms.p99, r.e2e_ms.p99))
end

print(("%-36s %5s %5s %7s %10s %8s %8s"):format("fault of instance 2 of 4", "done", "lost",
  "faults", "good", "TTFT p99", "E2E p99"))
show("none", blis.run(experiment()))

local function one(fault)
  fault.at, fault.instance = seconds(30), 2
  return { fault }
end

show("crash, requests fail",
  blis.run(experiment(one { kind = "crash", recover_after = seconds(30) })))
show("crash, requests are rerouted", blis.run(experiment(one {
  kind = "crash", recover_after = seconds(30), requests = "rerouted" })))
show("crash, clients try after 2 s", blis.run(experiment(one {
  kind = "crash", recover_after = seconds(30), requests = "retried",
  retry_after = seconds(2) })))
show("hang, killed after 20 s", blis.run(experiment(one {
  kind = "hang", recover_after = seconds(20), restart_time = seconds(10),
  requests = "rerouted" })))
show("three times as slow for 30 s", blis.run(experiment(one {
  kind = "slow", factor = 3, recover_after = seconds(30) })))
show("not seen for 30 s", blis.run(experiment(one {
  kind = "partition", recover_after = seconds(30) })))
show("reclaimed with 5 s of notice", blis.run(experiment(one {
  kind = "reclaim", notice = seconds(5), requests = "rerouted" })))
show("signals only every 5 s", blis.run(experiment(one { kind = "stale", every = seconds(5),
  recover_after = seconds(60) })))
show("its cache is emptied", blis.run(experiment(one { kind = "lost-cache" })))
show("flapping every 15 s", blis.run(experiment(one {
  kind = "flap", times = 4, every = seconds(15), recover_after = seconds(5),
  requests = "rerouted" })))
show("all restart, one every 20 s", blis.run(experiment {
  { kind = "rolling-restart", at = seconds(10), every = seconds(20), notice = seconds(5),
    recover_after = seconds(10), requests = "rerouted" } }))
show("2 slow, 3 crashes, 4 is seen late", blis.run(experiment {
  { kind = "slow", at = seconds(20), instance = "instance_1", factor = 2,
    recover_after = seconds(40) },
  { kind = "crash", at = seconds(30), instance = "instance_2", recover_after = seconds(30),
    restart_time = seconds(10), requests = "rerouted" },
  { kind = "stale", at = seconds(20), instance = "instance_3", recover_after = seconds(60) },
}))

local crashes = { { kind = "crash", mtbf = seconds(120), requests = "rerouted" } }
show("crashes at random, nobody comes", blis.run(experiment(crashes)))
show("crashes at random, back in 20 s", blis.run(experiment {
  { kind = "crash", mtbf = seconds(120), recover_after = seconds(20), requests = "rerouted" } }))
show("crashes at random, replaced in 20 s", blis.run(experiment(crashes, {
  autoscaler = function() end, scaling = { loading_delay_us = seconds(20) } })))

-- The same faults for every routing policy: which of them notices?
print()
local spec = experiment { { kind = "slow", at = seconds(20), instance = 2, factor = 4,
  recover_after = seconds(60) } }
spec.routing = { "round-robin", "least-loaded", spec.routing }
print(blis.compare(spec))
