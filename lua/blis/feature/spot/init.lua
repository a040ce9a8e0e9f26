--- Spot capacity: instances that a market takes away, and its prices.
local deferred = require "blis.deferred"
local figures = deferred "blis.feature.spot.figures"
local format = require "blis.format"
local options = require "blis.feature.fates"
local read = deferred "blis.feature.spot.read"

---@type blis.Feature
local spot = {
  asked_at = 7,
  summary = { slot = "cost" },
  page = { title = "Spot capacity" },
}

function spot.read(values, config)
  local capacity = read.read(config.cluster, values.autoscaler ~= nil)
  config.faults = read.add_to_faults(config.faults, capacity)
  config.prices, config.spot_offers, config.spot_plans = capacity.prices, capacity.offers,
    capacity.plans
end

function spot.finish(summary, config)
  summary.spot = figures.of(summary, config.cluster, config.spot_offers)
end

local function units_text(plan)
  if plan.ranks == 1 then return format.plural(plan.instances, "instance") end
  return ("%s of %d ranks"):format(format.plural(plan.instances, "group"), plan.ranks)
end

local function spot_text(plans)
  local words = {}
  for i, plan in ipairs(plans) do
    words[i] = ("%s%s, by %s; %s notice, serving again %s after capacity returns; unfinished "
      .. "requests %s"):format(plan.group and ("group %d: "):format(plan.group) or "",
      units_text(plan), plan.trace and "the trace " .. plan.trace
      or format.plural(plan.steps, "step"), options.seconds(plan.notice_us),
      options.seconds(plan.restart_us),
      options.fates[plan.requests])
  end
  return table.concat(words, "; ")
end

function spot.asked(config, add)
  if config.spot_plans then add("spot capacity", spot_text(config.spot_plans)) end
end

return spot
