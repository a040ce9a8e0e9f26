--- Coefficients of the calibrated latency model, fitted to a deployment that was measured.
---
--- The search starts at the prior that comes with blis for the GPU and is pulled back to it: with
--- few measurements, coefficients that these do not determine stay where kernels and other
--- deployments put them. Half of the requests, the later ones, take no part in the fit; errors on
--- them are what can be expected of other traffic.
local accuracy = require "blis.calibrate.accuracy"
local errors = require "blis.errors"
local means = require "blis.calibrate.means"
local nelder_mead = require "blis.statistics.nelder_mead"
local parameters = require "blis.calibrate.parameters"
local replay = require "blis.calibrate.replay"

local fit = {}

-- Two standard deviations in each of eight parameters cost as much as an error of 1 %.
local pull = 3e-4
local fewest_requests = 40

--- The mean of errors that is minimised; a request that did not complete counts as wholly wrong.
local function loss_of(figures, missing_share)
  local function mape(name) return figures[name] and figures[name].mape or 1 end
  return mape "e2e" + mape "tpot" + 0.5 * mape "ttft" + 2.5 * missing_share
end

---@class blis.FitTask
---@field predict fun(set: blis.CoefficientSet): table<integer, blis.Latencies>
---@field observed blis.ObservedRequest[] or rows of means, which have the same metrics
---@field train integer number of leading requests that the fit uses; the rest is held out

--- The options of a cluster with coefficients of calibrated.
---@param set blis.CoefficientSet
---@return table
local function calibrated_options(set)
  return { alpha_coeffs = set.alpha, beta_coeffs = set.beta }
end

--- Requests, one by one: by replay.
---@param observed blis.Observed
---@param cluster blis.ClusterOptions
---@param options fun(set: blis.CoefficientSet): table of a cluster with these coefficients
---@return blis.FitTask
local function task_of_requests(observed, cluster, options)
  local requests = observed.requests
  if not requests.has_arrivals then
    errors.invalid("%s: its requests have no arrival times, so they cannot be replayed; newer "
      .. "versions of vllm bench serve write start_times, and a table of means has a column rate",
      observed.path)
  end
  if #requests.list < fewest_requests then
    errors.invalid("%s: found %d requests, expected at least %d for a fit and a held-out half",
      observed.path, #requests.list, fewest_requests)
  end
  local traffic = replay.traffic(requests)
  return {
    observed = requests.list, train = #requests.list // 2,
    predict = function(set)
      return (replay.run(replay.changed(cluster, options(set)), traffic))
    end,
  }
end

--- Rows of means: by the steady state. Every second row is held out, if there are enough.
local function task_of_means(observed, cluster, max_num_seqs)
  local latency = require "blis.engine.latency"
  local train, held_out = {}, {}
  for i, row in ipairs(observed.means) do
    local list = #observed.means >= 6 and i % 2 == 0 and held_out or train
    list[#list + 1] = row
  end
  local rows = table.move(held_out, 1, #held_out, #train + 1, table.move(train, 1, #train, 1, {}))
  return {
    observed = rows, train = #train,
    predict = function(set)
      local model = latency.model("calibrated",
        replay.changed(cluster, calibrated_options(set)))
      local predicted = {}
      for i, row in ipairs(rows) do
        predicted[i] = means.predict(model, row,
          { delay_us = set.alpha[4], depth = set.alpha[5] }, max_num_seqs)
      end
      return predicted
    end,
  }
end

--- The share of the training part without a prediction.
local function missing_share(task, predicted)
  local missing = 0
  for i = 1, task.train do if not predicted[i] then missing = missing + 1 end end
  return missing / task.train
end

local function accuracies(task, set)
  local predicted = task.predict(set)
  local count = #task.observed
  return {
    predicted = predicted, train = accuracy.of(task.observed, predicted, 1, task.train),
    held_out = task.train < count and accuracy.of(task.observed, predicted, task.train + 1, count)
      or nil,
  }
end

--- A task for measurements of either kind.
---@param observed blis.Observed
---@param cluster blis.ClusterOptions
---@param max_num_seqs integer of the engine
---@param options? fun(set: blis.CoefficientSet): table of a cluster with these coefficients;
--- default: the coefficients of calibrated
---@return blis.FitTask
function fit.task(observed, cluster, max_num_seqs, options)
  if observed.requests then
    return task_of_requests(observed, cluster, options or calibrated_options)
  end
  if options then
    errors.invalid("%s: rows of means cannot be combined with kernel times; expected one row per "
      .. "request", observed.path)
  end
  if #observed.means < 2 then
    errors.invalid("%s: found one row of means; a fit requires a table (CSV) of means at several "
      .. "rates", observed.path)
  end
  return task_of_means(observed, cluster, max_num_seqs)
end

---@class blis.FitRound
---@field set blis.CoefficientSet
---@field trials integer
---@field hits string[] parameters at a bound

--- One search from a set of coefficients.
---@param task blis.FitTask
---@param from blis.CoefficientSet
---@param prior blis.CoefficientSet
---@param options { parameters: string[]?, list: blis.FitParameter[]?, trials: integer?,
--- pull: number?, tell: fun(trials: integer, most: integer)? }
---@return blis.FitRound
function fit.round(task, from, prior, options)
  local space = parameters.space(prior, options.parameters, options.list)
  local start, steps = {}, {}
  for i, one in ipairs(space.free) do
    start[i] = math.log(from[one.list][one.index] / math.max(one.low, prior[one.list][one.index]))
      / one.width
    steps[i] = start[i] > 0 and -0.7 or 0.7
  end
  local weight, most = options.pull or pull, options.trials or 400
  local function loss_at(place)
    local predicted = task.predict(space.coefficients(place))
    local figures = accuracy.of(task.observed, predicted, 1, task.train)
    return loss_of(figures, missing_share(task, predicted)) + weight * space.distance(place)
  end
  -- A simplex may settle on a ridge; a new one around its best point continues the search.
  local best, trials = { place = start, value = math.huge }, 0
  repeat
    local before = best.value
    local found = nelder_mead.search(loss_at, {
      start = best.place, steps = steps, trials = most - trials, tolerance = 1e-4,
      tell = options.tell and function(count) options.tell(trials + count, most) end,
    })
    trials = trials + found.trials
    if found.value < best.value then best = found end
  until trials >= most - 2 * #start or before - best.value < 1e-3
  return { set = space.coefficients(best.place), trials = trials, hits = space.hits(best.place) }
end

fit.accuracies = accuracies

return fit
