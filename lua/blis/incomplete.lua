--- Results that a script lacks because of the machine: trials whose processes were killed. If any
--- are missing when the script ends, the program exits with status 1.
local incomplete = {}

local missing, count = {}, 0

--- Records that a result is missing, or is there after another attempt.
---@param key string of the result
---@param is_missing boolean
function incomplete.set(key, is_missing)
  if (missing[key] == true) == is_missing then return end
  missing[key] = is_missing or nil
  count = count + (is_missing and 1 or -1)
end

--- What is missing, for the end of the program; nil if nothing is.
---@return string?
function incomplete.message()
  if count == 0 then return nil end
  return ("%d trial%s of the script ended without a result, since a signal killed %s; run the "
    .. "script again"):format(count, count == 1 and "" or "s", count == 1 and "its process"
    or "their processes")
end

return incomplete
