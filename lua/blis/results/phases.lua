--- Named parts of the traffic, such as night and morning, and how the requests of each fared.
local errors = require "blis.errors"
local format = require "blis.format"
local schema = require "blis.config.schema"

local phases = {}

---@type blis.Section
local section = {
  name = "phase",
  summary = "A part of the traffic, until the next one begins.",
  options = {
    { name = "name", type = "string", required = true, doc = "Name of the phase." },
    {
      name = "from_us", type = "time_us", min = 0, default = 0, unit = "us",
      doc = "When it begins: requests are of the phase in which they arrive.",
    },
  },
}

local example = "a list of phases: { { name = \"night\" }, { name = \"morning\", from_us = "
  .. "blis.seconds(600) }, ... }"

---@class blis.PhaseStart
---@field name string
---@field from_us integer

--- The phases that an experiment names, in order of time.
---@param given any
---@param path string
---@return blis.PhaseStart[]
function phases.read(given, path)
  if type(given) ~= "table" or next(given) == nil then schema.raise_value(path, given, example) end
  schema.check_list(given, path, example)
  local list = {}
  for i, one in ipairs(given) do
    list[i] = schema.read(section, one, ("%s[%d]"):format(path, i))
    if i > 1 and list[i].from_us <= list[i - 1].from_us then
      errors.invalid("%s[%d]: '%s' begins at %d us, expected more than the %d us of '%s' before it",
        path, i, list[i].name, list[i].from_us, list[i - 1].from_us, list[i - 1].name)
    end
  end
  return list
end

--- Metrics per phase: of the requests that arrived in it, and its SLO attainment. The last phase
--- ends with the run, and rates use its actual length.
---@param summary table
---@param starts blis.PhaseStart[]
---@param targets? blis.SloTarget[]
---@return blis.Phase[]
function phases.of(summary, starts, targets)
  local list, times = {}, {}
  for i, start in ipairs(starts) do times[i] = start.from_us end
  local spans = summary.requests:goodput_over_time(times, targets or {})
  for i, start in ipairs(starts) do
    local end_us = math.max(summary.duration_us, start.from_us) + 1
    local to_us = math.min(times[i + 1] or end_us, end_us)
    local phase = summary.requests:window(start.from_us, to_us)
    phase.name = start.name
    if targets then
      phase.good = spans[i].good
      phase.attainment = spans[i].judged > 0 and spans[i].good / spans[i].judged or nil
    end
    list[i] = phase
  end
  return list
end

--- "night: 812 requests, 99.1 % within their targets, TTFT p99 812 ms", a line each.
---@param list blis.Phase[]
---@return string[]
function phases.lines(list)
  local lines = {}
  for i, phase in ipairs(list) do
    local kept = phase.attainment
      and (", %s within their targets"):format(format.percent(phase.attainment)) or ""
    lines[i] = ("%s: %s requests%s, TTFT p99 %s ms"):format(phase.name,
      format.count(phase.arrived), kept, format.number(phase.ttft_ms.p99))
  end
  return lines
end

return phases
