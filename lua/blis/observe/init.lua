--- Sends a workload to a real endpoint, open loop, and measures the answers.
local core = require "blis.core"
local deferred = require "blis.deferred"
local errors = require "blis.errors"
local observed_result = deferred "blis.observe.result"
local schema = require "blis.config.schema"
local section = require "blis.config.observe"

local observe = {}

---@class blis.observe.Observation
---@field list blis.Workload
---@field seen table what core.observe returned
---@field values table the section `observe`
local observation = {}
observation.__index = observation

--- Returns the value at a fraction of a sorted list.
local function at(list, fraction)
  return list[math.max(1, math.ceil(fraction * #list))]
end

--- Returns how late requests were sent, sorted, in microseconds.
function observation:send_delays()
  local list = {}
  for i, sent_us in ipairs(self.seen.sent_us) do
    if sent_us >= 0 then list[#list + 1] = sent_us - self.seen.due_us[i] end
  end
  table.sort(list)
  return list
end

---@class blis.observe.Accuracy
---@field sent integer
---@field planned_rate number? requests per second of the workload, at its speed
---@field sent_rate number?
---@field delay_p50_us integer
---@field delay_p99_us integer
---@field delay_max_us integer

--- Returns how well the requests kept their times.
---@return blis.observe.Accuracy
function observation:accuracy()
  local seen, delays = self.seen, self:send_delays()
  local first_due, last_due, first_sent, last_sent = math.huge, 0, math.huge, 0
  for i, sent_us in ipairs(seen.sent_us) do
    if sent_us >= 0 then
      first_due, last_due = math.min(first_due, seen.due_us[i]), math.max(last_due, seen.due_us[i])
      first_sent, last_sent = math.min(first_sent, sent_us), math.max(last_sent, sent_us)
    end
  end
  local count = #delays
  local function rate(first, last)
    return count > 1 and last > first and (count - 1) / ((last - first) / 1e6) or nil
  end
  return {
    sent = count, planned_rate = rate(first_due, last_due), sent_rate = rate(first_sent, last_sent),
    delay_p50_us = at(delays, 0.5) or 0, delay_p99_us = at(delays, 0.99) or 0,
    delay_max_us = delays[count] or 0,
  }
end

--- Returns the problems of requests, the most frequent first: { text =, count = }.
function observation:problems()
  local counts, list = {}, {}
  for i, problem in ipairs(self.seen.problem) do
    if problem then
      local status = self.seen.status[i]
      local text = status ~= 0 and status ~= 200 and ("status %d: %s"):format(status, problem)
        or problem
      if not counts[text] then
        counts[text] = { text = text, count = 0 }
        list[#list + 1] = counts[text]
      end
      counts[text].count = counts[text].count + 1
    end
  end
  table.sort(list, function(a, b)
    if a.count ~= b.count then return a.count > b.count end
    return a.text < b.text
  end)
  return list
end

--- Writes the requests as TraceV2, NAME.csv and NAME.yaml.
---@param name string
function observation:write_trace(name)
  errors.located(core.observed_write, self.list, self.seen, name)
end

--- Writes the times of the events, as blis calibrate --itl-data reads them.
---@param path string
function observation:write_events(path)
  local output <close> = core.output(path)
  local started_us = self.seen.started_unix_us
  output:write "request_id,chunk_index,timestamp_us\n"
  for i, request in self.list:requests() do
    for k, at_us in ipairs(self.seen.event_us[i]) do
      output:write(("%d,%d,%d\n"):format(observed_result.number_of(request, i), k - 1,
        started_us + at_us))
    end
  end
  output:commit()
end

--- Returns the result, as a run has one. Its requests are those that were sent.
---@return blis.Result
function observation:result()
  return observed_result.of(self.list, self.seen, {
    target = self.values.target,
    traffic = ("requests to %s, observed by a client"):format(self.values.target),
  })
end

local function check_target(target)
  if not target then errors.invalid "observe.target is missing, expected http://HOST:PORT" end
  local url = target:gsub("/+$", "")
  if not url:find "^https?://[^/%s]+[^%s]*$" or url:find "[%c\"]" then
    errors.invalid("observe.target: '%s', expected http://HOST:PORT", target)
  end
  if url:find "/v1$" then
    errors.invalid("observe.target: '%s' ends with /v1, expected the address before it", target)
  end
  return url
end

--- Raises an error if this build or this machine cannot send requests.
function observe.check_build()
  if not core.observe_library() then
    errors.invalid("observe: libcurl is missing; install libcurl4 (and libcurl4-openssl-dev before "
      .. "blis is built)")
  end
end

--- Sends the requests of a list.
---@param list blis.Workload
---@param options table the section `observe`
---@return blis.observe.Observation
function observe.send(list, options)
  observe.check_build()
  local values = schema.read(section, options, "observe")
  values.target = check_target(values.target)
  local key = os.getenv(values.key_variable)
  if key and key:find "%c" then
    errors.invalid("observe.key_variable: the value of %s contains control characters",
      values.key_variable)
  end
  local seen = errors.located(core.observe, list, {
    url = values.target, model = values.model, key = key ~= "" and key or nil,
    is_chat = values.api == "chat", ignores_eos = not values.respect_eos,
    keeps_events = true, vocabulary = values.vocabulary,
    speed = values.speed, most_outstanding = values.max_connections,
    stall_seconds = values.stall_us // 1000000,
  })
  return setmetatable({ list = list, seen = seen, values = values }, observation)
end

return observe
