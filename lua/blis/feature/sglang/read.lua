--- SGLang's scheduler, for the core.
local backend_options = require "blis.feature.backend_options"
local catalogue = require "blis.catalogue"
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local section = require "blis.feature.sglang.options"

local sglang = {}

local replaced = {
  max_num_batched_tokens = "chunked_prefill_size", max_num_seqs = "max_running_requests",
  async_scheduling = "disable_overlap_schedule",
}

--- Options as given, with SGLang's defaults behind them.
---@param given table of a cluster or a group
---@param path string
---@return table
function sglang.fill(given, path)
  local own = backend_options.own(given, path, "sglang", replaced)
  return backend_options.fill(given, {
    sglang = own, async_scheduling = not own.disable_overlap_schedule,
    block_size = backend_options.block_size(given, path, "sglang", "page_size", 1),
  })
end

-- SGLang, get_device_memory_capacity and the chunk sizes that follow from it: GiB of a GPU.
local chunks = { { 35, 2048 }, { 60, 4096 }, { 160, 8192 }, { math.huge, 16384 } }

local function usual_chunk(values)
  local name = values.hardware or catalogue.usual_hardware(values.model, values.catalogue)
  local is_known, _, gib = pcall(core.gpu_memory, name, values.catalogue)
  gib = is_known and gib or 80
  for _, row in ipairs(chunks) do
    if gib < row[1] then return row[2] end
  end
end

--- SGLang's rule: 512 requests for each longest sequence that the KV cache stores.
local function usual_requests(values)
  local whole = { horizon_us = math.maxinteger }
  for key, value in pairs(values) do whole[key] = value end
  whole.sglang = nil
  local is_known, facts = pcall(core.engine_facts, whole)
  local longest = is_known and facts.max_model_len or 0
  if longest == 0 then return 2048 end
  return math.max(2048, math.min(4096, facts.kv_tokens * 512 // longest))
end

-- SGLang's new_token_ratio: environment variables of the server, at their defaults.
local init_ratio, least_factor, decay_steps = 0.7, 0.14, 600

--- The options as the core takes them.
---@param given table
---@param path string
---@param profile? string
---@param values table options of the cluster or the group, changed
---@return table
function sglang.read(given, path, profile, values)
  backend_options.require_design(path, "sglang", profile)
  local own = schema.read(section, given, path, profile)
  if own.schedule_policy and values.scheduler ~= "fcfs" then
    errors.invalid("%s.schedule_policy: scheduler is %s, and both order the wait queue; expected "
      .. "one of them", path, errors.show(values.scheduler))
  end
  local chunk = own.chunked_prefill_size or usual_chunk(values)
  if chunk == 0 then
    schema.raise_value(path .. ".chunked_prefill_size", 0, "at least 1, or -1 for no chunks")
  end
  if chunk > 0 and chunk < values.block_size then
    errors.invalid("%s.chunked_prefill_size: invalid value %d: expected at least the page size, "
      .. "%d, or -1 for no chunks", path, chunk, values.block_size)
  end
  values.is_usual.max_num_batched_tokens = own.chunked_prefill_size == nil
  values.is_usual.max_num_seqs = own.max_running_requests == nil
  values.max_num_batched_tokens = chunk > 0 and chunk or own.max_prefill_tokens
  values.max_num_seqs = own.max_running_requests or 2048
  if not own.max_running_requests then values.max_num_seqs = usual_requests(values) end
  local ratio = math.min(init_ratio * own.schedule_conservativeness, 1.0)
  return {
    chunk_tokens = math.max(chunk, 0), max_prefill_tokens = own.max_prefill_tokens,
    init_ratio = ratio, min_ratio = ratio * least_factor, decay_steps = decay_steps,
    prefill_decode_interval = own.prefill_decode_interval,
    policy = own.schedule_policy or "fcfs", has_policy = own.schedule_policy ~= nil,
    mixes = own.enable_mixed_chunk, has_cache = not own.disable_radix_cache,
    overlaps = not own.disable_overlap_schedule,
    conservativeness = own.schedule_conservativeness,
  }
end

return sglang
