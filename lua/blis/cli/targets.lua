--- Targets of SLO classes, from flags such as --slo-ttft "critical=200ms,batch=5s".
local flags = require "blis.cli.flags"

local targets = {}

local units_ms = { ns = 1e-6, us = 1e-3, ["µs"] = 1e-3, ms = 1, s = 1e3, m = 6e4, h = 3.6e6 }

--- "100ms", "1m30s" in milliseconds; nil for anything else.
local function read_duration(text)
  local sum, rest = 0.0, text
  while rest ~= "" do
    local number, unit, behind = rest:match("^([%d.]+)([%aµ]+)(.*)$")
    local factor, count = units_ms[unit], tonumber(number)
    if not factor or not count then return nil end
    sum, rest = sum + count * factor, behind
  end
  return sum > 0 and sum < 1e12 and sum or nil
end

local function add(definition, by_class, flag, name, text)
  for item in (text .. ","):gmatch("([^,]*),") do
    local class, duration = item:match("^%s*([^=%s]+)%s*=%s*(%S+)%s*$")
    local limit = class and read_duration(duration)
    if not limit then
      flags.fail(definition, "%s: '%s' is not allowed, expected CLASS=DURATION such as "
        .. "critical=200ms", flag, item)
    end
    by_class[class] = by_class[class] or {}
    by_class[class][name] = limit
  end
end

---@type blis.Section
targets.section = {
  name = "targets",
  summary = "Targets of an SLO class.",
  options = {
    {
      name = "ttft_ms", type = "string", flag = "--slo-ttft", metavar = "CLASS=DURATION,...",
      doc = "Longest time to first token, such as critical=200ms,batch=5s; a class without one is "
        .. "called default. Results then have goodput.",
    },
    {
      name = "itl_ms", type = "string", flag = "--slo-itl", metavar = "CLASS=DURATION,...",
      doc = "Greatest mean inter-token latency of a request.",
    },
    {
      name = "e2e_ms", type = "string", flag = "--slo-e2e", metavar = "CLASS=DURATION,...",
      doc = "Longest time from arrival to last token.",
    },
  },
}

--- The targets of the flags, as blis.run takes them; nil without.
---@param definition blis.cli.Command
---@param given table<string, string> values of the section
---@return table<string, table>?
function targets.of_flags(definition, given)
  local by_class = {}
  for _, option in ipairs(targets.section.options) do
    local text = given[option.name]
    if text then add(definition, by_class, option.flag, option.name, text) end
  end
  return next(by_class) ~= nil and by_class or nil
end

return targets
