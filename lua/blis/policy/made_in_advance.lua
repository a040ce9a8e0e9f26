--- Routing decisions that a script makes in advance, with sim:pin.
local made_in_advance = {}

--- Returns a note about those that no request used, nil without any.
---@param unused integer how many
---@param number integer number of the request of the first one, below 0 for a follow-up
---@return string?
function made_in_advance.unused_note(unused, number)
  if unused == 0 then return nil end
  local name = number < 0 and ("the follow-up with number %d"):format(-number)
    or ("request_%d"):format(number)
  local others = unused > 1 and (" and %d more"):format(unused - 1) or ""
  return ("sim:pin: %s%s had no routing decision after it was pinned, so the pin had no effect")
    :format(name, others)
end

return made_in_advance
