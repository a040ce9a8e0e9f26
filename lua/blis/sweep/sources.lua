--- The Lua files that determine the outcome of a trial: the file of its function, and the files of
--- functions in the parameters. Also every loaded module, and every file that one of these files
--- loads by a literal name (`require "x"`, `dofile "x.lua"`, `loadfile "x.lua"`).
---
--- Folders do not count, only contents: a copy of a script on another machine has the same files.
--- Modules in C and files that a script names by an expression while a trial runs are not found;
--- sources.late reports modules of that kind.
local core = require "blis.core"

local sources = {}

--- Returns the contents of a file; nil if it cannot be read.
---@param path string
---@return string?
function sources.read_file(path)
  local file = core.open_input(path)
  if not file then return nil end
  local text = file:read("a")
  file:close()
  return text
end

--- The file that `require` loads a module from; nil for modules of the program, of Lua, and in C.
local function file_of_module(name)
  if name == "blis" or name:match("^blis%.") then return nil end
  return package.searchpath(name, package.path)
end

---@class blis.sweep.Sources
---@field texts table<string, string> by path
---@field pending string[] paths whose contents were not searched yet

local function add_file(self, path)
  if not path or self.texts[path] then return end
  local text = sources.read_file(path)
  if not text then return end
  self.texts[path] = text
  self.pending[#self.pending + 1] = path
end

local function add_function(self, fn)
  local source = debug.getinfo(fn, "S").source
  if source:sub(1, 1) == "@" then add_file(self, source:sub(2)) end
end

-- Tables in tables that parameters are searched to.
local deepest = 8

--- Adds the files of the functions in a value.
local function add_functions(self, value, seen, depth)
  if type(value) == "function" and not seen[value] then
    seen[value] = true
    add_function(self, value)
  elseif type(value) == "table" and not seen[value] and depth <= deepest then
    seen[value] = true
    for _, item in next, value do add_functions(self, item, seen, depth + 1) end
  end
end

--- Adds the files that the code loads by literal names.
local function add_loaded_by(self, text)
  for call, name in text:gmatch "([%a]+)%s*%(?%s*[\"']([^\"'\n]+)[\"']" do
    if call == "require" then
      add_file(self, file_of_module(name))
    elseif call == "dofile" or call == "loadfile" then
      add_file(self, name)
    end
  end
end

--- Finds the files that a function depends on.
---@param fn function
---@param values any whose functions count too
---@return blis.sweep.Sources
function sources.of(fn, values)
  local self = { texts = {}, pending = {} }
  add_function(self, fn)
  add_functions(self, values, {}, 1)
  for name in pairs(package.loaded) do
    if type(name) == "string" then add_file(self, file_of_module(name)) end
  end
  while #self.pending > 0 do
    add_loaded_by(self, self.texts[table.remove(self.pending)])
  end
  return self
end

--- Returns a string that differs if a file differs.
---@param self blis.sweep.Sources
---@return string
function sources.key(self)
  local hashes = {}
  for _, text in pairs(self.texts) do hashes[#hashes + 1] = core.hash128(text) end
  table.sort(hashes)
  return table.concat(hashes, "\0")
end

--- Returns the text of the script that has a function; without a script, the compiled function.
---@param fn function
---@return string
function sources.script_text(fn)
  local source = debug.getinfo(fn, "S").source
  if source:sub(1, 1) == "@" then
    local text = sources.read_file(source:sub(2))
    if text then return text end
  elseif source:sub(1, 1) ~= "=" then
    return source
  end
  return string.dump(fn, true)
end

--- Returns the text that stands for what a function does: its script and the files it depends on.
---@param fn function
---@param values any whose functions count too
---@return string
function sources.text_of(fn, values)
  local self = sources.of(fn, values)
  return sources.script_text(fn) .. "\0" .. sources.key(self)
end

--- Returns the modules that were loaded since the files were found and that are not among them.
---@param self blis.sweep.Sources
---@return string[] names, sorted
function sources.late(self)
  local names = {}
  for name in pairs(package.loaded) do
    local path = type(name) == "string" and file_of_module(name)
    if path and not self.texts[path] then names[#names + 1] = name end
  end
  table.sort(names)
  return names
end

return sources
