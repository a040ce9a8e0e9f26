--- Traffic rates over time in a folder of ServeGen data: the sum over all clients. Lengths and
--- request spacing are ignored; `blis convert servegen` creates a specification that includes them.
local core = require "blis.core"
local errors = require "blis.errors"

local servegen_rates = {}

-- What the windows of the published data last, where there is only one.
local usual_window_us = 600000000

--- Start and rate of a line "start in seconds,requests per second,cv,pattern,...".
local function row_of(line)
  local start_s, rate = line:match "^%s*([^,]+),%s*([^,]+),"
  start_s, rate = tonumber(start_s), tonumber(rate)
  local is_row = start_s and rate and start_s >= 0 and start_s < 1e12 and rate >= 0
    and rate < math.huge
  if is_row then return math.tointeger(math.floor(start_s * 1e6)), rate end
end

--- Adds the rates of a client to those of all, by the start of the window.
local function add_client(rates, file)
  local handle, problem = core.open_input(file, "data")
  if not handle then errors.raise("io", problem) end
  for line in handle:lines() do
    local start_us, rate = row_of(line)
    if start_us then rates[start_us] = (rates[start_us] or 0) + rate end
  end
  handle:close()
end

--- { length_us, factor } of consecutive windows; the mean over time is 1.
---@param folder string with files chunk-<id>-trace.csv
---@param path string what messages call it
---@return number[][]
function servegen_rates.steps(folder, path)
  local rates, starts, clients = {}, {}, 0
  for _, name in ipairs(core.folder(folder)) do
    if name:match "^chunk%-.+%-trace%.csv$" then
      clients = clients + 1
      add_client(rates, folder .. "/" .. name)
    end
  end
  if clients == 0 then
    errors.invalid("%s: %s has no file chunk-<id>-trace.csv", path, errors.show(folder))
  end
  for start_us in pairs(rates) do starts[#starts + 1] = start_us end
  table.sort(starts)
  local steps, whole_us, sum = {}, 0, 0.0
  for i, start_us in ipairs(starts) do
    local length_us = starts[i + 1] and starts[i + 1] - start_us
      or i > 1 and steps[i - 1][1] or usual_window_us
    steps[i] = { length_us, rates[start_us] }
    whole_us, sum = whole_us + length_us, sum + length_us * rates[start_us]
  end
  if sum == 0 then
    errors.invalid("%s: %s has no requests in any window", path, errors.show(folder))
  end
  for _, step in ipairs(steps) do step[2] = step[2] * whole_us / sum end
  return steps
end

return servegen_rates
