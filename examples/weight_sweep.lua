#!/usr/bin/env blis
-- Does more weight on prefix-affinity concentrate the routing? It depends on who it is up against.
--
-- queue-depth scores the least loaded candidate 1 and the most loaded one 0, even if they differ by
-- a single request. While its weight exceeds the weight of prefix-affinity times the matched
-- fraction of the prompt, prefixes only break ties. Beyond that point, they decide everything. The
-- traffic must therefore have long prefixes (70 % of a prompt for 2 : 2.9), and between 0 and that
-- weight nothing changes. load-balance, 1 / (1 + load), changes gradually. With applications that
-- share little or much of their prompts, routing concentrates more with a weight of 3 than without,
-- and more with 5 than with 3. Smaller steps are within the noise.
local blis = require "blis"

local weights = { 0, 0.5, 1, 2, 3, 4, 5 }

--- One application, whose prompts have 1,024 tokens in common and about 300 of their own.
local one = blis.workload { rate = 10, requests = 1000, prompt_tokens = 300, output_tokens = 60,
  prefixes = { groups = 1, tokens = 1024 } }

--- Ten applications, which have from a tenth to four fifths of their prompts in common.
local function ten()
  local rng, at_us, n = blis.rng(1, "traffic"), 0, 0
  return blis.workload(function()
    n = n + 1
    if n > 1000 then return nil end
    at_us = at_us + math.floor(rng:exponential(1e6 / 10))
    local app = math.min(rng:integer(0, 9), rng:integer(0, 9)) -- some are more popular
    local common = math.floor(1600 * (0.1 + 0.08 * app))
    return { arrival_us = at_us, output_tokens = 60,
      content = { { "application " .. app, common }, 1600 - common } }
  end)
end

--- Standard deviation of the requests per instance.
local function concentration(result)
  local instances, sum = result.instances, 0
  for _, instance in ipairs(instances) do
    sum = sum + (instance.requests - result.arrived / #instances) ^ 2
  end
  return math.sqrt(sum / #instances)
end

local function sweep(title, workload, rest)
  local row = {}
  for i, weight in ipairs(weights) do
    local scorers = weight > 0 and ("prefix-affinity:%g,%s"):format(weight, rest) or rest
    row[i] = concentration(blis.run {
      cluster = { model = "qwen/qwen3-14b", hardware = "H100", instances = 4 },
      workload = workload, routing = { "weighted", scorers = scorers },
    })
  end
  local cells = {}
  for i, value in ipairs(row) do cells[i] = ("%7.1f"):format(value) end
  print(("%-34s%s"):format(title, table.concat(cells)))
  return row
end

local cells = {}
for i, weight in ipairs(weights) do cells[i] = ("%7g"):format(weight) end
print(("%-34s%s"):format("weight of prefix-affinity", table.concat(cells)))
local all = sweep("one prefix, against queue-depth:2", one, "queue-depth:2,kv-utilization:2")
local some = sweep("ten, against load-balance:2", ten(), "load-balance:2,kv-utilization:2")
print "\nstandard deviation of the requests per instance, 1,000 requests on 4 instances"

assert(all[4] < 10 and all[5] > 400, "nothing up to 2, everything from 3 on")
assert(some[1] < some[5] and some[5] < some[7], "more weight, more concentration")
