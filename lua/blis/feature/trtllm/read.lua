--- TensorRT-LLM's scheduler, for the core.
local backend_options = require "blis.feature.backend_options"
local schema = require "blis.config.schema"
local section = require "blis.feature.trtllm.options"

local trtllm = {}

local replaced = {
  max_num_batched_tokens = "max_num_tokens", max_num_seqs = "max_batch_size",
  async_scheduling = "disable_overlap_scheduler",
}

--- Options as given, with TensorRT-LLM's defaults behind them.
---@param given table of a cluster or a group
---@param path string
---@return table
function trtllm.fill(given, path)
  local own = backend_options.own(given, path, "trtllm", replaced)
  return backend_options.fill(given, {
    trtllm = own, async_scheduling = not own.disable_overlap_scheduler,
    block_size = backend_options.block_size(given, path, "trtllm", "tokens_per_block", 32),
  })
end

--- The options as the core takes them.
---@param given table
---@param path string
---@param profile? string
---@param values table options of the cluster or the group, changed
---@return table
function trtllm.read(given, path, profile, values)
  backend_options.require_design(path, "trtllm", profile)
  local own = schema.read(section, given, path, profile)
  values.is_usual.max_num_batched_tokens = given.max_num_tokens == nil
  values.is_usual.max_num_seqs = given.max_batch_size == nil
  values.max_num_batched_tokens, values.max_num_seqs = own.max_num_tokens, own.max_batch_size
  return {
    capacity = own.capacity_scheduler_policy, chunking = own.context_chunking_policy,
    chunks = own.enable_chunked_prefill, has_reuse = own.enable_block_reuse,
    skips_equal = own.enable_prefix_aware_scheduling,
    look_ahead = own.disable_overlap_scheduler and 1 or 2,
  }
end

return trtllm
