--- What spot capacity did to a run: how often instances were taken away, and what they cost beside
--- what they would have cost on demand.
local spot = {}

--- Reclaims among the faults, and what became of requests by them.
local function add_reclaims(made, faults)
  for _, fault in ipairs(faults or {}) do
    if fault.kind == "reclaim" and not fault.is_missed then
      made.reclaims = made.reclaims + 1
      made.lost = made.lost + fault.lost
      made.rerouted = made.rerouted + fault.rerouted
      made.retried = made.retried + fault.retried
    end
  end
end

--- Of the groups with spot capacity. An instance that is taken away ends its paid time, so that is
--- how long it was there.
---@param summary table with paid, unless all instances were there all the time
---@param cluster table its options
---@param offers blis.SpotOffer[]
---@return blis.Spot
function spot.of(summary, cluster, offers)
  local groups = summary.setup.groups or { summary.setup }
  local hours = summary.duration_us / 3.6e9
  local made = { reclaims = 0, lost = 0, rerouted = 0, retried = 0, usd = 0, on_demand_usd = 0,
    offers = offers }
  local there, serving, all, is_spot = 0, 0, 0, {}
  for i, group in ipairs(groups) do
    if (cluster.groups and cluster.groups[i] or cluster).spot then
      is_spot[i] = true
      local gpus = group.tp * group.dp
      local paid = summary.paid and summary.paid[i]
        or { seconds = group.instances * hours * 3600, whole_seconds = hours * 3600,
          billed_seconds = group.instances * hours * 3600, listed_seconds = 0, listed_gpu_usd = 0 }
      local price = group.gpu_price_per_hour
      local unlisted = (paid.billed_seconds - paid.listed_seconds) / 3600
      there, all = there + paid.seconds / 3600, all + group.instances * hours
      local has_price = price > 0
      made.usd = made.usd and (has_price or unlisted == 0) and made.usd
        + gpus * (paid.listed_gpu_usd + price * unlisted) or nil
      made.on_demand_usd = made.on_demand_usd and has_price and made.on_demand_usd
        + gpus * price * group.instances * paid.whole_seconds / 3600 or nil
    end
  end
  for _, instance in ipairs(summary.instances) do
    if is_spot[instance.group] then serving = serving + instance.active_seconds / 3600 end
  end
  made.availability = all > 0 and math.min(there / all, 1) or 1
  made.serving_share = all > 0 and math.min(serving / all, 1) or 1
  if made.usd and made.on_demand_usd and made.on_demand_usd > 0 then
    made.saved_share = 1 - made.usd / made.on_demand_usd
  end
  add_reclaims(made, summary.faults)
  return made
end

return spot
