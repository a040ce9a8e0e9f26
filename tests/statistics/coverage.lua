-- coverage.lua [POOLS [DIVISIONS]] - intervals cover the truth as often as they state, in a hard
-- case.
--
-- M/M/1 at a load of 0.8 (arrivals 0.8, service 1): the mean response is 1 / (1 - 0.8) = 5, and
-- with service 1.1 it is 1 / (1.1 - 0.8) = 10 / 3. 1,000 experiments of 20 paired replications of
-- 8,000 customers each; runs start in the steady state, both systems with the same draws.
--
-- Experiments share runs, since simulating them is nearly all of the cost. A pool of 200 runs is
-- divided at random into 10 experiments, 5 times. The 10 experiments of a division are independent.
-- Two experiments of different divisions have 2 of their 20 runs in common on average, so the
-- shares below are nearly as precise as those of 1,000 independent experiments.
local blis = require "blis"

local pools, divisions = tonumber(arg[1] or 20), tonumber(arg[2] or 5)
local runs, replications, customers = 200, 20, 8000
local arrival, slow, fast = 0.8, 1.0, 1.1
local true_slow, true_fast = 1 / (slow - arrival), 1 / (fast - arrival)

local random, log, max = math.random, math.log, math.max

--- The wait that a customer meets in the steady state: none, or exponential.
local function first_wait(u, service)
  local load = arrival / service
  return u > load and 0.0 or -log(u / load) / (service - arrival)
end

--- Mean responses of the two systems in one run (Lindley's recursion).
local function responses()
  local u = 1 - random()
  local a, b = first_wait(u, slow), first_wait(u, fast)
  local sum_a, sum_b = 0.0, 0.0
  for _ = 1, customers do
    local work, gap = -log(1 - random()), -log(1 - random()) / arrival
    local out_a, out_b = a + work / slow, b + work / fast
    sum_a, sum_b = sum_a + out_a, sum_b + out_b
    a, b = max(0.0, out_a - gap), max(0.0, out_b - gap)
  end
  return sum_a / customers, sum_b / customers
end

local function hit(estimate, truth)
  return estimate.low <= truth and truth <= estimate.high
end

--- Whether each interval of an experiment with these runs covers the truth.
local function covers(a, b, seed)
  local statistics = blis.statistics
  local ratio = true_fast / true_slow - 1
  return {
    mean = hit(statistics.estimate(a), true_slow),
    bootstrap = hit(statistics.estimate(a, { method = "bootstrap", seed = seed }), true_slow),
    difference = hit(statistics.paired(a, b, { kind = "difference" }), true_fast - true_slow),
    -- The mean of ratios is biased by 0.0025 against the ratio of means, a tenth of its interval.
    ratio = hit(statistics.paired(a, b), ratio),
    ratio_of_means = hit(statistics.paired(a, b, { kind = "ratio-of-means" }), ratio),
    ratio_of_means_bootstrap = hit(statistics.paired(a, b, { kind = "ratio-of-means",
      method = "bootstrap", seed = seed }), ratio),
  }
end

local function shuffle(order)
  for i = #order, 2, -1 do
    local j = random(i)
    order[i], order[j] = order[j], order[i]
  end
end

--- One pool: shares of its experiments whose intervals cover the truth.
local function shares_of_pool(p)
  math.randomseed(p.pool)
  local slow_runs, fast_runs, order = {}, {}, {}
  for r = 1, runs do
    slow_runs[r], fast_runs[r] = responses()
    order[r] = r
  end
  local hits = {}
  for _ = 1, divisions do
    shuffle(order)
    for first = 1, runs, replications do
      local a, b = {}, {}
      for i = 1, replications do
        local r = order[first + i - 1]
        a[i], b[i] = slow_runs[r], fast_runs[r]
      end
      for name, is_hit in pairs(covers(a, b, p.pool * 1000 + first)) do
        hits[name] = (hits[name] or 0) + (is_hit and 1 or 0)
      end
    end
  end
  for name, count in pairs(hits) do hits[name] = count * replications / (runs * divisions) end
  return hits
end

local list = {}
for i = 1, pools do list[i] = i end
local result = blis.sweep { name = "coverage", parameters = { { "pool", list } },
  trial = shares_of_pool }:run { quiet = true }
assert(#result.failures == 0, result.failures[1] and result.failures[1].reason)

local is_good = true
for _, name in ipairs { "mean", "bootstrap", "difference", "ratio", "ratio_of_means",
  "ratio_of_means_bootstrap" } do
  local sum = 0.0
  for _, point in ipairs(result.points) do sum = sum + point.values[name][1] end
  local share = sum / pools
  print(("%-24s %5.1f %%"):format(name, 100 * share))
  if share < 0.933 or share > 0.967 then is_good = false end
end
if not is_good then
  print "95 % intervals are to cover the truth in 93.3 to 96.7 % of the cases"
  os.exit(1)
end
