--- What was measured of one run: its requests one by one, collected and checked.
---
--- Readers of all formats give requests with times in microseconds from any common start. A request
--- that failed is dropped with a reason and counted; a value that is missing stays missing.
local errors = require "blis.errors"

---@class blis.ObservedRequest
---@field prompt_tokens integer
---@field output_tokens integer
---@field cached_tokens integer? of the prompt, found in the engine's cache
---@field arrival_us number? when the client sent it
---@field ttft_us number
---@field e2e_us number to the last token
---@field place string where it stands: "results.csv:17"

---@class blis.ObservedRequests
---@field list blis.ObservedRequest[] in order of arrival, if arrivals are known
---@field has_arrivals boolean
---@field dropped { reason: string, count: integer }[]
local Requests = {}
Requests.__index = Requests

local requests = {}

--- An empty collection.
---@param path string the file that is read
function requests.new(path)
  return setmetatable({ path = path, list = {}, dropped = {}, has_arrivals = true }, Requests)
end

--- Counts a request that takes no part.
---@param reason string
function Requests:drop(reason)
  local entry = self.dropped[reason]
  if not entry then
    entry = { reason = reason, count = 0 }
    self.dropped[reason] = entry
    self.dropped[#self.dropped + 1] = entry
  end
  entry.count = entry.count + 1
end

-- What a request may have at most; see blis.config.workload.
local most_tokens = 1000000000

local function check_tokens(one, name, least)
  local tokens = type(one[name]) == "number" and math.tointeger(one[name])
  if not tokens or tokens < least or tokens > most_tokens then
    errors.raise("parse", ("%s: %s is %s; expected a whole number from %d to %d"):format(one.place,
      name, errors.show(one[name]), least, most_tokens))
  end
  one[name] = tokens
end

-- Times beyond this (30,000 years) are none, and do not fit into an integer for long.
local most_us = 1e18

local function check_time(one, name)
  local value = one[name]
  if type(value) ~= "number" or not (value > 0 and value <= most_us) then
    errors.raise("parse", ("%s: %s is %s; expected a time above 0"):format(one.place, name,
      errors.show(value)))
  end
end

--- Adds a request; raises if its values contradict each other.
---@param one blis.ObservedRequest
function Requests:add(one)
  check_tokens(one, "prompt_tokens", 1)
  check_tokens(one, "output_tokens", 1)
  if one.cached_tokens then check_tokens(one, "cached_tokens", 0) end
  check_time(one, "ttft_us")
  check_time(one, "e2e_us")
  if one.arrival_us and math.abs(one.arrival_us) > most_us then
    errors.raise("parse", ("%s: invalid arrival time, %s us"):format(one.place,
      errors.show(one.arrival_us)))
  end
  if one.e2e_us < one.ttft_us then
    errors.raise("parse", ("%s: the last token comes %.0f us before the first one"):format(
      one.place, one.ttft_us - one.e2e_us))
  end
  if one.output_tokens > 1 and one.e2e_us == one.ttft_us then
    errors.raise("parse", ("%s: all %d tokens arrive at the same time; the response was probably "
      .. "not streamed")
      :format(one.place, one.output_tokens))
  end
  if one.cached_tokens and one.cached_tokens > one.prompt_tokens then
    errors.raise("parse", ("%s: cached_tokens is %d; expected 0 to prompt_tokens, %d"):format(
      one.place, one.cached_tokens, one.prompt_tokens))
  end
  one.index = #self.list + 1
  self.list[one.index] = one
  self.has_arrivals = self.has_arrivals and one.arrival_us ~= nil
end

local function median(values)
  table.sort(values)
  return values[(#values + 1) // 2]
end

--- No engine makes a token in 0.1 ms or takes 3 s for one: the unit is another one.
---@param path string
---@param list blis.Latencies[] each with output_tokens
function requests.check_unit(path, list)
  local gaps = {}
  for _, one in ipairs(list) do
    if one.output_tokens > 1 then
      gaps[#gaps + 1] = (one.e2e_us - one.ttft_us) / (one.output_tokens - 1)
    end
  end
  local typical = #gaps > 0 and median(gaps)
  if typical and (typical < 100 or typical > 3e6) then
    errors.raise("parse", ("%s: the median time per output token is %s us; expected 100 us to 3 s; "
      .. "check the unit of the times"):format(path, errors.show(typical)))
  end
end

--- Ends the collection: puts requests in order of arrival, the first at 0.
---@return blis.ObservedRequests
function Requests:finish()
  if #self.list == 0 then
    local why = self.dropped[1] and (": %d were dropped, %s"):format(self.dropped[1].count,
      self.dropped[1].reason) or ""
    errors.raise("parse", ("%s: no requests to compare with%s"):format(self.path, why))
  end
  requests.check_unit(self.path, self.list)
  if self.has_arrivals then
    table.sort(self.list, function(a, b)
      if a.arrival_us ~= b.arrival_us then return a.arrival_us < b.arrival_us end
      return a.index < b.index
    end)
    local start_us = self.list[1].arrival_us
    for _, one in ipairs(self.list) do
      one.arrival_us = math.tointeger((one.arrival_us - start_us + 0.5) // 1)
    end
  end
  return self
end

return requests
