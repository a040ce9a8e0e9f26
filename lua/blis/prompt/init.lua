--- The Lua half of the prompt of `blis -i`: what is printed, what is completed, help, and errors in
--- a line.
local complete = require "blis.prompt.complete"
local errors = require "blis.errors"
local reference_text = require "blis.reference.text"
local search = require "blis.reference.search"
local show = require "blis.show"
local terminal = require "blis.terminal"
local topic_list = require "blis.reference.topic_list"

local prompt = {}

local stdout = io.stdout
local last_error

-- How to use the functions of the prompt, which is what they print as.
local usage = {}

--- What a value prints as: text as it is, tables as Lua, objects as what they say of themselves.
local function text_of(value)
  if usage[value] then return usage[value] end
  local meta = debug.getmetatable(value)
  local name = type(value) == "function" and show.name_of(value)
  if name then return ("function %s; help(%s) explains it"):format(name, name) end
  local is_table = type(value) == "table" and not (meta and meta.__tostring)
  if is_table or type(value) == "function" or meta and meta.__name == "blis.figures" then
    return show.text(value, terminal.width())
  end
  return tostring(value)
end

--- Prints values: on one line if each fits in one.
function prompt.show(...)
  local texts, has_lines = table.pack(...), false
  for i = 1, texts.n do
    texts[i] = text_of(texts[i])
    has_lines = has_lines or texts[i]:find("\n", 1, true) ~= nil
  end
  stdout:write(table.concat(texts, has_lines and "\n" or "\t"), "\n")
end

prompt.words = complete.words

local introduction = [[
help "TOPIC" explains a function, option, figure, signal or policy: help "ttft", help "cluster",
help(blis.run). Tab completes names and options. An expression prints its value, Ctrl-C ends what
runs or clears the line, Ctrl-D leaves. traceback() shows details of the last error.]]

local function help(...)
  local topic = ...
  if topic == nil then
    local is_given = select("#", ...) > 0
    stdout:write(is_given and "No value has this name; put a word in quotes.\n" or "",
      introduction, "\n")
    return
  end
  if topic == "" then
    stdout:write(topic_list.text(terminal.width()))
    return
  end
  local word = type(topic) == "string" and topic or show.name_of(topic)
  if not word then
    errors.invalid("help: %s: expected a name such as \"ttft\"", errors.invalid_value(topic))
  end
  local parts = {}
  for i, found in ipairs(search.find(word)) do
    parts[i] = reference_text.plain(found, terminal.width())
  end
  stdout:write(table.concat(parts, "\n"))
end

local function traceback()
  local text = last_error or "there was no error"
  stdout:write(text:gsub("[^\n\t]+", errors.escaped), "\n")
end

usage[help], usage[traceback] = introduction, "traceback() shows details of the last error"

--- The part of an error's text that says what went wrong; traceback() prints the rest.
---@param text string
---@return string
function prompt.short_error(text)
  last_error = text
  local message = text:match "^(.-)\nstack traceback:"
  return message and message .. " (traceback() shows where)" or text
end

--- Gives scripts typed at the prompt what they find there, unless it has these names already.
function prompt.open()
  for name, value in pairs { blis = require "blis", help = help, traceback = traceback } do
    if _G[name] == nil then _G[name] = value end
  end
end

return prompt
