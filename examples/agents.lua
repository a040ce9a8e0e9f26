#!/usr/bin/env blis
-- Agents: tasks of many requests that wait for each other and for tools. What counts is how long a
-- task takes, not how long a request does.
local blis = require "blis"

local function run(preset, rate, options)
  return blis.run {
    cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4,
      scheduler = options.scheduler, max_num_seqs = options.max_num_seqs },
    workload = { preset = preset, rate = rate, count = 100, timeout_us = 0 },
    routing = options.routing, priority = options.priority,
  }
end

local function heading(title)
  print(("%-32s %7s %7s %7s  %s"):format(title, "mean", "p50", "p99", "cache hits, time in queues"))
end

local function row(name, result)
  local tasks = result.tasks
  print(("  %-30s %7.1f %7.1f %7.1f  %6.1f %%  %6.1f %%"):format(name, tasks.task_ms.mean / 1000,
    tasks.task_ms.p50 / 1000, tasks.task_ms.p99 / 1000, result.cache_hit_rate_overall * 100,
    tasks.queue_ms.mean / tasks.task_ms.mean * 100))
end

local routings = {
  { "round-robin", "round-robin" },
  { "prefix-affinity and queue depth",
    { "weighted", scorers = { { "prefix-affinity", 3 }, { "queue-depth", 2 } } } },
}

-- A turn begins with everything before it, so it can pay to come back to the instance that has that
-- in its cache. It does for searchers, whose contexts are new and grow fast. Coding agents all
-- begin with the same long prompt: affinity to that piles them up on few instances, and more hits
-- make their tasks no shorter.
for _, kind in ipairs { "deep-research", "coding-agent" } do
  heading(kind .. ", s per task")
  for _, routing in ipairs(routings) do
    row(routing[1], run(kind, 0.2, { routing = routing[2] }))
  end
  print()
end

-- Where batches are small, requests wait. Least attained service admits programs with little
-- service so far: half of the tasks end sooner, the longest tasks a little later.
heading "coding-agent in batches of 6"
for _, priority in ipairs { "constant", "least-attained-service" } do
  local is_plain = priority == "constant"
  row(is_plain and "first come, first served" or priority, run("coding-agent", 0.3, {
    max_num_seqs = 6, scheduler = "priority-fcfs", routing = "least-loaded",
    priority = is_plain and priority or { priority, measure = "time" } }))
end
