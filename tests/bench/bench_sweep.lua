-- bench_sweep.lua - what sweeps cost beside their trials: empty trials, parallel efficiency of
-- trials of 50 ms, and starting workers with a large workload in memory.
local blis = require "blis"
local core = require "blis.core"

local jobs = core.processors()

--- Seconds that fn takes.
local function seconds(fn)
  local start = core.clock_us()
  fn()
  return (core.clock_us() - start) / 1e6
end

--- Computes for about this long, by the processor's time and not by the clock, so that others who
--- use the machine are not taken for this one.
local function compute(cpu_seconds)
  local start = os.clock()
  while os.clock() - start < cpu_seconds do end -- luacheck: ignore
end

local function indices(count)
  local list = {}
  for i = 1, count do list[i] = i end
  return list
end

--- Seconds of a sweep by the clock, and those that the parent computed.
local function run(count, trial, options)
  local sweep = blis.sweep { parameters = { { "i", indices(count) } }, trial = trial }
  options.quiet = true
  local result
  local cpu = os.clock()
  local spent = seconds(function() result = sweep:run(options) end)
  assert(#result.failures == 0 and result.missing == 0)
  return spent, os.clock() - cpu
end

local function empty_trials()
  local count = 40000
  local store = os.tmpname()
  os.remove(store)
  local bare, parent = run(count, function() return 1 end, { jobs = jobs })
  local kept = run(count, function() return 1 end, { jobs = jobs, store = store })
  os.execute("rm -rf " .. store)
  print(("empty trials         %8.0f /s, %8.0f /s with a store   (target 20,000); "
    .. "parent %.1f us each"):format(count / bare, count / kept, parent / count * 1e6))
end

local function efficiency()
  local count, cpu = 40 * jobs, 0.05
  local trial = function() compute(cpu) return 1 end
  local one = run(count, trial, { jobs = 1 })
  local all, parent = run(count, trial, { jobs = jobs })
  print(("trials of 50 ms      %.2f s with 1 worker, %.2f s with %d: efficiency %.1f %%   "
    .. "(target 95 %%); parent %.2f %% of the work"):format(one, all, jobs, 100 * one / all / jobs,
    100 * parent / (count * cpu)))
end

--- Resident memory in MB.
local function resident_mb()
  local file <close> = io.open("/proc/self/statm")
  local pages = file and file:read("a"):match("^%d+ (%d+)")
  return pages and tonumber(pages) * 4096 / 1e6 or 0
end

local function large_workload()
  local small = run(jobs, function() return 1 end, { jobs = jobs })
  local list = blis.workload { rate = 1000, requests = 6000000, prompt_tokens = 200,
    output_tokens = 20, prefixes = { groups = 10, tokens = 100 } }
  local mb = resident_mb()
  local large = run(jobs, function() return #list end, { jobs = jobs })
  print(("starting %d workers   %.1f ms, %.1f ms with a workload of %.0f MB"):format(jobs,
    1000 * small, 1000 * large, mb))
end

empty_trials()
efficiency()
large_workload()
