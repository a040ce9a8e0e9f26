--- The best ways to put a model on a budget of GPUs: which layout takes most load while targets are
--- kept, for each GPU and for each dollar.
---
--- Every layout is first bounded by short runs with one seed, which begin with an empty cluster and
--- so flatter it. The best of them are then confirmed in the steady state with all seeds
--- (blis.capacity), from the highest bound down, until no bound reaches what has been confirmed.
local capacity = require "blis.capacity"
local core = require "blis.core"
local errors = require "blis.errors"
local experiment = require "blis.experiment"
local layouts = require "blis.recommend.layouts"
local options = require "blis.config.sweep"
local report = require "blis.recommend.report"
local schema = require "blis.config.schema"
local sweep = require "blis.sweep"

local recommend = {}

---@class blis.RecommendedLayout
---@field name string "8 x TP 2", "3P TP 2 + 10D TP 1"
---@field kind "aggregated"|"disaggregated"
---@field gpus integer that it uses
---@field usd_per_hour number? nil when the price of a GPU is not known
---@field options table those of its cluster
---@field bound number? requests/s of short runs with one seed
---@field is_confirmed boolean with all seeds; the fields below are nil otherwise
---@field interval string? what the interval is
---@field goodput number? requests/s with which targets are kept; nil when runs were too short
---@field low number? of its interval; nil = not known
---@field high number?
---@field per_gpu number? goodput (or the middle of its interval) of a GPU, requests/s
---@field per_usd number? requests for a dollar
---@field on_front boolean no layout is surely better for a GPU or a dollar without being worse for
--- the other

---@class blis.InfeasibleLayout
---@field name string
---@field kind "aggregated"|"disaggregated"
---@field reason string

---@class blis.Recommendation printed as a table, the best first
---@field gpus integer the budget
---@field targets string[]
---@field seeds integer of those confirmed
---@field layouts blis.RecommendedLayout[] confirmed ones by goodput of a GPU, then others by bound
---@field infeasible blis.InfeasibleLayout[]
---@field notes string[]

-- Short runs last so long, or have so many requests; and so close rates are tried. In less time
-- than a target allows, an overload does not show.
local bound_s, bound_requests, bound_tolerance = 20, 100, 0.1

-- One seed may be off by so much.
local doubt = 1.02

--- The experiment at one rate, laid out.
local function trial_of(search, layout)
  return function(p)
    local spec = layouts.experiment(layout, search.experiment(p))
    spec.seed = p.seed
    return experiment.run(spec)
  end
end

--- An experiment that is given as a table becomes a function of the rate, the seed and the length.
local function experiment_function(given)
  if type(given) == "function" then return given end
  local workload = given.workload or {}
  if type(workload) ~= "table" or workload.trace or workload.clients or workload.file then
    errors.invalid("recommend.experiment: the rate of this workload cannot be set; give a "
      .. "function(p) that returns an experiment for p.rate and p.requests")
  end
  return function(p)
    local spec, changed = {}, {}
    for key, value in pairs(given) do spec[key] = value end
    for key, value in pairs(workload) do changed[key] = value end
    changed.rate, changed.requests = p.rate, p.requests
    spec.workload = changed
    return spec
  end
end

local function search_at(search, layout, changes)
  local spec = {
    trial = trial_of(search, layout), targets = search.targets, max_missed = search.max_missed,
    from = search.from, seed = search.seed, level = search.level, quiet = true,
  }
  for key, value in pairs(changes) do spec[key] = value end
  return capacity.search(spec)
end

--- Why targets are missed at the lowest rate.
local function missed_text(search, figures)
  local parts = {}
  for i, name in ipairs(search.names) do
    local value = figures["figure." .. i]
    parts[i] = ("%s %s"):format(name, value and ("%.4g"):format(value) or "unknown")
  end
  return ("misses the targets at %g requests/s: %s"):format(search.from,
    table.concat(parts, ", "))
end

--- The lowest rate at which targets were missed, or else the highest that was tried.
local function first_missed(curve)
  for _, point in ipairs(curve) do
    if point.missed > 0 then return point.value end
  end
  return curve[#curve].value
end

--- What short runs say of a layout, as numbers.
local function bound_of(search, layout)
  local trial = trial_of(search, layout)
  local function short(p)
    local requests = math.max(bound_requests, math.ceil(p.rate * bound_s))
    return trial { rate = p.rate, seed = p.seed, requests = requests }
  end
  local found = search_at(search, layout, { trial = short, steady = false, replications = 1,
    jobs = 1, requests = bound_requests, max_requests = bound_requests,
    tolerance = bound_tolerance })
  local first = found.curve[1]
  local outcome = { bound = first_missed(found.curve) }
  if first.missed > 0 then
    outcome.is_missed = 1
    for i, name in ipairs(search.names) do outcome["figure." .. i] = first.figures[name] end
  end
  return outcome
end

--- Bounds all layouts in worker processes.
local function bound_all(search, list)
  local points, outcomes = {}, {}
  for i = 1, #list do points[i] = { layout = i } end
  if #points == 0 then return outcomes end
  local found = sweep {
    name = "recommend", points = points, seed = search.seed, identity = "recommend",
    report = { "bound" },
    trial = function(p) return bound_of(search, list[p.layout]) end,
  }:run { jobs = search.jobs, quiet = search.quiet }
  local failure = found.failures[1]
  if failure then errors.invalid("recommend: %s: %s", failure.name, failure.reason) end
  for i, point in ipairs(found.points) do
    outcomes[i] = {}
    for name, values in pairs(point.values) do outcomes[i][name] = values[1] end
  end
  return outcomes
end

--- Layouts that can be built; the others are infeasible, with what the model says.
local function buildable(search, infeasible)
  local list = {}
  local function probe(layout)
    local one = trial_of(search, layout) { rate = search.from, seed = search.seed, requests = 1 }
    local cost = one.cost
    return cost.usd and cost.gpu_hours > 0 and cost.usd / cost.gpu_hours * layout.gpus or nil
  end
  for _, layout in ipairs(layouts.all(search.gpus, search.degrees, search.kinds)) do
    local ok, answer = pcall(probe, layout)
    if ok then
      layout.usd_per_hour = answer
      list[#list + 1] = layout
    elseif type(answer) == "table" and answer.code == "invalid" then
      infeasible[#infeasible + 1] = { name = layout.name, kind = layout.kind,
        reason = tostring(answer.message):gsub("^%S+:%d+: ", "") }
    else
      error(answer, 0)
    end
  end
  return list
end

--- Adds what a dimension is worth with a rate.
local function per(layout, rate)
  local usd = layout.usd_per_hour
  return rate and rate / layout.gpus, rate and usd and usd > 0 and rate * 3600 / usd or nil
end

local function add_confirmed(layout, found)
  layout.is_confirmed, layout.interval = true, found.interval
  layout.goodput, layout.low, layout.high = found.value, found.low, found.high
  local middle = found.value
  if not middle and found.low and found.high then middle = math.sqrt(found.low * found.high) end
  layout.per_gpu, layout.per_usd = per(layout, middle or found.low)
end

local function confirm(search, layout)
  local found = search_at(search, layout, { replications = search.seeds, jobs = search.jobs,
    requests = search.requests, max_requests = search.max_requests,
    tolerance = search.tolerance, from = math.max(search.from, layout.bound / 1.5) })
  if not found.low then -- short runs have flattered it by far
    found = search_at(search, layout, { replications = search.seeds, jobs = search.jobs,
      requests = search.requests, max_requests = search.max_requests,
      tolerance = search.tolerance })
  end
  add_confirmed(layout, found)
end

--- True when short runs leave open that a layout is the best of those that were confirmed.
local function may_lead(layout, best)
  local gpu, usd = per(layout, layout.bound * doubt)
  return gpu >= best.gpu or usd ~= nil and usd >= best.usd
end

local function take_best(best, layout)
  best.gpu = math.max(best.gpu, layout.per_gpu or 0)
  best.usd = math.max(best.usd, layout.per_usd or 0)
end

--- Confirms from the highest bound down; the best of each kind is among them.
local function confirm_front(search, list)
  local best, seen, count, left_out = { gpu = 0, usd = 0 }, {}, 0, 0
  for _, layout in ipairs(list) do
    local is_wanted = not seen[layout.kind] or may_lead(layout, best)
    if is_wanted and (count < search.finalists or not seen[layout.kind]) then
      count = count + 1
      report.tell(search, "recommend: %s with %d seeds", layout.name, search.seeds)
      confirm(search, layout)
      take_best(best, layout)
      seen[layout.kind] = true
    elseif is_wanted then
      left_out = left_out + 1
    end
  end
  return left_out
end

--- a is surely better than b in one figure.
local function is_surely_better(a, b, name)
  local function rate(layout, end_of)
    local gpu, usd = per(layout, layout[end_of])
    if name == "gpu" then return gpu end
    return usd
  end
  local low, high = rate(a, "low"), rate(b, "high")
  return low ~= nil and high ~= nil and low > high
end

local function is_beaten(layout, list)
  for _, other in ipairs(list) do
    local wins = is_surely_better(other, layout, "gpu") or is_surely_better(other, layout, "usd")
    local loses = is_surely_better(layout, other, "gpu") or is_surely_better(layout, other, "usd")
    if wins and not loses then return true end
  end
  return false
end

local function is_before(a, b)
  if a.is_confirmed ~= b.is_confirmed then return a.is_confirmed end
  local one, other = a.per_gpu or a.bound / a.gpus, b.per_gpu or b.bound / b.gpus
  if one ~= other then return one > other end
  return a.name < b.name
end

local usual_degrees = { 1, 2, 4, 8 }

local function read(spec)
  local values = schema.read(options.recommend, spec, "recommend")
  local search = { names = {} }
  for key, value in pairs(values) do search[key] = value end
  for name in pairs(values.targets) do search.names[#search.names + 1] = name end
  table.sort(search.names)
  if type(values.experiment) ~= "function" then
    local taken = layouts.conflict(values.experiment.cluster)
    if taken then
      errors.invalid("recommend.experiment: layouts say cluster.%s themselves; leave it out", taken)
    end
  end
  search.experiment = experiment_function(values.experiment)
  search.jobs = values.jobs == "auto" and core.processors() or values.jobs
  search.degrees, search.kinds, search.seeds = {}, values.layouts, values.replications
  for i, tp in ipairs(values.degrees or usual_degrees) do
    search.degrees[i] = math.tointeger(tp)
    if not search.degrees[i] or tp < 1 then
      errors.invalid("recommend.degrees: %s is not allowed, expected whole numbers of at least 1",
        errors.show(tp))
    end
  end
  return search
end

--- Layouts that were bounded, from the highest bound down; those that miss are infeasible.
local function bounded(search, list, infeasible)
  local found, kept = bound_all(search, list), {}
  for i, layout in ipairs(list) do
    local row = found[i]
    layout.bound, layout.is_confirmed, layout.on_front = row.bound, false, false
    if row.is_missed then
      infeasible[#infeasible + 1] = { name = layout.name, kind = layout.kind,
        reason = missed_text(search, row) }
    else
      kept[#kept + 1] = layout
    end
  end
  table.sort(kept, is_before)
  return kept
end

local function add_notes(self, search, left_out)
  local function add(format, ...) self.notes[#self.notes + 1] = format:format(...) end
  if left_out > 0 then
    add("%d more layouts may lead by their bound; finalists = %d allows to confirm them", left_out,
      search.finalists + left_out)
  end
  if self.layouts[1] and not self.layouts[1].usd_per_hour then
    add("the price of a GPU is not known, so there is no goodput for a dollar")
  end
end

--- Looks for the layouts of a budget of GPUs that take most load while targets are kept: equal
--- instances, and pools for prefill and decode of any split, at several tensor parallel degrees.
---@param spec blis.RecommendOptions
---@return blis.Recommendation
function recommend.search(spec)
  local search = read(spec)
  local self = { gpus = search.gpus, targets = {}, seeds = search.seeds, infeasible = {},
    notes = {} }
  for i, name in ipairs(search.names) do
    self.targets[i] = ("%s %.6g"):format(name, search.targets[name])
  end
  self.layouts = bounded(search, buildable(search, self.infeasible), self.infeasible)
  local left_out = confirm_front(search, self.layouts)
  local confirmed = {}
  for _, layout in ipairs(self.layouts) do
    if layout.is_confirmed then confirmed[#confirmed + 1] = layout end
  end
  for _, layout in ipairs(confirmed) do layout.on_front = not is_beaten(layout, confirmed) end
  table.sort(self.layouts, is_before)
  add_notes(self, search, left_out)
  return report.new(self)
end

return recommend
