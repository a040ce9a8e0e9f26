--- Finds the meaning of a word in the reference: a topic, flag, kind of policy, metric, option, or
--- command in any spelling; otherwise entries with the word in their names, and finally in their
--- descriptions.
local annotations = require "blis.config.annotations"
local catalogue = require "blis.policy.catalogue"
local commands = require "blis.reference.commands"
local errors = require "blis.errors"
local figures = require "blis.results.figures"
local reference = require "blis.reference"
local subjects = require "blis.reference.subjects"

local search = {}

local new_topic, notes_of = reference.new_topic, reference.notes_of

--- Names as they are compared: "cold start" and "Cold-Start" are cold_start, and
--- "result:timeline()" is result.timeline.
local function folded(text)
  return (text:lower():gsub("%(.*%)$", ""):gsub("[%s-]+", "_"):gsub(":", "."))
end

--- What capital letters divide: "SloTarget" is Slo_Target.
local function parted(name) return (name:gsub("(%l)(%u)", "%1_%2")) end

local function folded_parts(name) return folded(parted(name)) end

--- The same for all spellings of a name: "numInstances" and "--num-instances" are numinstances, and
--- "blis.sweep" is sweep.
local function squeezed(text) return (folded(text):gsub("_", ""):gsub("^blis%.", "")) end

local function last_part(name) return name:match "[.:]([%w_]+)$" end

--- The policies of a kind, under its name: "scorers", "routing", "admission policies". Here and
--- below key makes what is compared of a name.
local function find_kind(word, key)
  local wanted = key(word)
  for _, kind in ipairs(reference.policy_kinds) do
    local plural = kind.name:gsub("y$", "ie") .. "s"
    if wanted == key(kind.key) or wanted == key(plural) or wanted == kind.name:match "^%S+" then
      local lines = { "'blis help NAME' prints the details.", "" }
      for _, entry in ipairs(catalogue[kind.key]) do
        lines[#lines + 1] = ("@item %s %s"):format(entry.name, entry.summary)
      end
      return new_topic("policy", kind.key, plural, lines)
    end
  end
end

--- Options that have that flag on the command line.
local function find_flags(word, key)
  local found, wanted = {}, key("--" .. word:lower():gsub("^%-+", ""))
  for _, item in ipairs(annotations.sections) do
    local class, section = item[1], item[2]
    for _, option in ipairs(section.options) do
      if option.flag and key(option.flag) == wanted then
        found[#found + 1] = new_topic("options", class:gsub("^blis%.", "") .. "." .. option.name,
          ("%s, the option %s.%s"):format(option.flag, section.name, option.name),
          { ("@field %s %s %s%s"):format(option.name, annotations.type_of(class, option),
            option.doc, notes_of(option, option.default)) })
      end
    end
  end
  return #found > 0 and found or commands.with_flag(wanted, key)
end

--- Calls visit(topic, name, from, to) for each field, with the lines of its description.
local function each_field(topics, visit)
  for _, topic in ipairs(topics) do
    for i, line in ipairs(topic.lines) do
      local name = line:match "^@field %[?\"?([%w_.]+)"
      if name then
        local last = i
        while (topic.lines[last + 1] or "@"):find "^[^@]" do last = last + 1 end
        visit(topic, name, i, last)
      end
    end
  end
end

--- Order of results by frequency of use: metrics of a run, then options, then all others.
local function rank_of(topic)
  if topic.name == "Result" then return 1 end
  return topic.kind == "options" and 2 or 3
end

--- Whether a word means a field: its name, with its unit or without, behind its owner's or alone.
local function means(wanted, topic, name, key)
  local field = key(name)
  if field == wanted or field == wanted .. key "_ms" then return true end
  local owner, last = wanted:match "^(.*)%.([^.]+)$"
  if last ~= field then return false end
  owner = owner:gsub("^blis%.", "")
  return owner == key(topic.name) or topic.alias ~= nil and owner == key(topic.alias)
end

--- Fields with that name; equal descriptions are merged into one topic.
local function find_fields(topics, wanted, key)
  local found, by_text = {}, {}
  each_field(topics, function(topic, name, from, to)
    if not means(wanted, topic, name, key) then return end
    local lines = table.move(topic.lines, from, to, 1, {})
    local text, title = table.concat(lines, "\n"), topic.title .. "." .. name
    local one = by_text[text]
    if not one then
      one = new_topic(topic.kind, topic.name .. "." .. name, title, lines)
      one.rank, one.place, one.titles = rank_of(topic), #found, { title }
      found[#found + 1], by_text[text] = one, one
    elseif rank_of(topic) < one.rank then
      one.rank = rank_of(topic)
      table.insert(one.titles, 1, title)
    else
      table.insert(one.titles, title)
    end
  end)
  table.sort(found, function(a, b)
    if a.rank ~= b.rank then return a.rank < b.rank end
    return a.place < b.place
  end)
  for _, one in ipairs(found) do one.title = table.concat(one.titles, ", ") end
  return found
end

--- All names of the reference: topics, and their fields and options.
---@return string[]
function search.words()
  local topics, words, seen = reference.topics(), {}, {}
  local function add(name)
    if not seen[name] then
      seen[name] = true
      words[#words + 1] = name
    end
  end
  for _, topic in ipairs(topics) do add(topic.alias or topic.name) end
  for _, topic in ipairs(topics) do add(last_part(topic.name) or topic.name) end
  each_field(topics, function(_, name) add(name) end)
  return words
end

-- Maximum number of lines to print; longer output is rarely read.
local listed_max = 24

--- The first sentence of lines.
local function gist_of(lines)
  local words = {}
  for _, line in ipairs(lines) do
    if line == "" or line:find "^@" then break end
    words[#words + 1] = line
  end
  local text = table.concat(words, " ")
  return text:match "^(.-%.)%s" or text
end

--- What a field is, without its name and type.
local function doc_of_field(line)
  return require("blis.reference.text").doc_of(line:match "^@field (.*)$")
end

--- Topics and fields that satisfy test(name, description), as list items without duplicates.
local function items_where(topics, holds)
  local items, seen = {}, {}
  local function offer(name, key, doc)
    if seen[key] or not holds(key, doc) then return end
    seen[key] = true
    items[#items + 1] = { name = name, doc = doc }
  end
  for _, topic in ipairs(topics) do
    local name = topic.alias or topic.name
    offer(name, name, gist_of(topic.lines))
  end
  each_field(topics, function(topic, name, from)
    local owner = topic.name == "Result" and "result" or topic.alias or topic.name
    offer(owner .. "." .. name, name, doc_of_field(topic.lines[from]))
  end)
  return items
end

--- A list of results as a topic; nil if empty. Entries without a description, and entries beyond
--- the limit, show only names.
local function list_topic(word, title, items)
  if #items == 0 then return nil end
  local lines, names, listed = { "Use 'blis help NAME' for each of these.", "" }, {}, 0
  for _, item in ipairs(items) do
    if listed < listed_max and item.doc ~= "" then
      listed = listed + 1
      lines[#lines + 1] = ("@item %s %s"):format(item.name, item.doc)
    else
      names[#names + 1] = item.name
    end
  end
  if #names > 0 then
    table.move({ "", ("And %d more: %s."):format(#names, table.concat(names, ", ")) }, 1, 2,
      #lines + 1, lines)
  end
  return new_topic("names", word, title, lines)
end

local function literal(text) return (text:gsub("%p", "%%%0")) end

--- Names that have the word in them; first those that have it as a part: of "slo" slo_targets, and
--- then slow.
local function containing(topics, wanted)
  local own, others = {}, {}
  local part = "%f[%w]" .. literal(wanted):gsub("_", " ") .. "%f[%W]"
  for _, item in ipairs(items_where(topics, function(name)
    return folded_parts(name):find(wanted, 1, true) ~= nil
  end)) do
    local list = folded_parts(item.name):gsub("_", " "):find(part) and own or others
    list[#list + 1] = item
  end
  return table.move(others, 1, #others, #own + 1, own)
end

--- What is described with all of these words, and is not among the names.
local function described_with(topics, wanted, names)
  local is_listed = {}
  for _, item in ipairs(names) do is_listed[item.name] = true end
  local items = {}
  for _, item in ipairs(items_where(topics, function(_, doc)
    local text = folded(doc)
    for word in wanted:gmatch "[^_]+" do
      if not text:find("%f[%w]" .. literal(word)) then return false end
    end
    return true
  end)) do
    if not is_listed[item.name] then items[#items + 1] = item end
  end
  return items
end

-- So few names may not be what was looked for.
local few_names = 8

local function find_mentions(topics, word, wanted)
  local names, shown = containing(topics, wanted), errors.show(word)
  local found = { list_topic(word, ("names with %s"):format(shown), names) }
  if #names < few_names then
    found[#found + 1] = list_topic(word, ("descriptions with %s"):format(shown),
      described_with(topics, wanted, names))
  end
  return found
end

--- "ttft_p99" and "ttft_ms.p99" consist of a metric and a statistic.
local function without_percentile(word)
  return word:match "^(.-)[._]p%d[%d.]*$" or word:match "^(.-)[._]mean$"
end

--- A metric of results by its path: "spot.usd", "result.scaling.levels"; nil if unknown.
local function find_figure(word)
  local path = word:gsub("^result%.", "")
  local figure = figures.find(path)
  if not figure then return nil end
  local kind = figure.class and "blis." .. figure.class or figure.type
  return new_topic("figures", path, "result." .. path, { ("@field %s %s %s%s"):format(figure.name,
    kind, figure.doc, figure.unit and (" (%s)"):format(figure.unit) or "") })
end

--- Topics of just that name, with or without what stands before a dot.
local function find_topics(topics, wanted, key)
  local found = {}
  for _, topic in ipairs(topics) do
    local name = key(topic.name)
    local is_end = name:sub(-#wanted - 1) == "." .. wanted
    local is_meant = name == wanted or key(topic.title) == wanted or last_part(name) == wanted
      or is_end
    if is_meant or topic.alias and key(topic.alias) == wanted then found[#found + 1] = topic end
  end
  return found
end

local function append(list, others) return table.move(others, 1, #others, #list + 1, list) end

--- Entries with that name, except commands.
local function find_named(topics, word, key)
  local wanted = key(word)
  local found = find_topics(topics, wanted, key)
  local of_flags = find_flags(word, key == folded and string.lower or key) -- "a_b" is no "--a-b"
  if #found > 0 then return append(found, of_flags) end
  local figure = word:find(".", 1, true) and find_figure(word:lower())
  if figure then return { figure } end
  found = of_flags
  found[#found + 1] = find_kind(word, key)
  local bare = without_percentile(folded_parts(word))
  for _, name in ipairs { wanted, bare and key(bare) } do
    append(found, find_fields(topics, name, key))
  end
  return found
end

--- Entries with that name; commands first if the query asks for a command.
local function find_all(topics, word, key, asks_command)
  local its, others = commands.named(key(word), key), find_named(topics, word, key)
  return asks_command and append(its, others) or append(others, its)
end

--- Which name a word may be meant to be: a flag, if it begins as these do.
local function suggestion(word)
  local bare, flags, words = parted(word):lower():gsub("^%-+", ""), commands.flags(), search.words()
  local otherwise = "'blis help' lists all"
  if word:find "^%-" then
    local text = errors.suggestion("--" .. bare, flags, "")
    if text ~= "" then return text end
  end
  for _, flag in ipairs(flags) do words[#words + 1] = flag:gsub("^%-+", "") end
  return errors.suggestion(bare, append(words, commands.names()), otherwise)
end

--- The topics of a query: by name, in any spelling; otherwise fields with that name, or a list of
--- entries with the query in their names or descriptions.
---@param asked string
---@return blis.Topic[]
function search.find(asked)
  local topics = reference.topics()
  local word = asked:gsub("^blis%s+help%s+", ""):gsub("^blis[%s-]+", "")
  local wanted, asks_command = folded(word), word ~= asked
  local found = find_all(topics, word, folded, asks_command)
  local is_whole = not word:find "[_-]$" -- for "kv_", the rest of the name is missing
  if #found == 0 and is_whole then found = find_all(topics, word, squeezed, asks_command) end
  local subject = not asks_command and subjects.find(wanted)
  if #found == 0 and not subject and #wanted > 1 then
    found = find_mentions(topics, word, wanted)
  end
  if subject then table.insert(found, 1, subject) end
  if #found == 0 then
    errors.raise("usage", ("help: unknown topic %s%s"):format(errors.show(asked),
      suggestion(word)))
  end
  return found
end

return search
