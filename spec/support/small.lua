--- Small experiments that specs share.
local blis = require "blis"

local small = {}

--- An experiment of a fraction of a second of computing; changes replaces options.
---@param changes? table
---@return table
function small.experiment(changes)
  local spec = {
    cluster = { instances = 3 },
    workload = { rate = 40, requests = 60, prompt_tokens = 200, output_tokens = 20,
      prefixes = { groups = 2, tokens = 64 } },
  }
  for key, value in pairs(changes or {}) do spec[key] = value end
  return spec
end

--- Runs a small experiment with one scorer.
---@param scorer any
---@return blis.Result
function small.run_scorer(scorer)
  return blis.run(small.experiment { routing = { "weighted", scorers = { { scorer, 1 } } } })
end

--- The error object or text that fn raises.
---@param fn function
---@return any
function small.error_of(fn, ...)
  local ok, problem = pcall(fn, ...)
  assert(not ok, "expected an error")
  return problem
end

--- The text of the error that fn raises.
---@param fn function
---@return string
function small.message_of(fn, ...)
  return tostring(small.error_of(fn, ...))
end

--- Fails unless a message holds a text.
---@param message string
---@param part string
function small.says(message, part)
  if not message:find(part, 1, true) then
    error(("%q does not say %q"):format(message, part), 2)
  end
end

return small
