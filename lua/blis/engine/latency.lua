--- Latency models: built-in ones by name, scripted ones as functions, and how a cluster names them.
local core = require "blis.core"
local engine = require "blis.engine"
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local latency = {}

--- A latency model.
---
--- A built-in one, with options of the cluster: `blis.latency_model("trained-physics", { model =
--- "qwen/qwen3-14b", hardware = "H100", tp = 2 })`.
---
--- Or one in Lua: `blis.latency_model { name =, step_time = function(batch) ... end }`, in
--- microseconds. `batch` has `requests`, `prefill_tokens`, `decode_requests`,
--- `decode_context_tokens` and the requests of the step as `batch[1]`, ...: `progress_tokens`,
--- `new_tokens`, `prompt_tokens`, `is_prefill`, `is_decode`. The time must follow from the batch
--- alone. With `from_sums = true` the batch has no requests, only sums, and long runs of decode
--- steps cost one call each. `queueing_time` (a number, or a function of the prompt tokens) is the
--- time from a request's arrival to the wait queue, `output_token_time` is added to the time of
--- every output token, `fixed_overhead` once to the latency of a request.
---@param spec string|table|fun(batch: blis.Batch): number
---@param options? blis.ClusterOptions of a built-in model
---@return blis.LatencyModel
function latency.model(spec, options)
  if type(spec) == "string" then
    local given = { latency_model = spec }
    for key, value in pairs(options or {}) do given[key] = value end
    if given.latency_model ~= spec then
      errors.invalid("latency_model: the name '%s' cannot be combined with the option "
        .. "'latency_model'", spec)
    end
    local definition = { name = spec, given = given, cluster = engine.read(given, "cluster") }
    return errors.located(core.latency_model, definition)
  end
  if options ~= nil then
    errors.invalid("latency_model: options require the name of a built-in model")
  end
  local definition = engine.read_latency_model(spec, "latency_model")
  if type(definition) ~= "table" or not definition.step_time then
    schema.raise_value("latency_model", spec, "the name of a latency model or a table "
      .. "{ name =, step_time = function(batch) ... end }")
  end
  return core.latency_model(definition)
end

return latency
