--- Decisions that a policy would take otherwise if it knew what came of them: of the requests that
--- waited longest, those that another instance would have served sooner, which is tried.
local sorted = require "blis.sorted"

local hindsight = {}

-- Number of slow requests to examine. An instance is an alternative if it had at least this number
-- of requests less.
local most_requests, fewer = 6, 1

---@class blis.eval.Regret
---@field at_s number
---@field request string
---@field chosen string
---@field chosen_load integer requests that it held, waiting and running
---@field best string
---@field best_load integer
---@field loss_ms number how much later the request ended than on the best one

local function load_of(candidate) return candidate.queue_depth + candidate.batch_size end

--- The chosen candidate of a decision, and the one with the fewest requests.
local function choices(decision)
  local chosen, least
  for _, one in ipairs(decision.candidates) do
    if one.instance == decision.chosen then chosen = one end
    if not least or load_of(one) < load_of(least) then least = one end
  end
  return chosen, least
end

--- Decisions about the slowest requests for which an instance with less load existed.
local function doubtful(result)
  local decisions, list = {}, {}
  for i = 1, #result.decisions do
    local one = result.decisions[i]
    if one.chosen then decisions[one.request] = one end
  end
  for _, request in ipairs(result.requests) do
    local decision = request.ttft_us and decisions[request.id]
    local chosen, least = nil, nil
    if decision then chosen, least = choices(decision) end
    if chosen and load_of(least) + fewer <= load_of(chosen) then
      list[#list + 1] = { decision = decision, chosen = chosen, least = least,
        ttft_us = request.ttft_us, e2e_us = request.e2e_us, place = #list }
    end
  end
  sorted.by_highest(list, "ttft_us", "place")
  return table.move(list, 1, most_requests, 1, {})
end

local function e2e_us_of(result, id)
  for _, request in ipairs(result.requests) do
    if request.id == id then return request.e2e_us end
  end
end

--- The decisions that lost most, at most count of them.
---@param result blis.Result with a trace of decisions
---@param again fun(request: string, instance: string): blis.Result the run with that one request
--- routed there
---@param count integer
---@return blis.eval.Regret[]
function hindsight.worst(result, again, count)
  local list = {}
  for _, one in ipairs(doubtful(result)) do
    local id, instance = one.decision.request, one.least.instance
    local e2e_us = e2e_us_of(again(id, instance), id)
    if e2e_us and e2e_us < one.e2e_us then
      list[#list + 1] = { at_s = one.decision.time_us / 1e6, request = id,
        chosen = one.decision.chosen, chosen_load = load_of(one.chosen), best = instance,
        best_load = load_of(one.least), loss_ms = (one.e2e_us - e2e_us) / 1000 }
    end
  end
  sorted.by_highest(list, "loss_ms", "request")
  return table.move(list, 1, count, 1, {})
end

return hindsight
