--- Overload detection. Detectors process the arrivals and completions of a finished run, in order,
--- and return a verdict after each. Formulas of BLIS (Go).
local core = require "blis.core"
local errors = require "blis.errors"
local schema = require "blis.config.schema"
local show = require "blis.show"
local sorted = require "blis.sorted"

local saturation = {}

---@alias blis.SaturationLevel "STABLE"|"BACKLOGGED"|"OVERLOADED"

---@class blis.Verdict
---@field level blis.SaturationLevel
---@field score number 0 to 1
---@field confidence number 0 to 1
---@field signals table<string, number> the evidence of the verdict

---@class blis.SaturationRecord
---@field time_us integer
---@field detector string
---@field result blis.Verdict

---@class blis.Saturation
---@field final table<string, blis.SaturationLevel> by detector: the most frequent one at the end
---@field detectors string[]
---@field records blis.SaturationRecord[]? a verdict per event and detector

local severity = { "STABLE", "BACKLOGGED", "OVERLOADED" }
local noise_samples = 20 -- arrivals until full confidence
local trend_samples = 20 -- with fewer completions there is no trend

local function verdict(level, score, confidence, signals)
  return { level = level, score = score, confidence = confidence, signals = signals }
end

--- Mean latency in ms of the completions first to last; sums[i] is the sum of the first i in us.
local function mean_ms(sums, first, last)
  return (sums[last] - sums[first - 1]) / (last - first + 1) / 1000
end

--- Relative rise of the mean latency from the first half of the completions to the second.
local function rise(sums, n)
  local half = n // 2
  if half == 0 then return 0 end
  local before, after = mean_ms(sums, 1, half), mean_ms(sums, half + 1, n)
  return before > 0 and math.max(0, (after - before) / before) or 0
end

--- Does the mean latency rise from every quarter of the completions to the next?
local function is_rising(sums, n)
  if n < trend_samples then return false end
  local quarter = n // 4
  local last = -math.huge
  for i = 0, 3 do
    local mean = mean_ms(sums, i * quarter + 1, i < 3 and (i + 1) * quarter or n)
    if mean <= last then return false end
    last = mean
  end
  return true
end

local function confidence_of(state)
  return math.min(1, state.arrivals / noise_samples)
end

local makers = {}

function makers.composite()
  return function(state)
    local n = state.completions
    local deficit = math.max(0, 1 - n / state.arrivals)
    local floor = 1 / math.sqrt(state.arrivals)
    local raw, rising = rise(state.sums, n), is_rising(state.sums, n)
    local trend = rising and raw or 0
    local score = math.max(deficit, math.min(trend, 1))
    local level = score < floor and "STABLE" or trend > floor and "OVERLOADED" or "BACKLOGGED"
    return verdict(level, score, confidence_of(state), {
      rate_deficit = deficit, latency_trend_raw = math.min(raw, 1),
      latency_trend = math.min(trend, 1), quartile_monotone = rising and 1 or 0,
      noise_floor = floor,
    })
  end
end

function makers.threshold(options)
  local limit = options.threshold_ms
  return function(state)
    local n = state.completions
    if n == 0 then return verdict("STABLE", 0, 0, {}) end
    local mean = mean_ms(state.sums, 1, n)
    local confidence = 1 - 1 / math.sqrt(n + 1)
    local signals = { mean_e2e = mean, threshold = limit }
    if mean < limit then return verdict("STABLE", 0.5 * mean / limit, confidence, signals) end
    local excess = math.min(0.25, (mean - limit) / limit / 4)
    return verdict("OVERLOADED", 0.75 + excess, confidence, signals)
  end
end

--- Least-squares slope of the number in flight over the windows so far. Sums are of integers.
local function new_slope(window_us)
  local first, last, value -- buckets, and the content of the last one
  local n, sum_y, sum_xy = 0, 0, 0
  local function append(y)
    sum_y, sum_xy, n, value = sum_y + y, sum_xy + n * y, n + 1, y
  end
  return function(time_us, in_flight)
    local bucket = time_us // window_us
    if not first then
      first, last = bucket, bucket
      append(in_flight)
    end
    while last < bucket do
      last = last + 1
      append(value)
    end
    sum_y, sum_xy = sum_y + in_flight - value, sum_xy + (n - 1) * (in_flight - value)
    value = in_flight
    if n < 2 then return 0 end
    local sum_x, sum_xx = n * (n - 1) // 2, (n - 1) * n * (2 * n - 1) // 6
    return (n * sum_xy - sum_x * sum_y) / (n * sum_xx - sum_x * sum_x)
  end
end

makers["backlog-drift"] = function(options)
  local slope_at = new_slope(options.window_us)
  return function(state)
    local in_flight = state.arrivals - state.completions
    local slope, floor = slope_at(state.time_us, in_flight), 1 / math.sqrt(state.arrivals)
    local level = slope <= floor and "STABLE" or slope <= 3 * floor and "BACKLOGGED"
      or "OVERLOADED"
    local score = math.min(1, math.max(0, slope) / (3 * floor))
    return verdict(level, score, confidence_of(state), {
      in_flight = in_flight, arrivals = state.arrivals, completions = state.completions,
      running_slope = slope, noise_floor = floor,
    })
  end
end

local names = { "composite", "threshold", "backlog-drift" } -- the order of verdicts

--- The detectors named by a string: one, several separated by commas, or "all".
---@param text any
---@param path string
---@return string[] in a fixed order
function saturation.parse(text, path)
  if type(text) ~= "string" or text == "" then
    schema.raise_value(path, text, "'all' or some of " .. table.concat(names, ", "))
  end
  if text == "all" then return names end
  local wanted, list = {}, {}
  for item in (text .. ","):gmatch("([^,]*),") do
    local name = item:match("^%s*(.-)%s*$")
    if not makers[name] then
      errors.invalid("%s: unknown detector '%s'%s", path, name, errors.suggestion(name, names))
    end
    wanted[name] = true
  end
  for _, name in ipairs(names) do
    if wanted[name] then list[#list + 1] = name end
  end
  return list
end

---@type blis.Section
local section = {
  name = "saturation",
  summary = "Detectors of overload.",
  options = {
    { name = "detectors", type = "any", default = "all", doc = "Names with commas between them." },
    {
      name = "threshold_ms", type = "number", above = 0, max = 1e12, default = 5000,
      doc = "Detector threshold: mean E2E latency above which a cluster is overloaded.",
    },
    {
      name = "window_us", type = "time_us", min = 1, default = 60000000,
      doc = "For backlog-drift: sampling interval of the number in flight.",
    },
    {
      name = "final_window_us", type = "time_us", min = 1, default = 30000000,
      doc = "The final level is the most frequent one in this much time at the end.",
    },
    {
      name = "keep_records", type = "boolean", default = false,
      doc = "Also return every verdict.",
    },
  },
}

---@class blis.SaturationOptions
---@field detectors? string "all", or names with commas between them
---@field threshold_ms? number of threshold: mean E2E of an overloaded cluster (default 5000)
---@field window_us? integer of backlog-drift (default 60 s)
---@field final_window_us? integer window for the final level (default 30 s)
---@field keep_records? boolean also return every verdict

--- Arrivals and completions of completed requests in order of time, arrivals first, then by id.
local function events_of(records)
  local events = {}
  for i = 1, #records do
    local record = records[i]
    if record.e2e_us and record.e2e_us > 0 then
      local id, arrival_us = record.id, record.arrival_us
      events[#events + 1] = { time_us = arrival_us, id = id }
      events[#events + 1] = { time_us = arrival_us + record.e2e_us, id = id,
        e2e_us = record.e2e_us }
    end
  end
  table.sort(events, function(a, b)
    if a.time_us ~= b.time_us then return a.time_us < b.time_us end
    if (a.e2e_us == nil) ~= (b.e2e_us == nil) then return a.e2e_us == nil end
    return a.id < b.id
  end)
  return events
end

local function apply(state, event)
  state.time_us = event.time_us
  if event.e2e_us then
    state.completions = state.completions + 1
    state.sums[state.completions] = state.sums[state.completions - 1] + event.e2e_us
  else
    state.arrivals = state.arrivals + 1
  end
end

--- The most frequent level; for a tie, the more severe one.
local function final_level(counts)
  local best = severity[1]
  for _, level in ipairs(severity) do
    if (counts[level] or 0) >= (counts[best] or 0) and (counts[level] or 0) > 0 then
      best = level
    end
  end
  return best
end

--- Looks at a finished run.
---@param records userdata the requests of a result
---@param options? blis.SaturationOptions
---@return blis.Saturation
function saturation.examine(records, options)
  local values = schema.read(section, options, "saturation")
  local found = { final = {}, detectors = saturation.parse(values.detectors,
    "saturation.detectors"), records = values.keep_records and {} or nil }
  local judges, counts = {}, {}
  for i, name in ipairs(found.detectors) do judges[i], counts[i] = makers[name](values), {} end
  local events = events_of(records)
  local from_us = #events > 0 and events[#events].time_us - values.final_window_us or 0
  local state = { arrivals = 0, completions = 0, sums = { [0] = 0 } }
  for _, event in ipairs(events) do
    apply(state, event)
    for i, name in ipairs(found.detectors) do
      local result = judges[i](state)
      if found.records then
        table.insert(found.records, { time_us = event.time_us, detector = name, result = result })
      end
      if event.time_us >= from_us then
        counts[i][result.level] = (counts[i][result.level] or 0) + 1
      end
    end
  end
  for i, name in ipairs(found.detectors) do found.final[name] = final_level(counts[i]) end
  return show.figures(found)
end

local function write_sorted(writer, key, values)
  writer:object(key)
  for _, name in ipairs(sorted.names(values)) do writer:field(name, values[name]) end
  return writer:done()
end

--- Writes final levels as a member of the object that is open.
---@param writer userdata
---@param found blis.Saturation
function saturation.write_final(writer, key, found)
  write_sorted(writer, key, found.final)
end

--- Writes final levels and every verdict to a JSON file.
---@param found blis.Saturation with its records
---@param path string
function saturation.save(found, path)
  local output <close> = core.output(path)
  local writer = core.json_writer(2):object()
  saturation.write_final(writer, "final", found)
  writer:array("trace")
  for _, record in ipairs(found.records) do
    local result = record.result
    writer:object():field("timestamp", record.time_us):field("detector", record.detector)
    writer:object("result"):field("level", result.level):field("score", result.score)
    writer:field("confidence", result.confidence)
    write_sorted(writer, "signals", result.signals)
    writer:done():done()
  end
  output:write(writer:done():done():take()):write("\n")
  output:commit()
end

return saturation
