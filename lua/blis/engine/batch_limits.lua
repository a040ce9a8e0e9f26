--- How much an engine puts in a step by default: as vLLM does, by the memory of its GPU.
local catalogue = require "blis.catalogue"
local core = require "blis.core"

local batch_limits = {}

--- Returns the name and the memory of the GPU; nil for one that the catalogue does not describe.
local function gpu_of(values)
  local name = values.hardware or catalogue.usual_hardware(values.model, values.catalogue)
  local is_known, known_name, memory_gib = pcall(core.gpu_memory, name, values.catalogue)
  if is_known then return known_name, memory_gib end
end

local function is_excepted(row, name)
  for _, word in ipairs(row.except or {}) do
    if name:lower():find(word, 1, true) then return true end
  end
  return false
end

--- Returns the first row of a table of limits that describes an engine. The last row describes all.
local function row_of(rows, values)
  local name, memory_gib = gpu_of(values)
  for _, row in ipairs(rows) do
    local is_large = not row.gib or memory_gib and memory_gib >= row.gib
    local is_new = not row.since or not values.backend_number or values.backend_number >= row.since
    if is_large and is_new and not is_excepted(row, name or "") then return row end
  end
end

--- Sets max_num_batched_tokens and max_num_seqs unless they are set already, and notes in
--- values.is_usual that they are defaults. Like vLLM, a step with fewer tokens than requests has
--- fewer requests.
---@param values table options of a cluster, with their catalogue
---@param rows blis.BatchLimits[]
function batch_limits.apply(values, rows)
  if values.max_num_batched_tokens and values.max_num_seqs then return end
  local row = row_of(rows, values)
  values.is_usual = { max_num_batched_tokens = values.max_num_batched_tokens == nil,
    max_num_seqs = values.max_num_seqs == nil }
  values.max_num_batched_tokens = values.max_num_batched_tokens or row.tokens
  values.max_num_seqs = values.max_num_seqs or math.min(row.requests, values.max_num_batched_tokens)
end

return batch_limits
