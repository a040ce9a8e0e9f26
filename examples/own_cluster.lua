#!/usr/bin/env blis
-- A cluster of two instances from parts, with a custom loop: an event queue for the arrivals,
-- instances that receive requests and run steps, and a scorer that the loop calls. It ends with the
-- hash of blis.run for the same experiment.
local blis = require "blis"

local engine = { model = "qwen/qwen3-14b", hardware = "H100", kv_blocks = 4000 }
local traffic = blis.workload {
  rate = 25, requests = 400, prompt_tokens = 300, output_tokens = 60,
  prefixes = { groups = 6, tokens = 512 },
}

local instances, arrivals, finished = {}, blis.event_queue(), blis.records()
for i = 1, 2 do instances[i] = blis.instance(engine) end
for i, request in traffic:requests() do arrivals:push(request.arrival_us, i) end

--- Lets an instance do what it has to do at one time, and keeps the records.
local function step(i)
  for _, record in ipairs(instances[i]:step()) do
    record.instance = ("instance_%d"):format(i - 1)
    finished:add(record)
  end
end

--- The instance whose next event is the earliest; nil when none has one.
local function next_instance()
  local first
  for i, instance in ipairs(instances) do
    local at_us = instance.next_us
    if at_us and (not first or at_us < instances[first].next_us) then first = i end
  end
  return first
end

--- Where a request goes: the scorer sees what the loop shows it.
local least_loaded = blis.scorer "load-balance"
local in_flight = { 0, 0 }
local function route(i, now_us)
  local candidates = {}
  for k, instance in ipairs(instances) do
    local waiting, running = instance.queue_depth, instance.batch_size
    candidates[k] = { queue_depth = waiting, batch_size = running,
      pending = #instance - waiting - running }
  end
  local scores = least_loaded:score_all(traffic[i], candidates)
  local best = scores[2] > scores[1] and 2 or 1
  instances[best]:add(traffic, i, now_us)
  in_flight[best] = in_flight[best] + 1
end

while true do
  local arrival_us, k = arrivals:next_us(), next_instance()
  if not arrival_us and not k then break end
  if arrival_us and (not k or arrival_us <= instances[k].next_us) then
    local now_us, i = arrivals:pop()
    route(i, now_us)
  else
    step(k)
  end
end

local result = blis.run {
  cluster = { model = engine.model, hardware = engine.hardware, kv_blocks = engine.kv_blocks,
    instances = 2 },
  workload = traffic, routing = "least-loaded",
}
print(("%d requests: %d to the first instance, %d to the second"):format(#finished, in_flight[1],
  in_flight[2]))
print("from parts ", finished:hash())
print("by blis.run", result.hash)
assert(finished:hash() == result.hash)
