--- Loads of inference-perf that are session graphs here: conversations (conversation_replay), and
--- several stages of a concurrency, each of which starts when the one before it has ended.
local core = require "blis.core"

local inference_perf_graphs = {}

local us_per_second = 1000000

--- A number of a distribution { type, mean, std_dev, min, max }, between its bounds.
local function draw(rng, d)
  local value = d.mean
  if d.type == "uniform" then
    value = d.min + (d.max - d.min) * rng:number()
  elseif d.std_dev > 0 and d.type == "lognormal" and d.mean > 0 then
    local variance = math.log(1 + (d.std_dev / d.mean) ^ 2)
    value = math.exp(rng:normal(math.log(d.mean) - variance / 2, math.sqrt(variance)))
  elseif d.std_dev > 0 and d.type == "normal" then
    value = rng:normal(d.mean, d.std_dev)
  end
  return math.max(d.min, math.min(d.max, value))
end

local function draw_whole(rng, d, least)
  return math.max(least, math.tointeger((draw(rng, d) + 0.5) // 1))
end

--- One conversation: a shared and a private system prompt, and turns that wait for tools.
local function conversation_of(rng, given, number)
  local system = draw_whole(rng, given.dynamic_system, 0)
  local context = given.shared_tokens + system
  local graph = { name = ("conversation_%d"):format(number) }
  if given.shared_tokens > 0 then
    graph.prefix_group, graph.prefix_tokens = "system", given.shared_tokens
  end
  for turn = 1, draw_whole(rng, given.turns, 1) do
    local input, output = draw_whole(rng, given.input, 1), draw_whole(rng, given.output, 1)
    local delay_us = math.tointeger(draw(rng, given.tool_seconds) * us_per_second // 1)
    local is_first = turn == 1
    if given.max_model_len > 0 and context + input + output > given.max_model_len then break end
    graph[turn] = { prompt_tokens = is_first and system + input or input, output_tokens = output,
      delay_us = not is_first and delay_us or nil, after = not is_first and { turn - 1 } or nil,
      extends = not is_first and turn - 1 or nil }
    context = context + input + output
  end
  return #graph > 0 and graph or nil
end

--- Keeps the first requests: the first turn of every conversation, then the second ones, and so on.
local function limit(graphs, requests)
  local kept, all, turn = 0, 0, 1
  for _, graph in ipairs(graphs) do all = all + #graph end
  if all <= requests then return all end
  local lengths = {}
  for i in ipairs(graphs) do lengths[i] = 0 end
  while kept < requests do
    for i, graph in ipairs(graphs) do
      if graph[turn] and kept < requests then lengths[i], kept = turn, kept + 1 end
    end
    turn = turn + 1
  end
  for i = #graphs, 1, -1 do
    for k = #graphs[i], lengths[i] + 1, -1 do graphs[i][k] = nil end
    if lengths[i] == 0 then table.remove(graphs, i) end
  end
  return kept
end

--- The workload of conversations.
---@param given { seed: integer, conversations: integer, concurrency: integer, requests: integer,
--- shared_tokens: integer, max_model_len: integer, dynamic_system: table, turns: table,
--- input: table, output: table, tool_seconds: table }
---@return table workload { graphs =, concurrency = }
---@return integer requests that it has
function inference_perf_graphs.conversations(given)
  local rng, graphs = core.rng(given.seed, "inference-perf"), {}
  for i = 1, given.conversations do
    graphs[#graphs + 1] = conversation_of(rng, given, i)
  end
  local requests = limit(graphs, given.requests)
  return { graphs = graphs, concurrency = given.concurrency, count = #graphs }, requests
end

--- The workload of stages: one graph, in which each lane of a stage is a chain of requests. The
--- first requests of a stage wait for the last ones of the stage before it.
---@param given { seed: integer, stages: { concurrency: integer, requests: integer }[],
--- interval_us: integer, input: table, output: table }
---@return table workload { graphs = }
function inference_perf_graphs.stages(given)
  local rng = core.rng(given.seed, "inference-perf")
  local graph, before = { name = "stages", start_us = 0 }, {}
  for s, stage in ipairs(given.stages) do
    local lanes = {}
    for i = 1, stage.requests do
      local lane = (i - 1) % stage.concurrency + 1
      local is_first = lanes[lane] == nil
      graph[#graph + 1] = { prompt_tokens = draw_whole(rng, given.input, 1),
        output_tokens = draw_whole(rng, given.output, 1),
        after = not is_first and { lanes[lane] } or #before > 0 and before or nil,
        delay_us = is_first and s > 1 and given.interval_us or nil,
        extends = false, session = ("request_%d"):format(#graph) }
      lanes[lane] = #graph
    end
    before = lanes
  end
  return { graphs = { graph } }
end

return inference_perf_graphs
