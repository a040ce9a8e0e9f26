--- The metrics of a server: definitions, and directions.
local metrics = {}

---@class blis.serve.Metric
---@field name string
---@field unit string
---@field direction "min"|"max"
---@field of? fun(measures: blis.eval.Measures): number?
---@field doc string

---@type blis.serve.Metric[]
metrics.list = {
  { name = "ttft_p99_ms", unit = "ms", direction = "min",
    doc = "99th percentile of the time to first token over all requests that were to come" },
  { name = "ttft_mean_ms", unit = "ms", direction = "min", doc = "its mean" },
  { name = "e2e_p99_ms", unit = "ms", direction = "min",
    doc = "99th percentile of the time to the last token" },
  { name = "e2e_mean_ms", unit = "ms", direction = "min", doc = "its mean" },
  { name = "itl_mean_ms", unit = "ms", direction = "min",
    doc = "mean over requests of their mean inter-token latency" },
  { name = "miss_frac", unit = "0 to 1", direction = "min",
    doc = "requests not served within their targets" },
  { name = "reject_frac", unit = "0 to 1", direction = "min", doc = "requests rejected" },
  { name = "served_share", unit = "0 to 1", direction = "max", doc = "requests completed",
    of = function(m) return m.completed / math.max(1, m.offered) end },
  { name = "goodput_rps", unit = "requests/s", direction = "max",
    doc = "requests served within their targets" },
  { name = "tokens_per_s", unit = "tokens/s", direction = "max", doc = "output tokens" },
  { name = "cost", unit = "USD", direction = "min", doc = "of the GPUs during the run",
    of = function(m) return m.cost_usd end },
  { name = "joules_per_token", unit = "J", direction = "min",
    doc = "energy per output token; nothing without power values" },
  { name = "carbon_g", unit = "g", direction = "min",
    doc = "CO2 of the run; none without an intensity" },
  { name = "cache_hit_frac", unit = "0 to 1", direction = "max",
    doc = "prompt blocks found in the cache", of = function(m) return m.cache_hit_rate end },
  { name = "queue_ms", unit = "ms", direction = "min", doc = "mean time in an engine's queue" },
  { name = "preemptions_per_request", unit = "1", direction = "min", doc = "preemptions" },
  { name = "balance_cv", unit = "1", direction = "min",
    doc = "variation of requests per instance" },
}

metrics.by_name, metrics.names = {}, {}
for i, one in ipairs(metrics.list) do
  metrics.by_name[one.name], metrics.names[i] = one, one.name
end

--- A metric of a run; nil if it does not exist.
---@param one blis.serve.Metric
---@param measures blis.eval.Measures
---@return number?
function metrics.value(one, measures)
  if one.of then return one.of(measures) end
  return measures[one.name]
end

--- The mean over runs; nil where one of them has none.
---@param one blis.serve.Metric
---@param runs blis.eval.Measures[]
---@return number?
function metrics.mean(one, runs)
  local sum = 0.0
  for _, measures in ipairs(runs) do
    local value = metrics.value(one, measures)
    if not value then return nil end
    sum = sum + value
  end
  return sum / #runs
end

-- A bound as a string: ">=0.99".
local comparisons = {
  [">="] = function(a, b) return a >= b end, ["<="] = function(a, b) return a <= b end,
  [">"] = function(a, b) return a > b end, ["<"] = function(a, b) return a < b end,
}

--- Parses the comparison and the number of a bound; nil for other strings.
---@param text any
function metrics.bound(text)
  local sign, number = tostring(text):match "^([<>]=?)%s*(%S+)$"
  number = tonumber(number)
  if not comparisons[sign] or not number then return nil end
  return comparisons[sign], number
end

return metrics
