--- Detectors of overload, from flags and from the file of --saturation-config.
local errors = require "blis.errors"
local flags = require "blis.cli.flags"
local saturation = require "blis.results.saturation"
local schema = require "blis.config.schema"
local yaml_file = require "blis.yaml_file"

local detectors = {}

---@type blis.Section
detectors.section = {
  name = "detectors",
  summary = "Overload detection.",
  options = {
    {
      name = "names", type = "string", flag = "--detectors", metavar = "NAME,...",
      path = "saturation.detectors",
      doc = "Classify the finished run as stable, backlogged or overloaded, by composite, "
        .. "threshold, backlog-drift, or several of them.",
    },
    {
      name = "config", type = "path", flag = "--saturation-config",
      doc = "YAML file with their parameters: threshold.threshold_ms, "
        .. "backlog_drift.window_size_sec.",
    },
    {
      name = "report", type = "path", is_output = true, flag = "--saturation-report",
      doc = "JSON file with every verdict.",
    },
    {
      name = "final_window_us", type = "time_us", min = 1, flag = "--saturation-final-window",
      doc = "The level of a run is its most frequent level in this much time at the end. Default: "
        .. "window_size_sec of the file, or 30s.",
    },
  },
}

local function number(name)
  return { name = name, type = "number", min = 0, doc = "Has no effect." }
end

--- A block of the file as an option.
local function block(name, options)
  local section = { name = name, summary = "Parameters.", options = options }
  return { name = name, type = "section", section = section, doc = "Parameters." }
end

local idle = { "min_windows", "peak_ratio", "peak_ratio_band", "confidence_ci", "warmup_windows",
  "tail_windows", "saturated_drain_ratio", "transient_drain_ratio" }

local drift = {
  { name = "window_size_sec", type = "number", above = 0, max = 1e9, doc = "Interval." },
}
for _, name in ipairs(idle) do drift[#drift + 1] = number(name) end

local file_section = {
  name = "detectors",
  summary = "Parameters of detectors.",
  options = {
    block("threshold", {
      { name = "threshold_ms", type = "number", above = 0, max = 1e12, doc = "Mean E2E latency." },
    }),
    block("backlog_drift", drift),
  },
}

--- Names of detectors as keys.
local function set_of(names)
  local set = {}
  for _, name in ipairs(names) do set[name] = true end
  return set
end

local function read_file(path, selected, talk)
  local file = yaml_file.read(path)
  return yaml_file.located(file, "detectors", function()
    local values = schema.read(file_section, file.root, "detectors")
    for key, name in pairs { threshold = "threshold", backlog_drift = "backlog-drift" } do
      if values[key] and not selected[name] then
        errors.invalid("detectors.%s: detector %s is not in --detectors", key, name)
      end
    end
    for _, name in ipairs(idle) do
      if (values.backlog_drift or {})[name] then
        talk("%s: backlog_drift.%s has no effect", path, name)
      end
    end
    return values
  end)
end

--- Returns the argument of result:saturation, or nil without detectors.
---@param definition blis.cli.Command
---@param given table values of the section
---@param talk fun(format: string, ...)
---@return blis.SaturationOptions?
function detectors.of_flags(definition, given, talk)
  if not given.names then
    for i = 2, #detectors.section.options do
      local option = detectors.section.options[i]
      if given[option.name] then flags.fail(definition, "%s needs --detectors", option.flag) end
    end
    return nil
  end
  local selected = set_of(saturation.parse(given.names, "saturation.detectors"))
  local values = given.config and read_file(given.config, selected, talk) or {}
  local window_s = (values.backlog_drift or {}).window_size_sec
  local window_us = window_s and math.max(math.floor(window_s * 1e6), 1)
  return {
    detectors = given.names, threshold_ms = (values.threshold or {}).threshold_ms,
    window_us = window_us, final_window_us = given.final_window_us or window_us,
    keep_records = given.report ~= nil,
  }
end

--- "composite BACKLOGGED, threshold STABLE"
---@param found blis.Saturation
---@return string
function detectors.text(found)
  local parts = {}
  for i, name in ipairs(found.detectors) do parts[i] = name .. " " .. found.final[name] end
  return table.concat(parts, ", ")
end

return detectors
