--- A script's sweep for those who drive it from outside: found without being run, and tried at
--- points that they choose.
local chunks = require "blis.chunk"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local plan = require "blis.sweep.plan"
local processors = deferred "blis.processors"
local runner = require "blis.sweep.runner"
local space = require "blis.sweep.space"
local settings = require "blis.sweep.settings"

local outside = {}

--- Calls fn with all that is printed going to standard error.
local function with_output_aside(fn)
  local output, print_before = io.output(), print
  io.output(io.stderr)
  _G.print = function(...)
    local words = table.pack(...)
    for i = 1, words.n do words[i] = tostring(words[i]) end
    io.stderr:write(table.concat(words, "\t"), "\n")
  end
  local ok, problem = pcall(fn)
  _G.print = print_before
  io.output(output)
  return ok, problem
end

--- Runs a script as far as to the run of one of its sweeps; those before it come to nothing. What
--- it prints goes to standard error.
---@param path string
---@param name? string of the sweep; the first one without it
---@return blis.Sweep
---@return table values how the script would run it
function outside.sweep_of(path, name)
  local chunk, problem = chunks.load_file(path)
  if not chunk then errors.invalid("%s", problem) end
  local one, values
  settings.instead = function(_, _, _, options, object)
    if name and object.plan.name ~= name then return {} end
    one, values = object, options
    error("the sweep was found", 0)
  end
  _G.arg = { [0] = path }
  local ok, failure = with_output_aside(chunk)
  settings.instead = nil
  if one then return one, values end
  if not ok then error(failure, 0) end
  errors.invalid("%s runs no sweep%s", path, name and (" called '%s'"):format(name) or "")
end

---@class blis.sweep.Tried
---@field plan blis.sweep.Plan of the one point
---@field known table<string, blis.sweep.Record>

--- Runs the trials of an external point, except trials that the store contains.
---@param object blis.Sweep
---@param values table how to run them: what the section of runs has read
---@param given table<string, number|string|boolean> the point
---@return blis.sweep.Tried
function outside.try(object, values, given)
  local point = space.chosen(object.options, object.plan.names, given)
  local one = plan.of_point(object.plan, point)
  if values.jobs == "auto" then values.jobs = processors.usable() end
  values.joins, values.shard, values.cost = true, nil, nil
  local known
  local ok, problem = with_output_aside(function()
    known = runner.run(one, { point.values }, object.trial, values)
  end)
  if not ok then error(problem, 0) end
  return { plan = one, known = known }
end

return outside
