--- Parameters of policies in command-line syntax: "name=value", or "name.key=value" for a table
--- entry.
local flags = require "blis.cli.flags"

local parameters = {}

local function value_of(text)
  if text == "true" or text == "false" then return text == "true" end
  return math.tointeger(tonumber(text)) or tonumber(text) or text
end

--- Adds them to a policy.
---@param definition blis.cli.Command
---@param policy table { name, parameter = value, ... }
---@param flag string where they are from
---@param texts? string[]
function parameters.add(definition, policy, flag, texts)
  for _, text in ipairs(texts or {}) do
    local name, key, value = text:match("^([%l_][%w_]*)%.?([^=]*)=(.+)$")
    if not name or name == "scorers" then
      flags.fail(definition, "%s: invalid value '%s': expected NAME=VALUE", flag, text)
    end
    if key == "" then
      policy[name] = value_of(value)
    else
      if type(policy[name]) ~= "table" then policy[name] = {} end
      policy[name][key] = value_of(value)
    end
  end
end

return parameters
