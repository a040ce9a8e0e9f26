--- What became of a cluster whose instances come and go: figures worked out of what the core
--- tells, and text.
local format = require "blis.format"

local scaling = {}

--- Adds what follows from the levels: means and the most at any time.
---@param given table
function scaling.complete(given)
  local ready_us, most_paid = 0, 0
  for i, level in ipairs(given.levels) do
    local next_level = given.levels[i + 1]
    local until_us = math.min(next_level and next_level.time_us or given.end_us, given.end_us)
    ready_us = ready_us + level.ready * math.max(until_us - level.time_us, 0)
    most_paid = math.max(most_paid, level.paid)
  end
  local seconds = given.end_us / 1e6
  given.mean_ready = seconds > 0 and ready_us / given.end_us or 0.0
  given.mean_paid = seconds > 0 and given.replica_seconds / seconds or 0.0
  given.most_paid = most_paid
end

--- How many instances were ready and paid at some times, in ascending order.
---@param given table
---@param times_us integer[]
---@return integer[] ready
---@return integer[] paid
function scaling.at(given, times_us)
  local ready, paid, position = {}, {}, 1
  local levels = given.levels
  for row, time_us in ipairs(times_us) do
    while levels[position + 1] and levels[position + 1].time_us <= time_us do
      position = position + 1
    end
    ready[row], paid[row] = levels[position].ready, levels[position].paid
  end
  return ready, paid
end

local function plural(number, noun)
  return ("%s %s%s"):format(format.count(number), noun, number == 1 and "" or "s")
end

--- The lines of a summary.
---@param given table?
---@return string[]
function scaling.lines(given)
  if not given then return {} end
  local lines = {
    ("replicas    %.2f paid, %.2f ready on average, at most %d; %s seconds"):format(
      given.mean_paid, given.mean_ready, given.most_paid,
      format.count(math.tointeger(given.replica_seconds // 1))),
    ("scaling     %s up, %d down, %s, %s started, by %s"):format(
      given.scale_ups, given.scale_downs, plural(given.oscillations, "oscillation"),
      plural(given.started, "instance"), given.policy),
  }
  if given.waited > 0 then
    lines[3] = ("            %s waited for an instance, %.1f s on average, %.1f s at most"):format(
      plural(given.waited, "request"), given.waited_mean_ms / 1e3, given.waited_max_ms / 1e3)
  end
  return lines
end

return scaling
