--- Traffic whose rate changes with time: a shape is a factor of the rate over time, and arrivals
--- are moved so that they follow it. How they are spaced stays: where the rate is twice as high,
--- the same requests come in half the time.
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local servegen_hours = require "blis.traffic.servegen_hours"
local servegen_rates = require "blis.traffic.servegen_rates"
local types = require "blis.config.types"

local shape = {}

local hour_us = 3600000000
local day_steps, ramp_steps = 96, 100
local most_points = 1000000

-- What repeats takes a millisecond or more.
local least_us = 1000

local function time(name, default, doc, min)
  return {
    name = name, type = "time_us", min = min or 0, default = default, unit = "us", doc = doc,
  }
end

local function factor(name, default, doc, min)
  return { name = name, type = "number", min = min or 1e-6, max = 1e6, default = default,
    doc = doc }
end

local function section(kind, summary, options)
  options[#options + 1] = factor("speed", 1, "Factor on the speed of time.")
  return { name = "shape", summary = summary, kind = kind, options = options }
end

local built_in_days = 14

--- The hours that are built in.
local function built_in_steps()
  local steps = {}
  for k = 1, built_in_days * 24 do steps[k] = { hour_us, servegen_hours[k] } end
  return steps
end

--- The steps that begin before a time, the last of which ends there.
local function cut(steps, until_us)
  local kept, left_us = {}, until_us
  for _, step in ipairs(steps) do
    if left_us <= 0 then break end
    kept[#kept + 1] = { math.min(step[1], left_us), step[2] }
    left_us = left_us - step[1]
  end
  return kept
end

-- The options of each kind, and its steps: { length_us, factor } in order.
local kinds = {
  diurnal = {
    section = section("diurnal", "A cosine over a day; its mean is 1.", {
      time("period_us", 24 * hour_us, "Length of a day.", least_us),
      time("peak_us", nil, "When it is at its highest; default: 14 of 24 hours."),
      factor("peak_to_trough", 4, "Highest rate divided by the lowest rate.", 1),
    }),
    repeats = true,
    steps = function(v)
      local steps, length_us = {}, v.period_us / day_steps
      local peak_us, low = v.peak_us or v.period_us * 14 / 24, 1 / v.peak_to_trough
      for k = 1, day_steps do
        local turn = ((k - 0.5) * length_us - peak_us) / v.period_us
        local m = (1 + math.cos(2 * math.pi * turn)) / 2 * (1 - low) + low
        steps[k] = { length_us, m * 2 / (1 + low) }
      end
      return steps
    end,
  },
  ramp = {
    section = section("ramp", "A straight line from one rate to another, which then stays.", {
      factor("from", 0.2, "Factor at the beginning."),
      factor("to", 2, "Factor at the end."),
      time("start_us", 0, "When it begins to change."),
      time("duration_us", 600000000, "How long it does; twice as long in all by default."),
    }),
    steps = function(v)
      local steps = { { v.start_us, v.from } }
      for k = 1, ramp_steps do
        steps[k + 1] = { v.duration_us / ramp_steps,
          v.from + (v.to - v.from) * (k - 0.5) / ramp_steps }
      end
      steps[#steps + 1] = { v.duration_us, v.to }
      return steps
    end,
  },
  surges = {
    section = section("surges", "Short surges of traffic at random times.", {
      time("every_us", 300000000, "From one to the next.", least_us),
      time("duration_us", 30000000, "How long one lasts, at the end of that time.", 1),
      factor("height", 5, "Factor during a surge; 1 at other times."),
    }),
    repeats = true, periods = 6,
    check = function(v, path)
      if v.duration_us >= v.every_us then
        errors.invalid("%s: a surge lasts %d us, but the next one starts after %d us", path,
          v.duration_us, v.every_us)
      end
    end,
    steps = function(v)
      return { { v.every_us - v.duration_us, 1 }, { v.duration_us, v.height } }
    end,
  },
  servegen = {
    section = section("servegen", "The hours of 14 days of ServeGen; their mean is 1.", {
      { name = "days", type = "integer", min = 1, max = 10000, doc = "Number of days to use." },
      { name = "path", type = "path", doc = "Folder of ServeGen data (chunk-<id>-trace.csv) that "
          .. "replaces the built-in hours: the sum of all its clients by window, scaled to a mean "
          .. "of 1." },
    }),
    repeats = true,
    check = function(v, path)
      if not v.path and (v.days or 0) > built_in_days then
        errors.invalid("%s.days: invalid value %d: expected %d or fewer without path", path,
          v.days, built_in_days)
      end
    end,
    steps = function(v, path)
      local steps = v.path and servegen_rates.steps(v.path, path .. ".path") or built_in_steps()
      return v.days and cut(steps, v.days * 24 * hour_us) or steps
    end,
  },
}

--- The names of the kinds, in the order of help.
shape.names = { "diurnal", "ramp", "surges", "servegen" }

--- The options of a kind; nil for an unknown kind.
---@param name string
---@return blis.Section?
function shape.section_of(name)
  return kinds[name] and kinds[name].section
end

--- The options of all kinds together, for the reference: each says whose it is.
---@return blis.Section
function shape.described()
  local options, by_name = { {
    name = "kind", type = "choice", choices = shape.names, required = true,
    doc = "The first item, { \"diurnal\", ... }; or the name alone for the whole.",
  } }, {}
  for _, name in ipairs(shape.names) do
    for _, option in ipairs(kinds[name].section.options) do
      local doc = ("%s: %s"):format(name, option.doc)
      local known = by_name[option.name]
      if option.name == "speed" then
        doc = option.doc
      elseif known then
        doc = ("%s %s"):format(known.doc, doc)
      end
      if not known then
        known = setmetatable({}, { __index = option })
        by_name[option.name], options[#options + 1] = known, known
      elseif known.default ~= option.default then
        doc = ("%s (%s by default)"):format(doc, tostring(option.default))
      end
      known.doc = doc
    end
  end
  return {
    name = "shape", summary = "How the rate of traffic changes with time.", options = options,
  }
end

types.shape = {
  expected = function()
    return "'diurnal', { 'diurnal', period_us =, peak_to_trough = }, { 'ramp', from =, to =, "
      .. "duration_us = }, { 'surges', every_us =, duration_us =, height = } or { 'servegen', "
      .. "days =, path = }, each with speed ="
  end,
  check = function(value)
    if type(value) == "string" then value = { value } end
    return type(value) == "table" and kinds[value[1] or value.kind] and value or nil
  end,
}

---@class blis.Shape
---@field steps number[][] { length_us, factor }
---@field whole_us number of the steps
---@field even_us number how long a constant rate takes for as many requests
---@field repeats boolean false: the last value continues
---@field length_us integer how long requests come by default

--- Checks what a user wrote.
---@param given any
---@param path string
---@return blis.Shape
function shape.read(given, path)
  local named = schema.check_value({ type = "shape" }, given, path)
  local kind, options = kinds[named[1] or named.kind], {}
  for key, value in pairs(named) do
    if key ~= 1 and key ~= "kind" then options[key] = value end
  end
  local values = schema.read(kind.section, options, path)
  if kind.check then kind.check(values, path) end
  local steps, whole_us, even_us = {}, 0, 0
  for _, step in ipairs(kind.steps(values, path)) do
    if step[1] > 0 then
      steps[#steps + 1] = { step[1] / values.speed, step[2] }
      whole_us, even_us = whole_us + steps[#steps][1], even_us + steps[#steps][1] * step[2]
    end
  end
  if even_us == 0 then
    errors.invalid("%s: its rate is 0 at all times", path)
  end
  if whole_us < least_us then
    errors.invalid("%s: at this speed it lasts %g us, expected at least "
      .. "%d", path, whole_us, least_us)
  end
  return {
    steps = steps, whole_us = whole_us, even_us = even_us, repeats = kind.repeats or false,
    length_us = math.floor(whole_us * (kind.periods or 1)),
  }
end

--- How long a constant rate takes for as many requests as there are before a time.
---@param self blis.Shape
---@param until_us integer
---@return integer
function shape.even_us(self, until_us)
  local times = self.repeats and until_us // self.whole_us or 0
  local left_us, even_us = until_us - times * self.whole_us, times * self.even_us
  for _, step in ipairs(self.steps) do
    local part_us = math.min(step[1], left_us)
    left_us, even_us = left_us - part_us, even_us + part_us * step[2]
  end
  return math.max(math.ceil(even_us + left_us * self.steps[#self.steps][2]), 1)
end

--- The windows of a specification for a client of that rate, over the whole shape.
---@param self blis.Shape
---@param rate number
---@return table[]
function shape.windows(self, rate)
  local windows, time_us = {}, 0
  while time_us < self.length_us do
    for _, step in ipairs(self.steps) do
      local from_us = time_us
      time_us = time_us + step[1]
      if step[2] > 0 then
        windows[#windows + 1] = { start_us = math.floor(from_us), end_us = math.floor(time_us),
          trace_rate = rate * step[2] }
      end
    end
  end
  return windows
end

--- Points that move what a constant rate sends up to a time to where it belongs.
---@param self blis.Shape
---@param until_us integer
---@param path string
---@return integer[][]
function shape.points(self, until_us, path)
  local times = self.repeats and until_us // self.even_us + 1 or 1
  if times * #self.steps > most_points then
    errors.invalid("%s: the rate changes more than %d times in the run", path, most_points)
  end
  local points, time_us, even_us = { { 0, 0 } }, 0.0, 0.0
  local function add()
    local from = math.max(math.floor(even_us), points[#points][1] + 1)
    points[#points + 1] = { from, math.floor(time_us) }
  end
  for _ = 1, times do
    for _, step in ipairs(self.steps) do
      time_us, even_us = time_us + step[1], even_us + step[1] * step[2]
      add()
    end
  end
  if even_us < until_us then -- the last value continues
    time_us = time_us + (until_us - even_us) / self.steps[#self.steps][2]
    even_us = until_us
    add()
  end
  return points
end

return shape
