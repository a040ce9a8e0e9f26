--- Completion at the cursor of a prompt: fields of values, options of functions, names of policies,
--- models, and GPUs, and help topics.
local annotations = require "blis.config.annotations"
local catalogue = require "blis.policy.catalogue"
local library = require "blis.catalogue"
local reference = require "blis.reference"
local search = require "blis.reference.search"
local scan = require "blis.prompt.scan"

local complete = {}

-- Kinds of policies by the option, or the function of blis, that takes their names.
local kinds = {
  routing = "routers", prefill_routing = "routers", decode_routing = "routers",
  encode_routing = "routers", router = "routers", scorers = "scorers", scorer = "scorers",
  filters = "filters", filter = "filters", picker = "pickers", admission = "admissions",
  cascade = "cascades", priority = "priorities", autoscaler = "autoscalers",
  decider = "deciders", disaggregation = "deciders", saturation = "saturation_detectors",
  detector = "saturation_detectors", usage_limit = "usage_limits",
  dispatch = "queue_dispatches", fairness = "queue_fairness", ordering = "queue_orders",
  order = "queue_orders",
}

local function names_of(entries)
  local names = {}
  for _, entry in ipairs(entries) do names[#names + 1] = entry.name or entry.id end
  return names
end

local function add_all(list, names)
  table.move(names, 1, #names, #list + 1, list)
end

-- ---- values ----------------------------------------------------------------------------------

--- Tables with what an object knows: its fields are in one, its methods in others.
local function tables_of(value)
  local list = {}
  if type(value) == "table" then list[1] = value end
  local meta = debug.getmetatable(value)
  local index = meta and meta.__index
  if type(index) == "table" then list[#list + 1] = index end
  for i = 1, type(index) == "function" and 8 or 0 do
    local name, upvalue = debug.getupvalue(index, i)
    if name == nil then break end
    local is_own = name == "" or name == "methods"
    if is_own and type(upvalue) == "table" then list[#list + 1] = upvalue end
  end
  return list, meta
end

--- Names of fields from pairs, which computes metrics and can fail.
local function add_listed(names, value, meta)
  if not meta or not meta.__pairs then return end
  local ok, next_one, state, key = pcall(pairs, value)
  for _ = 1, ok and 1000 or 0 do
    local went_well, name = pcall(next_one, state, key)
    if not went_well or name == nil then return end
    names[#names + 1] = name
    key = name
  end
end

--- The names by which a value can be indexed.
local function fields_of(value)
  local names = {}
  local tables, meta = tables_of(value)
  for _, one in ipairs(tables) do
    for name in next, one do names[#names + 1] = name end
  end
  add_listed(names, value, meta)
  local found = {}
  for _, name in ipairs(names) do
    if type(name) == "string" and name:find "^[%a_][%w_]*$" then found[#found + 1] = name end
  end
  return found
end

local function index(value, name)
  if value == nil then return nil end
  local ok, found = pcall(function() return value[name] end)
  return ok and found or nil
end

local keywords = { "and", "break", "do", "else", "elseif", "end", "false", "for", "function",
  "goto", "if", "in", "local", "nil", "not", "or", "repeat", "return", "then", "true", "until",
  "while" }

--- Completions of a chain of names, from a value.
local function follow(value, chain)
  for name in chain:gmatch "[^.:]+" do value = index(value, name) end
  return value
end

--- The value before a separator: "sim.instances[1]" or a string.
local function value_in_front(text)
  if text:find "[\"']%)?$" then return "" end
  local chain, places = text:match "([%a_][%w_.:]*)([%[%]%d]+)$"
  local value = chain and follow(_G, chain)
  for place in (places or ""):gmatch "%[(%d+)%]" do value = index(value, math.tointeger(place)) end
  return value
end

local can_have_fields = { string = true, table = true, userdata = true }

--- "blis.ru" after existing values; no function is called.
local function of_chain(word, text)
  local owner, mark, last = word:match "^(.*)([.:])([^.:]*)$"
  if not owner then
    local names = fields_of(_G)
    add_all(names, keywords)
    return names, ""
  end
  local is_open = owner == "" or owner:find "^[.:]"
  local value = _G
  if is_open then value = value_in_front(text) end
  value = follow(value, owner)
  local names = {}
  for _, name in ipairs(can_have_fields[type(value)] and fields_of(value) or {}) do
    local is_shown = name:sub(1, 1) ~= "_" or last:sub(1, 1) == "_"
    if is_shown and (mark == "." or type(index(value, name)) == "function") then
      names[#names + 1] = name
    end
  end
  return names, owner .. mark
end

-- ---- options ---------------------------------------------------------------------------------

local by_class, by_name = {}, {}
for _, item in ipairs(annotations.sections) do
  by_class[item[1]] = item[2]
  by_name[item[2].name] = by_name[item[2].name] or {}
  table.insert(by_name[item[2].name], item[2])
end

-- Lists of tables are called by the plural.
local singular = { groups = "group", clients = "client", cohorts = "cohort", faults = "fault",
  windows = "window", node_pools = "node_pool", variants = "experiment", instance = "cluster" }

local classes_of_functions

--- The classes of the tables that a function takes: "blis.run" -> { "blis.Experiment" }.
local function classes_of(chain)
  if not classes_of_functions then
    classes_of_functions = {}
    for _, topic in ipairs(reference.topics()) do
      local classes = {}
      for _, line in ipairs(topic.kind == "function" and topic.lines or {}) do
        for class in (line:match "^@param (.*)$" or ""):gmatch "blis%.[%w_]+" do
          classes[#classes + 1] = by_class[class] and class or nil
        end
      end
      if #classes > 0 then classes_of_functions[topic.name] = classes end
    end
  end
  return classes_of_functions[chain] or classes_of_functions[chain:gsub("^.*:", "Result:")] or {}
end

--- The sections whose options a table takes.
local function sections_of(bracket)
  if bracket.key then return by_name[singular[bracket.key] or bracket.key] or {} end
  local sections = {}
  for _, class in ipairs(classes_of(bracket.chain or "")) do
    sections[#sections + 1] = by_class[class]
  end
  return sections
end

--- The nearest open table that is assigned to a name or given to a function, from the inside.
local function owner_of(brackets)
  for i = #brackets, 1, -1 do
    local one = brackets[i]
    if one.key or one.chain then return one end
  end
end

--- The kind of policies that a table, or the last part of a chain, is about.
local function kind_of(owner)
  return kinds[owner.key or (owner.chain or ""):match "[%w_]*$"]
end

local function policy_options(kind, name)
  if kind == "routers" and name == "weighted" then
    return { "scorers", "filters", "picker", "tie" }
  end
  for _, entry in ipairs(catalogue[kind]) do
    if entry.name == name then return names_of(entry.options) end
  end
  return {}
end

--- Names that are valid before "=" in the innermost table.
local function options_at(place)
  local inner = place.brackets[#place.brackets]
  if not inner or inner.letter ~= "{" then return {} end
  local owner = (inner.key or inner.chain) and inner or owner_of(place.brackets)
  if not owner then return {} end
  local names = {}
  local kind = kind_of(owner)
  if kind and inner.first then add_all(names, policy_options(kind, inner.first)) end
  if owner ~= inner and not (owner.key and singular[owner.key]) then return names end
  for _, section in ipairs(sections_of(owner)) do add_all(names, names_of(section.options)) end
  return names
end

-- ---- strings ---------------------------------------------------------------------------------

--- The option of that name which the table at the cursor takes.
local function option_of(owner, name)
  for _, section in ipairs(owner and sections_of(owner) or {}) do
    for _, option in ipairs(section.options) do
      if option.name == name then return option end
    end
  end
end

local function texts_at(place)
  local owner = place.chain and { chain = place.chain } or owner_of(place.brackets)
  if place.chain == "help" then return search.words() end
  if place.key == "model" then return names_of(library.models()) end
  if place.key == "hardware" then return names_of(library.hardware()) end
  if place.key then
    local option = option_of(owner, place.key)
    if option and option.choices then return option.choices end
    return kinds[place.key] and names_of(catalogue[kinds[place.key]]) or {}
  end
  local kind = owner and kind_of(owner)
  return kind and names_of(catalogue[kind]) or {}
end

-- ---- entry point -----------------------------------------------------------------------------

local function matches(names, before, word)
  local found, seen = {}, {}
  for _, name in ipairs(names) do
    local whole = before .. name
    if whole:sub(1, #word) == word and not seen[whole] then
      seen[whole] = true
      found[#found + 1] = whole
    end
  end
  table.sort(found)
  return found
end

--- The completions at the end of a line: words that can replace the last word, and its start.
---@param text string
---@return string[]
---@return integer start
function complete.words(text)
  local place = scan.place(text)
  if place.is_comment then return {}, place.start end
  if place.quote then return matches(texts_at(place), "", place.word), place.start end
  local names, before = of_chain(place.word, text:sub(1, place.start - 1))
  if not place.word:find "[.:]" then
    local options = options_at(place)
    local found = {}
    for i, name in ipairs(matches(options, "", place.word)) do found[i] = name .. " = " end
    -- Behind an opening bracket or a comma stands an option; else a value.
    local behind = text:sub(1, place.start - 1):match "(%S)%s*$"
    if #found > 0 and behind and behind:find "[{,;]" then return found, place.start end
  end
  return matches(names, before, place.word), place.start
end

return complete
