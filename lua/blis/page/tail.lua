--- The slowest hundredth of the requests: what they have in common, and where their time went.
local format = require "blis.format"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local tail = {}

local percent, number = format.percent, format.number

-- The tail needs some requests, and with more than the slowest list gives it is a sample.
local fewest_requests, most_in_tail = 500, 1000

local stages = {
  { "waiting for admission", function(r) return math.max(r.scheduling_delay_us, 0) end },
  { "prefill", function(r) return r.ttft_us - math.max(r.scheduling_delay_us, 0) end },
  { "decode", function(r) return r.e2e_us - r.ttft_us end },
}

local function has_times(request)
  return request.ttft_us and request.ttft_us >= 0 and request.e2e_us and request.e2e_us >= 0
end

--- Mean milliseconds of each stage over some requests.
local function means_of(list)
  local sums = {}
  for i in ipairs(stages) do sums[i] = 0 end
  for _, request in ipairs(list) do
    for i, stage in ipairs(stages) do sums[i] = sums[i] + stage[2](request) / 1000 / #list end
  end
  return sums
end

--- A sample of all completed requests, evenly spread.
local function sample_of(r, wanted)
  local list, step = {}, math.max(1, #r.requests // wanted)
  for i = 1, #r.requests, step do
    if has_times(r.requests[i]) then list[#list + 1] = r.requests[i] end
  end
  return list
end

local function slowest_of(r)
  local list = {}
  local wanted = math.min(most_in_tail, math.ceil(#r.requests / 100))
  for _, place in ipairs(r.requests:slowest(wanted)) do
    if has_times(r.requests[place]) then list[#list + 1] = r.requests[place] end
  end
  return list
end

local function mean_of(list, name)
  local sum = 0
  for _, request in ipairs(list) do sum = sum + (request[name] or 0) end
  return #list > 0 and sum / #list or 0
end

--- The share of each value of a field among some requests.
local function shares_of(list, name)
  local shares = {}
  for _, request in ipairs(list) do
    local value = request[name]
    if value and value ~= "" then shares[value] = (shares[value] or 0) + 1 / #list end
  end
  return shares
end

-- A value stands out if its share in the tail exceeds its share in all requests by this much.
local least_excess = 0.1

--- "instance_3: 98.0 % of the slowest, 15.7 % of all requests"
local function excess_of(slowest, sample, name)
  local in_tail, in_all, list = shares_of(slowest, name), shares_of(sample, name), {}
  for value, share in pairs(in_tail) do
    if share - (in_all[value] or 0) >= least_excess then
      list[#list + 1] = { value = tostring(value), share = share, all = in_all[value] or 0 }
    end
  end
  sorted.by_highest(list, "share", "value")
  local one = list[1]
  return one and ("%s: %s of the slowest, %s of all requests"):format(one.value,
    percent(one.share), percent(one.all)) or nil
end

local function causes_of(slowest, sample)
  local list = {}
  for _, field in ipairs { { "instance", "instance" }, { "SLO class", "slo_class" },
    { "tenant", "tenant" }, { "model", "model" } } do
    local text = excess_of(slowest, sample, field[2])
    if text then list[#list + 1] = ("%s %s"):format(field[1], text) end
  end
  for _, field in ipairs { { "prompts", "prompt_tokens" }, { "outputs", "output_tokens" },
    { "cached tokens", "cached_tokens" } } do
    local own, all = mean_of(slowest, field[2]), mean_of(sample, field[2])
    local factor = all > 0 and own / all or 1
    if factor >= 1.25 or factor <= 0.8 then
      list[#list + 1] = ("%s of %s tokens on average, %s in all requests"):format(field[1],
        number(own, 0), number(all, 0))
    end
  end
  return list
end

--- The section about the tail; nil without records, and for few requests.
---@param r blis.Result
---@return blis.page.Element?
function tail.section(r)
  if not r.keeps_records or #r.requests < fewest_requests then return nil end
  local slowest, sample = slowest_of(r), sample_of(r, most_in_tail)
  if #slowest == 0 or #sample == 0 then return nil end
  local own, all, rows = means_of(slowest), means_of(sample), {}
  for i, stage in ipairs(stages) do
    rows[i] = { stage[1], number(own[i]), number(all[i]) }
  end
  local causes = causes_of(slowest, sample)
  return parts.section("tail", "Tail",
    parts.table(("Mean times in ms of the %s slowest requests by E2E, against all requests")
      :format(format.count(#slowest)), { "stage", "slowest", "all" }, rows),
    parts.notes(#causes > 0 and causes
      or { "The slowest requests do not differ in instance, class, or length." }))
end

return tail
