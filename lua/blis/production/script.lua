--- Scripts of policies, as a router configuration or a gate runs them.
local chunks = require "blis.chunk"
local errors = require "blis.errors"

local script = {}

--- A policy that ended the program would end it with its own exit status: that of a gate says
--- whether something got worse.
local function refuse_exit()
  errors.invalid("os.exit: a policy cannot end the program")
end

--- Loads a chunk with a separate global environment.
---@param text string
---@param path string for messages
---@return fun(...): any
function script.load(text, path)
  local own = { os = setmetatable({ exit = refuse_exit }, { __index = os }) }
  text = text:gsub("^#[^\n]*", "") -- #!/usr/bin/env blis
  local chunk, problem = chunks.load(text, "@" .. path, setmetatable(own, { __index = _G }))
  if not chunk then errors.raise("parse", ("this is not valid Lua: %s"):format(problem)) end
  return chunk
end

--- The message of an error, without the location in a generated script.
---@param problem any
---@return string
function script.message(problem)
  local text = type(problem) == "table" and problem.message or tostring(problem)
  return (tostring(text):gsub("^%S+%.%w+:%d+: ", ""))
end

return script
