--- Description of a run: the lines above the metrics of a summary, and the rows of pages.
local format = require "blis.format"

local setup = {}

local count, plural = format.count, format.plural

--- Number of GPUs that the terms sum over; blocks are per GPU.
local function gpus_of(capacity)
  local left = (capacity.memory_gib - capacity.overhead_gib) * 1073741824
  return math.max(1, math.floor(left / math.max(capacity.allocatable_bytes, 1) + 0.5))
end

--- Returns the terms of one GPU, so that a reader can redo the calculation of blocks.
---@param capacity table
---@param close string text after the terms, for example ") / 2,097,152 bytes a block"
---@return string
function setup.capacity_terms(capacity, close)
  local c, gpus = capacity, gpus_of(capacity)
  local line = ("%.1f GiB usable - %.2f weights - %.2f activations - %.2f other"):format(
    c.memory_gib / gpus, c.weights_gib / gpus, c.activations_gib / gpus, c.non_torch_gib / gpus)
  if c.reserved_gib > 0 then line = ("%s - %.2f adapters"):format(line, c.reserved_gib / gpus) end
  return line .. close .. (gpus > 1 and (", on each of %d GPUs"):format(gpus) or "")
end

--- "KV cache of 28,235 blocks of 16 tokens (451,760 tokens): 71.3 GiB usable - 14.96 weights - ..."
--- With several KV groups, blocks do not have block_size tokens.
local function cache_line(s)
  local tokens = s.kv_blocks * s.block_size
  local logged = rawget(s, "kv_tokens") or tokens
  local size = ("KV cache of %s%s (%s)"):format(plural(s.kv_blocks, "block"),
    logged == tokens and " of " .. plural(s.block_size, "token") or "", plural(logged, "token"))
  local c = rawget(s, "capacity")
  if not c then return size .. (s.kv_blocks_computed and ", as measured" or ", as given") end
  return ("%s: %s"):format(size, setup.capacity_terms(c, ""))
end

--- How long the first two of the example batches take.
local function step_line(s)
  if #s.step_times == 0 then return "step times by the script's " .. s.latency_model end
  local parts = {}
  for i = 1, 2 do
    parts[i] = ("%s us (%s)"):format(count(s.step_times[i].step_us),
      s.step_times[i].batch)
  end
  return ("step times by %s: %s"):format(s.latency_model, table.concat(parts, ", "))
end

--- Policies other than the routing policy; nil for results without this information.
local function policies_line(s)
  if not rawget(s, "scheduler") then return nil end
  return ("admission %s; scheduler %s; preemption %s; priority by %s"):format(s.admission,
    s.scheduler, s.preemption, s.priority)
end

--- "2 instances", or "2 groups of 4 ranks" each.
local function size_of(group)
  local ranks = rawget(group, "ranks") or 1
  if ranks == 1 then return plural(group.instances, "instance") end
  return ("%s of %s ranks"):format(plural(group.instances // ranks, "group"), count(ranks))
end

--- "2 instances of qwen/qwen3-14b on H100, tp 1, for prefill"
local function instances_line(group)
  local hardware = group.hardware == "" and ""
    or (" on %s, tp %d"):format(group.hardware, group.tp)
  local role = rawget(group, "role")
  return ("%s of %s%s%s"):format(size_of(group), group.model, hardware,
    role and ", for " .. role or "")
end

local function groups_of(s) return rawget(s, "groups") or { s } end

--- The address of a real endpoint that the requests of a result were sent to; nil for a run.
---@param s table
---@return string?
function setup.endpoint(s) return rawget(s, "endpoint") end

--- The lines above the metrics of a summary.
---@param r blis.Result
---@return string[]
function setup.lines(r)
  local s, lines = r.setup, {}
  if setup.endpoint(s) then return { s.traffic } end
  for _, group in ipairs(groups_of(s)) do
    lines[#lines + 1] = instances_line(group)
    lines[#lines + 1] = cache_line(group)
    lines[#lines + 1] = step_line(group)
  end
  local version = rawget(s, "defaults")
  lines[#lines + 1] = ("routing %s; seed %d%s"):format(r.routing, s.seed,
    version and "; defaults " .. version or "")
  lines[#lines + 1] = policies_line(s)
  for note in s.notes:gmatch("[^\n]+") do lines[#lines + 1] = "note: " .. note end
  return lines
end

local policies = { { "admission", "admission" }, { "scheduler", "scheduler" },
  { "preemption", "preemption" }, { "priority by", "priority" } }

--- The same as rows, with what else the experiment asked for, but without the notes.
---@param r blis.Result
---@return blis.results.Asked[]
function setup.rows(r)
  local s, rows = r.setup, {}
  local function add(name, text)
    if text then rows[#rows + 1] = { name = name, text = text } end
  end
  if setup.endpoint(s) then
    add("endpoint", s.endpoint)
    return rows
  end
  local groups = groups_of(s)
  for i, group in ipairs(groups) do
    local of = #groups > 1 and (" of group %d"):format(i) or ""
    add(#groups > 1 and ("group %d"):format(i) or "instances", instances_line(group))
    add("KV cache" .. of, (cache_line(group):gsub("^KV cache of ", "")))
    add("step times" .. of, (step_line(group):gsub("^step times ", "")))
  end
  add("routing", (r.routing:gsub(",", ", ")))
  local asked = {}
  for _, row in ipairs(rawget(s, "asked") or {}) do asked[row.name] = row.text end
  for _, one in ipairs(policies) do
    add(one[1], asked[one[1]] or rawget(s, one[2]))
    asked[one[1]] = nil
  end
  for _, row in ipairs(rawget(s, "asked") or {}) do add(row.name, asked[row.name]) end
  add("seed", ("%d"):format(s.seed))
  add("defaults", rawget(s, "defaults"))
  return rows
end

return setup
