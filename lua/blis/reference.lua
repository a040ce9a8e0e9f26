--- The reference of everything that scripts may use, from the same sources as the annotations for
--- editors: the descriptions of options, and the comments that stand at functions and types.
local annotations = require "blis.config.annotations"
local core = require "blis.core"
local errors = require "blis.errors"

local reference = {}

-- Files with comments of public functions and types, in the order of the reference.
local files = { "init", "experiment", "comparison", "policy", "hooks", "workload", "trace", "latency",
  "catalogue", "units", "result", "result_file", "diff", "regret", "capacity",
  "cma_es", "sweep/init", "sweep/table", "replicated", "statistics/init", "meta/core" }

-- What a name in those files is called by scripts.
local public_names = {
  experiment = "blis", comparison = "blis", policy = "blis", hooks = "blis", blis = "blis",
  units = "blis", vec = "blis.vec", trace = "blis.trace", simulation = "Simulation",
  list = "Workload", rng = "Rng", queue = "EventQueue", cache = "KvCache",
  latency_model = "LatencyModel", latency = "blis", catalogue = "blis", Search = "CmaEs",
  Sweep = "Sweep", Table = "SweepTable", statistics = "blis.statistics",
}

-- Functions that scripts reach under another name than the modules give them.
local renamed = {
  ["latency.model"] = "blis.latency_model", ["workload.new"] = "blis.workload",
  ["result_file.load"] = "blis.load_result", ["diff.compare"] = "blis.diff",
  ["regret.examine"] = "blis.regret", ["capacity.search"] = "blis.capacity",
  ["sweep.new"] = "blis.sweep", ["cma_es.new"] = "blis.cma_es",
}

---@class blis.Topic
---@field name string "blis.run", "Candidate", "cluster"
---@field kind string "function", "type", "options"
---@field title string
---@field lines string[]

local function new_topic(kind, name, title, lines)
  return { kind = kind, name = name, title = title, lines = lines }
end

--- One block of comments and the line behind it.
local function function_topic(line, comment)
  local owner, mark, name, arguments = line:match "^function ([%w_]+)([.:])([%w_]+)(%b())"
  if not owner then return nil end
  local public = renamed[owner .. "." .. name]
  if not public then
    if not public_names[owner] then return nil end
    public = public_names[owner] .. mark .. name
  end
  return new_topic("function", public, public .. arguments, comment)
end

local function class_topic(comment)
  for i, line in ipairs(comment) do
    local name, rest = line:match "^@class ([%w_.]+)%s*(.*)$"
    if name then
      local lines = table.move(comment, 1, i - 1, 1, {})
      if rest ~= "" then lines[#lines + 1] = rest end
      table.move(comment, i + 1, #comment, #lines + 1, lines)
      return new_topic("type", name:gsub("^blis%.", ""), name, lines)
    end
  end
end

local function read_file(topics, text, is_exported)
  local comment = {}
  for line in (text .. "\n"):gmatch "([^\n]*)\n" do
    local words = line:match "^%-%-%-%s?(.*)$"
    if words then
      comment[#comment + 1] = words
    else
      local class, fn = class_topic(comment), function_topic(line, comment)
      if class then topics[#topics + 1] = class end
      if fn and is_exported(fn) then topics[#topics + 1] = fn end
      comment = {}
    end
  end
end

local function add_options(topics)
  for _, item in ipairs(annotations.sections) do
    local class, section = item[1], item[2]
    local lines = { section.summary, "" }
    for _, option in ipairs(section.options) do
      local notes = {}
      if option.unit and option.unit ~= "" then notes[#notes + 1] = option.unit end
      if option.default ~= nil then notes[#notes + 1] = "default " .. tostring(option.default) end
      if option.required then notes[#notes + 1] = "required" end
      lines[#lines + 1] = ("@field %s %s %s%s"):format(option.name,
        annotations.type_of(class, option), option.doc,
        #notes > 0 and " (" .. table.concat(notes, ", ") .. ")" or "")
    end
    topics[#topics + 1] = new_topic("options", section.name, class, lines)
  end
end

local function add_signals(topics)
  local lines = { "What policies may know of an instance, as a field and as a column.", "" }
  for _, signal in ipairs(core.signals()) do
    lines[#lines + 1] = ("@field %s %s %s"):format(signal.name, signal.unit, signal.summary)
  end
  topics[#topics + 1] = new_topic("options", "signals", "signals of instances", lines)
end

--- Everything there is to read about, in a fixed order.
---@return blis.Topic[]
function reference.topics()
  local blis = require "blis"
  local source = require("blis.program").source
  local topics = {}
  add_options(topics)
  add_signals(topics)
  local function is_exported(topic)
    local name = topic.name:match "^blis%.([%w_]+)$"
    return not name or rawget(blis, name) ~= nil
  end
  for _, name in ipairs(files) do
    local text = source("blis/" .. name .. ".lua")
    if text then read_file(topics, text, is_exported) end
  end
  return topics
end

--- Name, type and words of a field; types have spaces within brackets and after a colon.
local function match_field(text)
  local name, rest = text:match "^(%S+)%s+(.*)$"
  if not name then return nil end
  for _, pattern in ipairs { "^(fun%b():%s*%S+)%s*(.*)$", "^(fun%b())%s*(.*)$",
    "^(table%b<>%S*)%s*(.*)$", "^(%b{}%S*)%s*(.*)$", "^(%S+)%s*(.*)$" } do
    local kind, doc = rest:match(pattern)
    if kind then return name, kind, doc end
  end
end

--- A topic as text: names in one column, what they are in another.
---@param topic blis.Topic
---@return string
function reference.text(topic)
  local out = { topic.title, "" }
  for _, line in ipairs(topic.lines) do
    local tag, rest = line:match "^@(%w+)%s*(.*)$"
    if tag == "field" then
      local name, kind, doc = rest:match "^(%S+)%s+(%b\"\"[^%s]*)%s*(.*)$"
      if not name then name, kind, doc = match_field(rest) end
      out[#out + 1] = ("  %-28s %s"):format(name or rest, kind or "")
        .. (doc and doc ~= "" and ": " .. doc or "")
    elseif tag == "param" then
      out[#out + 1] = "  " .. rest
    elseif tag == "return" then
      out[#out + 1] = "  returns " .. rest
    elseif not tag then
      out[#out + 1] = line
    end
  end
  return (table.concat(out, "\n"):gsub("\n\n+", "\n\n"):gsub("%s+$", "")) .. "\n"
end

--- The topics that a word means: by name, with or without what stands before a dot.
---@param word string
---@return blis.Topic[]
function reference.find(word)
  local found, names, wanted = {}, {}, word:lower()
  for _, topic in ipairs(reference.topics()) do
    local name = topic.name:lower()
    local last = name:match "[.:]([%w_]+)$"
    local is_end = name:sub(-#wanted - 1) == "." .. wanted
    if name == wanted or topic.title:lower() == wanted or last == wanted or is_end then
      found[#found + 1] = topic
    end
    names[#names + 1] = last or name
  end
  if #found == 0 then
    local nearest = core.nearest(wanted, names)
    errors.raise("usage", ("help: there is no topic '%s'%s"):format(word,
      nearest and (", did you mean '%s'?"):format(nearest) or "; 'blis help' lists all"))
  end
  return found
end

return reference
