--- Results: the figures of one run, and how they are printed.
local errors = require "blis.errors"
local format = require "blis.format"
local report = require "blis.report"

local result = {}

---@class blis.Percentiles in milliseconds
---@field count integer
---@field mean number
---@field min number
---@field max number
---@field p50 number
---@field p75 number
---@field p90 number
---@field p95 number
---@field p99 number

---@class blis.Counts requests by how they ended; arrived is the sum of all below but length_capped
---@field arrived integer
---@field completed integer
---@field length_capped integer part of completed: stopped at the longest sequence of the model
---@field rejected integer
---@field timed_out integer
---@field unservable integer
---@field still_running integer
---@field still_queued integer
---@field still_arriving integer

---@class blis.Group : blis.Counts one SLO class, tenant or model
---@field name string
---@field ttft_ms blis.Percentiles
---@field itl_ms blis.Percentiles
---@field e2e_ms blis.Percentiles
---@field prompt_tokens integer
---@field output_tokens integer

---@class blis.Cost of all GPUs from the start to the end of a run
---@field gpus integer
---@field gpu_hours number
---@field usd_per_gpu_hour number? nil = not known, as for the two below
---@field usd number?
---@field usd_per_million_output_tokens number?

---@class blis.Result : blis.Counts
---@field routing string what the policy is called
---@field hash string 16 hexadecimal digits over all request records; equal runs have equal hashes
---@field duration_us integer
---@field ttft_ms blis.Percentiles time to first token
---@field itl_ms blis.Percentiles inter-token latency
---@field e2e_ms blis.Percentiles arrival to last token
---@field scheduling_delay_ms blis.Percentiles arrival to first admission to a batch
---@field requests_per_sec number completed
---@field tokens_per_sec number output tokens
---@field prompt_tokens integer
---@field output_tokens integer
---@field cache_hit_rate number 0 to 1, mean over the instances
---@field cache_hit_rate_overall number blocks found / blocks looked for
---@field preemptions integer
---@field balance number Jain's index of requests per instance, 1 = even
---@field cost blis.Cost
---@field requests_per_instance integer[]
---@field instances table[] figures of every instance
---@field keeps_records boolean false: with keep_records = false, none of the next four are there
---@field by_slo_class table<string|integer, blis.Group>
---@field by_tenant table<string|integer, blis.Group>
---@field by_model table<string|integer, blis.Group>
---@field requests userdata a list of all requests and what became of them
---@field setup table model, hardware, tp, kv_blocks, ... as they were worked out

local list_meta = {
  __tostring = function(list)
    local parts = {}
    for i, count in ipairs(list) do parts[i] = format.count(count) end
    return table.concat(parts, " ")
  end,
}

local result_meta = { __name = "blis.result", __tostring = report.summary }

-- What only the records of the requests tell.
local of_records = { by_slo_class = true, by_tenant = true, by_model = true, requests = true,
  has_sessions = true }

function result_meta.__index(self, key)
  if type(key) ~= "string" then return nil end
  if of_records[key] then
    errors.invalid("result.%s needs records, and this run kept none (keep_records = false)", key)
  end
  error(("a result has no field '%s'"):format(key), 2)
end

--- What the GPUs of a run cost; prices are nil when the catalogue has none.
local function cost_of(summary)
  local setup = summary.setup
  local price = setup.gpu_price_per_hour > 0 and setup.gpu_price_per_hour or nil
  local gpus = setup.instances * setup.tp * setup.dp
  local gpu_hours = gpus * summary.duration_us / 3.6e9
  local usd = price and gpu_hours * price
  local tokens = summary.output_tokens
  return {
    gpus = gpus, gpu_hours = gpu_hours, usd_per_gpu_hour = price, usd = usd,
    usd_per_million_output_tokens = usd and tokens > 0 and usd / tokens * 1e6 or nil,
  }
end

--- Makes a result of the summary that the core returns.
---@param summary table
---@param config table
---@return blis.Result
function result.new(summary, config)
  local counts = {}
  for i, instance in ipairs(summary.instances) do counts[i] = instance.requests end
  summary.requests_per_instance = setmetatable(counts, list_meta)
  summary.routing = config.routing.label
  summary.cost = cost_of(summary)
  return setmetatable(summary, result_meta)
end

return result
