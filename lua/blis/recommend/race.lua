--- Finds the best of many layouts without a long search for each layout:
---
--- 1. Short runs with one seed bound each layout. They start with an empty cluster and therefore
---    flatter it: the bound is the lowest rate that misses the targets. Layouts of a chain differ
---    by one instance, so each search starts from the bound of the previous layout.
--- 2. The best layout of each kind is confirmed in the steady state with all seeds, which yields
---    intervals.
--- 3. Further layouts that may lead are screened with three seeds at the leading rate. Layouts that
---    surely miss the targets there are dropped.
--- 4. The remaining layouts that may still lead are confirmed, from the highest bound down.
---
--- A layout may lead unless the most it can take, for a GPU and for a dollar, is less than what
--- another one takes at least: the upper end of its interval, or its bound with a slack. The slack
--- is a tenth, and more if an interval has turned out to reach further beyond its bound. The best
--- of each kind is confirmed in any case. How many are is limited, and told if it was too few. All
--- runs of a round have the same seeds, so the same requests arrive.
local capacity = require "blis.capacity"
local core = require "blis.core"
local errors = require "blis.errors"
local layouts = require "blis.recommend.layouts"
local experiment = require "blis.experiment"
local report = require "blis.recommend.report"
local setting = require "blis.capacity.setting"
local sweep = require "blis.sweep"

local race = {}

-- Length of short runs, in time or requests, and the relative distance of tried rates. An overload
-- does not show in less time than a target allows.
local bound_s, bound_requests, bound_tolerance = 20, 100, 0.1

-- They have no more requests than this: where that is less than 20 s, bounds are flattering, and no
-- less bounds.
local bound_requests_max = 100000

-- A layout is likely to take this part of its bound, or of its neighbour's.
local likely_part = 1.5

-- By how much more than its bound a layout may take, until that was seen.
local first_slack = 1.1

-- Seeds of the third step.
local screen_seeds, screened_per_finalist = 3, 4

--- The experiment of a layout at one rate, with a shape of the rate for a surge.
---@param search table
---@param layout blis.recommend.Layout
---@return fun(p: table, shape?: table): blis.Result
function race.trial(search, layout)
  return function(p, shape)
    local spec = layouts.experiment(layout, search.experiment(p))
    spec.seed = p.seed
    if shape then spec.workload = setting.with_shape(spec.workload, shape) end
    return experiment.run(spec)
  end
end

--- A search in this process, and no worker, has a label and uses what is known.
local function search_at(search, layout, changes, label)
  local spec = {
    trial = race.trial(search, layout), targets = search.targets, max_missed = search.max_missed,
    from = search.from, seed = search.seed, level = search.level, jobs = search.jobs,
    quiet = not label or search.quiet or not core.terminal_size(),
  }
  for key, value in pairs(changes) do spec[key] = value end
  local rounds = label and {
    identity = search.memory:identity_of(search.question, layout.name, "confirm",
      spec.replications, spec.max_requests, spec.level),
    run = function(round, options) return search.memory:run(round, options) end,
  }
  return capacity.part(spec, label or "", rounds)
end

--- The same, from a rate that it may keep, unless it does not surely.
local function search_near(search, layout, near, changes, label)
  if near and near > search.from then
    changes.from = near
    local found = search_at(search, layout, changes, label)
    if found.low then return found end
  end
  changes.from = search.from
  return search_at(search, layout, changes, label)
end

--- In worker processes, fn for each of a list; it returns numbers. What stands for one is what all
--- depends on that fn looks at.
local function each(search, name, list, key_of, fn)
  local points, outcomes, items = {}, {}, {}
  for i, item in ipairs(list) do
    points[i] = { item = key_of(item) }
    items[points[i].item] = item
  end
  if #points == 0 then return outcomes end
  local round = sweep.new {
    name = "recommend " .. name, points = points, seed = search.seed,
    identity = search.memory:identity_of(search.question, name),
    trial = function(p) return fn(items[p.item]) end,
  }
  local known = search.memory:run(round, { jobs = search.jobs, quiet = search.quiet })
  for i, trial in ipairs(round.plan.trials) do
    local outcome = known[trial.key]
    if outcome.status ~= "done" then
      errors.invalid("%s of layouts: %s", name, outcome.reason)
    end
    outcomes[i] = outcome.values
  end
  return outcomes
end

--- The first round.

--- The lowest rate at which targets were missed, or else the highest that was tried.
local function first_missed(curve)
  for _, point in ipairs(curve) do
    if point.missed > 0 then return point.value end
  end
  return curve[#curve].value
end

--- What short runs say of a layout, as numbers; near is a rate that it may keep.
local function bound_of(search, layout, near)
  local trial = race.trial(search, layout)
  local function short(p)
    local requests = math.ceil(math.min(math.max(bound_requests, p.rate * bound_s),
      bound_requests_max))
    return trial { rate = p.rate, seed = p.seed, requests = requests }
  end
  local found = search_near(search, layout, near, { trial = short, steady = false, jobs = 1,
    replications = 1, requests = bound_requests, max_requests = bound_requests,
    tolerance = bound_tolerance })
  local first = found.curve[1]
  local outcome = { bound = first_missed(found.curve) }
  if first.missed > 0 then
    outcome.is_missed, outcome.missed_share = 1, first.missed_share
    for i, name in ipairs(search.names) do outcome["figure_" .. i] = first.figures[name] end
  end
  return outcome
end

--- Layouts by chain.
local function chains_of(list)
  local chains, of_name = {}, {}
  for _, layout in ipairs(list) do
    local chain = of_name[layout.chain]
    if not chain then
      chain = {}
      of_name[layout.chain], chains[#chains + 1] = chain, chain
    end
    chain[#chain + 1] = layout
  end
  return chains
end

local function bound_chain(search, chain)
  local outcome, near = {}, nil
  for k, layout in ipairs(chain) do
    local one = bound_of(search, layout, near)
    for key, value in pairs(one) do outcome[("l%d_%s"):format(k, key)] = value end
    near = not one.is_missed and one.bound / likely_part or nil
  end
  return outcome
end

--- Why targets are missed at the lowest rate.
local function missed_text(search, row)
  local parts = {}
  if (row.missed_share or 0) > search.max_missed then
    parts[1] = ("%.3g %% of the requests did not complete"):format(100 * row.missed_share)
  end
  for i, name in ipairs(search.names) do
    local value = row["figure_" .. i]
    if value then parts[#parts + 1] = ("%s %.4g"):format(name, value) end
  end
  return ("misses the targets at %g requests/s: %s"):format(search.from, table.concat(parts, ", "))
end

--- Bounds all layouts; those that miss the targets get a reason.
---@param search table
---@param list blis.recommend.Layout[]
function race.bound(search, list)
  local chains = chains_of(list)
  local function key_of(chain)
    local names = {}
    for k, layout in ipairs(chain) do names[k] = layout.name end
    return table.concat(names, ", ")
  end
  local found = each(search, "bounds", chains, key_of, function(chain)
    return bound_chain(search, chain)
  end)
  for c, chain in ipairs(chains) do
    for k, layout in ipairs(chain) do
      local row, prefix = {}, ("l%d_"):format(k)
      for key, value in pairs(found[c]) do
        if key:sub(1, #prefix) == prefix then row[key:sub(#prefix + 1)] = value end
      end
      layout.bound, layout.is_confirmed, layout.on_front = row.bound, false, false
      if row.is_missed then layout.reason = missed_text(search, row) end
    end
  end
end

--- What leads.

--- A rate for a GPU and for a dollar.
---@param layout blis.recommend.Layout
---@param rate number?
---@return number? gpu
---@return number? usd
function race.per(layout, rate)
  local usd = layout.usd_per_hour
  return rate and rate / layout.gpus, rate and usd and usd > 0 and rate * 3600 / usd or nil
end

local Race = {}
Race.__index = Race

--- The most that a layout can take: less than what it surely misses the targets at.
local function most(self, layout)
  if layout.is_measured then return layout.high or math.huge end
  return layout.bound * self.slack
end

function Race:may_lead(layout)
  local gpu, usd = race.per(layout, most(self, layout))
  return gpu > self.gpu or usd ~= nil and usd > self.usd
end

--- Takes an interval over.
function Race:measure(layout, found)
  layout.is_measured, layout.interval = true, found.interval
  layout.goodput, layout.low, layout.high = found.value, found.low, found.high
  self.slack = math.max(self.slack, (found.high or found.low or 0) / layout.bound)
  local gpu, usd = race.per(layout, found.low)
  self.gpu, self.usd = math.max(self.gpu, gpu or 0), math.max(self.usd, usd or 0)
end

--- The middle of an interval on the scale of rates; the goodput, if that is known.
---@param layout blis.recommend.Layout
---@return number?
function race.middle(layout)
  if layout.goodput then return layout.goodput end
  return layout.low and layout.high and math.sqrt(layout.low * layout.high) or nil
end

--- The best first.
local function sort(list)
  local function value(layout)
    return race.per(layout, race.middle(layout) or layout.bound)
  end
  table.sort(list, function(a, b)
    local one, other = value(a), value(b)
    if one ~= other then return one > other end
    return a.name < b.name
  end)
end

--- The lowest rate with which a layout leads; nil = no layout has been measured yet.
function Race:rate_to_beat(layout)
  local gpu, usd = race.per(layout, 1)
  local rate = self.gpu / gpu
  if usd and self.usd > 0 then rate = math.min(rate, self.usd / usd) end
  return rate > 0 and rate or nil
end

--- Tries those that were picked at the rate to beat, each in a process of its own.
local function screen(self, search, picked)
  local seeds = math.min(screen_seeds, search.seeds)
  local function key_of(layout)
    return ("%s at %.17g, %d seeds, %d to %d requests"):format(layout.name,
      self:rate_to_beat(layout), seeds, search.requests, search.max_requests)
  end
  local found = each(search, "screening", picked, key_of, function(layout)
    local rate = self:rate_to_beat(layout)
    local one = search_at(search, layout, { from = rate, to = rate, jobs = 1,
      replications = seeds, requests = search.requests, max_requests = search.max_requests })
    return { low = one.low, high = one.high, is_measured = 1 }
  end)
  for i, layout in ipairs(picked) do
    self:measure(layout, found[i])
    layout.screened_seeds = seeds
  end
end

local function confirm(self, search, layout)
  local label = ("recommend: %s with %d seeds"):format(layout.name, search.seeds)
  -- On a terminal the line of progress says it.
  if not core.terminal_size() then report.tell(search, "%s", label) end
  -- What is tried depends on the layout alone, not on what others have shown.
  local found = search_near(search, layout, layout.bound / likely_part, {
    replications = search.seeds, requests = search.requests, max_requests = search.max_requests,
    tolerance = search.tolerance,
  }, label)
  self:measure(layout, found)
  layout.is_confirmed = true
  layout.per_gpu, layout.per_usd = race.per(layout, race.middle(layout) or layout.low)
end

--- The first layouts of a sorted list that may lead, at most `count`.
local function pick(self, list, limit)
  local picked = {}
  for _, layout in ipairs(list) do
    if #picked < limit and self:may_lead(layout) then picked[#picked + 1] = layout end
  end
  return picked
end

--- The first layout of each kind in a sorted list.
local function first_of_kinds(list)
  local picked, seen = {}, {}
  for _, layout in ipairs(list) do
    if not seen[layout.kind] then picked[#picked + 1], seen[layout.kind] = layout, true end
  end
  return picked
end

local function without(list, field)
  local rest = {}
  for _, layout in ipairs(list) do
    if not layout[field] then rest[#rest + 1] = layout end
  end
  return rest
end

--- Confirms layouts of a sorted list that may lead after the previous ones, at most `count`.
local function confirm_best(self, search, list, limit)
  for _, layout in ipairs(list) do
    if limit > 0 and self:may_lead(layout) then
      confirm(self, search, layout)
      limit = limit - 1
    end
  end
end

--- Screens and confirms layouts that were bounded; returns how many more may lead, and by how much
--- more than its bound a layout was taken to serve at most.
---@param search table
---@param list blis.recommend.Layout[]
---@return integer left_out
---@return number slack
function race.run(search, list)
  local self = setmetatable({ slack = first_slack, gpu = 0.0, usd = 0.0 }, Race)
  sort(list)
  local first = search.exhaustive and list or first_of_kinds(list)
  for _, layout in ipairs(first) do confirm(self, search, layout) end
  local rest = without(list, "is_confirmed")
  local screened = pick(self, rest, screened_per_finalist * search.finalists)
  if self.gpu > 0 then screen(self, search, screened) end
  confirm_best(self, search, screened, search.finalists - #first)
  local left_out = 0
  for _, layout in ipairs(without(list, "is_confirmed")) do
    left_out = left_out + (self:may_lead(layout) and 1 or 0)
  end
  return left_out, self.slack
end

return race
