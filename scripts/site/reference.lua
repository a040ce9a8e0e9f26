--- The pages of the reference: options, functions, types, metrics, policies, and commands. `blis
--- help` prints the same descriptions.
local figures = require "blis.results.figures"
local help = require "blis.cli.help"
local program = require "blis.cli.program"
local reference = require "blis.reference"
local text = require "blis.reference.text"

local pages = {}

---@class site.Page
---@field path string without "/" and ".md": "reference/functions"
---@field title string
---@field body string Markdown

--- A page with one section per topic.
local function page(path, title, summary, topics)
  local parts = { "# " .. title, summary }
  for _, topic in ipairs(topics) do
    parts[#parts + 1] = (text.markdown_section(topic):gsub("^###", "##"))
  end
  return { path = path, title = title, body = table.concat(parts, "\n\n") .. "\n" }
end

local function chosen(topics, keeps)
  local list = {}
  for _, topic in ipairs(topics) do
    if keeps(topic) then list[#list + 1] = topic end
  end
  return list
end

local function spaced(name) return (name:gsub("_", " ")) end

--- One page per table of options. Tables with the same name share a page.
local function option_pages(topics)
  local list, by_name = {}, {}
  for _, topic in ipairs(topics) do
    if topic.kind == "options" then
      local name = topic.alias or topic.name
      if not by_name[name] then
        by_name[name] = {}
        list[#list + 1] = name
      end
      table.insert(by_name[name], topic)
    end
  end
  for i, name in ipairs(list) do
    local title = "Options: " .. spaced(name)
    if name == "signals" or name == "defaults" or name == "duration" then
      title = spaced(name):gsub("^%l", string.upper)
    end
    list[i] = page("reference/options/" .. name:gsub("_", "-"), title,
      ("`blis help %s` prints this page in a terminal."):format(name), by_name[name])
  end
  return list
end

--- Metrics of results: of the whole run, and of its parts.
local function metrics_page(topics)
  local is_class = {}
  for _, class in ipairs(figures.classes) do is_class[class.name] = true end
  is_class.RequestRecord = true
  local about = "The fields of a result, with their units. `blis help METRIC` prints one of them. "
    .. "JSON, CSV, and summaries have the same names. [How to read results](/results) explains the "
    .. "typical mistakes."
  local its = chosen(topics, function(topic)
    return topic.kind == "type" and is_class[topic.name]
  end)
  return page("reference/metrics", "Metrics", about, its), is_class
end

local function policy_page(kind)
  local plural = kind.name:gsub("y$", "ie") .. "s"
  local title = plural:gsub("^%l", string.upper)
  local topics = {}
  for _, topic in ipairs(reference.topics()) do
    if topic.kind == "policy" and topic.title == kind.name .. " " .. topic.name then
      topics[#topics + 1] = reference.new_topic("policy", topic.name, topic.name, topic.lines)
    end
  end
  return page("reference/policies/" .. kind.key:gsub("_", "-"), title,
    ("`blis policies NAME` and `blis help NAME` print one of these %s."):format(plural), topics)
end

--- The flags of one form of a command.
local function command_section(out, form, is_only)
  local definition = form.definition
  if not is_only then out[#out + 1] = ("## blis %s"):format(form.words) end
  out[#out + 1] = "```sh\n" .. definition.usage .. "\n```"
  out[#out + 1] = text.escaped(definition.description or definition.summary)
  local positional = definition.positional
  if positional then
    out[#out + 1] = ("`%s`: %s"):format(positional.name, text.escaped(positional.doc))
  end
  for _, group in ipairs(help.groups(definition)) do
    local rows = { ("%s %s\n\n| Flag | Meaning |\n|---|---|"):format(is_only and "##" or "###",
      group.title) }
    for _, entry in ipairs(group.entries) do
      rows[#rows + 1] = ("| `%s` | %s |"):format(entry[1]:gsub("|", "\\|"), text.escaped(entry[2]))
    end
    out[#out + 1] = table.concat(rows, "\n")
  end
  if definition.notes then out[#out + 1] = text.escaped(definition.notes) end
end

local function command_page(command)
  local title = "blis " .. command.name
  local out = { "# " .. title, command.summary:gsub("^%l", string.upper) .. "." }
  for _, form in ipairs(command.forms) do command_section(out, form, #command.forms == 1) end
  return { path = "reference/commands/" .. command.name, title = title,
    body = table.concat(out, "\n\n") .. "\n" }
end

--- All pages in groups, in the order of the side bar.
---@return { title: string, pages: site.Page[] }[]
function pages.groups()
  local topics = reference.topics()
  local metrics, is_metric = metrics_page(topics)
  local functions = page("reference/functions", "Functions and methods",
    "Scripts call these functions after `local blis = require \"blis\"`.",
    chosen(topics, function(topic) return topic.kind == "function" end))
  local types = page("reference/types", "Types", "Tables and objects that functions use.",
    chosen(topics, function(topic) return topic.kind == "type" and not is_metric[topic.name] end))
  local policies, commands = {}, {}
  for _, kind in ipairs(reference.policy_kinds) do policies[#policies + 1] = policy_page(kind) end
  for _, command in ipairs(program.describe().commands) do
    commands[#commands + 1] = command_page(command)
  end
  return {
    { title = "Lua interface", pages = { metrics, functions, types } },
    { title = "Built-in policies", pages = policies },
    { title = "Options", pages = option_pages(topics) },
    { title = "Commands", pages = commands },
  }
end

return pages
