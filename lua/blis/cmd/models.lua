--- blis models: the catalogue of models, and what one of them means on a GPU.
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
local ranks_section = require "blis.feature.ranks.options"

local definition = {
  name = "models",
  summary = "list models, or show one: dimensions, KV capacity, step times",
  usage = "blis models [NAME] [FLAGS]",
  description = "Without a name: the models of the catalogue, and those that models/NAME.yaml and "
    .. "models/NAME/config.json in this folder describe. With one: its dimensions, the blocks of "
    .. "KV cache that fit beside it on a GPU, and the time of some engine steps. With --dp-ranks, "
    .. "these of one of so many ranks: at a barrier, a mixture-of-experts model has its experts "
    .. "spread over all of them.",
  positional = {
    name = "NAME",
    doc = "Model id of the catalogue, with or without its owner, in any case; or the path of a "
      .. "config.json or of the folder it is in.",
  },
  groups = {
    {
      title = "For one model", section = "cluster",
      options = flags.pick(cluster_section, { "hardware", "tp", "dp", "expert_parallel",
        "latency_model", "async_scheduling", "max_num_batched_tokens", "block_size",
        "gpu_memory_utilization" }),
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

--- The engine of the flags; for a model without a usual GPU that of the first in the catalogue.
local function engine_of(model, given, name)
  given.model = name
  given.hardware = given.hardware or model.hardware or core.hardware()[1].name
  local cluster = engine.read(given, "cluster")
  cluster.horizon_us = math.maxinteger
  if cluster.tp or model.tp then return core.engine_facts(cluster), cluster end
  local problem
  for _, tp in ipairs { 1, 2, 4, 8 } do
    cluster.tp = tp
    local ok, facts = pcall(core.engine_facts, cluster)
    if ok then return facts, cluster end
    problem = problem or facts
  end
  error(problem, 0)
end

local function print_fields(model)
  local rows = {}
  for _, name in ipairs(core.models().fields) do
    if model[name] ~= nil then rows[#rows + 1] = { "  " .. name, listing.show(model[name]) } end
  end
  command.print(format.table({ model.id, "" }, rows) .. "\n")
end

local function capacity_line(facts)
  local c = facts.capacity
  return ("  %s blocks of %s tokens (%s tokens): (%.1f GiB usable - %.2f weights "
    .. "- %.2f activations - %.2f other) / %s bytes a block\n"):format(
    format.count(facts.kv_blocks), format.count(facts.block_size),
    format.count(facts.kv_blocks * facts.block_size), c.memory_gib, c.weights_gib,
    c.activations_gib, c.non_torch_gib, format.count(c.bytes_per_block))
end

local function print_coverage(coverage)
  command.print(("  %s %s\n"):format(coverage.extrapolated and "extrapolated:" or "fitted on",
    coverage.fitted_on))
  if coverage.limits ~= "" then command.print(("  they hold for %s\n"):format(coverage.limits)) end
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
  command.print(("\nstep times on %s, tp %d%s, by %s\n"):format(facts.hardware, facts.tp,
    rank_text(facts), facts.latency_model))
  for _, example in ipairs(facts.step_times) do
    command.print(("  %8s us  %s\n"):format(format.count(example.step_us), example.batch))
  end
  if facts.coverage then print_coverage(facts.coverage) end
  for note in facts.notes:gmatch("[^\n]+") do command.print("\nnote: " .. note .. "\n") end
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
    "block_size" })
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
  if has_parts then step_parts.write(writer, cluster) end
  if facts.coverage then
    writer:object("coverage")
    write_fields(writer, facts.coverage, { "fitted_on", "limits", "extrapolated" })
    writer:done()
  end
  writer:done()
end

local function print_json(model, facts, cluster, has_parts)
  local writer = core.json_writer(2):object():field("id", model.id)
  write_fields(writer, model, core.models().fields)
  write_fields(writer, model, { "source" })
  if facts then write_engine(writer, facts, cluster, has_parts) end
  command.print(writer:done():take() .. "\n")
end

--- With --steps: the steps are those of the composed model.
local function need_composed(parsed)
  local given = parsed.values.cluster
  if not parsed.values.steps.parts then return end
  if given.latency_model and given.latency_model ~= "composed" then
    flags.fail(definition, "--steps shows the parts of composed; remove --latency-model %s",
      given.latency_model)
  end
  given.latency_model = "composed"
end

local function print_one(parsed)
  need_composed(parsed)
  local model = library.models(parsed.positional)
  local facts, cluster
  if model.has_dimensions then
    local given = parsed.values.cluster
    given.ranks = features.option_of_flags("ranks", {
      values = parsed.values, fail = function(...) flags.fail(definition, ...) end,
    })
    facts, cluster = engine_of(model, given, parsed.positional)
  end
  if parsed.values.output.format == "json" then
    print_json(model, facts, cluster, parsed.values.steps.parts)
  elseif parsed.values.output.format == "csv" then
    command.print(listing.text({ columns = library.model_columns, rows = { model } }, "csv"))
  else
    print_fields(model)
    if facts then
      print_engine(facts, cluster)
      if parsed.values.steps.parts then command.print(step_parts.text(cluster)) end
    else
      command.print(("  usual GPU %s, tp %s; its dimensions are in its config.json\n"):format(
        model.hardware, model.tp))
    end
  end
end

return command.define(definition, function(parsed)
  catalogue.add(parsed)
  command.checked(definition, parsed.positional and print_one or print_list, parsed)
end)
