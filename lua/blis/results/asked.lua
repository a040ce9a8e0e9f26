--- What an experiment asked for beside instances and the policies that every run has, in words: the
--- rows that pages have under "What was run". Of what has no row of its own they have every option
--- that decides the run and is not as usual.
local catalogue = require "blis.policy.catalogue"
local deferred = require "blis.deferred"
local format = require "blis.format"
local options = require "blis.results.asked_options"
local queue_section = deferred "blis.feature.queue.options"
local scaling_section = deferred "blis.feature.scaling.options"
local settings = require "blis.results.asked_settings"
local show = require "blis.show"
local usual_scorers = require "blis.policy.usual_scorers"

local asked = {}

---@class blis.results.Asked
---@field name string
---@field text string

local plural = format.plural

--- "2.5" or "1,200": as many decimals as there are.
local function short(value)
  local whole = math.tointeger(value)
  return whole and format.count(whole) or ("%.6g"):format(value)
end

local function seconds(us)
  return short(us / 1e6) .. " s"
end

--- "8" or "8 to 32": the ranks of adapters.
local function ranks_text(adapters)
  local low, high = math.huge, 0
  for _, one in ipairs(adapters) do
    low, high = math.min(low, one.rank), math.max(high, one.rank)
  end
  return low == high and ("rank %d"):format(low) or ("ranks %d to %d"):format(low, high)
end

local function lora_text(group)
  local lora = group.lora
  if not lora then return nil end
  local host = lora.host_slots > 0 and ("%s in the memory of its host"):format(
    plural(lora.host_slots, "place")) or "room for all in the memory of its host"
  return ("%s of %s; %s on the GPUs of an instance, %s; %s"):format(
    plural(#lora.adapters, "adapter"), ranks_text(lora.adapters), plural(lora.slots, "slot"), host,
    lora.loads_in_steps and "steps wait for loads" or "steps go on during loads")
end

local function acceptance_text(given)
  if given.acceptance_of then return "acceptance by request" end
  local words, is_same = {}, true
  for i, one in ipairs(given.acceptance) do
    words[i] = short(one)
    is_same = is_same and one == given.acceptance[1]
  end
  return "acceptance " .. (is_same and words[1] or table.concat(words, ", "))
end

local function speculation_text(group)
  local given = group.speculation
  if not given then return nil end
  local text = ("%s per step, %s, %s"):format(plural(given.tokens, "draft"),
    given.drafts_in_one_pass and "by look-up" or "one pass each", acceptance_text(given))
  if given.pass_us > 0 or given.pass_us_per_sequence > 0 then
    text = ("%s; a pass takes %s us and %s us per request"):format(text, short(given.pass_us),
      short(given.pass_us_per_sequence))
  end
  return given.max_batch > 0 and ("%s; none with more than %s"):format(text,
    plural(given.max_batch, "running request")) or text
end

--- The texts of all groups, each once; several are told apart by the numbers of their groups.
local function of_groups(cluster, text_of)
  local texts, numbers, groups = {}, {}, cluster.groups or { cluster }
  for i, group in ipairs(groups) do
    local text = text_of(group)
    if text and not numbers[text] then
      texts[#texts + 1], numbers[text] = text, {}
    end
    if text then table.insert(numbers[text], tostring(i)) end
  end
  for i, text in ipairs(texts) do
    if #numbers[text] < #groups then
      texts[i] = ("group%s %s: %s"):format(#numbers[text] > 1 and "s" or "",
        table.concat(numbers[text], ", "), text)
    end
  end
  return #texts > 0 and table.concat(texts, "; ") or nil
end

local fates = { failed = "fail", rerouted = "are rerouted", retried = "are retried" }

local function units_text(plan)
  if plan.ranks == 1 then return plural(plan.instances, "instance") end
  return ("%s of %d ranks"):format(plural(plan.instances, "group"), plan.ranks)
end

local function spot_text(plans)
  local words = {}
  for i, plan in ipairs(plans) do
    words[i] = ("%s%s, by %s; %s notice, serving again %s after there is room; unfinished "
      .. "requests %s"):format(plan.group and ("group %d: "):format(plan.group) or "",
      units_text(plan), plan.trace and "the trace " .. plan.trace
      or plural(plan.steps, "step"), seconds(plan.notice_us), seconds(plan.restart_us),
      fates[plan.requests])
  end
  return table.concat(words, "; ")
end

local function targets_text(targets)
  local words = {}
  for i, target in ipairs(targets) do
    local limits = {}
    for _, time in ipairs { { "ttft_ms", "TTFT" }, { "itl_ms", "ITL" }, { "e2e_ms", "E2E" } } do
      local limit = target[time[1]]
      limits[#limits + 1] = limit and ("%s at most %s ms"):format(time[2], short(limit)) or nil
    end
    words[i] = ("%s: %s"):format(target.slo_class, table.concat(limits, ", "))
  end
  return table.concat(words, "; ")
end

local scopes = { instance = "of each instance", node = "of each node",
  cluster = "of all instances" }

local function bandwidth_text(gb_s, verb)
  return gb_s == 0 and verb .. " in no time" or ("%s at %s GB/s"):format(verb, short(gb_s))
end

local function tier_text(tier)
  local size = tier.bytes > 0 and short(tier.bytes / 1e9) .. " GB"
    or plural(tier.blocks, "block")
  local links
  if tier.half_duplex then
    links = "reads and writes " .. (tier.read_gb_s == 0 and "take no time"
      or ("share %s GB/s"):format(short(tier.read_gb_s)))
  else
    links = ("%s, %s"):format(bandwidth_text(tier.read_gb_s, "read"),
      bandwidth_text(tier.write_gb_s or tier.read_gb_s, "written"))
  end
  return ("%s: %s %s, %s%s; %s, %s%s"):format(tier.name, size, scopes[tier.scope], links,
    tier.per_gpu and " per GPU" or "", tier.policy, tier.store,
    tier.stage and ", through " .. tier.stage or "")
end

local function add_tiers(rows, tiers)
  if not tiers then return end
  for i, tier in ipairs(tiers) do
    rows[#rows + 1] = { name = ("KV tier %d"):format(i), text = tier_text(tier) }
  end
  rows[#rows + 1] = { name = "links of KV tiers", text = ("network %s; load: %s"):format(
    tiers.network_gb_s > 0 and ("of an instance %s GB/s"):format(short(tiers.network_gb_s))
    or "without a limit", tiers.load_choice and "by a function" or tiers.load) }
end

local function link_text(gb_s)
  return gb_s > 0 and ("%s GB/s"):format(short(gb_s)) or "no limit"
end

local function pools_text(pools)
  return ("decided by %s; links of instances %s, fabric %s, %s ms each; KV is moved in order of %s")
    :format(pools.decider.label or pools.decider.name or "a function",
      link_text(pools.bandwidth_gb_s), link_text(pools.fabric_gb_s),
      short(pools.base_latency_ms), pools.order)
end

local function set_of(...)
  local set = {}
  for _, name in ipairs { ... } do set[name] = true end
  return set
end

-- Told on their own, with the policies that they are parameters of, or not of interest.
local not_of_queue = set_of("saturation", "max_concurrency", "queue_depth_threshold",
  "kv_utilization_threshold", "usage_limit", "usage_limit_threshold", "max_requests",
  "no_endpoint_ttl_us", "bands", "slo_targets")
local not_of_scaling = set_of("min_replicas", "max_replicas", "max_starts", "prefill", "decode",
  "node_pools", "replica_price_per_hour", "instance_capacity", "oscillation_us", "ttft_target_us",
  "tpot_target_us", "e2e_target_us")

local scripted_in_queue = { { "fairness_policy", "fairness" }, { "order_policy", "order" },
  { "band_policy", "band selection" } }

local function queue_text(queue)
  local words = { "saturation by " .. options.of_policy(queue.saturation,
    catalogue.saturation_detectors), queue.max_requests and queue.max_requests > 0
    and ("at most %s"):format(plural(queue.max_requests, "request")) or "no limit on its length" }
  if queue.usage_limit.name ~= "static" or #queue.usage_limit.parameters > 0 then
    words[3] = "usage limit " .. options.of_policy(queue.usage_limit, catalogue.usage_limits)
  end
  for _, one in ipairs(scripted_in_queue) do
    local policy = queue[one[1]]
    words[#words + 1] = policy and ("%s by %s"):format(one[2], options.of_policy(policy, {}))
  end
  local others = options.of_section(queue_section, queue,
    queue.is_go_blis and "go-blis" or "design", not_of_queue)
  return table.concat(table.move(others, 1, #others, #words + 1, words), "; ")
end

-- More faults than this are counted.
local most_faults = 4

local function fault_text(fault)
  local whom = fault.instance and ("instance_%d"):format(fault.instance) or "any instance"
  local when = fault.mtbf_us and "every " .. seconds(fault.mtbf_us) .. " on average"
    or "at " .. seconds(fault.at_us)
  local fate = fates[fault.requests]
  return ("%s%s of %s %s%s%s"):format(fault.kind,
    fault.kind == "slow" and (" (%s times as long)"):format(short(fault.factor)) or "", whom, when,
    fault.recover_us and ", for " .. seconds(fault.recover_us) or "",
    fate and ", its requests " .. fate or "")
end

local function faults_text(faults, plans)
  local words, others = {}, 0
  for _, list in ipairs { faults.declared, faults.random } do
    for _, one in ipairs(list) do
      local is_told = not (plans and one.gives_back)
      if is_told and #words < most_faults then
        words[#words + 1] = fault_text(one)
      elseif is_told then
        others = others + 1
      end
    end
  end
  if others > 0 then words[#words + 1] = ("and %s more"):format(format.count(others)) end
  return #words > 0 and table.concat(words, "; ") or nil
end

local roles = { [0] = "", "prefill: ", "decode: " }

-- Of an autoscaler, which that of the experiment replaces.
local intervals = set_of("interval_seconds", "interval_us")

local function pool_text(pool)
  local policy = options.of_policy(pool.policy, catalogue.autoscalers,
    pool.interval_us and intervals)
  local words = { roles[pool.role] .. policy,
    ("%d to %d instances"):format(pool.min_replicas, pool.max_replicas) }
  local others = options.of_section(scaling_section, pool, "design", not_of_scaling)
  return table.concat(table.move(others, 1, #others, 3, words), ", ")
end

local function scaling_text(scaling)
  local words = {}
  for _, pool in ipairs(scaling.pools) do
    words[#words + 1] = pool.policy and pool_text(pool)
  end
  return #words > 0 and table.concat(words, "; ") or nil
end

--- The scorers of a routing policy that were not given.
local function scorers_text(config)
  local usual = not config.routing.scorers and usual_scorers.of(config.routing.name, config.go_blis)
  return usual and (usual:gsub(",", ", ")) .. ", as usual" or nil
end

--- An admission policy with its parameters; nil for one without.
local function admission_text(policy)
  local text = policy and options.of_policy(policy, catalogue.admissions)
  return text and text ~= (policy.label or policy.name) and text or nil
end

--- The rows of an experiment; nil where there are none.
---@param config table as the core takes it
---@return blis.results.Asked[]?
function asked.list(config)
  local rows, cluster = {}, config.cluster
  local function add(name, text)
    if text then rows[#rows + 1] = { name = name, text = text } end
  end
  if cluster.horizon_us < math.maxinteger then add("horizon", options.time(cluster.horizon_us)) end
  add("scorers", scorers_text(config))
  add("admission", admission_text(config.admission))
  add("SLO targets", config.slo_targets and targets_text(config.slo_targets))
  add("LoRA adapters", of_groups(cluster, lora_text))
  add("speculative decoding", of_groups(cluster, speculation_text))
  add_tiers(rows, config.kv_tiers)
  add("prefill and decode", config.disaggregation and pools_text(config.disaggregation))
  add("gateway's queue", config.queue and queue_text(config.queue))
  add("cascade", config.cascade and config.cascade.label)
  add("spot capacity", config.spot_plans and spot_text(config.spot_plans))
  add("autoscaler", config.scaling and scaling_text(config.scaling))
  add("faults", config.faults and faults_text(config.faults, config.spot_plans))
  settings.add(config, of_groups, add)
  return #rows > 0 and show.figures(rows) or nil
end

return asked
