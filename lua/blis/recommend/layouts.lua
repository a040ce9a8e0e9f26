--- The ways to put a model on a number of GPUs: equal instances, or a pool that prefills and one
--- that decodes, each with its own tensor parallel degree.
local layouts = {}

---@class blis.recommend.Layout
---@field name string "8 x TP 2", "3P TP 2 + 10D TP 1"
---@field kind "aggregated"|"disaggregated"
---@field gpus integer that it uses
---@field options table of the cluster

local function name_of(count, role, tp)
  return ("%d%s TP %d"):format(count, role, tp)
end

local function aggregated(gpus, tp)
  local count = gpus // tp
  return {
    name = ("%d x TP %d"):format(count, tp), kind = "aggregated", gpus = count * tp,
    options = { instances = count, tp = tp },
  }
end

local function disaggregated(x, prefill_tp, y, decode_tp)
  return {
    name = name_of(x, "P", prefill_tp) .. " + " .. name_of(y, "D", decode_tp),
    kind = "disaggregated", gpus = x * prefill_tp + y * decode_tp,
    options = {
      prefill_instances = x, decode_instances = y, prefill_tp = prefill_tp, decode_tp = decode_tp,
    },
  }
end

--- Splits that leave no room for another instance of either pool.
local function add_splits(list, gpus, prefill_tp, decode_tp)
  for x = 1, (gpus - decode_tp) // prefill_tp do
    local y = (gpus - x * prefill_tp) // decode_tp
    local rest = gpus - x * prefill_tp - y * decode_tp
    if rest < math.min(prefill_tp, decode_tp) then
      list[#list + 1] = disaggregated(x, prefill_tp, y, decode_tp)
    end
  end
end

--- All layouts of a budget.
---@param gpus integer
---@param degrees integer[] of tensor parallelism
---@param kinds "all"|"aggregated"|"disaggregated"
---@return blis.recommend.Layout[]
function layouts.all(gpus, degrees, kinds)
  local list = {}
  for _, tp in ipairs(degrees) do
    if tp <= gpus and kinds ~= "disaggregated" then list[#list + 1] = aggregated(gpus, tp) end
  end
  for _, prefill_tp in ipairs(degrees) do
    for _, decode_tp in ipairs(degrees) do
      if kinds ~= "aggregated" then add_splits(list, gpus, prefill_tp, decode_tp) end
    end
  end
  return list
end

-- What a layout says itself.
local own = { "instances", "groups", "tp", "prefill_instances", "decode_instances",
  "prefill_decode_instances", "prefill_replicas", "decode_replicas", "architecture", "prefill_tp",
  "decode_tp" }

--- The first option of a cluster that a layout says itself; nil = none.
---@param cluster table?
---@return string?
function layouts.conflict(cluster)
  for _, name in ipairs(own) do
    if cluster and cluster[name] ~= nil then return name end
  end
end

--- An experiment with its cluster laid out so. One without pools has no hand-offs to speak of.
---@param layout blis.recommend.Layout
---@param given table
---@return table
function layouts.experiment(layout, given)
  local spec, cluster = {}, {}
  for key, value in pairs(given) do spec[key] = value end
  for key, value in pairs(given.cluster or {}) do cluster[key] = value end
  for key, value in pairs(layout.options) do cluster[key] = value end
  spec.cluster = cluster
  if layout.kind == "aggregated" then spec.disaggregation = nil end
  return spec
end

return layouts
