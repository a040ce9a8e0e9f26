--- The points of a sweep: from lists and ranges of parameters to a list of points, always the same.
local canonical = require "blis.sweep.canonical"
local errors = require "blis.errors"
local samples = require "blis.sweep.samples"
local schema = require "blis.config.schema"
local sorted = require "blis.sorted"

local space = {}

---@class blis.sweep.Point
---@field text string the labels as JSON
---@field labels table<string, any> for display and storage: numbers, strings, booleans
---@field values table<string, any> what the trial gets

---@class blis.sweep.Parameter
---@field name string
---@field items? { label: any, value: any }[] a list
---@field from? number a range
---@field to? number
---@field steps? integer
---@field is_log? boolean
---@field integer? boolean
---@field when? fun(p: table): boolean

local taken = { seed = true, replication = true }

---@type blis.Section
local parameter_section = {
  name = "parameter", summary = "A range.", options = {
    { name = "from", type = "number", doc = "First value." },
    { name = "to", type = "number", doc = "Last value." },
    { name = "steps", type = "integer", min = 2, max = 1000000, doc = "Values in a grid." },
    {
      name = "scale", type = "choice", choices = { "linear", "log" }, default = "linear",
      doc = "How values are spread.",
    },
    { name = "integer", type = "boolean", default = false, doc = "Whole numbers only." },
    { name = "when", type = "callback", arguments = "(p)", doc = "Whether a point has it." },
  },
}

local function check_label(label, path)
  local kind = type(label)
  if kind ~= "number" and kind ~= "string" and kind ~= "boolean" then
    errors.invalid("%s: label: %s: expected a string, a number, or a boolean", path,
      errors.invalid_value(label))
  end
  canonical.text(label, path)
end

--- What stands for a value in tables and keys.
local function item_of(value, path)
  local kind = type(value)
  if kind == "table" and value.label ~= nil and value.value ~= nil then
    check_label(value.label, path)
    return { label = value.label, value = value.value }
  end
  local text = canonical.text(value, path)
  if kind == "table" then return { label = text, value = value } end
  return { label = value, value = value }
end

local function check_name(name, path)
  if type(name) ~= "string" or not name:match("^[%a_][%w_]*$") then
    errors.invalid("%s: invalid parameter name %s: expected letters, digits, and underscores, "
      .. "such as 'prefix_weight'", path, errors.show(name))
  end
  if taken[name] then
    errors.invalid("%s: a trial's %s comes from the sweep; choose another name", path, name)
  end
end

local function check_range(parameter, path)
  if not (parameter.from and parameter.to) then
    errors.invalid("%s: expected a list of values or from = and to =", path)
  end
  if parameter.from >= parameter.to then
    errors.invalid("%s: from %g to %g is not a range", path, parameter.from, parameter.to)
  end
  if parameter.is_log and parameter.from <= 0 then
    errors.invalid("%s: a logarithmic range must start above 0, got %g", path, parameter.from)
  end
end

--- The values of a list, each with the label by which it is known.
local function read_items(given, path)
  for key in pairs(given) do
    if math.type(key) ~= "integer" or key < 1 or key > #given then
      errors.invalid("%s: expected a list of values without gaps, got one with %s", path,
        errors.show(key))
    end
  end
  local items, by_label = {}, {}
  for i = 1, #given do
    local place = ("%s, value %d"):format(path, i)
    local item = item_of(given[i], place)
    local same = by_label[item.label]
    if same and not rawequal(same.value, item.value) and type(given[i]) == "table"
      and given[i].label ~= nil then
      errors.invalid("%s: the label %s is used for two different values", place,
        errors.show(item.label))
    end
    items[i], by_label[item.label] = item, item
  end
  return items
end

--- Reads { name, { value, ... } } or { name, from =, to = }.
local function read_parameter(given, path)
  if type(given) ~= "table" then
    schema.raise_value(path, given, "{ name, { value, ... } }")
  end
  check_name(given[1], path)
  path = ("%s (%s)"):format(path, given[1])
  local named = {}
  for key, value in pairs(given) do
    if key ~= 1 and key ~= 2 then named[key] = value end
  end
  local range = schema.read(parameter_section, named, path)
  local parameter = {
    name = given[1], from = range.from, to = range.to, steps = range.steps,
    is_log = range.scale == "log", integer = range.integer, when = range.when,
  }
  if given[2] == nil then
    check_range(parameter, path)
    return parameter
  end
  if type(given[2]) ~= "table" or #given[2] == 0 then
    schema.raise_value(path, given[2], "a list of values")
  end
  parameter.items = read_items(given[2], path)
  return parameter
end

local function read_parameters(given)
  local list, seen = {}, {}
  for i, one in ipairs(given) do
    local path = ("parameters[%d]"):format(i)
    list[i] = read_parameter(one, path)
    if seen[list[i].name] then errors.invalid("%s: '%s' is given twice", path, list[i].name) end
    seen[list[i].name] = true
  end
  for key in pairs(given) do
    if math.type(key) ~= "integer" or key < 1 or key > #list then
      errors.invalid("parameters: expected a list of { name, { value, ... } }, got one with %s; "
        .. "the order of names in a table is not defined", errors.show(key))
    end
  end
  return list
end

--- The value of a parameter at u, 0 <= u < 1 (or 1, in grids of ranges).
local function at(parameter, u)
  if parameter.items then return parameter.items[1 + math.floor(u * #parameter.items)] end
  local from, to = parameter.from, parameter.to
  local value
  if u == 1 then
    value = to
  elseif parameter.is_log then
    value = from * (to / from) ^ u
  else
    value = from + u * (to - from)
  end
  if parameter.integer then value = math.floor(value + 0.5) end
  return { label = value, value = value }
end

--- All values of a parameter in a grid.
local function grid_items(parameter)
  if parameter.items then return parameter.items end
  if not parameter.steps then
    errors.invalid("parameters (%s): a range in a grid needs steps = ...", parameter.name)
  end
  local list = {}
  for k = 0, parameter.steps - 1 do
    list[k + 1] = at(parameter, k / (parameter.steps - 1))
  end
  return list
end

--- The table that functions of the script see; asking for what no point has is a mistake.
local function view_of(values, names)
  return setmetatable(values, {
    __index = function(_, name)
      if names[name] then return nil end
      local words = {}
      for known in pairs(names) do words[#words + 1] = known end
      table.sort(words)
      errors.invalid("p: unknown parameter '%s'%s", tostring(name),
        errors.suggestion(tostring(name), words))
    end,
  })
end

--- Names that p answers to.
local function name_set(names)
  local set = { seed = true, replication = true }
  for _, name in ipairs(names) do set[name] = true end
  return set
end

local function copy(given)
  local result = {}
  for key, value in pairs(given) do result[key] = value end
  return result
end

--- Collects points: drops points that where rejects, and duplicates.
local function new_collector(names, where)
  local points, seen, known = {}, {}, name_set(names)
  return points, function(labels, values)
    if where and not where(view_of(copy(values), known)) then return end
    local text = canonical.text(labels, "parameters")
    if seen[text] then return end
    seen[text] = true
    points[#points + 1] = { labels = copy(labels), values = copy(values), text = text }
  end
end

-- What a list of trials may have; the memory of a large machine holds them.
local most_points = 10000000

--- Every combination, the last parameter fastest.
local function grid(parameters, names, where)
  local items, count = {}, 1
  for i, parameter in ipairs(parameters) do
    items[i] = grid_items(parameter)
    count = count * #items[i]
    if count > most_points then
      errors.invalid("parameters: a grid of more than %d points; sampling = \"sobol\" with samples "
        .. "= ... covers large spaces with few of them", most_points)
    end
  end
  local points, collect = new_collector(names, where)
  local known, labels, values = name_set(names), {}, {}
  local function expand(i)
    local parameter = parameters[i]
    if not parameter then return collect(labels, values) end
    if parameter.when and not parameter.when(view_of(copy(values), known)) then
      return expand(i + 1)
    end
    for _, item in ipairs(items[i]) do
      labels[parameter.name], values[parameter.name] = item.label, item.value
      expand(i + 1)
    end
    labels[parameter.name], values[parameter.name] = nil, nil
  end
  expand(1)
  return points
end

local function sampled(parameters, names, options)
  if not options.samples then
    errors.invalid("samples is missing: set the number of points to sample")
  end
  local points, collect = new_collector(names, options.where)
  local known = name_set(names)
  local coordinates = samples.new(options.sampling, options.samples, #parameters,
    options.sampling_seed)
  for _, u in ipairs(coordinates) do
    local labels, values = {}, {}
    for d, parameter in ipairs(parameters) do
      if not parameter.when or parameter.when(view_of(copy(values), known)) then
        local item = at(parameter, u[d])
        labels[parameter.name], values[parameter.name] = item.label, item.value
      end
    end
    collect(labels, values)
  end
  return points
end

--- Points written one by one; their names in alphabetical order.
local function listed(given, where)
  local names, seen = {}, {}
  for i, one in ipairs(given) do
    if type(one) ~= "table" then
      schema.raise_value(("points[%d]"):format(i), one, "a table { name = value, ... }")
    end
    for name in pairs(one) do
      check_name(name, ("points[%d]"):format(i))
      if not seen[name] then names[#names + 1] = name end
      seen[name] = true
    end
  end
  table.sort(names)
  local points, collect = new_collector(names, where)
  for i, one in ipairs(given) do
    local labels, values = {}, {}
    for _, name in ipairs(names) do
      if one[name] ~= nil then
        local item = item_of(one[name], ("points[%d].%s"):format(i, name))
        labels[name], values[name] = item.label, item.value
      end
    end
    collect(labels, values)
  end
  return names, points
end

--- The names of the parameters in the order of the columns, and the points in the order of the
--- trials.
---@param options table what the section of sweeps has read
---@return string[] names
---@return blis.sweep.Point[] points
function space.points(options)
  if options.points and options.parameters then
    errors.invalid("parameters cannot be combined with points")
  end
  local names, points
  if options.points then
    names, points = listed(options.points, options.where)
  else
    local parameters = read_parameters(options.parameters or {})
    names = {}
    for i, parameter in ipairs(parameters) do names[i] = parameter.name end
    points = options.sampling == "grid" and grid(parameters, names, options.where)
      or sampled(parameters, names, options)
  end
  if #points == 0 then errors.invalid("parameters: the sweep has no points") end
  return names, points
end

--- Checks an external value for a parameter; raises if it is invalid.
local function item_from(parameter, value, path)
  if not parameter.items then
    local is_in = type(value) == "number" and value >= parameter.from and value <= parameter.to
      and (not parameter.integer or math.tointeger(value) ~= nil)
    if not is_in then
      schema.raise_value(path, value, ("a %s from %g to %g"):format(parameter.integer
        and "whole number" or "number", parameter.from, parameter.to))
    end
    value = parameter.integer and math.tointeger(value) or value + 0.0
    return { label = value, value = value }
  end
  local labels, are_numbers = {}, type(value) == "number"
  for i, item in ipairs(parameter.items) do
    labels[i] = tostring(item.label)
    if item.label == value or labels[i] == value then return item end
    are_numbers = are_numbers and type(item.value) == "number"
  end
  -- A list of numbers is how a grid looks at a range.
  if are_numbers and value - value == 0 then return { label = value, value = value } end
  schema.raise_value(path, value, "one of " .. table.concat(labels, ", "))
end

--- The values of the parameters that a point of them has.
local function choose(parameters, given, known)
  local labels, values = {}, {}
  for _, parameter in ipairs(parameters) do
    local name = parameter.name
    if parameter.when and not parameter.when(view_of(copy(values), known)) then
      if given[name] ~= nil then
        errors.invalid("%s: does not apply with the other values (when returns false)", name)
      end
    elseif given[name] == nil then
      errors.invalid("%s is missing", name)
    else
      local item = item_from(parameter, given[name], name)
      labels[name], values[name] = item.label, item.value
    end
  end
  return labels, values
end

--- A point that was chosen outside, for example by an optimizer. The sweep need not contain it.
---@param options table what the section of sweeps has read
---@param names string[] of the parameters
---@param given table<string, number|string|boolean>
---@return blis.sweep.Point
function space.chosen(options, names, given)
  local known = name_set(names)
  for _, name in ipairs(sorted.names(given)) do
    if not known[name] or taken[name] then
      errors.invalid("unknown parameter '%s'%s", name, errors.suggestion(name, names))
    end
  end
  local labels, values = given, given
  if not options.points then
    labels, values = choose(read_parameters(options.parameters or {}), given, known)
  end
  local points, collect = new_collector(names, options.where)
  collect(labels, values)
  return points[1] or errors.invalid("where returns false for these values")
end

--- The argument of functions that look at a point and not at one of its trials.
---@param values table<string, any>
---@param names string[]
---@return table p
function space.point_argument(values, names)
  return view_of(copy(values), name_set(names))
end

--- The argument of a trial.
---@param values table<string, any>
---@param names string[]
---@param seed integer
---@param replication integer
---@return table p
function space.argument(values, names, seed, replication)
  local p = copy(values)
  p.seed, p.replication = seed, replication
  return view_of(p, name_set(names))
end

return space
