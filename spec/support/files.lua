--- Files for specs.
local files = {}

--- The text of a file, or nil.
function files.read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

--- Calls body with the path of a file that holds text (of none, without text), then removes it.
---@param ending? string of its name
function files.with(text, body, ending)
  local path = os.tmpname()
  os.remove(path)
  path = path .. (ending or "")
  if text then
    local file = assert(io.open(path, "wb"))
    file:write(text)
    file:close()
  end
  local ok, problem = pcall(body, path)
  os.remove(path)
  if not ok then error(problem, 0) end
end

return files
