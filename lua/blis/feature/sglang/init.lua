--- The scheduler of SGLang, in place of vLLM's.
local deferred = require "blis.deferred"
local backend_options = deferred "blis.feature.backend_options"
local errors = require "blis.errors"
local option_text = require "blis.config.option_text"
local read = deferred "blis.feature.sglang.read"

---@type blis.Feature
local sglang = {
  options = "blis.feature.sglang.options",
  asked_at = 0,
}

function sglang.flags(spec, cli) backend_options.set_flags(spec, cli, "sglang", "SGLang") end

--- Options as given, with SGLang's defaults behind them.
---@param given table of a cluster or a group
---@param path string
---@return table
function sglang.fill(given, path) return read.fill(given, path) end

function sglang.read_cluster(given, path, profile, values)
  return read.read(given, path, profile, values)
end

local function each_group(cluster, visit)
  for _, group in ipairs(cluster.groups or { cluster }) do
    if group.sglang then visit(group.sglang) end
  end
end

function sglang.read(values, config)
  backend_options.refuse_pools(config, "sglang")
  each_group(config.cluster, function(own)
    if own.has_policy and values.scheduler ~= nil then
      errors.invalid("cluster.sglang.schedule_policy: the experiment sets scheduler, and both "
        .. "order the wait queue; expected one of them")
    end
  end)
end

local function scheduler_text(group)
  local own = group.sglang
  if not own then return nil end
  local words = { "SGLang", own.chunk_tokens > 0
    and ("chunks of %d tokens"):format(own.chunk_tokens) or "prompts are not split" }
  local function add(condition, text, ...)
    if condition then words[#words + 1] = text:format(...) end
  end
  add(own.policy ~= "fcfs", "queue by %s", own.policy)
  add(own.conservativeness ~= 1, "conservativeness %s", option_text.number(own.conservativeness))
  add(own.mixes, "mixed with decodes")
  add(own.prefill_decode_interval > 0, "%d decode steps after each prefill batch",
    own.prefill_decode_interval)
  add(not own.has_cache, "no prefix cache")
  add(not own.overlaps, "no overlap")
  return table.concat(words, ", ")
end

function sglang.asked(config, add, of_groups)
  add("serving engine", of_groups(config.cluster, scheduler_text))
end

return sglang
