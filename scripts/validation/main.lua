--- How true simulated times are: replays what was measured, and writes docs/validation.md.
package.path = arg[0]:gsub("[^/]*$", "") .. "?.lua;" .. package.path

local page = require "page"

local files = {}

--- Keeps a file for later, by its path below docs.
local function keep(name, text) files[#files + 1] = { path = "docs/" .. name, text = text } end

local function read(path)
  local file = io.open(path, "rb")
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text
end

local function write(path, text)
  local file = assert(io.open(path, "wb"))
  assert(file:write(text))
  assert(file:close())
end

local mode = arg[1]
if mode == "--data" then
  print(page.further(arg[2]))
elseif mode == nil or mode == "--check" then
  keep("validation.md", page.text(keep))
  local is_equal = true
  for _, one in ipairs(files) do
    if mode == nil then
      write(one.path, one.text)
    elseif read(one.path) ~= one.text then
      io.stderr:write(one.path, " is not what scripts/validate writes\n")
      is_equal = false
    end
  end
  os.exit(is_equal)
else
  io.stderr:write("validate: unknown option '", mode, "'; expected --check or --data DIR\n")
  os.exit(2)
end
