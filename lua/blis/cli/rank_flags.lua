--- What flags say of data-parallel ranks.
local flags = require "blis.cli.flags"

local rank_flags = {}

--- The ranks as blis.run takes them; nil without.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return table?
function rank_flags.of(definition, parsed)
  local all = {}
  for key, value in pairs(parsed.values.ranks) do all[key] = value end
  if next(all) == nil then return nil end
  if not all.count then
    flags.fail(definition, "options of data-parallel ranks need --dp-ranks")
  end
  local imbalance = all.expert_imbalance
  all.expert_imbalance = imbalance and (tonumber(imbalance) or flags.fail(definition,
    "--expert-imbalance: '%s' is not allowed, expected a number from 1 on", imbalance))
  return all
end

return rank_flags
