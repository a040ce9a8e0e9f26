--- Measured runs of engines and their simulation: means of TTFT, TPOT, and E2E in milliseconds.
---
--- The figures may be cited but the files are not part of this repository, so they are read from
--- folders that are given: that of published.lua, and that of stages.lua.
local measured_range = require "blis.results.measured_range"
local published = require "published"
local stages = require "stages"

local measured = {}

---@class validation.Row
---@field name string
---@field tpot number
---@field ttft? number nil = the source does not describe how requests arrived
---@field e2e? number

---@class validation.Run
---@field source string "InferenceX", "Qwen3-32B", or "stages"
---@field group string model and GPU
---@field part string what separates runs of a group: TP degree and version, or workload
---@field versions integer[] minor numbers of the versions of vLLM that were in use
---@field model string
---@field gpu string
---@field rows validation.Row[]
---@field simulate fun(variant: validation.Variant): table[], blis.Result

---@class validation.Variant
---@field latency_model string
---@field catalogue? string[] files with other constants
---@field kernel_tables? boolean
---@field rounds? integer requests of closed loops, relative to their concurrency; default: 10

local function has(path)
  local file = io.open(path)
  if file then file:close() end
  return file ~= nil
end

--- All runs of the folders that exist.
---@param folders string[]
---@return validation.Run[]
function measured.runs(folders)
  local runs = {}
  for _, folder in ipairs(folders) do
    local list = has(folder .. "/inferencex_vllm.csv") and published.runs(folder)
      or has(folder .. "/vllm_stages.csv") and stages.runs(folder) or {}
    table.move(list, 1, #list, #runs + 1, runs)
  end
  return runs
end

---@class validation.Error
---@field run validation.Run
---@field row validation.Row
---@field tpot number relative, above 0 = simulated slower than measured
---@field ttft? number
---@field e2e? number
---@field prefill_share number of the time of steps: steps with prompt tokens
---@field waits boolean requests waited for KV blocks
---@field regime? table
---@field values table<string, number> of blis.results.measured_range

local function prefill_share_of(result)
  local prefill_us, busy_us = 0, 0
  for _, instance in ipairs(result.instances) do
    prefill_us, busy_us = prefill_us + instance.prefill_us, busy_us + instance.busy_us
  end
  return busy_us > 0 and prefill_us / busy_us or 0
end

--- The errors of a variant on the rows of runs, in their order.
---@param runs validation.Run[]
---@param variant validation.Variant
---@return validation.Error[]
function measured.errors(runs, variant)
  local list = {}
  for _, run in ipairs(runs) do
    local means, result = run.simulate(variant)
    local share = prefill_share_of(result)
    local values = rawget(result.setup, "regime") and measured_range.of_group(
      measured_range.of_run(result), result.setup, share)
    local waits = result.preemptions > 0 or result.kv_allocation_failures > 0
    for i, row in ipairs(run.rows) do
      local mean = assert(means[i], row.name .. ": no request completed")
      list[#list + 1] = {
        run = run, row = row, prefill_share = share, waits = waits,
        regime = rawget(result.setup, "regime"), tp = result.setup.tp, values = values,
        tpot = mean.tpot / row.tpot - 1, ttft = row.ttft and mean.ttft / row.ttft - 1,
        e2e = row.e2e and mean.e2e / row.e2e - 1,
      }
    end
  end
  return list
end

--- Mean absolute error; nil without rows that state it.
---@param errors validation.Error[]
---@param name "tpot" | "ttft" | "e2e"
---@return number?
function measured.mean(errors, name)
  local sum, count = 0.0, 0
  for _, one in ipairs(errors) do
    if one[name] then sum, count = sum + math.abs(one[name]), count + 1 end
  end
  return count > 0 and sum / count or nil
end

--- The absolute error that a share of the rows is within.
---@param errors validation.Error[]
---@param name "tpot" | "ttft" | "e2e"
---@param share number
---@return number?
function measured.quantile(errors, name, share)
  local list = {}
  for _, one in ipairs(errors) do
    if one[name] then list[#list + 1] = math.abs(one[name]) end
  end
  table.sort(list)
  return list[math.max(1, math.ceil(share * #list - 1e-9))]
end

return measured
