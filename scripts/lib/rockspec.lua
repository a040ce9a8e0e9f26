-- blis rockspec.lua TOP VERSION: prints the rockspec, which names every Lua file. `luarocks make`
-- in a checkout builds the module and the annotations for editors with CMake, and installs both
-- for stock Lua 5.4.
local core = require "blis.core"

local top, version = arg[1], arg[2]

--- Appends { module, path } of every Lua file below folder to list.
local function walk(folder, list)
  local names = core.folder(top .. "/" .. folder)
  table.sort(names)
  for _, name in ipairs(names) do
    local path = folder .. "/" .. name
    if name:match "%.lua$" then
      local module = path:gsub("^lua/", ""):gsub("%.lua$", ""):gsub("/", ".")
      list[#list + 1] = { module, path }
    elseif not name:find(".", 1, true) then
      walk(path, list)
    end
  end
  return list
end

local installed = walk("lua/blis", {})
for _, name in ipairs { "figures", "options" } do
  local path = ("build-rock/annotations/%s.lua"):format(name)
  installed[#installed + 1] = { "blis.meta." .. name, path }
end

local lines = {}
for i, one in ipairs(installed) do
  lines[i] = ("         [%q] = %q,"):format(one[1], one[2])
end

print(([[
-- Written by scripts/package; do not edit.
rockspec_format = "3.0"
package = "blis"
version = "%s-1"
source = { url = "git+file://." }
description = {
   summary = "A deterministic, scriptable simulator of LLM inference clusters",
   license = "Apache-2.0",
}
supported_platforms = { "linux" }
dependencies = { "lua ~> 5.4" }
build = {
   type = "command",
   build_command = "cmake -S . -B build-rock -DCMAKE_BUILD_TYPE=Release -DBLIS_LTO=ON "
      .. "-DBUILD_TESTING=OFF && cmake --build build-rock "
      .. "--target blis_module blis_pages --parallel",
   install_command = "true",
   install = {
      lib = { ["blis.core"] = "build-rock/cmod/blis/core.so" },
      lua = {
%s
      },
   },
}]]):format(version, table.concat(lines, "\n")))
