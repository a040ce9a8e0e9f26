--- The scheduler of TensorRT-LLM, in place of vLLM's.
local deferred = require "blis.deferred"
local backend_options = deferred "blis.feature.backend_options"
local read = deferred "blis.feature.trtllm.read"

---@type blis.Feature
local trtllm = {
  options = "blis.feature.trtllm.options",
  asked_at = 0.5,
}

function trtllm.flags(spec, cli)
  backend_options.set_flags(spec, cli, "trtllm", "TensorRT-LLM")
end

--- Options as given, with TensorRT-LLM's defaults behind them.
---@param given table of a cluster or a group
---@param path string
---@return table
function trtllm.fill(given, path) return read.fill(given, path) end

function trtllm.read_cluster(given, path, profile, values)
  return read.read(given, path, profile, values)
end

function trtllm.read(_, config) backend_options.refuse_pools(config, "trtllm") end

local function scheduler_text(group)
  local own = group.trtllm
  if not own then return nil end
  local words = { "TensorRT-LLM", own.capacity,
    own.chunks and "prompts in chunks" or "prompts are not split" }
  if not own.has_reuse then words[#words + 1] = "no prefix cache" end
  return table.concat(words, ", ")
end

function trtllm.asked(config, add, of_groups)
  add("serving engine", of_groups(config.cluster, scheduler_text))
end

return trtllm
