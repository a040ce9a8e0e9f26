--- Loads Lua code of users. If the code is nested too deeply, the library's `load` returns an error
--- with a traceback of blis and without the file's name.
local core = require "blis.core"

local chunk = {}

--- As load, with "t" as its mode.
---@param text string
---@param name string "@PATH", or "=NAME"
---@param environment? table
---@return function?
---@return string? problem
function chunk.load(text, name, environment)
  local arguments = table.pack(text, name, "t", environment)
  -- An environment of nil is not the same as none. pcall keeps the handler of errors, which adds
  -- the traceback, away.
  local _, loaded, problem = pcall(load, table.unpack(arguments, 1, environment and 4 or 3))
  if problem == "C stack overflow" then
    problem = ("%s: too many nested levels (%s)"):format(name:sub(2), problem)
  end
  return loaded, problem
end

--- As loadfile, for a file that may be read.
---@param path string
---@return function?
---@return string? problem
function chunk.load_file(path)
  local file, problem = core.open_input(path)
  if not file then return nil, "cannot open " .. problem end
  local text, unread = file:read "a"
  file:close()
  if not text then return nil, ("cannot read %s: %s"):format(path, unread) end
  return chunk.load(text:gsub("^\xEF\xBB\xBF", ""):gsub("^#[^\n]*", ""), "@" .. path)
end

return chunk
