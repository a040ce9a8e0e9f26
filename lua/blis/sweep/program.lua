--- What computed a result: the version of blis and a hash of the sources that results depend on,
--- the C half's made by the build and that of the Lua files as they are.
local core = require "blis.core"

local program = {}

-- Commands, their flags, and annotations describe results, but do not change them.
local idle = { ["blis/cli/"] = true, ["blis/cmd/"] = true, ["blis/meta/"] = true }

--- The Lua files inside the program, and a function that reads them; nil if they are in a folder.
local function embedded()
  local is_host, about = pcall(require, "blis.program")
  if is_host and about.files then return about.files, about.source end
end

--- Adds the names of the Lua files below a folder, relative to root.
local function walk(root, folder, names)
  for _, name in ipairs(core.folder(root .. folder)) do
    if name:match("%.lua$") then
      names[#names + 1] = folder .. name
    else
      walk(root, folder .. name .. "/", names)
    end
  end
  return names
end

--- The Lua files in the folder that this one was loaded from, and how to read them.
local function on_disk()
  local here = debug.getinfo(1, "S").source:sub(2)
  local root = here:sub(1, -1 - #"blis/sweep/program.lua")
  return walk(root, "blis/", {}), function(name)
    local file <close> = io.open(root .. name, "rb")
    return file and file:read("a")
  end
end

local function hash_of(names, read)
  table.sort(names)
  local parts = {}
  for _, name in ipairs(names) do
    if not idle[name:match("^blis/%w+/")] then
      parts[#parts + 1] = name .. "\0" .. core.hash128(read(name) or "")
    end
  end
  return core.hash128(table.concat(parts, "\n"))
end

local known

--- "0.1.0+117e8e6a6ea9.5d1c90ab34ef"
---@return string
function program.id()
  if not known then
    local names, read = embedded()
    if not names then names, read = on_disk() end
    known = ("%s+%s.%s"):format(core._VERSION, core.source_id, hash_of(names, read):sub(1, 12))
  end
  return known
end

return program
