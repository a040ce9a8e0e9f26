--- Effects of spot capacity on a run: reclaims, and cost compared with on-demand instances.
local spot = {}

--- Reclaims of spot instances, and outcomes of affected requests.
local function add_reclaims(made, summary, is_spot)
  for _, fault in ipairs(summary.faults) do
    local instance = summary.instances[tonumber(fault.instance:match "%d+$") + 1]
    if fault.kind == "reclaim" and not fault.is_missed and is_spot[instance.group] then
      made.reclaims = made.reclaims + 1
      made.lost = made.lost + fault.lost
      made.rerouted = made.rerouted + fault.rerouted
      made.retried = made.retried + fault.retried
      made.recomputed_tokens = made.recomputed_tokens + fault.recomputed_tokens
    end
  end
end

--- What the instances of a group cost, and would have cost on demand; nil = not known.
local function add_cost(made, group, paid)
  local gpus, price = group.tp * group.dp, group.gpu_price_per_hour
  local unlisted = (paid.billed_seconds - paid.listed_seconds) / 3600
  local has_price = price > 0
  made.usd = made.usd and (has_price or unlisted == 0) and made.usd
    + gpus * (paid.listed_gpu_usd + price * unlisted) or nil
  made.on_demand_usd = made.on_demand_usd and has_price and made.on_demand_usd
    + gpus * price * group.instances * paid.whole_seconds / 3600 or nil
end

--- Shares of the time from 0 to the end of the run, and of its last request, if that is later: a
--- run of which nothing is left refuses requests to its end.
local function add_shares(made, market, paid_seconds, targets)
  local span_us = math.max(market.span_us, 1)
  made.availability = market.full_us / span_us
  made.serving_share = market.serving_us / (market.wanted * span_us)
  made.paid_share = math.min(paid_seconds / (targets * span_us / 1e6), 1)
end

--- The groups with spot capacity. A reclaim ends the billed time of an instance, so the billed time
--- is its lifetime.
---@param summary table with paid and market
---@param cluster table its options
---@param offers blis.SpotOffer[]
---@return blis.Spot
function spot.of(summary, cluster, offers)
  local made = { reclaims = 0, lost = 0, rerouted = 0, retried = 0, recomputed_tokens = 0, usd = 0,
    on_demand_usd = 0, offers = offers }
  local paid_seconds, targets, is_spot = 0, 0, {}
  for i, group in ipairs(summary.setup.groups or { summary.setup }) do
    if (cluster.groups and cluster.groups[i] or cluster).spot then
      is_spot[i] = true
      paid_seconds = paid_seconds + summary.paid[i].seconds
      targets = targets + group.instances
      add_cost(made, group, summary.paid[i])
    end
  end
  add_shares(made, summary.market, paid_seconds, targets)
  if made.usd and made.on_demand_usd and made.on_demand_usd > 0 then
    made.saved_share = 1 - made.usd / made.on_demand_usd
  end
  add_reclaims(made, summary, is_spot)
  return made
end

return spot
