#!/usr/bin/env blis
-- Earliest deadline first in the wait queue; the request with the least progress is preempted.
-- Use it when requests that miss their deadline are worthless.
local blis = require "blis"

local function run(scheduler, preemption)
  return blis.run {
    cluster = { instances = 1, max_num_seqs = 8, kv_blocks = 600 },
    workload = { num_requests = 400, aggregate_rate = 12, clients = {
      { id = "fast", timeout = 8000000, input_distribution = { "exponential", mean = 200 },
        output_distribution = { "exponential", mean = 60 } },
      { id = "slow", timeout = 60000000, input_distribution = { "exponential", mean = 600 },
        output_distribution = { "exponential", mean = 120 } },
    } },
    scheduler = scheduler, preemption = preemption,
  }
end

local function earliest_deadline(a, b)
  return a.deadline_us < b.deadline_us
end

local function least_progress(running)
  local victim = #running
  for i = #running - 1, 1, -1 do
    if running[i].progress_tokens < running[victim].progress_tokens then victim = i end
  end
  return victim
end

local fcfs = run()
print("fcfs", fcfs.completed, fcfs.timed_out)
local edf = run(earliest_deadline, least_progress)
print("edf", edf.completed, edf.timed_out)
