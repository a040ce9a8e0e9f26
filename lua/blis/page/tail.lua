--- The slowest hundredth of the requests: what they have in common, and where their time went.
local format = require "blis.format"
local lives = require "blis.page.lives"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local tail = {}

local percent, number = format.percent, format.number

-- The tail needs some requests, and with more than the slowest list gives it is a sample.
local fewest_requests, most_in_tail = 500, 1000

local function has_times(request)
  return request.ttft_us and request.ttft_us >= 0 and request.e2e_us and request.e2e_us >= 0
end

--- Mean milliseconds of each stage over some requests, by the name of the stage, and the names in
--- the order in which stages pass.
local function means_of(list)
  local sums, order = {}, {}
  for _, request in ipairs(list) do
    for _, phase in ipairs(lives.phases(request)) do
      local name = phase.kind or phase.name
      if not sums[name] then
        sums[name], order[#order + 1] = 0, name
      end
      sums[name] = sums[name] + phase.us / 1000 / #list
    end
  end
  return sums, order
end

--- A sample of all completed requests: one of each of as many equal parts. Its place in a part
--- varies, because requests at equal distances can all be at one instance.
local function sample_of(r, wanted)
  local list, step = {}, math.max(1, #r.requests // wanted)
  local mixed = 1
  for first = 1, #r.requests, step do
    mixed = mixed * 48271 % 2147483647
    local request = r.requests[math.min(first + mixed % step, #r.requests)]
    if has_times(request) then list[#list + 1] = request end
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

--- The shares of requests with a prefix-cache hit, where they differ much.
local function hits_text(slowest, sample)
  local function share(list) return shares_of(list, "had_hit")[true] or 0 end
  local own, all = share(slowest), share(sample)
  if math.abs(own - all) < least_excess then return nil end
  return ("prefix-cache hits in %s of the slowest, %s of all requests"):format(percent(own),
    percent(all))
end

local function causes_of(slowest, sample)
  local list = {}
  for _, field in ipairs { { "instance", "instance" }, { "SLO class", "slo_class" },
    { "tenant", "tenant" }, { "model", "model" } } do
    local text = excess_of(slowest, sample, field[2])
    if text then list[#list + 1] = ("%s %s"):format(field[1], text) end
  end
  list[#list + 1] = hits_text(slowest, sample)
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

--- "+12.3", "-4.0".
local function signed(x) return (x > 0 and "+" or "") .. number(x) end

--- The section about the tail; nil without records, and for few requests.
---@param r blis.Result
---@return blis.page.Element?
function tail.section(r)
  if not r.keeps_records or #r.requests < fewest_requests then return nil end
  local slowest, sample = slowest_of(r), sample_of(r, most_in_tail)
  if #slowest == 0 or #sample == 0 then return nil end
  local rows, own, order = {}, means_of(slowest)
  local all = means_of(sample)
  for _, name in ipairs(order) do
    local here, there = own[name], all[name] or 0
    if here > 0 or there > 0 then
      rows[#rows + 1] = { name, number(here), number(there), signed(here - there) }
    end
  end
  local causes = causes_of(slowest, sample)
  return parts.section("tail", "Tail",
    parts.table(("Mean times in ms of the %s slowest requests by E2E, against all requests")
      :format(format.count(#slowest)), { "stage", "slowest", "all", "difference" }, rows),
    parts.notes(#causes > 0 and causes
      or { "The slowest requests do not differ in instance, class, or length." }))
end

return tail
