--- Display names of metrics, which programs address by path.
local figures = require "blis.results.figures"
local format = require "blis.format"

local names = {}

-- Clearer display names of metrics.
local single_words = { availability = "full capacity", paid_share = "billed",
  serving_share = "taking requests", gb_s = "bandwidth", usd = "cost",
  on_demand_usd = "cost on demand", classes = "class",
  requests_per_sec = "good requests", itl_ms = "ITL", itl_per_chunk_ms = "ITL per chunk",
  capacity_blocks = "total capacity of all stores (blocks)",
  used_blocks = "blocks in all stores at the end", peak_blocks = "most blocks in one store" }

--- Display name of a metric: "task" for task_ms.
---@param name string
---@return string
function names.words(name)
  if single_words[name] then return single_words[name] end
  return (name:gsub("_ms$", ""):gsub("_gb$", ""):gsub("_kwh$", ""):gsub("_per_sec$", "")
    :gsub("_", " "))
end

--- Whether a metric has a display name that does not follow from its name.
---@param name string
---@return boolean
function names.has_own_words(name) return single_words[name] ~= nil end

local own_words = { cache_hit_rate_overall = "prompt blocks in cache",
  tokens_per_sec = "throughput", ttft_ms = "TTFT", e2e_ms = "E2E" }

-- Metrics whose parts do not make a name.
local own_titles = { ["goodput.attainment"] = "SLO attainment",
  ["goodput.requests_per_sec"] = "goodput", ["cost.usd"] = "cost",
  ["cost.usd_per_million_output_tokens"] = "cost per million output tokens" }

-- Prefix of custom metrics.
local named = { by_slo_class = "SLO class", by_tenant = "tenant", by_model = "model",
  by_adapter = "adapter" }

--- "TTFT p99" for ttft_ms.p99; a custom metric keeps its name.
---@param path string
---@return string
function names.title(path)
  if not figures.find(path) then return path end
  local steady, own = path:match "^(steady%.)(.*)$"
  own = own_titles[own or path]
  if own then return steady and "steady " .. own or own end
  local words, is_own = {}, false
  for part in path:gmatch "[^.]+" do
    if part:find "^%d" and not is_own then -- of p99.9
      words[#words] = words[#words] .. "." .. part
    else
      words[#words + 1] = is_own and part or named[part] or own_words[part] or names.words(part)
    end
    is_own = named[part] ~= nil
  end
  return table.concat(words, " ")
end

local function unit_of(path)
  local figure = figures.find(path)
  return figure and figure.unit or nil
end

--- Whether a metric is a share, which tables show in percent.
---@param path string
---@return boolean
function names.is_share(path) return unit_of(path) == "0 to 1" end

--- "TTFT p99 (ms)": the same with its unit.
---@param path string
---@return string
function names.head(path)
  local unit = names.is_share(path) and "%" or unit_of(path)
  return unit and ("%s (%s)"):format(names.title(path), unit) or names.title(path)
end

--- "12.3 ms": a value with its unit; shares as percentages.
---@param path string
---@param value number
---@return string
function names.value(path, value)
  local unit = unit_of(path)
  if unit == "0 to 1" then return format.share(value) end
  local decimals = math.abs(value) >= 10 and 1 or 3
  return ("%s%s"):format(format.number(value, decimals), unit and " " .. unit or "")
end

--- The heads of several.
---@param paths string[]
---@return string[]
function names.heads(paths)
  local heads = {}
  for i, path in ipairs(paths) do heads[i] = names.head(path) end
  return heads
end

--- Sets the axis title of a chart to a metric.
---@param axis blis.plot.Axis
---@param path string
function names.put_on(axis, path)
  local unit = unit_of(path)
  axis.label = names.title(path)
  axis.unit = unit ~= "0 to 1" and unit or nil
end

return names
