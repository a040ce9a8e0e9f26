--- The parts of engine steps, for `blis models NAME --steps`: where time is spent.
local core = require "blis.core"
local expected_error = require "blis.results.expected_error"
local format = require "blis.format"

local step_parts = {}

---@type blis.Section
step_parts.section = {
  name = "steps",
  summary = "Parts of engine steps.",
  options = {
    {
      name = "parts", type = "boolean", default = false, flag = "--steps",
      doc = "Show the parts of some engine steps by the composed step-time model: matrix products, "
        .. "experts, attention, all-reduces, host, and the front end.",
    },
  },
}

local batches = {
  { name = "1 decode", decodes = 1, context = 1024 },
  { name = "16 decodes", decodes = 16, context = 1024 },
  { name = "64 decodes", decodes = 64, context = 1024 },
  { name = "256 decodes", decodes = 256, context = 1024 },
  { name = "1 prompt of 2,048 tokens", prompt = 2048 },
  { name = "1 prompt of 8,192 tokens", prompt = 8192 },
  { name = "64 decodes, 1 prompt of 2,048", decodes = 64, context = 1024, prompt = 2048 },
}

local columns = { "products_us", "experts_us", "attention_us", "links_us", "other_us", "host_us",
  "total_us", "front_end_us" }
local titles = { "step", "products", "experts", "attention", "all-reduces", "other", "host",
  "total (us)", "front end (us)", "80% within" }

--- Time of a prompt in an idle front end; nil without a prompt or a front end.
local function front_end_us(cluster, batch)
  local front = cluster.front_end
  if not front or not batch.prompt then return nil end
  return front.request_us + front.token_us * batch.prompt + front.delay_us
end

--- Steps with their parts in microseconds: a list of { batch =, products_us =, ... }.
--- error_band is the error that four fifths of the setups are within, with error_basis, or with
--- error_reason if unknown.
---@param cluster table options of a cluster, read, with latency model composed
---@param facts table of core.engine_facts
---@return table[]
function step_parts.of(cluster, facts)
  local list = core.step_parts(cluster, batches)
  for i, parts in ipairs(list) do
    parts.batch, parts.front_end_us = batches[i].name, front_end_us(cluster, batches[i])
    parts.error_band, parts.error_reason, parts.error_basis = expected_error.of_step(facts,
      batches[i])
  end
  return list
end

--- Why errors of steps are unknown, each reason once.
local function reason_lines(list)
  local lines, is_known = "", {}
  for _, parts in ipairs(list) do
    local reason = parts.error_reason
    if reason and not is_known[reason] then
      lines, is_known[reason] = lines .. ("  Unknown error (-): %s.\n"):format(reason), true
    end
  end
  return lines
end

local expert_keys = { "experts", "chosen", "hidden", "width", "local" }
local product_keys = { "n", "k" }

--- "6144 x 4096", or "256 experts, 8 chosen, 3072 x 384, 256 on the GPU".
local function shape_text(kernel, shape)
  if not kernel.is_experts then return ("%.0f x %.0f"):format(shape[1], shape[2]) end
  return ("%.0f experts, %.0f chosen, %.0f x %.0f, %.0f on the GPU"):format(
    table.unpack(shape))
end

local function source_text(kernel)
  if kernel.source == "measured" then return "measured on " .. kernel.gpu end
  if kernel.source == "near" then
    return ("near %s, measured on %s (weight %.2f)"):format(shape_text(kernel, kernel.nearest),
      kernel.gpu, kernel.weight)
  end
  return kernel.source
end

--- Where the time of each kernel comes from, as a table; a sentence without kernel tables.
---@param cluster table
---@return string
function step_parts.kernels_text(cluster)
  local rows = {}
  for i, kernel in ipairs(core.step_kernels(cluster)) do
    rows[i] = { "  " .. (kernel.is_experts and "experts" or "product"), kernel.format,
      shape_text(kernel, kernel.shape), source_text(kernel) }
  end
  if #rows == 0 then
    return "  Kernel times follow the closed form; --kernel-tables true uses measured times.\n"
  end
  return ("\nkernels and the source of their times\n%s\n"):format(format.table(
    { "  kernel", "format", "shape", "source" }, rows, nil, { [2] = true, [3] = true, [4] = true }))
end

--- The parts as a table, and a sentence about the columns.
---@param cluster table
---@param facts table of core.engine_facts
---@return string
function step_parts.text(cluster, facts)
  local rows, list = {}, step_parts.of(cluster, facts)
  for i, parts in ipairs(list) do
    local row = { "  " .. parts.batch }
    for k, column in ipairs(columns) do
      local us = parts[column]
      row[k + 1] = us and format.count(math.floor(us + 0.5)) or "-"
    end
    row[#columns + 2] = parts.error_band
      and expected_error.band_text(parts.error_basis, parts.error_band) or "-"
    rows[i] = row
  end
  local hidden = cluster.async_scheduling
    and "Host time is hidden where the GPU takes longer (asynchronous scheduling)."
    or "Host time is added (synchronous scheduling)."
  return ("\nparts of steps by composed, decodes at 1,024 tokens of context\n%s\n  %s The front "
    .. "end precedes the wait queue. 80%% of measured setups err by at most the last column: TPOT "
    .. "with decodes, TTFT without.\n"):format(format.table(titles, rows), hidden)
    .. reason_lines(list) .. step_parts.kernels_text(cluster)
end

local function write_shape(writer, kernel, name, shape)
  writer:object(name)
  for i, key in ipairs(kernel.is_experts and expert_keys or product_keys) do
    writer:field(key, shape[i])
  end
  writer:done()
end

local function write_kernels(writer, cluster)
  writer:array("kernels")
  for _, kernel in ipairs(core.step_kernels(cluster)) do
    writer:object():field("kernel", kernel.is_experts and "experts" or "product")
    writer:field("format", kernel.format)
    write_shape(writer, kernel, "shape", kernel.shape)
    writer:field("source", kernel.source)
    if kernel.gpu then
      writer:field("gpu", kernel.gpu):field("weight", kernel.weight)
      write_shape(writer, kernel, "nearest", kernel.nearest)
    end
    writer:done()
  end
  writer:done()
end

--- Writes the parts as a JSON array, and the source of the time of every kernel.
---@param writer any
---@param cluster table
---@param facts table of core.engine_facts
function step_parts.write(writer, cluster, facts)
  writer:array("step_parts")
  for _, parts in ipairs(step_parts.of(cluster, facts)) do
    writer:object():field("batch", parts.batch)
    for _, column in ipairs(columns) do
      if parts[column] then writer:field(column, parts[column]) end
    end
    for _, name in ipairs { "error_band", "error_basis", "error_reason" } do
      if parts[name] then writer:field(name, parts[name]) end
    end
    writer:done()
  end
  writer:done()
  writer:field("kernel_tables", cluster.uses_kernel_tables)
  write_kernels(writer, cluster)
end

return step_parts
