--- blis models: lists the catalog of models, and shows the properties of a model on a GPU.
local core = require "blis.core"
local catalogue = require "blis.cli.catalogue"
local cluster_section = require "blis.config.cluster"
local command = require "blis.cli.command"
local engine = require "blis.engine"
local features = require "blis.feature"
local flag_sections = require "blis.config.flags"
local flags = require "blis.cli.flags"
local format = require "blis.format"
local library = require "blis.catalogue"
local listing = require "blis.listing"
local step_parts = require "blis.cli.step_parts"
local setup = require "blis.results.setup"
local ranks_section = require "blis.feature.ranks.options"

local definition = {
  name = "models",
  summary = "list models, or show one: dimensions, KV capacity, step times",
  usage = "blis models [NAME] [FLAGS]",
  description = "Without a name, lists the models of the catalog and of models/NAME.yaml and "
    .. "models/NAME/config.json in this folder. With a name, prints the model's dimensions, its KV "
    .. "cache size on a GPU, and the time of some engine steps. With --dp-ranks, prints these "
    .. "values for one of several ranks; at a barrier, the experts of a mixture-of-experts model "
    .. "are spread over all ranks.",
  positional = {
    name = "NAME",
    doc = "Model id of the catalogue, with or without its owner, in any case; or the path of a "
      .. "config.json or its folder.",
  },
  groups = {
    {
      title = "For one model", section = "cluster",
      options = flags.pick(cluster_section, { "hardware", "tp", "dp", "expert_parallel",
        "defaults", "latency_model", "kernel_tables", "async_scheduling",
        "max_model_len", "max_num_batched_tokens", "block_size", "gpu_memory_utilization",
        "max_num_seqs",
        "quantization", "kv_cache_dtype", "dtype" }),
    },
    { title = "Steps", section = "steps", options = step_parts.section.options },
    {
      title = "As a group of data-parallel ranks", section = "ranks",
      options = flags.pick(ranks_section, { "count", "barrier" }),
    },
    { title = "Catalogue", section = "catalogue", options = flag_sections.catalogue.options },
    {
      title = "Output", section = "output", has_defaults = true,
      options = flag_sections.listing.options,
    },
  },
}

local function print_list(parsed)
  local list = { columns = library.model_columns, rows = library.models() }
  command.print(listing.text(list, parsed.values.output.format))
end

--- KV blocks per instance for some TP degrees; nil where the model does not fit.
local function capacities(cluster)
  local list = {}
  for i, tp in ipairs { 1, 2, 4, 8 } do
    local one = {}
    for key, value in pairs(cluster) do one[key] = value end
    one.tp = tp
    local ok, facts = pcall(core.engine_facts, one)
    list[i] = { tp = tp, kv_blocks = ok and facts.kv_blocks or nil }
  end
  return list
end

--- KV blocks and tokens of a model whose step times are unknown; nil if it does not fit.
---@return { kv_blocks: integer, kv_tokens: integer }?
local function size_of(cluster)
  local ok, capacity = pcall(core.kv_capacity, cluster)
  return ok and { kv_blocks = capacity.blocks, kv_tokens = capacity.logged_tokens } or nil
end

--- The engine of the flags, with the GPU and the degree of a run.
---@return table cluster
---@return table? facts of the engine; nil if the model does not fit or has no step times
---@return string? problem why there are no facts
---@return { kv_blocks: integer, kv_tokens: integer }? size nil if the model does not fit
local function engine_of(given, name)
  given.model = name
  local cluster = engine.read(given, "cluster")
  cluster.horizon_us = math.maxinteger
  local ok, facts = pcall(core.engine_facts, cluster)
  if ok then return cluster, facts, nil, facts end
  local size = size_of(cluster)
  local problem = tostring(facts)
  return cluster, nil, size and "step times are unknown: " .. problem or problem, size
end

local function print_fields(model)
  local rows = {}
  for _, name in ipairs(core.models().fields) do
    if model[name] ~= nil then rows[#rows + 1] = { "  " .. name, listing.show(model[name]) } end
  end
  command.print(format.table({ model.id, "" }, rows) .. "\n")
end

local function giga(value) return ("%.3f G"):format(value / 1e9) end

--- Layers, parameters, weights, and cache of a model with a layer list.
local function print_summary(totals)
  local lines = { totals.layers_text }
  local function add(text, ...) lines[#lines + 1] = "  " .. text:format(...) end
  add("%s parameters, %s of them active per token", giga(totals.parameters),
    giga(totals.active_parameters))
  add("%sB of weights (%s); on each GPU at tp %d: %sB", giga(totals.weight_bytes),
    totals.precision, totals.tp, giga(totals.weight_bytes_per_gpu))
  add("KV cache of %g bits per element; on each GPU at tp %d: %s bytes per token", totals.kv_bits,
    totals.tp, format.count(math.ceil(totals.kv_bytes_per_token)))
  if totals.window_bytes_per_sequence > 0 then
    add("windows on each GPU: at most %s bytes per sequence",
      format.count(totals.window_bytes_per_sequence))
  end
  if totals.state_bytes_per_sequence > 0 then
    add("states on each GPU: %s bytes per sequence", format.count(totals.state_bytes_per_sequence))
  end
  command.print(table.concat(lines, "\n") .. "\n\n")
end

--- "16,985 blocks of 16 tokens (271,760 tokens)"; with several KV groups, how the tokens follow
--- from the blocks: "713 blocks (71,200 tokens: 713 / 4 KV groups, x 400 tokens a block)".
local function blocks_text(facts)
  local blocks, tokens = format.count(facts.kv_blocks), format.count(facts.kv_tokens)
  local of_group = facts.kv_groups and facts.kv_blocks // facts.kv_groups or 0
  if of_group == 0 then
    return ("%s blocks of %s tokens (%s tokens)"):format(blocks, format.count(facts.block_size),
      tokens)
  end
  return ("%s blocks (%s tokens: %s / %s, x %s tokens a block)"):format(blocks, tokens, blocks,
    format.plural(facts.kv_groups, "KV group"), format.count(facts.kv_tokens // of_group))
end

local function capacity_line(facts)
  return ("  %s: (%s\n"):format(blocks_text(facts), setup.capacity_terms(
    facts.capacity, (") / %s bytes a block"):format(format.count(facts.capacity.bytes_per_block))))
end

local function print_coverage(coverage)
  command.print(("  %s %s\n"):format(coverage.extrapolated and "extrapolated:" or "fitted on",
    coverage.fitted_on))
  if coverage.limits ~= "" then command.print(("  valid for %s\n"):format(coverage.limits)) end
end

--- ", a rank of 4" where it is one.
local function rank_text(facts)
  return facts.ranks and (", a rank of %s"):format(format.count(facts.ranks)) or ""
end

local function print_engine(facts, cluster)
  command.print(("\nKV cache on %s, tp %d%s\n"):format(facts.hardware, facts.tp, rank_text(facts)))
  if facts.capacity then command.print(capacity_line(facts)) end
  if facts.ranks then
    command.print(("  %s blocks on the %s GPUs of the group\n"):format(
      format.count(facts.kv_blocks * facts.ranks), format.count(facts.tp * facts.ranks)))
  end
  local parts = {}
  for i, one in ipairs(capacities(cluster)) do
    parts[i] = ("tp %d: %s"):format(one.tp, one.kv_blocks and format.count(one.kv_blocks) or "-")
  end
  command.print("  blocks at " .. table.concat(parts, ", ") .. "\n")
  if facts.max_concurrency > 0 then
    command.print(("  %.1f sequences of %s tokens fit at once\n"):format(facts.max_concurrency,
      format.count(facts.max_model_len)))
  end
  command.print(("\nstep times on %s, tp %d%s, by %s\n"):format(facts.hardware, facts.tp,
    rank_text(facts), facts.latency_model))
  for _, example in ipairs(facts.step_times) do
    command.print(("  %8s us  %s\n"):format(format.count(example.step_us), example.batch))
  end
  if facts.coverage then print_coverage(facts.coverage) end
end

local function write_fields(writer, row, names)
  for _, name in ipairs(names) do
    if row[name] ~= nil then writer:field(name, row[name]) end
  end
end

local capacity_fields = { "bytes_per_token", "bytes_per_block", "weight_bytes", "memory_gib",
  "weights_gib", "activations_gib", "non_torch_gib", "reserved_gib", "overhead_gib" }

local function write_engine(writer, facts, cluster, has_parts)
  writer:object("engine")
  write_fields(writer, facts, { "hardware", "tp", "ranks", "latency_model", "kv_blocks",
    "block_size", "max_model_len", "max_concurrency" })
  if facts.capacity then
    writer:object("capacity")
    write_fields(writer, facts.capacity, capacity_fields)
    writer:done()
  end
  writer:array("kv_blocks_by_tp")
  for _, one in ipairs(capacities(cluster)) do
    writer:object():field("tp", one.tp):field("kv_blocks", one.kv_blocks):done()
  end
  writer:done():array("step_times")
  for _, example in ipairs(facts.step_times) do
    writer:object():field("batch", example.batch):field("step_us", example.step_us):done()
  end
  writer:done()
  if has_parts then step_parts.write(writer, cluster, facts) end
  if facts.coverage then
    writer:object("coverage")
    write_fields(writer, facts.coverage, { "fitted_on", "limits", "extrapolated" })
    writer:done()
  end
  writer:done()
end

--- Notes for users: omissions, assumptions, and why the model does not fit.
local function notes_of(facts, totals, problem)
  local notes, is_known = {}, {}
  local function add(text)
    for line in (text or ""):gmatch("[^\n]+") do
      if not is_known[line] then notes[#notes + 1] = line end
      is_known[line] = true
    end
  end
  add(problem)
  if totals then
    add(totals.tp_problem)
    add(totals.notes)
  end
  add(facts and facts.notes)
  return notes
end

local total_fields = { "parameters", "active_parameters", "weight_bytes", "weight_bytes_per_gpu",
  "kv_bytes_per_token", "window_bytes_per_sequence", "state_bytes_per_sequence" }

---@class blis.ShownModel
---@field model table as blis.models returns it
---@field cluster? table
---@field facts? table of the engine; nil: the model does not fit or has no step times
---@field size? { kv_blocks: integer, kv_tokens: integer } nil: the model does not fit
---@field totals? table of core.model_facts
---@field has_parts? boolean --steps: also the parts of steps
---@field notes string[]

---@param shown blis.ShownModel
local function print_json(shown)
  local model, facts, totals = shown.model, shown.facts, shown.totals
  local writer = core.json_writer(2):object():field("id", model.id)
  local is_total = {}
  for _, name in ipairs(total_fields) do is_total[name] = totals ~= nil end
  for _, name in ipairs(core.models().fields) do
    if model[name] ~= nil and not is_total[name] then writer:field(name, model[name]) end
  end
  write_fields(writer, model, { "source" })
  if totals then
    writer:field("summary", totals.layers_text)
    write_fields(writer, totals, total_fields)
  end
  if shown.cluster then
    local size = shown.size
    local fits = size ~= nil and not (totals and totals.tp_problem)
    writer:field("kv_blocks", fits and size.kv_blocks or 0)
    writer:field("kv_tokens", fits and size.kv_tokens or 0)
    writer:field("fits", fits)
  end
  writer:array("notes")
  for _, note in ipairs(shown.notes) do writer:item(note) end
  writer:done()
  if facts then write_engine(writer, facts, shown.cluster, shown.has_parts) end
  command.print(writer:done():take() .. "\n")
end

---@param shown blis.ShownModel
local function print_text(shown)
  local model, facts = shown.model, shown.facts
  if shown.totals then print_summary(shown.totals) end
  print_fields(model)
  if facts then
    print_engine(facts, shown.cluster)
    if shown.has_parts then command.print(step_parts.text(shown.cluster, facts)) end
  elseif shown.size then
    command.print(("\nKV cache\n  %s blocks (%s tokens)\n"):format(
      format.count(shown.size.kv_blocks), format.count(shown.size.kv_tokens)))
  elseif not shown.cluster then
    command.print(("  usual GPU %s, tp %s; its dimensions are in its config.json\n"):format(
      model.hardware, model.tp))
  end
  for _, note in ipairs(shown.notes) do command.print("\nnote: " .. note .. "\n") end
end

--- With --steps: the steps of the composed model.
local function need_composed(parsed)
  local given = parsed.values.cluster
  if not parsed.values.steps.parts then return end
  if given.latency_model and given.latency_model ~= "composed" then
    flags.fail(definition, "--steps shows the parts of composed; remove --latency-model %s",
      given.latency_model)
  end
  given.latency_model = "composed"
end

--- Everything about one model on the GPUs of the flags.
---@return blis.ShownModel
local function look_at(parsed)
  need_composed(parsed)
  local shown = {
    model = library.models(parsed.positional), has_parts = parsed.values.steps.parts,
  }
  local problem
  if shown.model.has_dimensions then
    local given = parsed.values.cluster
    given.ranks = features.option_of_flags("ranks", {
      values = parsed.values, fail = function(...) flags.fail(definition, ...) end,
    })
    shown.cluster, shown.facts, problem, shown.size = engine_of(given, parsed.positional)
    shown.totals = core.model_facts(shown.cluster)
    if not shown.totals and not shown.facts then error(problem, 0) end
  end
  shown.notes = notes_of(shown.facts, shown.totals, problem)
  return shown
end

local function print_one(parsed)
  local kind = parsed.values.output.format
  local shown = look_at(parsed)
  if kind == "json" then
    print_json(shown)
  elseif kind == "csv" then
    command.print(listing.text({ columns = library.model_columns, rows = { shown.model } }, "csv"))
  else
    print_text(shown)
  end
end

return command.define(definition, function(parsed)
  catalogue.add(parsed)
  command.checked(definition, parsed.positional and print_one or print_list, parsed)
end)
