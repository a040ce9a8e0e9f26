--- Prints the broken links of the Markdown files below a folder: `blis -E scripts/site/broken.lua
--- TOP`. In a checkout, these are the files that git has. A link is broken if its target does not
--- exist, or does not have the heading. The exit status is 1 if a link is broken.
package.path = (arg[0]:match "^(.*/)" or "./") .. "?.lua;" .. package.path
local links = require "links"

local top = arg[1]
local anchors = {}

local function read(path)
  local file = io.open(top .. "/" .. path, "rb")
  local text = file and file:read "a"
  if file then file:close() end
  return text, file ~= nil
end

--- The anchors of a file. nil if the file does not exist.
local function anchors_of(path)
  if anchors[path] == nil then
    local text, exists = read(path)
    anchors[path] = exists and links.anchors(text or "") or false
  end
  return anchors[path] or nil
end

local function documents()
  local command = "cd '%s' && { git ls-files --error-unmatch '*.md' '*/*.md' 2>/dev/null ||"
    .. " find . -name '*.md' -not -path './build*' | sort; }"
  local pipe, found = assert(io.popen(command:format(top))), {}
  for path in pipe:lines() do found[#found + 1] = links.normal(path) end
  pipe:close()
  return found
end

local count, broken = 0, 0
local function report(path, target, problem)
  broken = broken + 1
  print(("%s: %s (%s)"):format(path, target, problem))
end

for _, path in ipairs(documents()) do
  for _, target in ipairs(links.targets((read(path)))) do
    local to, anchor = links.resolve(path, target)
    if to then
      count = count + 1
      local found = anchors_of(to)
      if not found then
        report(path, target, "no such file")
      elseif anchor and to:find "%.md$" and not found[anchor] then
        report(path, target, "no such heading")
      end
    end
  end
end
print(("%d links, %d broken"):format(count, broken))
os.exit(broken == 0)
