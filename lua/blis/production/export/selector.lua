-- A policy in Lua as the selector of a router that passes other signals: the part that is the same
-- in a plugin and here. It needs nothing but Lua.
--
-- select = selector(load_policy): load_policy is a function that returns what the policy's file
-- returns. select(request, candidates) returns the place of a candidate.

-- Values of a candidate that a selector can read, and the fields of the router that supply them. f
-- are these fields, q the request.
local signals = {
  cached_tokens = function(f) return f.cached_tokens end,
  prefix_hit = function(f, q)
    local blocks = q.isl_tokens // q.block_size_tokens
    return blocks > 0 and math.min(1, f.cached_tokens // q.block_size_tokens / blocks) or 0
  end,
  pending_prefill_tokens = function(f) return f.active_prefill_tokens end,
  kv_blocks = function(f) return f.total_kv_blocks end,
  max_num_batched_tokens = function(f) return f.max_num_batched_tokens end,
}
local own_fields = { "worker_id", "dp_rank", "effective_overlap_blocks", "device_overlap_blocks",
  "host_overlap_blocks", "disk_overlap_blocks", "shared_beyond_device_blocks",
  "active_prefill_tokens", "active_decode_blocks", "additional_active_blocks",
  "stable_routing_id", "taint_multiplier", "total_kv_blocks" }
local of_request = { prompt_tokens = "isl_tokens", session = "session_id",
  expected_output_tokens = "expected_output_tokens", block_size_tokens = "block_size_tokens" }

local function refuse(what)
  return function(_, key)
    error(("the router does not pass %s.%s"):format(what, tostring(key)), 2)
  end
end

local candidate_meta = { __index = refuse "instance" }
local request_meta = { __index = refuse "request" }

local function request_of(q)
  local made = {}
  for name, field in pairs(of_request) do made[name] = q[field] end
  made.session = made.session or ""
  return setmetatable(made, request_meta)
end

local function candidate_of(f, q, i)
  local made = { id = "instance_" .. f.worker_id, index = i }
  for name, read in pairs(signals) do made[name] = read(f, q) end
  for _, name in ipairs(own_fields) do made[name] = f[name] end
  return setmetatable(made, candidate_meta)
end

-- blis, as far as a file of policies needs it.
local function marked(kind)
  return function(given)
    if type(given) ~= "table" then
      error(("%s %s is built into the simulator; write it in Lua"):format(kind, tostring(given)), 2)
    end
    given.kind = kind
    return given
  end
end
local stub = setmetatable({ scorer = marked "scorer", router = marked "router" }, {
  __index = function(_, name)
    error(("blis.%s is not available in a selector"):format(tostring(name)), 2)
  end })

local function fresh(policy)
  if not policy.new then return policy end
  local made = policy.new {}
  made.name, made.kind = policy.name, policy.kind
  return made
end

local function clamp(score, name)
  if type(score) ~= "number" or score ~= score then
    error(("scorer '%s' returned %s"):format(tostring(name), tostring(score)), 0)
  end
  return score < 0 and 0 or score > 1 and 1 or score
end

-- All scores of a scorer, each from 0 to 1.
local function scores_of(scorer, request, candidates)
  local scores = {}
  if scorer.score_all then
    scorer.score_all(request, candidates, scores)
  else
    for i, one in ipairs(candidates) do scores[i] = scorer.score(request, one) end
  end
  for i = 1, #candidates do scores[i] = clamp(scores[i], scorer.name) end
  return scores
end

-- Whether the number of an id is lower, as in the simulator; ids have no leading zeros here.
local function is_lower(a, b)
  if #a ~= #b then return #a < #b end
  return a < b
end

-- The first of the best; of equal ones the lowest id.
local function best_of(sums, candidates)
  local best = 1
  for i = 2, #candidates do
    local is_tie = sums[i] == sums[best] and is_lower(candidates[i].id, candidates[best].id)
    if sums[i] > sums[best] or is_tie then
      best = i
    end
  end
  return best
end

local function weighted(items)
  local all = 0.0
  for _, item in ipairs(items) do all = all + item.weight end
  return function(request, candidates)
    local sums = {}
    for i = 1, #candidates do sums[i] = 0.0 end
    for _, item in ipairs(items) do
      local scores = scores_of(item.scorer, request, candidates)
      for i = 1, #candidates do sums[i] = sums[i] + item.weight / all * scores[i] end
    end
    local chosen = best_of(sums, candidates)
    for _, item in ipairs(items) do
      if item.scorer.observe then item.scorer.observe(request, candidates[chosen]) end
    end
    return chosen
  end
end

local function read_scorer(given)
  if type(given) ~= "table" then
    error(("scorer %s is built into the simulator; write it in Lua"):format(tostring(given)), 0)
  end
  local scorer = fresh(given)
  if scorer.columns then
    error(("scorer '%s' works on columns; write score(request, instance)"):format(
      tostring(scorer.name)), 0)
  end
  return scorer
end

local function read_items(value)
  if type(value.scorers) ~= "table" then error("scorers: expected a list", 0) end
  if value.filters or value.picker and value.picker ~= "best" then
    error("a selector does not support filters and pickers", 0)
  end
  local items = {}
  for i, item in ipairs(value.scorers) do
    local is_alone = type(item) ~= "table" or item.kind
    items[i] = { scorer = read_scorer(is_alone and item or item[1]),
      weight = not is_alone and item[2] or 1 }
  end
  return items
end

local function read_policy(value)
  if type(value) == "table" and value.routing ~= nil then value = value.routing end
  if type(value) == "function" then return value end
  if type(value) ~= "table" then
    error(("expected a policy in Lua, got %s"):format(tostring(value)), 0)
  end
  if value[1] == "weighted" then return weighted(read_items(value)) end
  local made = fresh(value)
  if made.route then return made.route end
  if made.score or made.score_all then
    return weighted { { scorer = read_scorer(value), weight = 1 } }
  end
  error("expected a policy in Lua, with route or score", 0)
end

return function(load_policy)
  local before = package.loaded.blis
  package.loaded.blis = stub
  local ok, value = pcall(load_policy)
  package.loaded.blis = before
  if not ok then error(value, 0) end
  local route = read_policy(value)
  return function(q, fields)
    local request, candidates = request_of(q), {}
    for i, f in ipairs(fields) do candidates[i] = candidate_of(f, q, i) end
    local chosen = route(request, candidates)
    if math.type(chosen) ~= "integer" or chosen < 1 or chosen > #candidates then
      error(("the policy returned %s, expected the index of a candidate"):format(
        tostring(chosen)), 0)
    end
    return chosen
  end
end
