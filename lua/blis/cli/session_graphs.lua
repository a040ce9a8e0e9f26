--- What flags say of session graphs: tasks of agents, of a file or of a preset.
local flags = require "blis.cli.flags"
local presets = require "blis.config.presets"
local sections = require "blis.config.workload"

local session_graphs = {}

local title = "Session graphs"

-- Number of graphs of an endless preset: equal to the number of requests of other traffic.
local usual_count = 100

--- The flags of session graphs; on the command line, graphs is always a path.
---@return blis.cli.Group
function session_graphs.group()
  local options = flags.of_group(sections.graphs, title)
  options[1] = setmetatable({ type = "path" }, { __index = options[1] })
  return { title = title, section = "graphs", path = "workload", options = options }
end

--- Returns whether flags select session graphs.
---@param parsed blis.cli.Parsed
---@return boolean
function session_graphs.are_given(parsed)
  return parsed.values.graphs.graphs ~= nil or presets.is_agent[parsed.values.synthesis.preset]
    or false
end

--- The same; raises for flags of graphs without any.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@return boolean
function session_graphs.are_meant(definition, parsed)
  if session_graphs.are_given(parsed) then return true end
  for _, option in ipairs(session_graphs.group().options) do
    if parsed.values.graphs[option.name] ~= nil then
      flags.fail(definition, "%s requires --graphs, or a graph preset: --workload %s", option.flag,
        table.concat(presets.agents, ", "))
    end
  end
  return false
end

-- Flags that describe single requests, or contradict graphs.
local other_traffic = { "--workload-spec", "--num-requests", "--shape", "--think-time-ms",
  "--tenant", "--slo-class", "--prefix-tokens", "--prefix-groups", "--prefix-zipf" }

-- Flags that require a file of graphs.
local of_files = { sections.graphs.options[1] }
table.move(sections.graph_file.options, 1, #sections.graph_file.options, 2, of_files)

local function check_other_traffic(definition, parsed, preset)
  local asked = preset and "--workload " .. preset or "--graphs"
  for _, option in ipairs(preset and of_files or {}) do
    if parsed.given[option.flag] then
      flags.fail(definition, "%s cannot be combined with %s", option.flag, asked)
    end
  end
  for _, flag in ipairs(other_traffic) do
    if parsed.given[flag] then
      flags.fail(definition, "%s cannot be combined with %s%s", flag, asked,
        flag == "--num-requests" and "; use --num-graphs" or "")
    end
  end
end

-- How a benchmark plays graphs.
local of_plays = { "play", "duration_us", "response_grace_us", "warm_up_requests", "primers",
  "tree_idle_cap_us", "idle_cap_us" }

--- The options of plays, which are for as many graphs at a time.
---@return blis.Option[]
function session_graphs.of_plays()
  return flags.pick(sections.graphs, of_plays)
end

local function check_play(definition, made)
  for _, option in ipairs(session_graphs.of_plays()) do
    if made[option.name] ~= nil and not made.concurrency then
      flags.fail(definition, "%s requires --concurrency, the number of concurrent "
        .. "graphs", option.flag)
    end
  end
  if made.response_grace_us and not (made.duration_us or made.play) then
    flags.fail(definition, "--graph-response-grace requires --graph-duration or --graph-play")
  end
end

--- The workload for blis.run.
---@param definition blis.cli.Command
---@param parsed blis.cli.Parsed
---@param timeout_us integer
---@return table
function session_graphs.of(definition, parsed, timeout_us)
  local synthesis, traffic = parsed.values.synthesis, parsed.values.workload
  local preset = presets.is_agent[synthesis.preset] and synthesis.preset or nil
  check_other_traffic(definition, parsed, preset)
  local made = { preset = preset, timeout_us = timeout_us }
  for name, value in pairs(parsed.values.graphs) do made[name] = value end
  made.rate = traffic.rate
  made.arrival = traffic.arrival
  made.concurrency = synthesis.concurrency > 0 and synthesis.concurrency or nil
  if made.rate and made.concurrency then
    flags.fail(definition, "--rate cannot be combined with --concurrency")
  elseif preset and not made.rate and not made.concurrency then
    flags.fail(definition, "--workload %s requires --rate or --concurrency", preset)
  end
  if made.arrival and not made.rate then
    flags.fail(definition, "--arrival has no effect without --rate, the rate at which graphs start")
  end
  check_play(definition, made)
  local has_end = made.duration_us or made.play or parsed.values.experiment.horizon_us
  if preset and not made.count and not has_end then
    made.count = usual_count
  end
  return made
end

return session_graphs
