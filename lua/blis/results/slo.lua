--- What each SLO class promises, and how often it was kept.
local errors = require "blis.errors"
local schema = require "blis.config.schema"

local slo = {}

local function time(name, what, aliases)
  return { name = name, type = "number", above = 0, max = 1e12, unit = "ms", doc = what,
    aliases = aliases }
end

---@type blis.Section
local section = {
  name = "target",
  summary = "Latency targets of an SLO class.",
  options = {
    time("ttft_ms", "Longest time to first token."),
    time("itl_ms", "Greatest mean inter-token latency of a request (TPOT).", { "tpot_ms" }),
    time("e2e_ms", "Longest time from arrival to last token."),
  },
}

---@class blis.SloTarget
---@field slo_class string
---@field ttft_ms? number
---@field itl_ms? number
---@field e2e_ms? number

--- A list in the order of the classes, of { critical = { ttft_ms = 500 }, ... }.
---@param given any
---@param path string
---@return blis.SloTarget[]
function slo.read(given, path)
  if type(given) ~= "table" then
    schema.raise_value(path, given, "a table like { critical = { ttft_ms = 500 } }")
  end
  local targets = {}
  for class, limits in pairs(given) do
    if type(class) ~= "string" then
      schema.raise_value(path, class, "names of SLO classes as keys")
    end
    local place = path .. "." .. class
    local target = schema.read(section, limits, place)
    if not (target.ttft_ms or target.itl_ms or target.e2e_ms) then
      errors.invalid("%s: expected one of ttft_ms, itl_ms and e2e_ms", place)
    end
    target.slo_class = class
    targets[#targets + 1] = target
  end
  table.sort(targets, function(a, b) return a.slo_class < b.slo_class end)
  return targets
end

--- Targets that precede others, per class and time. Times of 0 and classes without a time have no
--- target.
---@param targets? blis.SloTarget[]
---@param others blis.SloTarget[]
---@return blis.SloTarget[]? nil without targets
function slo.merge(targets, others)
  local by_class, merged = {}, {}
  for _, list in ipairs { targets or {}, others } do
    for _, target in ipairs(list) do
      local one = by_class[target.slo_class] or { slo_class = target.slo_class }
      for _, name in ipairs { "ttft_ms", "itl_ms", "e2e_ms" } do
        local limit = target[name]
        one[name] = one[name] or (limit and limit > 0 and limit or nil)
      end
      by_class[target.slo_class] = one
    end
  end
  for _, one in pairs(by_class) do
    if one.ttft_ms or one.itl_ms or one.e2e_ms then merged[#merged + 1] = one end
  end
  table.sort(merged, function(a, b) return a.slo_class < b.slo_class end)
  return #merged > 0 and merged or nil
end

--- Attainment of targets.
---@param records userdata the requests of a result
---@param targets blis.SloTarget[]
---@param duration_us integer
---@return blis.Goodput
function slo.goodput(records, targets, duration_us)
  local seconds = duration_us / 1e6
  local function rate(good) return seconds > 0 and good / seconds or 0.0 end
  local classes = records:goodput(targets)
  local whole = { arrived = 0, good = 0, classes = classes }
  for i, class in ipairs(classes) do
    class.targets = targets[i]
    class.requests_per_sec = rate(class.good)
    whole.arrived, whole.good = whole.arrived + class.arrived, whole.good + class.good
    classes[class.name] = class
  end
  whole.attainment = whole.arrived > 0 and whole.good / whole.arrived or 0.0
  whole.requests_per_sec = rate(whole.good)
  return whole
end

return slo
