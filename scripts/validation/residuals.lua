--- Writes data/validation/residuals.yaml: the errors of left-out rows by regime and by what the fit
--- had seen of it, as lua/blis/results/residuals.lua reads them.
local bands = require "bands"
local measured = require "measured"
local measured_range = require "blis.results.measured_range"

local residuals = {}

local families = {
  { name = "Ada", gpus = { "L40S", "RTX 6000 Ada", "L4", "RTX 4090" } },
  { name = "Ampere", gpus = { "A100-SXM", "A100-SXM-40", "A100-PCIe-80", "A100-PCIe-40" } },
  { name = "Blackwell", gpus = { "B200", "B300", "GB200", "GB300" } },
  { name = "Blackwell workstation", gpus = { "RTX PRO 6000", "RTX 5090" } },
  { name = "Hopper", gpus = { "H100", "H200", "H100 NVL", "GH200", "H20" } },
}

local function family_of(gpu)
  for _, family in ipairs(families) do
    for _, name in ipairs(family.gpus) do
      if name == gpu then return family.name end
    end
  end
end

local function key_of(one)
  local r = one.regime
  return ("%s %s %s %s"):format(family_of(r.gpu), r.weights, r.has_experts and "experts" or "dense",
    r.is_async and "async" or "sync")
end

local function format_key(one)
  local r = one.regime
  return ("%s %s %s"):format(family_of(r.gpu), r.weights, r.has_experts and "experts" or "dense")
end

local function grouped(errors, key)
  local groups, order = {}, {}
  for _, one in ipairs(errors) do
    local name = key(one)
    if not groups[name] then
      groups[name] = {}
      order[#order + 1] = name
    end
    table.insert(groups[name], one)
  end
  table.sort(order)
  return groups, order
end

local function pair(errors, name)
  local half = measured.quantile(errors, name, 0.5)
  return half and { half, measured.quantile(errors, name, 0.8) }
end

local function model_count(errors)
  local seen, count = {}, 0
  for _, one in ipairs(errors) do
    if not seen[one.run.model] then seen[one.run.model], count = true, count + 1 end
  end
  return count
end

--- Models and GPUs of a family.
local function family_count(errors, family)
  local seen, count = {}, 0
  for _, one in ipairs(errors) do
    if family_of(one.regime.gpu) == family and not seen[one.run.group] then
      seen[one.run.group], count = true, count + 1
    end
  end
  return count
end

-- Rows whose requests wait for KV blocks have no bound of TTFT, so they do not count for one.
local function without_waits(errors)
  local list = {}
  for i, one in ipairs(errors) do
    list[i] = one.waits and { tpot = one.tpot, tp = one.tp } or one
  end
  return list
end

local fewest_for_shares = 20

--- Residuals of TPOT for the half of the rows with the smaller share of time in steps with prompt
--- tokens, and for the other half.
local function by_share(errors)
  if #errors < fewest_for_shares then return nil, pair(errors, "tpot") end
  local list = table.move(errors, 1, #errors, 1, {})
  table.sort(list, function(a, b) return a.prefill_share < b.prefill_share end)
  local shares, tpot = {}, {}
  for i, part in ipairs { table.move(list, 1, #list // 2, 1, {}),
    table.move(list, #list // 2 + 1, #list, 1, {}) } do
    local sum = 0
    for _, one in ipairs(part) do sum = sum + one.prefill_share end
    shares[i] = sum / #part
    local two = pair(part, "tpot")
    tpot[2 * i - 1], tpot[2 * i] = two[1], two[2]
  end
  return shares, tpot
end

--- The range of the runs whose errors of a metric count, by the keys of
--- blis.results.measured_range; nil without such runs.
local function range_of(errors, metric)
  local range, is_known = {}, false
  local function add(key, value)
    local pair_of = range[key] or { value, value }
    range[key] = { math.min(pair_of[1], value), math.max(pair_of[2], value) }
  end
  for _, one in ipairs(errors) do
    if one[metric] and (metric == "tpot" or not one.waits) then
      is_known = true
      for key, value in pairs(one.values) do add(key, value) end
      for _, version in ipairs(one.run.versions) do add("version", version) end
    end
  end
  return is_known and range or nil
end

--- Adds the ranges of TPOT and TTFT to a row.
local function with_ranges(row, errors)
  row.tpot_range, row.ttft_range = range_of(errors, "tpot"), range_of(errors, "ttft")
  return row
end

local fewest_of_version = 10

--- Errors by engine version, of regimes with two versions or more that have enough rows.
local function by_version(errors)
  local groups, order = grouped(errors, function(one) return one.run.versions[1] end)
  local list = {}
  for _, version in ipairs(order) do
    local some = groups[version]
    if #some >= fewest_of_version then
      list[#list + 1] = { version = version, tpot = bands.floor(pair(some, "tpot")),
        ttft = bands.floor(pair(without_waits(some), "ttft")) }
    end
  end
  return #list > 1 and list or nil
end

local function row_of(level, errors, regime)
  local shares, tpot = by_share(errors)
  local row = { level = level, rows = #errors, prefill_share = shares, tpot = bands.floor(tpot),
    ttft = bands.floor(pair(without_waits(errors), "ttft")) }
  if regime then
    row.versions = by_version(errors)
    row.family, row.weights, row.has_experts, row.is_async = family_of(regime.gpu), regime.weights,
      regime.has_experts, regime.is_async
  end
  return with_ranges(row, errors)
end

-- Residuals of the format level where the measurements contain one model or none: those that are
-- reported with the constants, for rows of InferenceX that their fit did not see (other models,
-- GPUs, and TP degrees).
local reported = {
  { family = "Hopper", weights = "bf16", has_experts = true, tpot = { 0.04, 0.09 },
    ttft = { 0.09, 0.16 } },
  { family = "Ada", weights = "bf16", has_experts = false, tpot = { 0.04, 0.12 },
    ttft = { 0.11, 0.19 } },
  { family = "Hopper", weights = "fp8", has_experts = false, tpot = { 0.03, 0.04 },
    ttft = { 0.10, 0.18 } },
  { family = "Hopper", weights = "fp8_block", has_experts = true, tpot = { 0.08, 0.14 },
    ttft = { 0.24, 0.39 } },
  { family = "Hopper", weights = "mxfp4", has_experts = true, tpot = { 0.13, 0.18 },
    ttft = { 0.12, 0.27 } },
  { family = "Hopper", weights = "int4", has_experts = true, any_attention = true,
    tpot = { 0.10, 0.11 }, ttft = { 0.05, 0.11 } },
  { family = "Blackwell", weights = "fp8", has_experts = false, tpot = { 0.05, 0.13 },
    ttft = { 0.09, 0.16 } },
  { family = "Blackwell", weights = "nvfp4", any_attention = true, tpot = { 0.07, 0.13 },
    ttft = { 0.18, 0.36 } },
  { family = "Blackwell", weights = "fp8_block", has_experts = true, tpot = { 0.04, 0.10 },
    ttft = { 0.10, 0.22 } },
  { family = "Blackwell", weights = "mxfp4", has_experts = true, tpot = { 0.07, 0.11 },
    ttft = { 0.10, 0.16 } },
  { family = "Blackwell", weights = "int4", has_experts = true, any_attention = true,
    tpot = { 0.22, 0.24 }, ttft = { 0.26, 0.32 } },
}

local function models_of(errors)
  local list, seen = {}, {}
  for _, one in ipairs(errors) do
    local r = one.regime
    local text = ("{gpu: %s, weights: %s, has_experts: %s, layers: %d, hidden_size: %d}")
      :format(r.gpu, r.weights, r.has_experts, r.layers, r.hidden_size)
    if not seen[text] then seen[text], list[#list + 1] = true, text end
  end
  table.sort(list)
  return list
end

--- The union of two ranges.
local function union(a, b)
  local range = {}
  for key, pair_of in pairs(a) do range[key] = pair_of end
  for key, pair_of in pairs(b) do
    local other = range[key] or pair_of
    range[key] = { math.min(pair_of[1], other[1]), math.max(pair_of[2], other[2]) }
  end
  return range
end

--- The largest of each figure of rows: what is not better known than any of them. At least what is
--- reported for GPUs of families and formats of experts that no fit contains.
local function largest(level, rows)
  local found = { level = level, rows = 0, tpot = { 0.15, 0.25 }, ttft = { 0.20, 0.40 } }
  for _, row in ipairs(rows) do
    found.rows = found.rows + row.rows
    found.tpot_range = union(found.tpot_range or {}, row.tpot_range)
    found.ttft_range = union(found.ttft_range or {}, row.ttft_range or {})
    local t = row.tpot
    local tpot = { math.max(t[1], t[3] or 0), math.max(t[2], t[4] or 0) }
    for i = 1, 2 do
      found.tpot[i] = math.max(found.tpot[i], tpot[i])
      found.ttft[i] = math.max(found.ttft[i], row.ttft and row.ttft[i] or 0)
    end
  end
  return found
end

-- Mean errors of the assumed group of each level, which the authors of the constants report: a
-- known format with a new model, and a format of experts that no fit contains.
local assumed = { format = 0.08, family = 0.25 }

--- The errors by model and GPU.
local function by_group(errors)
  local groups, order = grouped(errors, function(one) return one.run.group end)
  local list = {}
  for i, name in ipairs(order) do list[i] = without_waits(groups[name]) end
  return list
end

--- A row of models that the fit does not contain.
local function unseen_row(level, errors)
  local groups = by_group(errors)
  return with_ranges({ level = level, rows = #errors,
    tpot = bands.pair(bands.scale(groups, "tpot", assumed[level])),
    ttft = bands.pair(bands.scale(groups, "ttft", assumed[level])) }, errors)
end

--- The runs of a study on a GPU family: reported errors are of more runs of the same study, whose
--- lengths and loads are those of these runs.
local function of_study(errors, reported_row)
  local list, source = {}, reported_row.weights == "bf16" and "stages" or "InferenceX"
  for _, one in ipairs(errors) do
    if one.run.source == source and family_of(one.regime.gpu) == reported_row.family then
      list[#list + 1] = one
    end
  end
  return list
end

--- Adds the rows of the levels model and format; returns the errors of the level family: models
--- whose format had no other model of the GPU family, which were left out.
local function add_formats(rows, by_part, by_model)
  local parts, order = grouped(by_part, key_of)
  for _, key in ipairs(order) do
    rows[#rows + 1] = row_of("model", parts[key], parts[key][1].regime)
  end
  local unknown = {}
  local models, formats = grouped(by_model, format_key)
  for _, key in ipairs(formats) do
    local r = models[key][1].regime
    if model_count(models[key]) > 1 then
      local row = unseen_row("format", models[key])
      row.family, row.weights, row.has_experts = family_of(r.gpu), r.weights, r.has_experts
      rows[#rows + 1] = row
    elseif family_count(by_model, family_of(r.gpu)) > 1 then
      table.move(models[key], 1, #models[key], #unknown + 1, unknown)
    end
  end
  for _, one in ipairs(reported) do
    local row = { level = "format", rows = 0 }
    for name, value in pairs(one) do row[name] = value end
    rows[#rows + 1] = with_ranges(row, of_study(by_part, one))
  end
  return unknown
end

--- All rows of the file.
---@param by_part validation.Error[] of left_out, kind "part"
---@param by_model validation.Error[] kind "model"
---@param by_gpu validation.Error[] kind "gpu"
---@return table[]
function residuals.rows(by_part, by_model, by_gpu)
  local rows = {}
  local unknown = add_formats(rows, by_part, by_model)
  local family = unseen_row("family", unknown)
  family.many_gpus = bands.factor(by_group(unknown))
  rows[#rows + 1] = family
  rows[#rows + 1] = largest("nothing", { family, row_of("nothing", by_gpu) })
  return rows
end

local function numbers(list)
  local texts = {}
  for i, x in ipairs(list) do texts[i] = ("%.3f"):format(x) end
  return "[" .. table.concat(texts, ", ") .. "]"
end

--- "{prompt: [600, 8192], ...}", the quantities that a metric depends on.
local function range_text(range, metric)
  local texts = {}
  for _, quantity in ipairs(measured_range.quantities) do
    local pair_of = quantity[metric] and range[quantity.key]
    if pair_of then
      local number = ("%%.%df"):format(quantity.digits)
      texts[#texts + 1] = ("%s: [%s, %s]"):format(quantity.key, number:format(pair_of[1]),
        number:format(pair_of[2]))
    end
  end
  return "{" .. table.concat(texts, ", ") .. "}"
end

local function row_text(row)
  local parts = { "level: " .. row.level }
  local function add(name, text) parts[#parts + 1] = name .. ": " .. text end
  for _, name in ipairs { "family", "weights", "has_experts", "is_async", "any_attention",
    "rows" } do
    if row[name] ~= nil then add(name, tostring(row[name])) end
  end
  if row.many_gpus then add("many_gpus", ("%.2f"):format(row.many_gpus)) end
  for _, name in ipairs { "prefill_share", "tpot", "ttft" } do
    if row[name] then add(name, numbers(row[name])) end
  end
  if row.versions then
    local texts = {}
    for i, one in ipairs(row.versions) do
      texts[i] = ("{version: %d, tpot: %s%s}"):format(one.version, numbers(one.tpot),
        one.ttft and ", ttft: " .. numbers(one.ttft) or "")
    end
    add("versions", "[" .. table.concat(texts, ", ") .. "]")
  end
  for _, metric in ipairs { "tpot", "ttft" } do
    local range = row[metric] and row[metric .. "_range"]
    if range then add(metric .. "_range", range_text(range, metric)) end
  end
  return "    - {" .. table.concat(parts, ", ") .. "}"
end

local head = [[
# Residuals of the composed step-time model by regime. Written by scripts/validate --residuals.
# lua/blis/engine/residuals.lua describes the keys.
#
# Relative errors of mean TPOT and TTFT on runs that took no part in the fit: all parameters of
# scripts/validation/parameters.lua were fitted again without them. Half of the rows are within the
# first number, four fifths within the second. Levels below "model" count each model and GPU once,
# and one more that is assumed (scripts/validation/bands.lua). tpot_range and ttft_range are the
# smallest and largest values of these runs (lua/blis/results/measured_range.lua). "versions" has
# the errors by version of vLLM (minor numbers), where two versions have ten rows or more.
#
# Sources: InferenceX (246 rows, vLLM 0.11 to 0.19, Apache-2.0), Qwen3-32B under vLLM 0.12 (30 rows,
# ai-dynamo/aiconfigurator 095f58a51c4c, Apache-2.0), and 56 stages of the accuracy study of
# inference-sim (vLLM 0.14 and 0.15). Rows with "rows: 0" are errors of the same constants on more
# rows of InferenceX that the fit did not see, as reported with the constants.
]]

--- "InferenceX, vLLM 0.17": a row of the table by engine version.
local function version_name(run)
  return run.source == "InferenceX" and ("InferenceX, vLLM 0.%d"):format(run.versions[1]) or nil
end

local sources = { InferenceX = "all InferenceX", stages = "all stages" }

local function figures_of(errors)
  local parts = {}
  for _, name in ipairs { "tpot", "ttft" } do
    local mean = measured.mean(errors, name)
    if mean then
      parts[#parts + 1] = ("%s: %s"):format(name, numbers { mean,
        measured.quantile(errors, name, 0.5), measured.quantile(errors, name, 0.8) })
    end
  end
  return "{" .. table.concat(parts, ", ") .. "}"
end

--- Errors of groups of rows by several models: mean, half, and four fifths.
local function group_lines(kinds)
  local lines, by_kind, order, is_known = {}, {}, {}, {}
  for _, name_of in ipairs { function(run) return run.group end,
    function(run) return sources[run.source] end, version_name } do
    for k, kind in ipairs(kinds) do
      by_kind[k] = by_kind[k] or {}
      for _, one in ipairs(kind.errors) do
        local name = name_of(one.run)
        if name then
          by_kind[k][name] = by_kind[k][name] or {}
          table.insert(by_kind[k][name], one)
          if not is_known[name] then order[#order + 1], is_known[name] = name, true end
        end
      end
    end
  end
  for _, name in ipairs(order) do
    lines[#lines + 1] = ("  - name: %s\n    rows: %d"):format(name, #by_kind[1][name])
    for k, kind in ipairs(kinds) do
      lines[#lines + 1] = ("    %s: %s"):format(kind.name, figures_of(by_kind[k][name]))
    end
  end
  return lines
end

local head_of_groups = [[
# Errors of groups of rows by several step-time models: mean, half of the rows, four fifths of the
# rows. Written by scripts/validate --residuals. Sources: data/validation/residuals.yaml.
]]

--- The text of tests/data/truth/groups.yaml, for docs/validation.md.
---@param kinds { name: string, errors: validation.Error[] }[] errors to compare
---@return string
function residuals.groups_text(kinds)
  return head_of_groups .. "groups:\n" .. table.concat(group_lines(kinds), "\n") .. "\n"
end

--- The text of data/validation/residuals.yaml.
---@param rows table[] of residuals.rows
---@param shipped validation.Error[] of the shipped constants
---@param between table<string, table<string, number[]>>
---@return string
function residuals.text(rows, shipped, between)
  local lines = { head .. "residuals:", "  families:" }
  local function add(line) lines[#lines + 1] = line end
  for _, family in ipairs(families) do
    add(("    %s: [%s]"):format(family.name, table.concat(family.gpus, ", ")))
  end
  add "  # Models that the fit contains."
  add "  models:"
  for _, text in ipairs(models_of(shipped)) do add("    - " .. text) end
  add "  regimes:"
  for _, row in ipairs(rows) do add(row_text(row)) end
  add "  # Errors of the quotient of two setups: errors that both have cancel."
  add "  between:"
  for _, name in ipairs { "part", "model" } do
    add(("    %s: {tpot: %s, ttft: %s}"):format(name, numbers(between[name].tpot),
      numbers(between[name].ttft)))
  end
  return table.concat(lines, "\n") .. "\n"
end

--- All errors of left-out rows, for the tests of expected errors.
---@param kinds table<string, validation.Error[]>
---@return string CSV
function residuals.csv(kinds)
  local lines = { "# Relative errors of the composed model on rows that its fit did not contain. "
    .. "Written by scripts/validate --residuals. Sources: data/validation/residuals.yaml.",
    "left_out,group,part,tp,gpu,weights,has_experts,is_async,layers,hidden_size,prefill_share,"
    .. "waits,tpot,ttft" }
  for _, kind in ipairs { "part", "model", "gpu" } do
    for _, one in ipairs(kinds[kind]) do
      local r = one.regime
      lines[#lines + 1] = ("%s,%s,%s,%d,%s,%s,%s,%s,%d,%d,%.3f,%s,%.4f,%s"):format(kind,
        one.run.group, (one.run.part:gsub(",", "")), one.tp, r.gpu, r.weights, r.has_experts,
        r.is_async, r.layers, r.hidden_size, one.prefill_share, one.waits, one.tpot,
        one.ttft and ("%.4f"):format(one.ttft) or "")
    end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Differences of errors between pairs of left-out rows with equal lengths and loads.
--- "part": the same model and GPU, with another TP degree or engine version; "model": another model
--- or GPU. Half of the pairs are within the first number, four fifths within the second.
---@param by_part validation.Error[]
---@param by_model validation.Error[]
---@return table<string, table<string, number[]>>
function residuals.between(by_part, by_model)
  local found = {}
  for name, errors in pairs { part = by_part, model = by_model } do
    local pairs_of = {}
    for i, one in ipairs(errors) do
      for k = i + 1, #errors do
        local other = errors[k]
        local is_same = one.run.group == other.run.group
        if one.run.source == other.run.source and one.row.name == other.row.name
          and is_same == (name == "part") and one.run.part ~= other.run.part then
          pairs_of[#pairs_of + 1] = { tpot = (1 + one.tpot) / (1 + other.tpot) - 1,
            ttft = one.ttft and other.ttft and not one.waits and not other.waits
              and (1 + one.ttft) / (1 + other.ttft) - 1 or nil }
        end
      end
    end
    found[name] = { tpot = pair(pairs_of, "tpot"), ttft = pair(pairs_of, "ttft") }
  end
  return found
end

return residuals
