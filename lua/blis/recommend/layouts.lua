--- The ways to put a model on a number of GPUs: equal instances, or a pool that prefills and one
--- that decodes, each with its own tensor parallel degree and, if there is a choice, its own type
--- of GPU.
local pool = require "blis.config.pool"

local layouts = {}

---@class blis.recommend.Layout
---@field name string "8 x TP 2", "3P TP 2 + 10D TP 1 on A100-80"
---@field kind "aggregated"|"disaggregated"
---@field chain string layouts with the same differ in how many instances are in each pool
---@field gpus integer that it uses
---@field options table of the cluster

---@class blis.recommend.Choice what layouts are made of
---@field gpus integer
---@field degrees integer[] of tensor parallelism
---@field kinds "all"|"aggregated"|"disaggregated"
---@field hardware string[]? types of GPUs for equal instances and the prefill pool
---@field decode_hardware string[]? for the decode pool

local function on(hardware)
  return hardware and " on " .. hardware or ""
end

local function aggregated(gpus, tp, hardware)
  local count = gpus // tp
  local name = ("%d x TP %d%s"):format(count, tp, on(hardware))
  return {
    name = name, chain = name, kind = "aggregated", gpus = count * tp,
    options = { instances = count, tp = tp, hardware = hardware },
  }
end

local function name_of(count, role, tp, hardware)
  return ("%s%s TP %d%s"):format(count, role, tp, on(hardware))
end

local function disaggregated(x, y, pools)
  local function name(p, d)
    return name_of(p, "P", pools.prefill_tp, pools.hardware) .. " + "
      .. name_of(d, "D", pools.decode_tp, pools.decode_hardware)
  end
  return {
    name = name(x, y), chain = name("x", "y"), kind = "disaggregated",
    gpus = x * pools.prefill_tp + y * pools.decode_tp,
    options = {
      prefill_instances = x, decode_instances = y, prefill_tp = pools.prefill_tp,
      decode_tp = pools.decode_tp, hardware = pools.hardware,
      decode_hardware = pools.decode_hardware,
    },
  }
end

--- Splits that leave no room for another instance of either pool, by size of the prefill pool.
local function add_splits(list, gpus, pools)
  local prefill_tp, decode_tp = pools.prefill_tp, pools.decode_tp
  for x = 1, (gpus - decode_tp) // prefill_tp do
    local y = (gpus - x * prefill_tp) // decode_tp
    local rest = gpus - x * prefill_tp - y * decode_tp
    if rest < math.min(prefill_tp, decode_tp) then
      list[#list + 1] = disaggregated(x, y, pools)
    end
  end
end

--- The values to search; false = the experiment sets the value.
local function choices(list)
  return list and #list > 0 and list or { false }
end

local function add_aggregated(list, choice)
  for _, hardware in ipairs(choices(choice.hardware)) do
    for _, tp in ipairs(choice.degrees) do
      if tp <= choice.gpus then
        list[#list + 1] = aggregated(choice.gpus, tp, hardware or nil)
      end
    end
  end
end

local function add_disaggregated(list, choice)
  for _, hardware in ipairs(choices(choice.hardware)) do
    for _, decode_hardware in ipairs(choices(choice.decode_hardware or choice.hardware)) do
      for _, prefill_tp in ipairs(choice.degrees) do
        for _, decode_tp in ipairs(choice.degrees) do
          add_splits(list, choice.gpus, { prefill_tp = prefill_tp, decode_tp = decode_tp,
            hardware = hardware or nil, decode_hardware = decode_hardware or nil })
        end
      end
    end
  end
end

--- All layouts of a budget; those of a chain follow each other.
---@param choice blis.recommend.Choice
---@return blis.recommend.Layout[]
function layouts.all(choice)
  local list = {}
  if choice.kinds ~= "disaggregated" then add_aggregated(list, choice) end
  if choice.kinds ~= "aggregated" then add_disaggregated(list, choice) end
  return list
end

-- Options that a layout sets.
local own = { "instances", "groups", "tp", "prefill_instances", "decode_instances",
  "prefill_decode_instances", "prefill_replicas", "decode_replicas", "architecture", "prefill_tp",
  "decode_tp", "encode_instances" }

--- The first option of a cluster that the layout sets; nil = none.
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
  if layout.kind == "aggregated" then
    spec.disaggregation = nil
    for _, name in ipairs(pool.given(cluster)) do cluster[name] = nil end
  end
  return spec
end

return layouts
