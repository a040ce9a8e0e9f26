--- "What was run" of pages: of one run, and of several what tells them apart and what is the same.
local html = require "blis.page.html"
local origin = require "blis.page.origin"
local parts = require "blis.page.parts"
local result_file = require "blis.results.file"
local setup = require "blis.results.setup"

local page = {}

--- A table of names and texts.
local function rows_table(caption, rows)
  local cells = {}
  for i, row in ipairs(rows) do cells[i] = { row.name, row.text } end
  return parts.table(caption, { "", "" }, cells, { [2] = true })
end

--- What was run, and how to do it again.
---@param r blis.Result
---@return blis.page.Element
function page.section(r)
  return parts.section("setup", "What was run", rows_table("As resolved", setup.rows(r)),
    origin.inputs(r.setup), origin.element(r.hash, result_file.was_read(r)))
end

--- The names of all rows in their order, and the texts of each run by them.
local function collected(results)
  local names, texts, is_known = {}, {}, {}
  for i, r in ipairs(results) do
    texts[i] = {}
    for _, row in ipairs(setup.rows(r)) do
      texts[i][row.name] = row.text
      if not is_known[row.name] then names[#names + 1], is_known[row.name] = row.name, true end
    end
  end
  return names, texts
end

--- The rows that all runs have alike, and those in which they differ, a text of each run.
local function split(results)
  local names, texts = collected(results)
  local same, different = {}, {}
  for _, name in ipairs(names) do
    local row, is_same = { name }, true
    for i in ipairs(results) do
      row[i + 1] = texts[i][name] or "-"
      is_same = is_same and texts[i][name] == texts[1][name]
    end
    if is_same then
      same[#same + 1] = { name = name, text = texts[1][name] }
    else
      different[#different + 1] = row
    end
  end
  return same, different
end

local function words_of(labels)
  local is_words = {}
  for i in ipairs(labels) do is_words[i + 1] = true end
  return is_words
end

--- What variants change, as the script has it; nothing of policies.
local function add_changes(different, changes)
  if changes then table.insert(different, 1, { "changed", table.unpack(changes) }) end
end

--- Of several runs of the same traffic.
---@param results blis.Comparison
---@param labels string[]
---@return blis.page.Element
function page.compared(results, labels)
  local same, different = split(results)
  add_changes(different, rawget(results, "changes"))
  return parts.section("setup", "What was run", html.h3 "What differs",
    #different > 0 and parts.table("By " .. (results.labels and "variant" or "policy"),
      { "", table.unpack(labels) }, different, words_of(labels))
    or html.p "Nothing that reports show.",
    html.h3 "The same for all", rows_table("As resolved", same),
    origin.inputs(results[1].setup), origin.element())
end

--- Of policies over seeds, whose runs are not kept: as the script has it.
---@param self blis.ReplicatedComparison
---@return blis.page.Element
function page.replicated(self)
  local given, rows = self.given, {}
  for i, label in ipairs(self.policies) do rows[i] = { label, given.changes[i] } end
  return parts.section("setup", "What was run", html.h3 "What differs",
    parts.table("As given", { "", "given" }, rows, { [2] = true }),
    html.h3 "The same for all", rows_table("As given", given.same), origin.element())
end

return page
