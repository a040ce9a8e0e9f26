--- blis help: what scripts can use, from the terminal.
local command = require "blis.cli.command"
local reference = require "blis.reference"
local reference_text = require "blis.reference.text"
local search = require "blis.reference.search"
local terminal = require "blis.terminal"
local topic_list = require "blis.reference.topic_list"

local definition = {
  name = "help",
  summary = "explain an option, function, metric, type, or policy of the Lua interface",
  usage = "blis help [TOPIC] [FLAGS]",
  description = "Without a topic, lists all topics. 'blis help all' prints all of them. A topic "
    .. "can be the name of a metric, signal, option, flag (blis help --watch), or command in any "
    .. "spelling, a part of a name, or a word of a description. The descriptions also appear in "
    .. "editors.",
  positional = {
    name = "TOPIC",
    count = math.huge,
    doc = "For example cluster, signals, ttft_ms, num-instances, scorer, Candidate, vec.norm; or "
      .. "words to look for, such as cold start.",
  },
  groups = {
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        {
          name = "format", flag = "--format", type = "choice", choices = { "text", "markdown" },
          default = "text", doc = "Output format: for a terminal, or as a page.",
        },
      },
    },
  },
}

--- A flag as a topic: it does not apply to this command.
local function asked_flag(args)
  local own = { ["--help"] = true, ["--format"] = true }
  local flag = args[1] and args[1]:match "^%-%-?%a[%w_-]+$"
  return flag and not own[flag] and flag or nil
end

local help = command.define(definition, function(parsed)
  local word = table.concat(parsed.positionals, " ")
  if word == "" then return command.print(topic_list.text(terminal.width())) end
  local topics = word == "all" and reference.topics() or search.find(word)
  if parsed.values.output.format == "markdown" then
    return command.print(reference_text.markdown(topics))
  end
  local parts, width = {}, terminal.width()
  for i, topic in ipairs(topics) do parts[i] = reference_text.plain(topic, width) end
  command.print(table.concat(parts, "\n"))
end)

local run = help.run

--- "blis help --watch" shows the topic of the flag, like "blis help watch".
function help.run(args)
  local flag = asked_flag(args)
  if not flag then return run(args) end
  local others = table.move(args, 2, #args, 1, {})
  table.move({ "--", flag }, 1, 2, #others + 1, others)
  return run(others)
end

return help
