--- Checks the order of the Lua modules: `blis requires.lua`, in the root of the repository.
---
--- A file of lua/blis may require only files of its own module and of modules before it in
--- lua_rooms.txt. Because that order is total, a file that passes is in no cycle between modules.
--- Calls of blis.deferred and of at_first_call count as requires: they load the module later.
local failed = false

local function complain(...)
  print((...):format(select(2, ...)))
  failed = true
end

--- Reads the modules and returns the position of each, by its line in the file.
---@param path string
---@return table<string, integer>
local function read_rooms(path)
  local place, count = {}, 0
  for line in io.lines(path) do
    if line ~= "" and not line:find "^#" then
      count = count + 1
      if place[line] then complain("%s: '%s' is listed twice", path, line) end
      place[line] = count
    end
  end
  return place
end

--- Returns the line of the list that holds a file such as "sweep/table.lua", or nil: the file
--- itself, or the longest folder that contains it.
---@param place table<string, integer>
---@param file string
---@return string?
local function room_of(place, file)
  if place[file] then return file end
  local folder = file:match "^(.*)/[^/]+$"
  while folder do
    if place[folder] then return folder end
    folder = folder:match "^(.*)/[^/]+$"
  end
  return not file:find("/", 1, true) and "." or nil
end

--- Returns the text of a file without its comments.
local function code_of(path)
  local file <close> = assert(io.open(path))
  return (file:read "a":gsub("%-%-[^\n]*", ""))
end

-- The calls whose first argument is the name of a module.
local loaders = { "require", "deferred", "at_first_call" }

--- Returns the names of the modules of blis that a text loads.
---@param text string
---@return string[]
local function modules_in(text)
  local names = {}
  for _, loader in ipairs(loaders) do
    for name in text:gmatch("%f[%w_]" .. loader .. "%s*%(?%s*[\"'](blis[%w_.]*)[\"']") do
      names[#names + 1] = name
    end
  end
  return names
end

--- Returns the file of a module, nil where no file has that name: blis.core and blis.program are
--- part of the program.
---@param files table<string, boolean>
---@param name string
---@return string?
local function file_of(files, name)
  local path = name == "blis" and "init" or name:sub(#"blis." + 1):gsub("%.", "/")
  for _, file in ipairs { path .. ".lua", path .. "/init.lua" } do
    if files[file] then return file end
  end
end

local function list_files(root)
  local pipe <close> = assert(io.popen(("find %s -name '*.lua' | sort"):format(root)))
  local list, files = {}, {}
  for line in pipe:lines() do
    local file = line:sub(#root + 2)
    if not file:find "^meta/" then -- annotations for editors: nothing loads them
      list[#list + 1], files[file] = file, true
    end
  end
  assert(#list > 0, "no files in " .. root)
  return list, files
end

local built_in = { ["blis.core"] = true, ["blis.program"] = true }

local function check_file(place, files, root, user)
  local from = room_of(place, user)
  if not from then return complain("lua_rooms.txt has no module for %s", user) end
  for _, name in ipairs(modules_in(code_of(root .. "/" .. user))) do
    local used = file_of(files, name)
    local to = used and room_of(place, used)
    if not used then
      -- A name that ends in a dot is the start of one that is composed, as for commands.
      if not built_in[name] and not name:find "%.$" then
        complain("%s requires %s: there is no such file", user, name)
      end
    elseif to and place[to] > place[from] then
      complain("%s requires %s: module %s is above %s in lua_rooms.txt", user, name, to, from)
    end
  end
end

local root = arg[1] or "lua/blis"
local place = read_rooms(arg[2] or "tests/layering/lua_rooms.txt")
local list, files = list_files(root)
for line in pairs(place) do
  local is_there = line == "." or files[line]
  for _, file in ipairs(list) do
    is_there = is_there or file:sub(1, #line + 1) == line .. "/"
  end
  if not is_there then complain("lua_rooms.txt: there is no '%s' in %s", line, root) end
end
for _, file in ipairs(list) do check_file(place, files, root, file) end
os.exit(not failed)
