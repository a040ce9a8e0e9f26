--- Writes the documents of a package: `blis -E scripts/site/documents.lua FOLDER FILE...`. FOLDER
--- stands for the prefix of the installation. Links to files that a package does not have become
--- plain text, and links to other files lead to the places where `cmake --install` puts these.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local links = require "links"

local top, out = arg[0]:match "^(.*)scripts/site/[^/]*$", arg[1]

local function fail(message)
  io.stderr:write("documents: ", message, "\n")
  os.exit(1)
end

if not out then fail "missing FOLDER" end

--- The place of a file of the checkout below the prefix; nil if it is not installed.
local function installed(path)
  if path == "README.md" or path == "CHANGELOG.md" or path == "LICENSE" or path == "NOTICE"
    or path:find "^docs/" and not path:find "^docs/coverage%." or path:find "^examples$"
    or path:find "^examples/" then
    return "share/doc/blis/" .. path
  elseif path:find "^lua/blis/.*%.lua$" then
    return "share/lua/5.4/" .. path:sub(5)
  elseif path:find "^share/" then
    return "share/blis/" .. path:sub(7)
  end
end

local function convert(path)
  local file = assert(io.open(top .. path, "rb"))
  local text = file:read "a"
  file:close()
  local here = installed(path)
  text = links.rewrite(text, function(target)
    local to, anchor = links.resolve(path, target)
    if not to then return target end
    local there = installed(to)
    if not there then return nil end
    if to == path then return "#" .. anchor end
    return links.relative(here, there) .. (anchor and "#" .. anchor or "")
  end)
  local to = out .. "/" .. here
  assert(os.execute(("mkdir -p '%s'"):format(to:match "^(.*)/")))
  file = assert(io.open(to, "wb"))
  assert(file:write(text))
  assert(file:close())
end

for i = 2, #arg do convert(arg[i]) end
