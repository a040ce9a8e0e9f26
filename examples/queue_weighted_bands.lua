#!/usr/bin/env blis
-- Strict order starves: while higher bands keep the engines full, lower ones get nothing
-- (llm-d-router, issue 1995). Weighted shares mend that, if empty bands are handled with care: a
-- band that has been empty must not come back with the credit of all that time, or it starves the
-- others in turn.
--
-- A band selection in Lua: weighted fair queueing by prompt tokens. Each band has a virtual time,
-- tokens sent / weight, and the one that is furthest behind goes next. A band that becomes busy
-- starts no earlier than the busy ones are.
local blis = require "blis"

local seconds = blis.seconds

--- Shares in proportion to weights by priority; 1 for those without.
local function weighted(weights, keeps_credit)
  return {
    name = keeps_credit and "weighted, with credit" or "weighted",
    new = function()
      local virtual, counted, was_busy = {}, {}, {}
      local function note(bands)
        local least, is_busy = math.huge, {}
        for _, band in ipairs(bands) do
          local p = band.priority
          local sent = band.dispatched_tokens - (counted[p] or 0)
          virtual[p] = (virtual[p] or 0) + sent / (weights[p] or 1)
          counted[p], is_busy[p] = band.dispatched_tokens, true
          if was_busy[p] then least = math.min(least, virtual[p]) end
        end
        for p in pairs(is_busy) do
          if not was_busy[p] and not keeps_credit and least < math.huge then
            virtual[p] = math.max(virtual[p], least)
          end
        end
        was_busy = is_busy
      end
      return {
        pick = function(bands)
          note(bands)
          local best
          for i, band in ipairs(bands) do
            local is_better = not best or virtual[band.priority] < virtual[bands[best].priority]
            if band.is_open and is_better then best = i end
          end
          return best
        end,
      }
    end,
  }
end

--- More of every class than the engine can take; one class arrives only from time to time.
local function traffic(rng)
  local list = {}
  local function add(class, rate, from_s, to_s)
    local now_us = seconds(from_s)
    while now_us < seconds(to_s) do
      list[#list + 1] = { arrival_us = now_us // 1 | 0, slo_class = class, tenant = class,
        prompt_tokens = rng:integer(200, 600), output_tokens = 50 }
      now_us = now_us + rng:exponential(1e6 / rate)
    end
  end
  add("critical", 30, 0, 60)
  add("standard", 30, 0, 2)
  add("standard", 30, 40, 60)
  add("batch", 30, 0, 60)
  table.sort(list, function(a, b) return a.arrival_us < b.arrival_us end)
  return list
end

local requests = traffic(blis.rng(7, "bands"))

--- Prompt tokens of each class that were dispatched in a part of the run, as shares.
local function shares(result, from_s, to_s)
  local tokens, sum = { critical = 0, standard = 0, batch = 0 }, 0
  for _, request in ipairs(result.requests) do
    local wait_us = request.gateway_wait_us
    local left_us = wait_us and request.arrival_us + wait_us
    if left_us and left_us >= seconds(from_s) and left_us < seconds(to_s) then
      tokens[request.slo_class] = tokens[request.slo_class] + request.prompt_tokens
      sum = sum + request.prompt_tokens
    end
  end
  for class, value in pairs(tokens) do tokens[class] = value / sum end
  return tokens
end

local function run(selection)
  local i = 0
  return blis.run {
    cluster = { model = "qwen3-14b", hardware = "H100" }, horizon_us = seconds(60),
    workload = function()
      i = i + 1
      return requests[i]
    end,
    queue = { saturation = { "concurrency", max_concurrency = 16 }, ttl_us = 0,
      band_max_requests = 0, band_selection = selection },
  }
end

local weights = { [4] = 4, [3] = 2, [-1] = 1 } -- of critical, standard, batch
local when = { { "all three", 1, 10 }, { "standard is away", 35, 40 }, { "it is back", 40, 45 },
  { "all three", 45, 60 } }

local function show(title, result)
  local list = {}
  print(title .. ": shares of the prompt tokens sent")
  for i, one in ipairs(when) do
    local share = shares(result, one[2], one[3])
    list[i] = share
    print(("  %2d to %2d s, %-17s critical %4.1f %%  standard %4.1f %%  batch %4.1f %%"):format(
      one[2], one[3], one[1], 100 * share.critical, 100 * share.standard, 100 * share.batch))
  end
  return list
end

local strict = show("strict", run "strict")
local fair = show("weights 4 : 2 : 1", run(weighted(weights)))
local credit = show("the same, and a band that was empty keeps its credit", run(weighted(weights,
  true)))

local function is_near(value, wanted) return math.abs(value - wanted) < 0.03 end

--- Prints what the metrics show, and fails if they do not show it.
local function claim(text, holds)
  assert(holds, text)
  print(text)
end

print()
claim("Strict order starves the lowest band", strict[4].batch < 0.01)
claim("Weights are kept while all are busy", is_near(fair[4].critical, 4 / 7)
  and is_near(fair[4].standard, 2 / 7) and is_near(fair[4].batch, 1 / 7))
claim("Without one of them the others share what is left as before",
  is_near(fair[2].critical, 4 / 5) and is_near(fair[2].batch, 1 / 5))
claim("With credit, the band that comes back starves the others",
  credit[3].standard > 2 * fair[3].standard)
