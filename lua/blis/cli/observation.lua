--- Measurements of a real endpoint for blis calibrate.
local errors = require "blis.errors"
local observe = require "blis.observe"
local trace = require "blis.traffic.trace"
local workload = require "blis.traffic.workload"

local observation = {}

---@class blis.cli.Measured
---@field path string of the table
---@field place? string a temporary file beside which it is; nil = the files are kept
local measured = {}
measured.__index = measured

--- Removes the files unless they are kept.
function measured:__close()
  if not self.place then return end
  os.remove(self.place)
  os.remove(self.path)
  os.remove(self.place .. ".yaml")
end

--- Requests that tell the coefficients apart: lengths vary, and some are alone.
local function usual(values)
  return workload.new {
    rate = values.rate, requests = values.requests, seed = 42,
    prompt = { "gaussian", mean = 1500, std_dev = 1500, min = 50, max = 3000 },
    output = { "gaussian", mean = 200, std_dev = 200, min = 20, max = 400 },
  }
end

--- Sends a workload and writes the measurements.
---@param values table the section `observation`
---@param tell fun(line: string)
---@return blis.cli.Measured
function observation.measure(values, tell)
  local list = values.trace and trace.read(values.trace, {}) or usual(values)
  tell(("observe: sends %d requests to %s"):format(#list, values.target))
  local seen = observe.send(list, { target = values.target, model = values.model,
    max_send_delay_us = values.max_send_delay_us })
  local problems, accuracy = seen:problems(), seen:accuracy()
  for i = 1, math.min(#problems, 3) do
    tell(("observe: %d requests: %s"):format(problems[i].count, problems[i].text))
  end
  if accuracy.delay_p99_us > seen.values.max_send_delay_us then
    errors.raise("failed", ("observe: requests were sent %.1f ms late (p99): this machine is too "
      .. "slow or too busy to measure"):format(accuracy.delay_p99_us / 1000))
  end
  local place = not values.output and os.tmpname() or nil
  local name = values.output or place
  seen:write_trace(name)
  return setmetatable({ path = name .. ".csv", place = place }, measured)
end

return observation
