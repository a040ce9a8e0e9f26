--- Flags of the vLLM router. The source is the names of its policies and their parameters (kv_aware
--- 71af9941, ttft_aware e0c942d4, smetric 8bef7312, least_conn_sticky 240c709b, rendezvous_hash
--- 292889eb). All others are assumed to work like the policies of SMG with the same names.
local smg = require "blis.production.smg"

local own = { kv_aware = "vllm-router.kv_aware", ttft_aware = "vllm-router.ttft_aware",
  smetric = "vllm-router.smetric", least_conn_sticky = "vllm-router.least_conn_sticky",
  rendezvous_hash = "vllm-router.rendezvous_hash" }
local shared = { cache_aware = "cache_aware", power_of_two = "power_of_two", random = "random",
  round_robin = "round_robin", consistent_hash = "consistent_hashing" }

local choices = {}
for name in pairs(own) do choices[#choices + 1] = name end
for name in pairs(shared) do choices[#choices + 1] = name end
table.sort(choices)

---@type table<string, blis.production.Flag>
local flags = { ["--policy"] = { "string", default = "cache_aware", choices = choices } }
for _, name in ipairs { "--cache-threshold", "--balance-abs-threshold", "--balance-rel-threshold",
  "--eviction-interval", "--max-tree-size", "--block-size", "--worker-urls", "--host", "--port" } do
  flags[name] = smg.flags[name]
end

local function experiment(get, tell)
  local policy = get "--policy"
  if own[policy] then
    if policy == "smetric" then
      tell.findings:add("note", "--policy", nil, "smetric has the defaults of an earlier version")
    end
    return { routing = own[policy] }
  end
  local made = smg.experiment(function(flag)
    if flag == "--policy" then return shared[policy] end
    if flags[flag] then return get(flag) end
    return smg.flags[flag].default
  end, tell)
  if type(made.routing) == "table" then made.routing.gate = nil end
  return made
end

---@type blis.production.FlagSystem
return { name = "vllm-router", what = "flags of the vLLM router", flags = flags,
  experiment = experiment }
