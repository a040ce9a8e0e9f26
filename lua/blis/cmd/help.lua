--- blis help: what scripts can use, from the terminal.
local command = require "blis.cli.command"
local reference = require "blis.reference"

local definition = {
  name = "help",
  summary = "explain an option, function or type of the Lua interface",
  usage = "blis help [TOPIC]",
  description = "Without a topic, the list of topics; 'blis help all' prints every one. The text "
    .. "is that of the annotations for editors.",
  positional = { name = "TOPIC", doc = "For example cluster, signals, scorer, Candidate, vec.norm." },
  groups = {},
}

local titles = {
  { "options", "Options" }, { "function", "Functions" }, { "type", "Types" },
}

local function list()
  local topics, lines = reference.topics(), {}
  for _, item in ipairs(titles) do
    local names = {}
    for _, topic in ipairs(topics) do
      if topic.kind == item[1] then names[#names + 1] = topic.name end
    end
    lines[#lines + 1] = item[2] .. ":"
    local line = " "
    for _, name in ipairs(names) do
      if #line + #name > 90 then
        lines[#lines + 1] = line
        line = " "
      end
      line = line .. " " .. name
    end
    lines[#lines + 1] = line
  end
  return table.concat(lines, "\n") .. "\n"
end

return command.define(definition, function(parsed)
  local word = parsed.positional
  if not word then return command.print(list()) end
  local parts = {}
  for i, topic in ipairs(word == "all" and reference.topics() or reference.find(word)) do
    parts[i] = reference.text(topic)
  end
  command.print(table.concat(parts, "\n"))
end)
