-- coverage.lua [CASES] - do intervals cover the truth as often as they say, where that is hard?
--
-- M/M/1 at a load of 0.8 (arrivals 0.8, service 1): the mean response is 1 / (1 - 0.8) = 5, and
-- with service 1.1 it is 1 / (1.1 - 0.8) = 10 / 3. 1,000 experiments of 20 paired replications of
-- 20,000 customers each; runs start in the steady state, both systems with the same draws.
local blis = require "blis"

local cases, replications, customers = tonumber(arg[1] or 1000), 20, 20000
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

local function case(p)
  math.randomseed(p.case)
  local a, b = {}, {}
  for r = 1, replications do a[r], b[r] = responses() end
  local statistics = blis.statistics
  return {
    mean = hit(statistics.estimate(a), true_slow),
    bootstrap = hit(statistics.estimate(a, { method = "bootstrap", seed = p.case }), true_slow),
    difference = hit(statistics.paired(a, b, { kind = "difference" }), true_fast - true_slow),
    -- Of typical runs: biased by 0.001 against the ratio of long runs, a tenth of its interval.
    ratio = hit(statistics.paired(a, b), true_fast / true_slow - 1),
    ratio_of_means = hit(statistics.paired(a, b, { kind = "ratio-of-means" }),
      true_fast / true_slow - 1),
    ratio_of_means_bootstrap = hit(statistics.paired(a, b, { kind = "ratio-of-means",
      method = "bootstrap", seed = p.case }), true_fast / true_slow - 1),
  }
end

local list = {}
for i = 1, cases do list[i] = i end
local result = blis.sweep { name = "coverage", parameters = { { "case", list } }, trial = case }
  :run { quiet = true }
assert(#result.failures == 0, result.failures[1] and result.failures[1].reason)

local is_good = true
for _, name in ipairs { "mean", "bootstrap", "difference", "ratio", "ratio_of_means",
  "ratio_of_means_bootstrap" } do
  local hits = 0
  for _, point in ipairs(result.points) do hits = hits + point.values[name][1] end
  local share = hits / cases
  print(("%-24s %5.1f %%"):format(name, 100 * share))
  if share < 0.933 or share > 0.967 then is_good = false end
end
if not is_good then
  print "95 % intervals are to cover the truth in 93.3 to 96.7 % of the cases"
  os.exit(1)
end
