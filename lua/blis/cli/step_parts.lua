--- The parts of engine steps, for `blis models NAME --steps`: where time is spent.
local core = require "blis.core"
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
  "total (us)", "front end (us)" }

--- Time of a prompt in an idle front end; nil without a prompt or a front end.
local function front_end_us(cluster, batch)
  local front = cluster.front_end
  if not front or not batch.prompt then return nil end
  return front.request_us + front.token_us * batch.prompt + front.delay_us
end

--- Steps with their parts in microseconds: a list of { batch =, products_us =, ... }.
---@param cluster table options of a cluster, read, with latency model composed
---@return table[]
function step_parts.of(cluster)
  local list = core.step_parts(cluster, batches)
  for i, parts in ipairs(list) do
    parts.batch, parts.front_end_us = batches[i].name, front_end_us(cluster, batches[i])
  end
  return list
end

--- The parts as a table, and a sentence about the columns.
---@param cluster table
---@return string
function step_parts.text(cluster)
  local rows = {}
  for i, parts in ipairs(step_parts.of(cluster)) do
    local row = { "  " .. parts.batch }
    for k, column in ipairs(columns) do
      local us = parts[column]
      row[k + 1] = us and format.count(math.floor(us + 0.5)) or "-"
    end
    rows[i] = row
  end
  local hidden = cluster.async_scheduling
    and "Host time is hidden where the GPU takes longer (asynchronous scheduling)."
    or "Host time is added (synchronous scheduling)."
  return ("\nparts of steps by composed, decodes at 1,024 tokens of context\n%s\n  %s The front "
    .. "end precedes the wait queue.\n"):format(format.table(titles, rows), hidden)
end

--- Writes the parts as a JSON array.
---@param writer any
---@param cluster table
function step_parts.write(writer, cluster)
  writer:array("step_parts")
  for _, parts in ipairs(step_parts.of(cluster)) do
    writer:object():field("batch", parts.batch)
    for _, column in ipairs(columns) do
      if parts[column] then writer:field(column, parts[column]) end
    end
    writer:done()
  end
  writer:done()
end

return step_parts
