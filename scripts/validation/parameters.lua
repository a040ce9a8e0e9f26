--- The free parameters of a fit of the composed model: their places in data/latency/composed.yaml,
--- and what is assumed about them before any run is measured.
---
--- A fit works on logarithms. What is assumed are soft rules: a residual that grows with the
--- distance from a value, or from the value of another parameter. They decide only where no
--- measured run does, such as the scales of a format whose runs are left out.
local parameters = {}

---@class validation.Parameter
---@field name string
---@field gpus string[] entries that it is in
---@field path (string|integer)[] keys from the entry on
---@field affects fun(regime: table): boolean runs that depend on it
---@field assumed? number value that is assumed
---@field spread? number of the assumed value, relative

---@class validation.Tie
---@field [1] string name of a parameter
---@field [2] string name of a parameter with about the same value
---@field spread number relative

local hopper, blackwell = { "H200", "H100" }, { "B200", "B300" }
local every = { "H100", "H200", "B200", "B300", "A100-SXM", "L40S", "RTX 4090", "RTX PRO 6000",
  "MI300X", "other" }

local function contains(list, name)
  for _, one in ipairs(list) do
    if one == name then return true end
  end
  return false
end

local list, ties = {}, {}

local function add(name, gpus, path, affects, assumed, spread)
  list[#list + 1] = { name = name, gpus = gpus, path = path, assumed = assumed, spread = spread,
    affects = function(regime) return contains(gpus, regime.gpu) and affects(regime) end }
end

local function any() return true end

-- Formats whose attention matrices are quantized as the experts are.
local quantized = { fp8 = true, fp8_block = true, nvfp4 = true }

local function is_quantized(regime) return quantized[regime.weights] == true end

-- Scales of a class before any of its runs is measured: dense layers, and experts.
local usual = { dense = { 1, 1.05 }, experts = { 0.92, 1.6 } }
local scale_spread, tie_spread = 0.2, 0.1

--- The pair of scales of a format on a GPU family.
local function add_scales(family, gpus, class, format)
  for i, kind in ipairs { "few", "many" } do
    add(("%s %s %s, %s tokens"):format(family, class, format, kind), gpus,
      { class == "dense" and "dense_scales" or "expert_scales", format, i },
      function(regime)
        return regime.has_experts == (class == "experts") and regime.weights == format
      end, usual[class][i], scale_spread)
  end
end

local function tie(class, format)
  for _, kind in ipairs { "few", "many" } do
    local name = ("%%s %s %s, %s tokens"):format(class, format, kind)
    ties[#ties + 1] = { name:format "Hopper", name:format "Blackwell", spread = tie_spread }
  end
end

add("layer", every, { "layer_us" }, function(r) return not is_quantized(r) end, 3.5, 0.5)
add("quantised layer", every, { "quantised_layer_us" }, is_quantized, 14, 0.5)
add("expert layer", every, { "expert_layer_us" }, function(r) return r.has_experts end, 10, 0.5)
add("step", every, { "step_us" }, any, 650, 0.5)
add("sampling", every, { "sampling_reads" }, any, 8, 0.5)
add("Hopper KV", hopper, { "kv_share" }, any, 0.9, 0.3)
add("Hopper FP8 KV", hopper, { "kv_fp8_share" }, function(r) return r.weights == "fp8" end, 0.75,
  0.5)
add("Hopper prefill attention", hopper, { "prefill_share" }, any, 0.79, 0.2)
add("Hopper old experts", hopper, { "old_expert_scale" },
  function(r) return r.weights == "fp8_block" end, 1.2, 0.2)
add("Blackwell old experts", blackwell, { "old_expert_scale" },
  function(r) return r.weights == "fp8_block" end, 1.2, 0.2)
add("old MXFP4 experts", every, { "old_mxfp4_scale" },
  function(r) return r.has_experts and r.weights == "mxfp4" end, 1.1, 0.2)
add("Blackwell old dense launches", blackwell, { "old_dense_launch_us" },
  function(r) return not r.has_experts end, 950, 1)
add("Blackwell old expert launches", blackwell, { "old_expert_launch_us" },
  function(r) return r.has_experts end, 410, 1)
add("A100 KV", { "A100-SXM" }, { "kv_share" }, any, 0.5, 0.7)
add_scales("Hopper", hopper, "dense", "bf16")
add_scales("Hopper", hopper, "dense", "fp8")
add_scales("Hopper", hopper, "experts", "bf16")
add_scales("Hopper", hopper, "experts", "fp8_block")
add_scales("Hopper", hopper, "experts", "mxfp4")
add_scales("Blackwell", blackwell, "dense", "fp8")
add_scales("Blackwell", blackwell, "experts", "fp8_block")
add_scales("Blackwell", blackwell, "experts", "mxfp4")
add_scales("A100", { "A100-SXM" }, "dense", "bf16")
add_scales("L40S", { "L40S" }, "dense", "bf16")
tie("experts", "fp8_block")
tie("experts", "mxfp4")
-- Dense layers of one GPU family differ by their products, which the kernel constants contain.
for _, kind in ipairs { "few", "many" } do
  local name = "Hopper dense %s, " .. kind .. " tokens"
  ties[#ties + 1] = { name:format "bf16", name:format "fp8", spread = tie_spread }
end

parameters.list, parameters.ties = list, ties

local function entry_of(entries, gpu)
  for _, entry in ipairs(entries) do
    if entry.gpu == gpu then return entry end
  end
  error("no constants of " .. gpu)
end

--- The table and the key of a parameter; the table may be missing.
local function holder_of(entry, path, creates)
  for i = 1, #path - 1 do
    if entry[path[i]] == nil then
      if not creates then return {}, path[#path] end
      entry[path[i]] = {}
    end
    entry = entry[path[i]]
  end
  return entry, path[#path]
end

--- The value of a parameter in an entry, with kernel tables or without.
local function value_in(entry, path, has_tables)
  local of_tables = has_tables and type(entry.with_tables) == "table" and entry.with_tables
  if of_tables then
    local holder, key = holder_of(of_tables, path)
    if holder[key] ~= nil then return holder[key] end
  end
  local holder, key = holder_of(entry, path)
  return holder[key]
end

--- The values of all parameters in entries of constants.
---@param entries table[]
---@param has_tables boolean
---@return number[]
function parameters.read(entries, has_tables)
  local values = {}
  for i, one in ipairs(list) do
    values[i] = value_in(entry_of(entries, one.gpus[1]), one.path, has_tables) or one.assumed
  end
  return values
end

--- Sets the values in entries of constants. With kernel tables, GPUs without tables keep the values
--- of parameters that they share with GPUs that have them.
---@param entries table[]
---@param values number[]
---@param has_tables boolean
function parameters.write(entries, values, has_tables)
  for i, one in ipairs(list) do
    for _, gpu in ipairs(one.gpus) do
      local entry = entry_of(entries, gpu)
      if has_tables and type(entry.with_tables) == "table" then
        entry = entry.with_tables
      elseif has_tables and type(entry_of(entries, one.gpus[1]).with_tables) == "table" then
        goto next
      end
      local holder, key = holder_of(entry, one.path, true)
      holder[key] = values[i]
      ::next::
    end
  end
end

return parameters
