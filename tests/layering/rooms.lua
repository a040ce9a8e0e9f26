--- Who uses whom in src/: by what files include, and by the symbols of their objects, which also
--- shows what is reached through a table of constants. `blis rooms.lua BUILD_FOLDER`
---
--- Checks that a room uses only itself and the rooms before it in rooms.txt, and that no files use
--- each other in a circle, but for those that are one idea cut in two: a header of theirs says
--- "One module in several files:" and names them.
local build = assert(arg[1], "the build folder is missing")
local failed = false

local function complain(...)
  print((...):format(select(2, ...)))
  failed = true
end

local function lines_of(command)
  local pipe <close> = assert(io.popen(command))
  local lines = {}
  for line in pipe:lines() do lines[#lines + 1] = line end
  return lines
end

local function room_of(file) return file:match "^(.*)/[^/]+$" end

local function read_rooms(path)
  local place, count = {}, 0
  for line in io.lines(path) do
    if line ~= "" and not line:find "^#" then
      count = count + 1
      place[line] = count
    end
  end
  return place
end

local place = read_rooms "tests/layering/rooms.txt"
local strangers = { workload = true, latency = true, kv = true }

local function are_strangers(a, b)
  a, b = a:match "^[^/]+", b:match "^[^/]+"
  return a ~= b and strangers[a] and strangers[b]
end

--- Complains when user must not know used; both are files like "kv/run_pool.c".
local function check_use(user, used, how)
  local from, to = room_of(user), room_of(used)
  if not place[from] then
    complain("%s: %s is no room of tests/layering/rooms.txt", user, from)
  elseif not place[to] then
    complain("%s %s %s: no such room in tests/layering/rooms.txt", user, how, used)
  elseif place[to] > place[from] then
    complain("%s %s %s: %s stands above %s", user, how, used, to, from)
  elseif are_strangers(from, to) then
    complain("%s %s %s: %s and %s do not know each other", user, how, used, from, to)
  end
end

local function check_includes()
  for _, line in ipairs(lines_of [[grep -rHE '^ *# *include +"' --include=*.[ch] src]]) do
    local user, used = line:match '^src/([^:]+):.*"([^"]+)"'
    if room_of(used) then
      check_use(user, used, "includes")
    else
      complain('%s includes "%s": write "room/file.h", relative to src/', user, used)
    end
  end
end

--- Is there still a source? Builds keep the objects of files that are gone.
local function has_source(file)
  local source <close> = io.open("src/" .. file)
  return source ~= nil
end

--- { "a.c" = { "b.c" = symbol } } of all objects of the build.
local function links()
  local defined_in, needs, is_known = {}, {}, {}
  local listing = "find '%s/CMakeFiles' -path '*/src/*.c.o' | sort | xargs nm -A -g"
  for _, line in ipairs(lines_of(listing:format(build))) do
    local file, kind, symbol = line:match "/src/([^:]+%.c)%.o:%x*%s+(%a)%s+([%w_]+)"
    if file and is_known[file] == nil then is_known[file] = has_source(file) end
    if file and is_known[file] then
      if kind == "U" then
        needs[#needs + 1] = { file, symbol }
      else
        defined_in[symbol] = file
      end
    end
  end
  local uses = {}
  for _, need in ipairs(needs) do
    local user, used = need[1], defined_in[need[2]]
    if used and used ~= user then
      uses[user] = uses[user] or {}
      uses[user][used] = need[2]
    end
  end
  return uses
end

local function sorted_keys(map)
  local keys = {}
  for key in pairs(map or {}) do keys[#keys + 1] = key end
  table.sort(keys)
  return keys
end

--- Groups of files that use each other in a circle (Tarjan's strongly connected components).
local function circles(uses)
  local index, low, on_stack, stack, next_index, found = {}, {}, {}, {}, 1, {}
  local function visit(file)
    index[file], low[file] = next_index, next_index
    next_index = next_index + 1
    stack[#stack + 1], on_stack[file] = file, true
    for _, used in ipairs(sorted_keys(uses[file])) do
      if not index[used] then
        visit(used)
        low[file] = math.min(low[file], low[used])
      elseif on_stack[used] then
        low[file] = math.min(low[file], index[used])
      end
    end
    if low[file] ~= index[file] then return end
    local group = {}
    repeat
      local member = table.remove(stack)
      on_stack[member] = false
      group[#group + 1] = member
    until member == file
    table.sort(group)
    if #group > 1 then found[#found + 1] = group end
  end
  for _, file in ipairs(sorted_keys(uses)) do
    if not index[file] then visit(file) end
  end
  return found
end

--- The files that a header of a room names after "several files".
local function declared_together(room)
  local together = {}
  for _, header in ipairs(lines_of(("find src/%s -maxdepth 1 -name '*.h'"):format(room))) do
    local file <close> = assert(io.open(header))
    local list = file:read("a"):match "several files[:.](.-)\n %*[/\n]"
    for name in (list or ""):gmatch "[%w_]+%.c" do together[room .. "/" .. name] = true end
  end
  return together
end

local function check_circle(group, uses)
  local together = declared_together(room_of(group[1]))
  for _, file in ipairs(group) do
    if not together[file] then
      complain("a circle of files: %s", table.concat(group, " "))
      for _, user in ipairs(group) do
        for _, used in ipairs(group) do
          local symbol = uses[user] and uses[user][used]
          if symbol then print(("  %s uses %s of %s"):format(user, symbol, used)) end
        end
      end
      return
    end
  end
end

check_includes()
local uses = links()
assert(next(uses), "no object files in " .. build)
for _, user in ipairs(sorted_keys(uses)) do
  for _, used in ipairs(sorted_keys(uses[user])) do
    check_use(user, used, "uses " .. uses[user][used] .. " of")
  end
end
for _, group in ipairs(circles(uses)) do check_circle(group, uses) end
os.exit(not failed)
