--- Command lines of routers: their words, the flags they give, and what each of these means here.
---
--- A file holds a command as it is typed, over as many lines as one likes; lines that begin with #
--- are comments, and NAME=value before the command sets the environment.
local errors = require "blis.errors"
local experiment_text = require "blis.production.experiment_text"
local findings = require "blis.production.findings"
local sorted = require "blis.sorted"
local values = require "blis.production.epp.values"

local flag_files = {}

---@class blis.production.Flag
---@field [1] string type: number, integer, boolean, string, seconds
---@field default? any what the router takes without it
---@field aliases? string[]
---@field env? string
---@field choices? string[]
---@field harmless? string why it changes no decision here
---@field routing? string it changes routing when it is not the default; why it is not simulated

---@class blis.production.FlagSystem
---@field name string
---@field what string "Dynamo router flags, 0427799"
---@field flags table<string, blis.production.Flag>
---@field experiment fun(given: table<string, any>, tell: table): table the policies, by the flags

--- The words of a file, each with its line. Quotes group words, as in a shell.
local function words_of(text)
  local words, line_number = {}, 0
  for line in (text .. "\n"):gmatch "(.-)\r?\n" do
    line_number = line_number + 1
    if not line:match "^%s*#" then
      local rest = line:gsub("\\%s*$", "")
      while rest:match "%S" do
        rest = rest:match "^%s*(.*)$"
        local word = ""
        while rest:match "^%S" do
          local quoted, behind = rest:match [[^"([^"]*)"(.*)$]]
          if not quoted then quoted, behind = rest:match "^'([^']*)'(.*)$" end
          if not quoted then quoted, behind = rest:match [[^([^%s"']+)(.*)$]] end
          if not quoted then quoted, behind = rest:match "^(.)(.*)$" end
          word, rest = word .. quoted, behind
        end
        words[#words + 1] = { text = word, line = line_number }
      end
    end
  end
  return words
end

local Reader = {}
Reader.__index = Reader

--- The flag of a word: its usual name, and the value that its spelling implies.
function Reader:find(word)
  local flags = self.system.flags
  if flags[word] then return word end
  for name, flag in pairs(flags) do
    for _, alias in ipairs(flag.aliases or {}) do
      if alias == word then return name end
    end
    if flag[1] == "boolean" and word == "--no-" .. name:sub(3) then return name, false end
  end
end

local function is_among(value, words)
  for _, word in ipairs(words) do
    if word == value then return true end
  end
  return false
end

local function read_value(flag, text)
  if flag[1] == "seconds" then return values.seconds(text) or values.read("number", text) end
  return values.read(flag[1], text)
end

function Reader:set(name, text, line, is_environment)
  local flag = self.system.flags[name]
  if is_environment and self.given[name] ~= nil then return end -- the flag wins
  local value = read_value(flag, text)
  if value == nil then
    self.problems:add(line, "%s: invalid value '%s': expected %s", name, text,
      flag[1] == "integer" and "an integer" or flag[1] == "boolean" and "true or false"
        or flag[1] == "seconds" and "a time" or "a " .. flag[1])
    return
  end
  if flag.choices and not is_among(value, flag.choices) then
    self.problems:add(line, "%s: invalid value '%s'%s", name, text,
      errors.suggestion(value, flag.choices))
    return
  end
  self.given[name], self.lines[name] = value, line
end

--- The value behind a flag; nil when the next word is a flag.
local function value_behind(words, i)
  local next_word = words[i + 1]
  if next_word and not next_word.text:match "^%-%-" then return next_word.text end
end

function Reader:read_flag(words, i)
  local word, line = words[i].text, words[i].line
  local spelling, text = word:match "^(%-%-[^=]+)=(.*)$"
  local name, implied = self:find(spelling or word)
  if not name then
    self.problems:add(line, "unknown flag '%s' of %s%s", spelling or word, self.system.name,
      errors.suggestion(spelling or word, sorted.names(self.system.flags)))
    return value_behind(words, i) and i + 1 or i
  end
  local is_boolean = self.system.flags[name][1] == "boolean"
  if not spelling and is_boolean then
    local behind = value_behind(words, i)
    local has_value = behind == "true" or behind == "false"
    self:set(name, has_value and behind or tostring(implied == nil), line)
    return has_value and i + 1 or i
  end
  if not spelling then text = value_behind(words, i) end
  if not text then
    self.problems:add(line, "%s: missing value", name)
    return i
  end
  self:set(name, text, line)
  return spelling and i or i + 1
end

function Reader:read_environment(words)
  local by_name = {}
  for name, flag in pairs(self.system.flags) do
    if flag.env then by_name[flag.env] = name end
  end
  for _, word in ipairs(words) do
    local name, text = word.text:match "^([%u_][%u%d_]*)=(.*)$"
    if name and by_name[name] then self:set(by_name[name], text, word.line, true) end
  end
end

local function show(value) return type(value) == "string" and value or errors.show(value) end

--- What a flag that decides nothing here, or cannot be simulated, is reported as.
function Reader:tell_flags()
  for _, name in ipairs(sorted.names(self.given)) do
    local flag, value = self.system.flags[name], self.given[name]
    local kind, text = "taken", show(value)
    if flag.harmless then
      kind, text = "ignored", flag.harmless
    elseif flag.routing then
      kind, text = "routing", flag.routing
      if value == flag.default then kind, text = "taken", show(value) .. ", the default" end
    end
    self.findings:add(kind, name, self.lines[name], "%s", text)
  end
end

local modules = { dynamo = "blis.production.dynamo", smg = "blis.production.smg",
  ["vllm-router"] = "blis.production.vllm_router" }

--- The flags of a file, by the system that they belong to.
---@param name string
---@param text string
---@param path string
---@return { lua: string, findings: blis.production.Findings }
function flag_files.read(name, text, path)
  local system = require(modules[name])
  local self = setmetatable({ system = system, given = {}, lines = {},
    problems = findings.problems(path), findings = findings.new(path, system.what) }, Reader)
  local words, i = words_of(text), 1
  while i <= #words do
    if words[i].text:match "^%-%-" then i = self:read_flag(words, i) end
    i = i + 1
  end
  self:read_environment(words)
  self:tell_flags()
  local experiment = system.experiment(function(flag)
    local value = self.given[flag]
    if value == nil then return system.flags[flag].default end
    return value
  end, self)
  self.problems:raise()
  experiment.cluster = experiment.cluster or { instances = 4 }
  local lua = experiment_text.of(experiment, { source = path, what = system.what,
    definitions = {}, findings = self.findings })
  return { lua = lua, findings = self.findings }
end

return flag_files
