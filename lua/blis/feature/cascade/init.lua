--- Cascades: models that are called in order until an answer is good enough.
local errors = require "blis.errors"
local format = require "blis.format"
local hooks = require "blis.policy.hooks"
local served = require "blis.catalogue.served"

local count, number, plural = format.count, format.number, format.plural

---@type blis.Feature
local cascade = {
  asked_at = 6,
  page = { title = "Cascade", at = 6.5 },
}

--- A cluster of one model takes requests for any: a chain would be one model several times.
local function check_cascade(given, cluster)
  local models = served.models_of(cluster)
  for _, parameter in ipairs(#models == 1 and given.parameters or {}) do
    local is_model = parameter.name:match "^chain" and parameter.value ~= ""
    if is_model and not served.find(parameter.value, models)[1] then
      errors.invalid("cascade: no instance serves the model '%s'; the models served are %s. A "
        .. "cascade requires groups with different models", parameter.value, models[1])
    end
  end
end

function cascade.read(values, config)
  config.cascade = hooks.read_cascade(values.cascade, "cascade")
  check_cascade(config.cascade, config.cluster)
end

function cascade.read_policies(spec, config)
  config.cascade = hooks.read_cascade(spec.cascade, "cascade")
end

function cascade.finish(summary, config)
  if summary.cascade then summary.cascade.policy = config.cascade.label end
end

function cascade.policies(config) return { config.cascade } end

--- "small 1,000 asked, 700 accepted; large 300 asked, 300 accepted"
local function models_text(models)
  local parts = {}
  for i, model in ipairs(models) do
    parts[i] = ("%s %s asked, %s accepted"):format(model.model, count(model.attempts),
      count(model.accepted + model.accepted_last))
  end
  return table.concat(parts, "; ")
end

cascade.summary = {
  slot = "below",
  title = "cascade",
  lines = function(value)
    local lines = { ("%s asked %s models each, %s sent on, %s tokens dropped"):format(
      plural(value.requests, "request"), number(value.mean_steps, 2), count(value.escalated),
      count(value.dropped_output_tokens)) }
    if #value.models > 0 then lines[2] = models_text(value.models) end
    if value.escalated > 0 then
      lines[3] = ("%s ms mean, %s ms p99 until the call of the last model"):format(
        number(value.earlier_ms.mean), number(value.earlier_ms.p99))
    end
    return lines
  end,
}

function cascade.asked(config, add)
  add("cascade", config.cascade and config.cascade.label)
end

return cascade
