--- Named agents: functions that create session graphs, for `workload = { preset = ... }`. Their
--- shapes and sizes are plausible choices of blis, not measurements.
local agents = {}

--- A whole number with a long tail, at least min and at most max; half of them are below median.
local function long_tailed(rng, median, min, max)
  local drawn = median * math.exp(rng:normal(0, 0.8))
  return math.tointeger(math.max(min, math.min(max, drawn)) // 1)
end

--- A turn behind some others: what a tool said, and what the agent makes of it.
local function turn(rng, after, options)
  return {
    after = after, extends = options.extends,
    tool_us = long_tailed(rng, options.tool_us, options.tool_us // 10, options.tool_us * 20),
    prompt_tokens = long_tailed(rng, options.prompt, 20, options.most),
    output_tokens = long_tailed(rng, options.output, 5, 2000),
  }
end

local coding_turn = { prompt = 700, output = 120, tool_us = 1500000, most = 6000 }

-- Contexts fit 40,960 tokens, which is what many models take: a coding agent begins a new one with
-- a summary in time.
local system_tokens, summary_tokens, most_context = 12000, 2500, 30000

--- A subagent that looks for something, in a context of its own; returns its last request.
local function explore(rng, graph, after)
  local first = turn(rng, after,
    { prompt = 300, output = 80, tool_us = 100000, most = 2000, extends = false })
  first.prefix_group, first.prefix_tokens = "explorer: system and tools", 4000
  graph[#graph + 1] = first
  for _ = 1, rng:integer(2, 6) do
    graph[#graph + 1] = turn(rng, #graph, { prompt = 1500, output = 90, tool_us = 400000,
      most = 3000 })
  end
  return #graph
end

--- A coding agent: turns of one growing context with a tool after each turn, occasionally two
--- parallel subagents that the next turn waits for, and a title in the background.
function agents.coding_agent(rng)
  local graph = {
    prefix_group = "coding agent: system and tools", prefix_tokens = system_tokens,
    { prompt_tokens = long_tailed(rng, 400, 20, 8000),
      output_tokens = long_tailed(rng, 150, 20, 2000) },
    { after = 1, extends = false, background = true, prefix_group = "title: system",
      prefix_tokens = 200, prompt_tokens = 300, output_tokens = 12 },
  }
  local last = 1
  local context = system_tokens + graph[1].prompt_tokens + graph[1].output_tokens
  for _ = 1, long_tailed(rng, 18, 3, 120) do
    local after = { last }
    if rng:integer(1, 12) == 1 then
      after[2] = explore(rng, graph, last)
      after[3] = explore(rng, graph, last)
    end
    local made = turn(rng, after, coding_turn)
    if #after > 1 then made.tool_us = 0 end -- the subagents are what it has waited for
    if context > most_context then
      made.extends, made.prompt_tokens, context = false, summary_tokens, system_tokens
    end
    context = context + made.prompt_tokens + made.output_tokens
    graph[#graph + 1] = made
    last = #graph
  end
  return graph
end

--- Retrieval: a question is rewritten, then answered from documents, some of which are requested
--- far more often than others.
function agents.rag(rng)
  local document = math.tointeger((200 ^ rng:number()) // 1)
  return {
    { prefix_group = "rewriter: system", prefix_tokens = 300,
      prompt_tokens = long_tailed(rng, 80, 10, 2000),
      output_tokens = long_tailed(rng, 25, 5, 200) },
    { after = 1, extends = false, tool_us = long_tailed(rng, 120000, 20000, 2000000),
      prefix_group = ("document %d"):format(document), prefix_tokens = 3500,
      prompt_tokens = long_tailed(rng, 600, 50, 8000),
      output_tokens = long_tailed(rng, 250, 20, 2000) },
  }
end

--- Deep research: a plan, several searchers at once with contexts of their own, what they found
--- read together, perhaps a second round, and a report.
function agents.deep_research(rng)
  local graph = { prefix_group = "research lead: system and tools", prefix_tokens = 5000,
    { prompt_tokens = long_tailed(rng, 200, 20, 4000), output_tokens = 500 } }
  local lead = 1
  for _ = 1, rng:integer(1, 2) do
    local found = { lead }
    for _ = 1, rng:integer(3, 7) do
      local first = turn(rng, lead,
        { prompt = 250, output = 120, tool_us = 50000, most = 2000, extends = false })
      first.prefix_group, first.prefix_tokens = "searcher: system and tools", 3000
      graph[#graph + 1] = first
      for _ = 1, rng:integer(2, 5) do
        graph[#graph + 1] = turn(rng, #graph, { prompt = 3500, output = 180, tool_us = 1800000,
          most = 5000 })
      end
      found[#found + 1] = #graph
    end
    graph[#graph + 1] = { after = found, prompt_tokens = 350 * (#found - 1), output_tokens = 600 }
    lead = #graph
  end
  graph[#graph + 1] = { after = lead, prompt_tokens = 100,
    output_tokens = long_tailed(rng, 1800, 400, 6000) }
  return graph
end

agents.by_name = { ["coding-agent"] = agents.coding_agent, rag = agents.rag,
  ["deep-research"] = agents.deep_research }

return agents
