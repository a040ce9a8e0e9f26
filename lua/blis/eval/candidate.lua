--- Candidates: the text of a policy, or a set of parameters, as an optimiser or a language model
--- proposes it; and what of an experiment it decides.
local core = require "blis.core"
local engines = require "blis.eval.engines"
local errors = require "blis.errors"
local fixed = require "blis.eval.fixed"
local frozen = require "blis.eval.frozen"
local json = require "blis.json"
local plan = require "blis.eval.plan" -- now, because candidates are read where no file opens
local sandbox = require "blis.sandbox"
local sorted = require "blis.sorted"

local candidate = {}

---@class blis.eval.Candidate
---@field text string as it came
---@field name string for messages
---@field lua? string to be loaded; lines are where they were
---@field parameters? table<string, any> in place of lua
---@field is_frozen? boolean the text outside of its block is frozen, so libraries are read-only
---@field hash string 16 hexadecimal digits of the text

-- What a candidate may decide.
local points = { "routing", "admission", "scheduler", "preemption", "priority", "autoscaler",
  "disaggregation", "cascade" }

--- EVOLVE-BLOCK-START or -END where the line is such a marker, in any form that loops write:
--- "# X", "-- # X", "--# X", "-- X", "X", "// X", "--// X".
local function marker_of(line)
  local rest = line:match "^%s*(.-)%s*$"
  rest = rest:gsub("^%-%-%s*", "")
  rest = rest:match "^#%s*(.*)$" or rest:match "^//%s*(.*)$" or rest
  local which = rest:match "^EVOLVE%-BLOCK%-(%u+)$"
  return (which == "START" or which == "END") and which or nil
end

local function lines_of(text)
  local lines = {}
  for line in (text .. "\n"):gmatch "(.-)\n" do lines[#lines + 1] = line end
  return lines
end

local function without_mark(text) return (text:gsub("^\xEF\xBB\xBF", "")) end

--- The text as Lua can load it: markers of blocks and a first line "lua", which is left of a code
--- fence, are blank; all lines stay where they are. A marker inside a long string is blank as well.
---@param text string
---@return string
function candidate.clean(text)
  local lines = lines_of(without_mark(text))
  for i, line in ipairs(lines) do
    if marker_of(line) or (i == 1 and line:match "^%s*lua%s*$") then lines[i] = "" end
  end
  return table.concat(lines, "\n")
end

--- What is outside of the blocks, without their markers.
local function frozen_part(text)
  local kept, is_inside = {}, false
  for _, line in ipairs(lines_of(without_mark(text))) do
    local marker = marker_of(line)
    if marker then
      is_inside = marker == "START"
      kept[#kept + 1] = "\0" -- where a block is
    elseif not is_inside then
      kept[#kept + 1] = (line:gsub("%s+$", ""))
    end
  end
  return kept
end

--- Whether each line is inside of a block; nil for the line of a marker.
local function lines_inside(text)
  local inside, is_inside = {}, false
  for i, line in ipairs(lines_of(text)) do
    local marker = marker_of(line)
    if marker then is_inside = marker == "START" else inside[i] = is_inside end
  end
  return inside
end

--- What of the text outside of its block differs from a seed's, line by line and as Lua reads it;
--- nil when nothing does.
---@param text string
---@param seed string
---@return string?
function candidate.frozen_problem(text, seed)
  local own, wanted = frozen_part(text), frozen_part(seed)
  for i = 1, math.max(#own, #wanted) do
    if own[i] ~= wanted[i] then
      local function show(line)
        if line == nil then return "nothing" end
        return line == "\0" and "a marker of the block" or ("'%s'"):format(line)
      end
      return ("the text outside the EVOLVE-BLOCK is frozen: found %s, expected %s")
        :format(show(own[i]), show(wanted[i]))
    end
  end
  local clean = candidate.clean(text)
  return frozen.problem(clean, candidate.clean(seed), function(one)
    return lines_inside(without_mark(one == clean and text or seed))
  end)
end

--- Whether the first line of the block may have been commented out by the tool that extracted it.
---@param text string
---@return boolean
function candidate.may_be_swallowed(text)
  local lines = lines_of(text)
  for i, line in ipairs(lines) do
    if marker_of(line) == "START" then
      return (lines[i + 1] or ""):match "^%s*%-%-%s*[%w_.]+%s*[=(]" ~= nil
    end
  end
  return false
end

--- Bytes of a candidate at most; the sandbox takes no longer scripts.
candidate.most_bytes = sandbox.most_bytes

--- Reads a file; returns nil and the problem on failure. Of an oversized file, it reads one byte
--- more than a candidate may have.
---@param path string
---@return string? text
---@return string? problem
function candidate.read_file(path)
  local file, problem = core.open_input(path)
  if not file then return nil, problem end
  local text, why = file:read(candidate.most_bytes + 1)
  file:close()
  return text or (why == nil and "" or nil), why and path .. ": " .. why
end

local function hash_of(text) return core.hash128(text):sub(1, 16) end

local function read_parameters(text, name)
  local ok, values = pcall(json.decode, text)
  if not ok or type(values) ~= "table" then
    errors.invalid("%s: begins with '{' like a set of parameters, but is not valid JSON: %s", name,
      ok and "expected an object" or tostring(values):gsub("^JSON:1: ", ""))
  end
  return values
end

--- A candidate from a string: Lua, or a JSON object of parameters.
---@param text string
---@param name string
---@return blis.eval.Candidate
function candidate.read(text, name)
  if #text > candidate.most_bytes then
    errors.invalid("%s: larger than %d bytes, the limit for a candidate", name,
      candidate.most_bytes)
  end
  local self = { text = text, name = name, hash = hash_of(text) }
  if text:match "^%s*{" then
    self.parameters = read_parameters(text, name)
  else
    self.lua = candidate.clean(text)
  end
  return self
end

--- A candidate that is a set of parameters.
---@param values table<string, any>
---@param name string
---@return blis.eval.Candidate
function candidate.of_parameters(values, name)
  local text = json.encode(values)
  return { text = text, name = name, hash = hash_of(text), parameters = values }
end

---@class blis.eval.Parameter
---@field name string
---@field low number
---@field high number
---@field default number

--- Checks values against the parameters of a suite, and fills in what is missing.
---@param parameters blis.eval.Parameter[]
---@param values table<string, any>
---@param name string
---@return table<string, number>
function candidate.check_parameters(parameters, values, name)
  local known, words, full = {}, {}, {}
  for i, one in ipairs(parameters) do
    known[one.name], words[i], full[one.name] = one, one.name, one.default
  end
  for _, key in ipairs(sorted.names(values)) do
    local one, value = known[key], values[key]
    if not one then
      errors.invalid("%s: unknown parameter '%s'%s", name, key, errors.suggestion(key, words))
    elseif type(value) ~= "number" or value ~= value or value < one.low or value > one.high then
      errors.invalid("%s: %s is %s, expected a number from %s to %s", name, key,
        errors.show(value), errors.show(one.low), errors.show(one.high))
    end
    full[key] = value
  end
  return full
end

--- Raises what a candidate returned in place of a policy.
local function fail_shape(name, value)
  errors.invalid("%s: it returned %s, expected a function(request, instances), a policy, "
    .. "{ \"weighted\", scorers = ... } or a table of %s", name, errors.show(value),
    table.concat(points, ", "))
end

local of_kind = { router = "routing", admission = "admission", scheduler = "scheduler",
  preemption = "preemption", autoscaler = "autoscaler", cascade = "cascade",
  disaggregation = "disaggregation" }

local function points_of(name, value)
  local chosen, is_known = {}, {}
  for _, point in ipairs(points) do is_known[point] = true end
  for key in next, value do
    if type(key) ~= "string" then
      errors.invalid("%s: a key of type %s, expected only names: %s", name, type(key),
        table.concat(points, ", "))
    end
  end
  for _, key in ipairs(sorted.names(value)) do
    if not is_known[key] then
      errors.invalid("%s: a candidate cannot set '%s'%s", name, key,
        errors.suggestion(key, points))
    end
    chosen[key] = value[key]
  end
  if next(chosen) == nil then fail_shape(name, value) end
  return chosen
end

--- The most levels of tables in the options of a candidate.
local deepest = 64

--- Raises for tables whose contents change between reads, and for tables that have no end.
local function check_plain(name, value, levels)
  if type(value) ~= "table" then return end
  if getmetatable(value) ~= nil then
    errors.invalid("%s: a table of a policy has a metatable, expected plain tables", name)
  end
  if levels == 0 then
    errors.invalid("%s: a table of a policy contains itself or has more than %d levels", name,
      deepest)
  end
  for _, item in next, value do check_plain(name, item, levels - 1) end
end

--- What a candidate returned, as options of an experiment.
---@param value any
---@param name string
---@return table<string, any>
function candidate.options(value, name)
  check_plain(name, value, deepest)
  if type(value) == "function" or type(value) == "string" then return { routing = value } end
  local made = type(value) == "userdata" and core.policy_definition(value)
  if made and made.kind == "scorer" then
    return { routing = { "weighted", scorers = { { value, 1 } } } }
  elseif made and of_kind[made.kind] then
    return { [of_kind[made.kind]] = value }
  end
  if type(value) ~= "table" then fail_shape(name, value) end
  if type(rawget(value, 1)) == "string" then return { routing = value } end
  if rawget(value, "route") ~= nil or rawget(value, "new") ~= nil then
    return { routing = value }
  end
  return points_of(name, value)
end

--- A copy of plain values, so that no table is shared.
local function copy_of(value)
  if type(value) ~= "table" then return value end
  local copy = {}
  for key, item in next, value do copy[key] = copy_of(item) end
  return copy
end

--- The role that math.random of the run belongs to; the others have streams of their own.
local first_role = "routing"

--- Runs the text of a candidate in an environment of its own.
local function run_text(self, given, role)
  local chunk = sandbox.load(self.lua, self.name,
    { is_policy = true, seed = given.seed, write = given.write, wrap = given.wrap,
      guard = given.guard, readers = given.readers, role = role ~= first_role and role or nil,
      finish = self.is_frozen and fixed.environment or nil })
  return candidate.options(chunk(copy_of(given.parameters or {})), self.name)
end

--- The policy of a role in a copy of the candidate that no other role shares; a copy for each
--- instance if the engines decide.
local function role_alone(self, given, role, all)
  local name = next(all, next(all)) and role or nil -- of its random numbers
  local options = name and run_text(self, given, role) or all
  if options[role] == nil then
    errors.invalid("%s: it returned no '%s' when it ran for that role alone", self.name, role)
  end
  if not engines.decide(role) then return options[role] end
  local wrap = given.wrap or function(value) return value end
  return engines.apart(role, wrap(options[role]), function(i)
    local _ <close> = given.loading()
    return wrap(run_text(self, given, ("%s of instance %d"):format(role, i))[role])
  end)
end

--- Runs that print nothing while the text is loaded again.
local function quietly(given)
  local again, depth = {}, 0
  for name, value in pairs(given) do again[name] = value end
  function again.write(line)
    if depth == 0 and given.write then given.write(line) end
  end
  local mark = setmetatable({}, { __close = function() depth = depth - 1 end })
  function again.loading()
    depth = depth + 1
    return mark
  end
  return again
end

--- Loads a candidate and reads its policies, inside of a sandbox. The code runs once for each role
--- that the candidate decides, and each role keeps only its policy, so roles share no variables.
--- Otherwise, a router could read the current state from the scheduler of an engine. The code of
--- schedulers and preemption policies runs once for each instance, on its first call.
---@param self blis.eval.Candidate
---@param suite blis.eval.Suite
---@param given? { seed?: integer, write?: fun(line: string), parameters?: table, wrap?: function,
--- guard?: function }
---@return table<string, any> options of an experiment
function candidate.load(self, suite, given)
  given = given or {}
  if self.parameters and plan.is_meant(self.parameters, suite.parameters) then
    return plan.policies(self.parameters, suite, self.name, given.write)
  end
  if self.parameters then
    local full = candidate.check_parameters(suite.parameters, self.parameters, self.name)
    return suite.policy(full)
  end
  local all, apart, again = run_text(self, given), {}, quietly(given)
  local _ <close> = again.loading()
  for _, role in ipairs(sorted.names(all)) do apart[role] = role_alone(self, again, role, all) end
  return apart
end

return candidate
