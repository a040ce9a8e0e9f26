--- Fits step times to a measured deployment: reads reports of load generators and writes a file of
--- coefficients for `--catalogue`.
local accuracy = require "blis.calibrate.accuracy"
local composed = require "blis.calibrate.composed"
local coefficients_file = require "blis.calibrate.coefficients_file"
local core = require "blis.core"
local engine = require "blis.engine"
local endings = require "blis.endings"
local errors = require "blis.errors"
local fit = require "blis.calibrate.fit"
local format = require "blis.format"
local kernels = require "blis.calibrate.kernels"
local observed = require "blis.calibrate.observed"
local parameters = require "blis.calibrate.parameters"
local show = require "blis.show"
local scatter = require "blis.charts.scatter"
local schema = require "blis.config.schema"
local section = require "blis.config.fit"

local calibrate = {}

---@class blis.Calibration
---@field path string of the measurements
---@field format string
---@field is_by_request boolean false: fitted to rows of means
---@field cluster blis.ClusterOptions with all defaults
---@field engine { model: string, hardware: string, tp: integer } what was measured
---@field prior blis.CoefficientSet
---@field fitted blis.CoefficientSet
---@field before { train: blis.Accuracy, held_out: blis.Accuracy? }
---@field after { train: blis.Accuracy, held_out: blis.Accuracy? }
---@field dropped { reason: string, count: integer }[]
---@field hits string[] parameters that ended at a bound
---@field trials integer replays that it took
---@field gap number the largest error that is left: of E2E, held out if anything is
---@field is_within boolean? the gap is not above until_gap; nil without until_gap
---@field kernels blis.KernelFit? the kernels that were measured
---@field constants table? of composed, as a catalogue file has them
local Calibration = {}
Calibration.__index = Calibration
Calibration.__name = "blis.calibration"

-- Each round frees more coefficients, and pulls less to the prior. A list names those of both
-- latency models.
local rounds = {
  { parameters = { "step", "layer", "weights", "first_token", "decode", "front_end" },
    pull = 1e-3 },
  { pull = 3e-4 },
  { pull = 3e-5 },
}

local function gap_of(figures)
  local part = figures.held_out or figures.train
  return part.e2e and part.e2e.mape or math.huge
end

--- Searches round by round; without until_gap the first two are all.
---@param list blis.FitParameter[] what is fitted
local function search(task, prior, values, list)
  local found = { set = prior, trials = 0, hits = {} }
  local figures = fit.accuracies(task, prior)
  for number, round in ipairs(rounds) do
    local is_close = values.until_gap and gap_of(figures) <= values.until_gap
    if is_close or not values.until_gap and number > 2 then break end
    local one = fit.round(task, found.set, prior, {
      parameters = round.parameters, list = list, pull = round.pull, trials = values.trials,
      tell = values.tell and function(trials, most) values.tell(number, trials, most) end,
    })
    found = { set = one.set, hits = one.hits, trials = found.trials + one.trials }
    figures = fit.accuracies(task, one.set)
  end
  found.figures = figures
  return found
end

--- Searches from a prior, and keeps what came of it.
local function calibration_of(measured, task, prior, list)
  local values = measured.values
  local before = fit.accuracies(task, prior)
  local found = search(task, prior, values, list)
  if not found.figures.train.e2e then
    errors.invalid("%s: the simulated engine completes none of its requests at any step time; "
      .. "check the model, the GPU, and tp", values.observed)
  end
  local gap = gap_of(found.figures)
  local is_within
  if values.until_gap then is_within = gap <= values.until_gap end
  return setmetatable({
    path = values.observed, format = measured.seen.format,
    is_by_request = measured.seen.requests ~= nil,
    cluster = measured.whole, engine = measured.facts, prior = prior, fitted = found.set,
    before = show.figures(before),
    after = show.figures(found.figures),
    dropped = measured.seen.requests and measured.seen.requests.dropped or {}, hits = found.hits,
    trials = found.trials, gap = gap, until_gap = values.until_gap,
    is_within = is_within, task = task, parameters = list,
  }, Calibration)
end

--- Fits the calibrated latency model to measurements of one engine. The file may be a CSV table of
--- requests or of means by rate, a TraceV2, or a report of vllm bench serve, GuideLLM or
--- inference-perf; cluster says which engine was measured, as it was started.
---
---     local fitted = blis.calibrate { observed = "bench.json",
---       cluster = { model = "qwen/qwen3-14b", hardware = "H100", max_num_seqs = 256 } }
---     print(fitted)              -- errors before, after, and on requests it was not fitted to
---     fitted:save "mine.yaml"    -- for blis run --catalogue mine.yaml
---
--- With kernels = "DIR", fits composed: the closed form of the kernels to the times of that folder,
--- and then the scales of the layers to the requests.
---
---@param spec blis.CalibrateOptions
---@return blis.Calibration
function calibrate.run(spec)
  local values = schema.read(section, spec, "calibrate")
  local cluster = values.cluster
  local kind = values.kernels and "composed" or "calibrated"
  if cluster.latency_model ~= nil and cluster.latency_model ~= kind then
    errors.invalid("calibrate: cluster.latency_model is %s; only '%s' can be fitted%s",
      errors.show(cluster.latency_model), kind,
      values.kernels and " to kernel times" or ", or 'composed' with kernels")
  end
  cluster.latency_model, cluster.instances = kind, 1
  if values.kernels then cluster.kernel_tables = values.kernels end
  local seen = observed.read(values.observed)
  local whole = engine.read(cluster, "cluster")
  whole.horizon_us = math.maxinteger
  local measured = { values = values, cluster = cluster, whole = whole, seen = seen,
    facts = core.engine_facts(whole) }
  if not values.kernels then
    local task = fit.task(seen, cluster, whole.max_num_seqs)
    return calibration_of(measured, task, core.coefficients(whole), parameters.all)
  end
  local kernel_fit = kernels.fit(values.kernels, measured.facts.hardware, whole.catalogue)
  return composed.during(kernel_fit, whole, measured.facts.regime, function(one)
    local task = fit.task(seen, cluster, whole.max_num_seqs, one.options)
    local calibration = calibration_of(measured, task, one.prior, one.list)
    calibration.kernels, calibration.constants = kernel_fit, one.constants(calibration.fitted)
    return calibration
  end)
end

--- Writes the coefficients as a catalogue file.
---@param path string
function Calibration:save(path)
  if self.kernels then return self.kernels:save(path, self.constants) end
  endings.check("save", path, endings.yaml)
  coefficients_file.write(path, self)
end

local function points_of(self, figure, first, last)
  local points = {}
  for i = first, last do
    local one, own = self.task.observed[i], self.after.predicted[i]
    local real = own and figure.of(one, one.output_tokens)
    if real and real > 0 then
      points[#points + 1] = { real, figure.of(own, one.output_tokens) }
    end
  end
  return points
end

--- Writes a picture (SVG) of predicted over observed times.
---@param path string
function Calibration:plot(path)
  endings.check("plot", path, endings.svg)
  local panels, count = {}, #self.task.observed
  for i, figure in ipairs(accuracy.figures) do
    panels[i] = { title = figure.title, series = {
      { name = "fitted to", points = points_of(self, figure, 1, self.task.train) },
      { name = "held out", points = points_of(self, figure, self.task.train + 1, count) },
    } }
  end
  local output <close> = core.output(path)
  output:write(scatter.svg(panels))
  output:commit()
end

--- The front end is an option of a cluster, which no catalogue file has.
local function front_end_line(self)
  local us = self.fitted.composed and self.fitted.composed.front_us
  return us and ("front end: run with --front-end-rate %.0f"):format(1e6 / us)
end

--- Says how many of the observed have no part in the errors, since they ended in no simulation.
local function missing_line(self)
  local missing, count = 0, #self.task.observed
  for i = 1, count do if not self.after.predicted[i] then missing = missing + 1 end end
  if missing == 0 then return nil end
  return ("%d of the %d %s are excluded from the errors: the simulated engine %s"):format(missing,
    count, self.is_by_request and "requests" or "rows", self.is_by_request
    and "did not complete them" or "is overloaded at their rates")
end

local function changes_of(self)
  local rows = {}
  for _, one in ipairs(self.parameters) do
    local from, to = self.prior[one.list][one.index], self.fitted[one.list][one.index]
    local is_hit = false
    for _, name in ipairs(self.hits) do is_hit = is_hit or name == one.name end
    rows[#rows + 1] = { one.name, format.number(from, 3), format.number(to, 3),
      is_hit and "at its bound" or "", one.doc }
  end
  return format.table({ "coefficient", "prior", "fitted", "", "" }, rows, "  ",
    { [4] = true, [5] = true })
end

function Calibration:__tostring()
  local named = { { "before", self.before.train }, { "after", self.after.train } }
  if self.after.held_out then
    named[3], named[4] = { "before, held out", self.before.held_out },
      { "after, held out", self.after.held_out }
  end
  local lines = {
    ("%s on %s, fitted to %d %s of %s (%s); %d held out"):format(self.engine.model,
      self.engine.hardware, self.task.train,
      self.is_by_request and "requests" or "rows of means", self.path, self.format,
      #self.task.observed - self.task.train),
  }
  for _, one in ipairs(self.dropped) do
    lines[#lines + 1] = ("%d requests are excluded: %s"):format(one.count, one.reason)
  end
  if self.kernels then table.insert(lines, 1, tostring(self.kernels) .. "\n") end
  lines[#lines + 1] = missing_line(self)
  lines[#lines + 1] = accuracy.table(named)
  lines[#lines + 1] = changes_of(self)
  lines[#lines + 1] = front_end_line(self)
  if self.until_gap then
    lines[#lines + 1] = ("E2E error: %.1f %%, %s the requested %.1f %%"):format(self.gap * 100,
      self.is_within and "within" or "more than", self.until_gap * 100)
  end
  return table.concat(lines, "\n")
end

return calibrate
