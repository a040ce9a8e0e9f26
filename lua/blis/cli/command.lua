--- What all commands have in common: help, errors, and where text goes.
require "blis.drawing_modules"
local errors = require "blis.errors"
local flags = require "blis.cli.flags"
local help = require "blis.cli.help"

local command = {}

local stdout, stderr = io.stdout, io.stderr

--- Writes results; everything else goes to talk.
---@param text string
function command.print(text)
  stdout:write(text)
end

--- Writes a line for people.
---@param line string
function command.say(line)
  stderr:write(line, "\n")
end

--- Prints a message unless --quiet is set.
---@param parsed blis.cli.Parsed
---@param format string
function command.talk(parsed, format, ...)
  local output = parsed.values.output
  if output and output.quiet then return end
  command.say("blis: " .. format:format(...))
end

--- The names by which messages of other modules call options, as flags.
local function flag_names(definition)
  local names = {}
  for _, group in ipairs(definition.groups) do
    for _, option in ipairs(group.options) do
      for _, name in ipairs { option.name, table.unpack(option.aliases or {}) } do
        names[(group.path or group.section) .. "." .. name] = option.flag
        names[name] = option.flag
      end
      if option.path then names[option.path] = option.flag end
    end
  end
  return names
end

--- Removes quoted values from a message, and returns a function that restores them.
local function take_quotes(message)
  local quotes = {}
  local bare = message:gsub("'[^']*'", function(quote)
    quotes[#quotes + 1] = quote
    return "'\0'"
  end)
  local function put_back(text)
    local i = 0
    return (text:gsub("'\0'", function()
      i = i + 1
      return quotes[i]
    end))
  end
  return bare, put_back
end

--- Translates an option error into flags. Quoted values stay as the user wrote them.
local function translate(definition, whole)
  local names = flag_names(definition)
  local message, put_back = take_quotes(whole)
  --- Metrics use such names as well: ttft_ms.p99.
  local function without_figures(name, rest)
    return not rest:find "^%.%w" and names[name] and names[name] .. rest or nil
  end
  --- "routing policy x" refers to the policy, not to an option.
  local function first(name, rest)
    return rest ~= " policy" and names[name] and names[name] .. rest or nil
  end
  --- cluster.lora.host_slots is the option host_slots of the section lora.
  message = message:gsub("^cluster%.(%l+%.%l+)", names)
    :gsub("%f[%w_]%l+%.(%l+%.%l+_[%w_]+)", names)
  return put_back(message:gsub("%f[%w_]%l[%w_]+%.[%w_]+", names):gsub("^(%l[%w_]+)( ?%l*)", first)
    :gsub("%f[%w_](%l+_[%w_]+)(%.?%w*)", without_figures))
end

--- A module with the name of the command prefixes its messages itself.
local function without_name(definition, message)
  local start = definition.name .. ": "
  return message:sub(1, #start) == start and message:sub(#start + 1) or message
end

--- Calls fn(...) and reports invalid values as errors in the command line.
---@param definition blis.cli.Command
function command.checked(definition, fn, ...)
  local results = table.pack(pcall(fn, ...))
  if results[1] then return table.unpack(results, 2, results.n) end
  local object = results[2]
  if type(object) ~= "table" or type(object.message) ~= "string" then error(object, 0) end
  object.message = flags.without_place(object.message)
  if object.code == "invalid" then
    object.code = "usage"
    local message = without_name(definition, object.message)
    local text = translate(definition, message):gsub("%-%-[%w-]+", definition.typed or {})
    object.message = ("%s: %s"):format(definition.name, text)
  end
  error(object, 0)
end

--- The module of a command: its summary and the function that the program calls.
---@param definition blis.cli.Command
---@param body fun(parsed: blis.cli.Parsed): integer?
---@return { summary: string, run: fun(args: string[]): integer?, definition: blis.cli.Command }
function command.define(definition, body)
  local function run(args)
    local parsed = flags.parse(definition, args)
    if parsed.wants_help then
      command.print(help.text(definition))
      return 0
    end
    return body(parsed)
  end
  return { summary = definition.summary, run = run, definition = definition }
end

--- A command with subcommands: its first argument is a subcommand.
---@param definition { name: string, summary: string, usage: string, description?: string }
---@param names string[] in the order in which help shows them
---@param commands table<string, table> by name: what command.define returned
function command.group(definition, names, commands)
  local subcommands, width = {}, 10
  for i, name in ipairs(names) do
    subcommands[i] = { name = name, definition = commands[name].definition }
    width = math.max(width, #name + 2)
  end
  local function help_text()
    local lines = { "usage: " .. definition.usage, "" }
    if definition.description then
      table.move({ definition.description, "" }, 1, 2, #lines + 1, lines)
    end
    for _, name in ipairs(names) do
      local space = (" "):rep(width - #name)
      lines[#lines + 1] = "  " .. name .. space .. commands[name].summary
    end
    lines[#lines + 1] = ""
    lines[#lines + 1] = ("'blis %s COMMAND --help' lists the flags of a command.\n")
      :format(definition.name)
    return table.concat(lines, "\n")
  end
  local function run(args)
    local name = args[1]
    if name == "--help" or name == "-h" then
      command.print(help_text())
      return 0
    end
    if commands[name] then return commands[name].run(table.move(args, 2, #args, 1, {})) end
    local expected = "expected one of " .. table.concat(names, ", ")
    if not name then flags.fail(definition, "missing COMMAND: %s", expected) end
    flags.fail(definition, "%s: %s", errors.invalid_value(name), expected)
  end
  return { summary = definition.summary, subcommands = subcommands, run = run }
end

command.fail = flags.fail

return command
