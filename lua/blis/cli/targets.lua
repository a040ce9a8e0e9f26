--- Targets of SLO classes, from flags such as --slo-ttft "critical=200ms,batch=5s".
local flags = require "blis.cli.flags"
local units = require "blis.units"

local targets = {}

--- Milliseconds of "100ms" or "1m30s"; nil and the expected form for other strings.
local function read_limit(text)
  local us, fault, number = units.parse(text or "")
  if us and us > 0 and us < 1e15 then return us / 1e3 end
  if fault == "no unit" and number > 0 then
    return nil, (": missing unit; write %.14gms or %.14gs"):format(number, number)
  end
  return nil, ": expected CLASS=DURATION such as critical=200ms"
end

local function add(definition, by_class, flag, name, text)
  for item in (text .. ","):gmatch("([^,]*),") do
    local class, duration = item:match("^%s*([^=%s]+)%s*=%s*(%S+)%s*$")
    local limit, problem = read_limit(duration)
    if not limit then flags.fail(definition, "%s: invalid value '%s'%s", flag, item, problem) end
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
      doc = "Maximum time to first token, such as critical=200ms,batch=5s; requests without a "
        .. "class use the class default. Results then have goodput.",
    },
    {
      name = "itl_ms", type = "string", flag = "--slo-itl", metavar = "CLASS=DURATION,...",
      flag_aliases = { "--slo-tpot" },
      doc = "Maximum mean inter-token latency of a request (TPOT).",
    },
    {
      name = "e2e_ms", type = "string", flag = "--slo-e2e", metavar = "CLASS=DURATION,...",
      doc = "Maximum time from arrival to last token.",
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
