--- Descriptions of requests that an instance loses, for features that end instances.
local option_text = require "blis.config.option_text"

local fates = {}

fates.number = option_text.number

--- By the value of the option `requests`.
fates.fates = { failed = "fail", rerouted = "are rerouted", retried = "are retried" }

--- Returns a time such as "2.5 s".
---@param us number
---@return string
function fates.seconds(us)
  return option_text.number(us / 1e6) .. " s"
end

return fates
