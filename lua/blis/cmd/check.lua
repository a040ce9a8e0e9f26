--- blis check: reports errors in the options of a script, without simulating.
---
--- The script runs, but its experiments are only read and built. A placeholder without output
--- replaces each result. Nothing is printed or written.
local chunks = require "blis.chunk"
local command = require "blis.cli.command"
local core = require "blis.core"
local experiment = require "blis.experiment"

local definition = {
  name = "check",
  summary = "check the options of a script without running its experiments",
  usage = "blis check FILE [ARGUMENTS]",
  description = "Reads FILE, checks every experiment in it as far as possible without results, and "
    .. "reports errors with their location. Exit status: 0 without errors, 1 otherwise.",
  positional = { name = "FILE", doc = "A script." },
  groups = {},
}

-- A placeholder for results: every operation on it returns it.
local unknown = setmetatable({}, {})

local function itself() return unknown end
local function yes() return true end

for _, name in ipairs { "__index", "__call", "__add", "__sub", "__mul", "__div", "__mod", "__pow",
  "__unm", "__idiv", "__concat", "__close" } do
  getmetatable(unknown)[name] = itself
end
for _, name in ipairs { "__eq", "__lt", "__le" } do getmetatable(unknown)[name] = yes end
getmetatable(unknown).__len = function() return 0 end
getmetatable(unknown).__tostring = function() return "?" end
getmetatable(unknown).__newindex = function() end
getmetatable(unknown).__pairs = function() return function() end end

--- Replaces what would simulate; returns the number of experiments that were checked so far.
local function replace_runs(blis)
  local count = 0
  local function check(spec)
    local config = experiment.read(spec)
    config.finish = itself
    core.simulation(config):close()
    count = count + 1
    return unknown
  end
  local function compare(spec)
    local routings = type(spec) == "table" and spec.routing
    if type(routings) ~= "table" or #routings == 0 then return check(spec) end
    for _, routing in ipairs(routings) do
      local one = {}
      for key, value in pairs(spec) do one[key] = value end
      one.routing = routing
      check(one)
    end
    return unknown
  end
  local function sweep(spec)
    local point = { seed = 42 }
    for _, parameter in ipairs(type(spec) == "table" and spec.parameters or {}) do
      point[parameter[1]] = parameter[2] and parameter[2][1]
    end
    if type(spec) == "table" and type(spec.trial) == "function" then spec.trial(point) end
    return unknown
  end
  blis.run, blis.simulation, blis.compare = check, check, compare
  if rawget(blis, "sweep") then blis.sweep = sweep end
  return function() return count end
end

--- Placeholders are printed as 0.
local function format_unknown()
  local format = string.format
  function string.format(text, ...)
    local arguments = table.pack(...)
    for i = 1, arguments.n do
      if rawequal(arguments[i], unknown) then arguments[i] = 0 end
    end
    return format(text, table.unpack(arguments, 1, arguments.n))
  end
end

--- A loop that waits for a result would never end.
local function limit_loops()
  debug.sethook(function() error(unknown) end, "", 100000000)
end

--- Scripts that are checked leave no trace.
local function silence()
  local open = io.open
  print, io.write = function() end, itself
  io.open = function(path, mode)
    if (mode or "r"):find "[wa+]" then return unknown end
    return open(path, mode)
  end
  os.execute, os.remove, os.rename, io.popen = itself, itself, itself, itself
  os.exit = function() error(unknown) end
end

local function message_of(problem)
  if rawequal(problem, unknown) then
    return "the script runs no experiment: it ends early or never ends"
  end
  if type(problem) == "table" and rawget(problem, "message") then return problem.message end
  return tostring(problem)
end

local function load_file(path)
  local file, problem = core.open_input(path)
  if not file then command.fail(definition, "cannot open %s", problem) end
  local source = file:read("a"):gsub("^#[^\n]*", "")
  file:close()
  local chunk
  chunk, problem = chunks.load(source, "@" .. path)
  if not chunk then
    command.say("blis: " .. problem)
    return nil
  end
  return chunk
end

return command.define(definition, function(parsed)
  local path = parsed.positional
  if not path then command.fail(definition, "which script? %s", definition.usage) end
  local chunk = load_file(path)
  if not chunk then return 1 end
  local count = replace_runs(require "blis")
  arg = { [0] = path }
  format_unknown()
  silence()
  limit_loops()
  local ok, problem = pcall(chunk)
  debug.sethook()
  local is_wrong = type(problem) == "table" and not rawequal(problem, unknown)
    and (problem.code == "invalid" or problem.code == "usage" or problem.code == "parse")
  if not ok and (is_wrong or count() == 0) then
    command.say("blis: " .. message_of(problem))
    return 1
  end
  local rest = ""
  if not ok and not rawequal(problem, unknown) then
    rest = "; the check cannot continue without results: " .. message_of(problem)
  end
  command.print(("%s: %d experiments checked, nothing wrong%s\n"):format(path, count(), rest))
end)
