--- The best layouts of a model on a budget of GPUs: the layouts with the highest load that meets
--- the targets, per GPU and per dollar. blis.recommend.race describes the search.
local basis = require "blis.capacity.basis"
local between = require "blis.results.between"
local model_range = require "blis.capacity.model_range"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local experiment = require "blis.experiment"
local format = require "blis.format"
local layouts = require "blis.recommend.layouts"
local memory = require "blis.recommend.memory"
local options = require "blis.config.sweep"
local presets = require "blis.config.presets"
local processors = require "blis.processors"
local race = require "blis.recommend.race"
local report = require "blis.recommend.report"
local schema = require "blis.config.schema"
local setting = require "blis.capacity.setting"
local surge = require "blis.capacity.surge"
local target_list = require "blis.capacity.targets"
local verdict = require "blis.results.verdict"

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
---@field goodput number? highest rate that meets the targets, requests/s; nil: runs too short
---@field low number? of its interval, of three seeds if it is not confirmed; nil = not known
---@field high number?
---@field per_gpu number? goodput (or the middle of its interval) of a GPU, requests/s
---@field per_usd number? requests for a dollar
---@field surge blis.SurgeTest? of a confirmed layout; nil if no surge was tried
---@field basis blis.CapacityBasis? of a confirmed layout at the lower end of its interval
---@field verdict blis.RunVerdict? of that run
---@field expected_error number? of TPOT there, which four fifths of the setups are within
---@field error_basis string? of this error: "measured", "neighbouring", "assumed", or "none"
---@field error_reason string? why this error is not known
---@field range_low number? goodput over that error
---@field range_high number?
---@field subject blis.results.Subject? what the layout is compared by
---@field copies integer? with rate: how many of the layout take that rate
---@field rate_gpus integer? GPUs of these
---@field copies_low integer? the same over the expected error of step times
---@field copies_high integer?
---@field rate_usd_per_hour number? price of these
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
---@field rate number? requests/s to serve
---@field verdict blis.RunVerdict of the confirmed layouts; `runs` of its reasons has their names
---@field layouts blis.RecommendedLayout[] confirmed ones by goodput of a GPU, then others by bound
---@field infeasible blis.InfeasibleLayout[]
---@field notes string[]

--- An experiment that is given as a table becomes a function of the rate, the seed and the length.
local function experiment_function(given)
  if type(given) == "function" then return given end
  local workload = given.workload or {}
  if type(workload) ~= "table" or workload.trace or workload.clients or workload.file then
    errors.invalid("recommend.experiment: the rate of this workload cannot be set; use a "
      .. "function(p) that returns an experiment for p.rate and p.requests")
  end
  return function(p)
    local spec, changed = {}, {}
    for key, value in pairs(given) do spec[key] = value end
    for key, value in pairs(workload) do changed[key] = value end
    local are_graphs = workload.graphs ~= nil or presets.is_agent[workload.preset]
    changed.rate, changed[are_graphs and "count" or "requests"] = p.rate, p.requests
    spec.workload = changed
    return spec
  end
end

-- Number of requests that show whether a layout works at all.
local probe_requests = 20

--- Nothing is served by instances that cannot hold it.
local function unservable_text(result)
  if result.unservable < result.arrived then return nil end
  local longest, smallest = 0, nil
  for _, request in ipairs(result.requests) do
    longest = math.max(longest, request.prompt_tokens + request.output_tokens)
  end
  for _, group in ipairs(result.setup.groups or { result.setup }) do
    if not smallest or group.kv_blocks < smallest.kv_blocks then smallest = group end
  end
  return ("requests of up to %s tokens do not fit into instances of TP %d, which have %d KV "
    .. "blocks"):format(format.count(longest), smallest.tp, smallest.kv_blocks)
end

--- What a first run shows of a layout: its price, or why it can serve nothing.
local function look(search, layout, one)
  if one.arrived == 0 then
    errors.invalid("recommend: no request arrives in the experiment at %g requests/s; run it "
      .. "longer, or start from a higher rate", search.from)
  end
  local cost = one.cost
  layout.reason = unservable_text(one)
  layout.is_split = layout.kind == "disaggregated" and one.handoffs.started > 0
  layout.usd_per_hour = cost.usd and cost.gpu_hours > 0
    and cost.usd / cost.gpu_hours * layout.gpus or nil
end

--- Tests whether a layout can be built; the model's error message is the reason of a failure. All
--- other errors are raised, such as invalid options and names, which apply to all layouts.
local function probe(search, layout)
  local p = { rate = search.from, seed = search.seed, requests = probe_requests }
  local spec = layouts.experiment(layout, search.experiment(p))
  if spec.autoscaler ~= nil then
    errors.invalid("recommend.experiment: layouts have a fixed number of instances; remove "
      .. "autoscaler")
  end
  experiment.read(spec)
  local ok, outcome = pcall(race.trial(search, layout), p)
  if ok then return look(search, layout, outcome) end
  if type(outcome) ~= "table" or outcome.code ~= "invalid"
    or tostring(outcome.message):find("unknown ", 1, true) then
    error(outcome, 0)
  end
  layout.reason = tostring(outcome.message):gsub("^%S+:%d+: ", "")
end

--- Takes those with a reason out of a list.
local function without_infeasible(list, infeasible)
  local kept = {}
  for _, layout in ipairs(list) do
    if layout.reason then
      infeasible[#infeasible + 1] = { name = layout.name, kind = layout.kind,
        reason = layout.reason }
    else
      kept[#kept + 1] = layout
    end
  end
  return kept
end

--- Whether a is surely better than b in one metric.
local function is_surely_better(a, b, name)
  local function rate(layout, end_of)
    local gpu, usd = race.per(layout, layout[end_of])
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

--- Notes that two trials would print twice.
local function check_distinct(list, name)
  local seen = {}
  for _, value in ipairs(list or {}) do
    if seen[value] then
      errors.invalid("recommend.%s: duplicate value %s", name, errors.show(value))
    end
    seen[value] = true
  end
end

local function check_targets(targets)
  for name, limit in pairs(targets) do
    if type(limit) == "number" and limit < 0 then
      errors.invalid("recommend.targets: %s: invalid value %g: expected a limit of at least 0",
        errors.show(name), limit)
    end
    local problem = type(name) == "string" and figures.why_no_number(name)
    if problem then errors.invalid("recommend.targets: %s", problem) end
  end
end

local function read(spec)
  local values = schema.read(options.recommend, spec, "recommend")
  local search = { names = {} }
  for key, value in pairs(values) do search[key] = value end
  for name in pairs(values.targets) do search.names[#search.names + 1] = name end
  table.sort(search.names)
  if type(values.experiment) ~= "function" then
    local taken = layouts.conflict(values.experiment.cluster)
    if taken then
      errors.invalid("recommend.experiment: remove cluster.%s: the layouts set it", taken)
    end
  end
  search.experiment = experiment_function(values.experiment)
  search.jobs = values.jobs == "auto" and processors.usable() or values.jobs
  search.degrees, search.kinds, search.seeds = {}, values.layouts, values.replications
  for i, tp in ipairs(values.tp_degrees or usual_degrees) do
    search.degrees[i] = math.tointeger(tp)
    if not search.degrees[i] or tp < 1 then
      errors.invalid("recommend.tp_degrees: %s: expected whole numbers of at least "
        .. "1", errors.invalid_value(tp))
    end
  end
  check_targets(values.targets)
  check_distinct(search.degrees, "tp_degrees")
  check_distinct(search.hardware, "hardware")
  check_distinct(search.decode_hardware, "decode_hardware")
  return search
end

--- All layouts; there is one at least.
local function layouts_of(search)
  local list = layouts.all(search)
  if #list == 0 then
    errors.invalid("recommend: no layout (%s) of %d GPUs has instances of %s GPUs; change gpus, "
      .. "tp_degrees or layouts", search.kinds, search.gpus, table.concat(search.degrees, ", "))
  end
  return list
end

--- "1 layout", "2 layouts"
local function layouts_text(count)
  return ("%d layout%s"):format(count, count == 1 and "" or "s")
end

local function add_notes(self, search, left_out, slack)
  local function add(text, ...) self.notes[#self.notes + 1] = text:format(...) end
  if left_out > 0 then
    add("%s may also lead, as far as is known; set finalists = %d to confirm more",
      layouts_text(left_out), search.finalists + left_out)
  end
  local unconfirmed = 0
  for _, layout in ipairs(self.layouts) do
    if not layout.is_confirmed then unconfirmed = unconfirmed + 1 end
  end
  if unconfirmed > left_out then
    add("%s left out for bounds of short runs, times %.3g, or three seeds: a rule that is checked "
      .. "on what is confirmed, and not proven; exhaustive = true confirms all",
      layouts_text(unconfirmed - left_out), slack)
  end
  local idle = 0
  for _, layout in ipairs(self.layouts) do
    if layout.kind == "disaggregated" and not layout.is_split then idle = idle + 1 end
  end
  if idle > 0 then
    add("in short runs of %s the decider split no request, so that prefill pools were idle; see "
      .. "the decider (--pd-decider), which is never in profile go-blis", layouts_text(idle))
  end
  if self.layouts[1] and not self.layouts[1].usd_per_hour then
    add("the price of a GPU is unknown, so goodput per dollar is not available")
  end
end

--- Everything except the experiment that the runs of a search depend on, as one string.
local function question_of(search)
  local parts = { ("missed %.17g, from %.17g, level %.17g"):format(search.max_missed, search.from,
    search.level) }
  for _, name in ipairs(search.names) do
    parts[#parts + 1] = ("%s %.17g"):format(name, search.targets[name])
  end
  return table.concat(parts, ", ")
end

local function lower_rate(rate, factor) return rate * factor end
local function rate_text(rate) return ("%.4g requests/s"):format(rate) end

--- Tries a surge at the load that a layout surely takes. If the layout stays overloaded, this adds
--- a problem, and the interval begins at a load that the layout recovers from.
local function add_surge(search, layout, calm, targets, problems)
  local at_rate = { rate = layout.low, seed = search.seed, requests = search.requests }
  if not setting.takes_shape(search.experiment(at_rate).workload) then return end
  local trial = race.trial(search, layout)
  layout.surge = surge.attempt({ targets = targets, max_missed = search.max_missed,
    seeds = { search.seed, search.seed + 1 }, requests = 2 * search.requests,
    max_requests = search.max_requests,
    run = function(rate, seed, requests, shape)
      return trial({ rate = rate, seed = seed, requests = requests }, shape)
    end }, layout.low, calm, lower_rate)
  if not layout.surge or layout.surge.recovers then return end
  problems[1] = surge.finding(layout.surge, rate_text)
  layout.low = layout.surge.recovers_at
end

--- Adds what a confirmed layout is limited by, and the verdict about it. It runs the layout once
--- more, with the load that it surely takes.
local function add_basis(search, layout)
  if not layout.low then return end
  local outcome = race.trial(search, layout) { rate = layout.low, seed = search.seed,
    requests = search.requests }
  local targets, problems, findings = target_list.read(search.targets), {}
  layout.basis, findings = basis.of(outcome, layout.low, targets)
  if layout.basis then add_surge(search, layout, outcome, targets, problems) end
  layout.verdict = basis.verdict(findings, problems)
  if not layout.basis then return end
  layout.subject = between.subject(outcome)
  local range = model_range.of_rate(layout.goodput or layout.basis.value,
    layout.basis.expected_error)
  layout.basis.model_range = range
  layout.error_basis, layout.error_reason = layout.basis.error_basis, layout.basis.error_reason
  if range then
    layout.expected_error, layout.range_low, layout.range_high = range.error, range.low, range.high
  end
end

--- Adds how many copies of a layout take a rate, by the load that each surely takes.
local function add_copies(layout, rate)
  if not layout.low then return end
  layout.copies = math.ceil(rate / layout.low)
  local range = layout.basis and layout.basis.model_range
  if range then
    local factor = 1 + range.error
    layout.copies_low = math.ceil(rate / (layout.low * factor))
    layout.copies_high = math.ceil(rate * factor / layout.low)
  end
  layout.rate_gpus = layout.copies * layout.gpus
  layout.rate_usd_per_hour = layout.usd_per_hour and layout.copies * layout.usd_per_hour
end

local function verdict_of(confirmed)
  local verdicts, names = {}, {}
  for _, layout in ipairs(confirmed) do
    if layout.verdict then
      verdicts[#verdicts + 1], names[#names + 1] = layout.verdict, layout.name
    end
  end
  if #verdicts > 0 then return verdict.join(verdicts, names) end
  return verdict.new { { code = "not-met", status = "invalid",
    text = "no layout is known to meet the targets." } }
end

--- Searches for the layouts of a budget of GPUs with the highest load that meets the targets: equal
--- instances, and pools for prefill and decode of any split, at several tensor parallel degrees.
---@param spec blis.RecommendOptions
---@return blis.Recommendation
function recommend.search(spec)
  local search = read(spec)
  local known <close> = memory.open(search.store, spec.experiment, search.identity)
  search.memory, search.question = known, question_of(search)
  local self = { gpus = search.gpus, targets = {}, seeds = search.seeds, infeasible = {},
    notes = {} }
  for i, name in ipairs(search.names) do
    self.targets[i] = ("%s %.6g"):format(name, search.targets[name])
  end
  local list = layouts_of(search)
  for _, layout in ipairs(list) do probe(search, layout) end
  list = without_infeasible(list, self.infeasible)
  race.bound(search, list)
  self.layouts = without_infeasible(list, self.infeasible)
  local left_out, slack = race.run(search, self.layouts)
  local confirmed = {}
  for _, layout in ipairs(self.layouts) do
    if layout.is_confirmed then
      confirmed[#confirmed + 1] = layout
      add_basis(search, layout)
      if search.rate then add_copies(layout, search.rate) end
    end
  end
  self.rate, self.verdict = search.rate, verdict_of(confirmed)
  for _, layout in ipairs(confirmed) do layout.on_front = not is_beaten(layout, confirmed) end
  table.sort(self.layouts, is_before)
  add_notes(self, search, left_out, slack)
  return report.new(self)
end

return recommend
