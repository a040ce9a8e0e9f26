--- Checks of the requests of a run: those that were not served, metrics of different requests,
--- identical requests, and steps beyond the data of the latency model.
local deferred = require "blis.deferred"
local expected_error = deferred "blis.results.expected_error"
local figures = require "blis.results.figures"
local format = require "blis.format"

local checks = {}

local count, number, percent = format.count, format.number, format.percent

local is_no_loss = { completed = true, arrived = true, length_capped = true }

-- Requests that the end of the run cut short, and those that checks of the load report.
local is_reported_elsewhere = { ["still running"] = true, ["still arriving"] = true,
  ["timed out"] = true }

--- Lists the endings other than completed, the most frequent first.
local function other_endings(r)
  local list = {}
  for _, ending in ipairs(figures.of "Counts") do
    if not is_no_loss[ending.name] and r[ending.name] > 0 then
      list[#list + 1] = { n = r[ending.name], name = (ending.name:gsub("_", " ")) }
    end
  end
  table.sort(list, function(a, b)
    if a.n ~= b.n then return a.n > b.n end
    return a.name < b.name
  end)
  return list
end

--- Reports a run that served no request, and returns false for it.
---@param self blis.results.Judgment
---@return boolean
function checks.check_served(self)
  local r = self.result
  if r.arrived == 0 then
    self:add("invalid", "nothing-served", "no request arrived, so there is nothing to measure. The "
      .. "run lasted %s s; check horizon and rate.", number(r.duration_us / 1e6, 3))
    return false
  elseif r.completed == 0 then
    local words = {}
    for i, one in ipairs(other_endings(r)) do
      words[i] = ("%s %s"):format(count(one.n), one.name)
    end
    self:add("invalid", "nothing-served", "no request completed: of %s that arrived, %s",
      count(r.arrived), table.concat(words, ", "))
    return false
  end
  return true
end

-- Shares of requests: endings that matter, and a difference of populations that matters.
local many_lost, most_lost, much_different = 0.05, 0.5, 0.02

local function check_endings(self)
  local r = self.result
  for _, one in ipairs(other_endings(r)) do
    local share = one.n / r.arrived
    if share >= many_lost and not is_reported_elsewhere[one.name] then
      self:add("warning", "losses", "%s%s of %s requests (%s) ended as %s.", share > most_lost
        and "most requests did not complete: " or "", count(one.n), count(r.arrived),
        percent(share), one.name)
    end
  end
end

local function check_populations(self)
  local r = self.result
  local first, whole = r.ttft_ms.count, r.e2e_ms.count
  if math.abs(first - whole) >= much_different * r.arrived then
    self:add("warning", "populations", "TTFT covers the %s requests that got a first token; E2E "
      .. "and ITL cover the %s that completed. Do not compare them with each other.", count(first),
      count(whole))
  end
end

-- Fewer requests than this are equal for other reasons.
local fewest_equal = 20

local function check_lengths(self)
  local course = self.course
  if not course or course.requests < fewest_equal
    or course.least_prompt_tokens ~= course.most_prompt_tokens
    or course.least_output_tokens ~= course.most_output_tokens then
    return
  end
  self:add("warning", "identical-lengths", "all %s requests have %s prompt tokens and %s output "
    .. "tokens. Equal requests end together, so policies encounter ties and send requests in "
    .. "bursts; real lengths vary. Set a spread (--prompt-tokens-stdev, --output-tokens-stdev).",
    count(course.requests), count(course.most_prompt_tokens), count(course.most_output_tokens))
end

-- A CPU tier thrashes from this number of immediate reloads per saved block and of saved blocks.
local much_thrashing, fewest_saved = 0.5, 100

local function check_thrashing(self)
  local r, saved = self.result, 0
  for _, instance in ipairs(r.instances) do saved = saved + (instance.cpu_saved or 0) end
  if saved < fewest_saved or r.kv_thrashing_rate < much_thrashing then return end
  self:add("warning", "kv-thrashing", "blocks are offloaded to CPU memory and reloaded "
    .. "immediately: %s reloads per saved block. The KV cache is too small for the running "
    .. "requests. Add KV blocks or instances.",
    number(r.kv_thrashing_rate, 2))
end

--- Reports latency targets of classes that no request has: their attainment means nothing.
local function check_targets(self)
  local r = self.result
  local goodput = rawget(r, "goodput")
  for _, class in ipairs(goodput and goodput.classes or {}) do
    if class.arrived == 0 and class.name ~= "default" then
      local names = {}
      for i, one in ipairs(r.by_slo_class) do names[i] = one.name == "" and "(none)" or one.name end
      self:add("warning", "unmatched-target", "slo_targets has class %s, but no request has this "
        .. "class. The classes of the requests are %s.", class.name, table.concat(names, ", "))
    end
  end
end

-- Minimum fraction of extrapolated steps for a warning.
local much_beyond = 0.1

local function check_coverage(self)
  local coverage = rawget(self.result, "coverage")
  if not coverage or coverage.share_beyond < much_beyond then return end
  local known = rawget(self.result.setup, "coverage")
  self:add("warning", "extrapolation", "%s of the steps are outside the calibrated range%s. Their "
    .. "error is unknown.", percent(coverage.share_beyond),
    known and (" (%s)"):format(known.limits) or "")
end

--- Reports quantities of the run that no measured run of the step-time model had.
local function check_measured_range(self)
  for _, one in ipairs(expected_error.extrapolations(self.result)) do
    self:add("warning", "extrapolation", "no measured run is like this one: %s. The error of %s is "
      .. "unknown.", one.text, table.concat(one.metrics, " and "))
  end
end

-- A longest TTFT above both this multiple of the median and this number of ms is an outlier.
local far_beyond, long_ms, fewest = 50, 10000, 20

local function check_outliers(self)
  local ttft = self.result.ttft_ms
  if self.is_overloaded or ttft.count < fewest or ttft.max < long_ms
    or ttft.max < far_beyond * ttft.p50 then
    return
  end
  self:add("warning", "outliers", "some requests waited far longer than the rest: the longest TTFT "
    .. "is %s ms, the median %s ms.", number(ttft.max), number(ttft.p50))
end

--- Adds what the requests show.
---@param self blis.results.Judgment
function checks.check(self)
  check_endings(self)
  check_populations(self)
  check_lengths(self)
  check_targets(self)
  check_thrashing(self)
  check_coverage(self)
  check_measured_range(self)
  check_outliers(self)
end

return checks
