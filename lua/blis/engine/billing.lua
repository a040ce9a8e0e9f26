--- How paid time is rounded, by group of instances.
local billing = {}

--- The rules in the form of the core, with groups from 0; nil without rounding.
---@param cluster table its options as they were read
---@return { group: integer, granularity_us: integer, minimum_us: integer }[]?
function billing.of(cluster)
  local rules = {}
  for i, group in ipairs(cluster.groups or { cluster }) do
    if group.billing_granularity_us > 0 or group.billing_minimum_us > 0 then
      rules[#rules + 1] = { group = i - 1, granularity_us = group.billing_granularity_us,
        minimum_us = group.billing_minimum_us }
    end
  end
  return #rules > 0 and rules or nil
end

return billing
