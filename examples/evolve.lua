#!/usr/bin/env blis
-- A search for a router, offline: random numbers, numbers by CMA-ES, and random small programs. A
-- search result is lucky as well as good. The best of each kind therefore run again on scenarios
-- and seeds that the search has not used, and the winner is measured on further ones. Every
-- candidate runs in a separate process, in the sandbox.
local blis = require "blis"
local eval = require "blis.eval"
local suites = require "blis.eval.suite"

local suite = suites.read "chat"
local train = { name = "train", split = "train", seeds = { 1, 2 },
  scenarios = suite.stages.train.scenarios }
local known = {} -- what the baseline does is measured once
local rng = blis.rng(1, "search")

local function score(text)
  return eval.run(suite, text, "policy.lua", { stage = train, known = known }).score
end

--- The best of what `propose(i)` returns for i = 1 .. count.
local function best_of(what, count, propose)
  local best, best_score, tried = nil, 0, 0
  for i = 1, count do
    local text = propose(i)
    local found = score(text)
    tried = tried + 1
    if found > best_score then best, best_score = text, found end
  end
  print(("%-22s %3d tried, the best has %.3f"):format(what, tried, best_score))
  return best
end

-- Weights of the scorers of the baseline, as the suite's parameters.
local function weights(x)
  local parts = {}
  for i, parameter in ipairs(suite.parameters) do
    parts[i] = ('"%s":%.4g'):format(parameter.name, math.exp(x[i]))
  end
  return "{" .. table.concat(parts, ",") .. "}"
end

local function random_weights()
  local x = {}
  for i = 1, #suite.parameters do x[i] = math.log(0.05) + rng:number() * math.log(200) end
  return weights(x)
end

local function cma_es(generations)
  local search = blis.cma_es { start = { 1, 0.7, 0.7 }, step = 1, low = { -4, -4, -4 },
    high = { 2.3, 2.3, 2.3 } }
  for _ = 1, generations do
    local values = {}
    for i, x in ipairs(search:ask()) do values[i] = -score(weights(x)) end
    search:tell(values)
  end
  print(("%-22s %3d generations, the best has %.3f"):format("weights by CMA-ES", generations,
    -search.best_value))
  return weights(search.best)
end

-- Small programs: a sum of a few terms with constants.
local terms = {
  "instance.prefix_hit", "1 / (1 + instance.in_flight)", "1 / (1 + instance.queue_depth)",
  "1 / (1 + instance.pending_prefill_tokens / 1000)", "1 - instance.kv_utilization",
  "1 / (1 + request.prompt_tokens * (1 - instance.prefix_hit) / 1000)",
}

local function random_program()
  local sum = {}
  for i = 1, 2 + rng:integer(2) do
    local constant = ({ 0.1, 0.2, 0.3, 0.4 })[rng:integer(4)]
    sum[i] = ("%.1f * (%s)"):format(constant, terms[rng:integer(#terms)])
  end
  return ('return require("blis").scorer { name = "found", score = function(request, instance)\n'
    .. "  return (%s) / 2\nend }\n"):format(table.concat(sum, " + "))
end

local finalists = {
  { "weights by chance", best_of("weights by chance", 12, random_weights) },
  { "weights by CMA-ES", cma_es(3) },
  { "programs by chance", best_of("programs by chance", 24, random_program) },
}

local fresh = suites.validation(suite, suite.stages.train)
local winner, winner_score
for _, one in ipairs(finalists) do
  local again = eval.run(suite, one[2], "policy.lua", { stage = fresh })
  print(("%-22s %.3f on scenarios and seeds that it has not seen"):format(one[1], again.score))
  if again.score > (winner_score or 0) then winner, winner_score = one[2], again.score end
end

print("\n" .. winner)
local final = eval.run(suite, winner, "policy.lua", { stage = suite.stages.test })
print("held-out: " .. final.feedback:match "^[^\n]*")
print("digest: " .. final.digest) -- the same on every machine
assert(final.scored.low > 0, "it does not beat the baseline")
