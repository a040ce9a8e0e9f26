--- What flags say of speculative decoding.
local flags = require "blis.cli.flags"

local speculation_flags = {}

--- "0.8,0.7,0.6" as a list, "0.8" as a number.
local function acceptance_of(definition, text)
  local list = {}
  for part in (text .. ","):gmatch "([^,]*)," do
    local number = tonumber(part)
    if not number or not (number >= 0 and number <= 1) then
      flags.fail(definition,
        "--speculative-acceptance: '%s' is not allowed, expected a number from 0 to 1", part)
    end
    list[#list + 1] = number
  end
  return #list == 1 and list[1] or list
end

--- Speculation as blis.run takes it; nil without.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return table?
function speculation_flags.of(definition, parsed)
  local all = {}
  for key, value in pairs(parsed.values.speculation) do all[key] = value end
  if next(all) == nil then return nil end
  if not all.method or not all.acceptance then
    flags.fail(definition, "speculative decoding needs --speculative-method and "
      .. "--speculative-acceptance")
  end
  all.acceptance = acceptance_of(definition, all.acceptance)
  return all
end

return speculation_flags
