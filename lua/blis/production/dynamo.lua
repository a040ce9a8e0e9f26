--- Flags of Dynamo's frontend and router.
---
--- Source: ai-dynamo/dynamo docs/components/frontend/configuration.md (0427799) and
--- docs/components/router/router-configuration.md (057096c).

local one_tier = "the router sees one tier of cache here"
local one_router = "there is one router here"
local no_failures = "nothing fails unless the experiment says so"

---@type table<string, blis.production.Flag>
local flags = {
  ["--router-mode"] = { "string", default = "round-robin", choices = { "round-robin", "random",
    "kv", "direct", "least-loaded", "device-aware-weighted" } },
  ["--load-aware"] = { "boolean", default = false },
  ["--router-kv-overlap-score-credit"] = { "number", default = 1 },
  ["--router-kv-overlap-score-credit-decay"] = { "number", default = 0 },
  ["--router-kv-overlap-score-weight"] = { "number" },
  ["--router-prefill-load-scale"] = { "number", default = 1 },
  ["--router-host-cache-hit-weight"] = { "number", default = 0.75, harmless = one_tier },
  ["--router-disk-cache-hit-weight"] = { "number", default = 0.25, harmless = one_tier },
  ["--router-temperature"] = { "number", default = 0 },
  ["--router-kv-events"] = { "boolean", default = true,
    routing = "an index without events, by predictions that expire, is not simulated" },
  ["--router-ttl-secs"] = { "seconds", default = 120, harmless = "for routers without events" },
  ["--router-predicted-ttl-secs"] = { "seconds",
    routing = "the side index of the router's own decisions is not simulated" },
  ["--router-track-active-blocks"] = { "boolean", default = true,
    routing = "blocks in decode always count here" },
  ["--router-assume-kv-reuse"] = { "boolean", default = true,
    routing = "reuse is always assumed here" },
  ["--router-track-prefill-tokens"] = { "boolean", default = true },
  ["--router-track-output-blocks"] = { "boolean", default = false,
    routing = "blocks of outputs are not tracked here" },
  ["--router-prefill-load-model"] = { "string", default = "none",
    routing = "prefill counts until the first token here" },
  ["--router-event-threads"] = { "integer", default = 4, harmless = "a matter of speed" },
  ["--router-active-sequence-stride"] = { "integer", default = 1,
    routing = "all block hashes are kept here" },
  ["--router-queue-threshold"] = { "number",
    routing = "the queue of the router is not simulated" },
  ["--router-queue-policy"] = { "string", default = "fcfs",
    harmless = "it orders the queue, which only --router-queue-threshold makes" },
  ["--router-policy-config"] = { "string", routing = "policy classes are not simulated" },
  ["--router-replica-sync"] = { "boolean", default = false, harmless = one_router },
  ["--router-snapshot-threshold"] = { "integer", default = 1000000, harmless = one_router },
  ["--router-reset-states"] = { "boolean", default = false, harmless = one_router },
  ["--router-session-affinity-ttl-secs"] = { "seconds",
    routing = "sticky sessions are not simulated with this router" },
  ["--overlap-refresh-after-secs"] = { "seconds", default = 10,
    env = "DYN_ROUTER_OVERLAP_REFRESH_AFTER_SECS", harmless = "for requests that were queued" },
  ["--decode-fallback"] = { "boolean", default = false, harmless = no_failures },
  ["--migration-limit"] = { "integer", default = 0, harmless = no_failures },
  ["--active-decode-blocks-threshold"] = { "number",
    routing = "rejection by busy workers is not simulated" },
  ["--active-prefill-tokens-threshold"] = { "number",
    routing = "rejection by busy workers is not simulated" },
  ["--active-prefill-tokens-threshold-frac"] = { "number",
    routing = "rejection by busy workers is not simulated" },
  ["--rejection-frontend-request-concurrency-limit"] = { "integer",
    routing = "rejection by the frontend is not simulated" },
  ["--encoder-cuda-to-cpu-ratio"] = { "number", default = 8,
    env = "DYN_ENCODER_CUDA_TO_CPU_RATIO", harmless = "for device-aware-weighted" },
  ["--http-port"] = { "integer", harmless = "no part of routing" },
  ["--http-host"] = { "string", harmless = "no part of routing" },
  ["--namespace"] = { "string", harmless = "no part of routing" },
  ["--model-name"] = { "string", harmless = "the cluster says which model" },
}
for name, flag in pairs(flags) do
  flag.env = flag.env or "DYN_" .. name:sub(3):gsub("%-", "_"):upper()
end

local modes = { ["round-robin"] = "round-robin", random = "random", ["least-loaded"] = "load_only" }

--- Parameters that are not at their defaults.
local function set(router, name, value, default)
  if value ~= default then router[name] = value end
end

--- Credit and scale; the deprecated weight wins over them.
local function credit_of(get, tell)
  local credit, scale = get "--router-kv-overlap-score-credit", get "--router-prefill-load-scale"
  local weight = get "--router-kv-overlap-score-weight"
  if weight then
    tell.findings:add("rewritten", "--router-kv-overlap-score-weight", nil,
      "write --router-prefill-load-scale %s%s", weight, weight == 0
        and " --router-kv-overlap-score-credit 0" or "")
    scale = weight
    if weight == 0 then credit = 0 end
  end
  if get "--load-aware" then credit = 0 end
  if credit < 0 then
    tell.problems:add(tell.lines["--router-kv-overlap-score-credit"],
      "--router-kv-overlap-score-credit is %s, expected a number of at least 0", credit)
  end
  return credit, scale
end

local function experiment(get, tell)
  local mode = get "--router-mode"
  if modes[mode] then return { routing = modes[mode] } end
  if mode ~= "kv" then
    tell.findings:add("routing", "--router-mode", tell.lines["--router-mode"],
      mode == "direct" and "direct: the client chooses; requests go round-robin here"
      or mode .. ": device types are not distinguished; replaced by round-robin")
    return { routing = "round-robin" }
  end
  local router = { "dynamo.kv" }
  local credit, scale = credit_of(get, tell)
  set(router, "overlap_score_credit", credit, 1)
  set(router, "overlap_score_credit_decay", get "--router-kv-overlap-score-credit-decay", 0)
  set(router, "prefill_load_scale", scale, 1)
  set(router, "router_temperature", get "--router-temperature", 0)
  set(router, "router_track_prefill_tokens", get "--router-track-prefill-tokens", true)
  tell.findings:add("note", "--router-mode", nil, "kv: events arrive at once here; set "
    .. "cache_signal_delay_us for a lag")
  return { routing = router }
end

---@type blis.production.FlagSystem
return { name = "dynamo", what = "flags of Dynamo's router, 0427799 and 057096c", flags = flags,
  experiment = experiment }
