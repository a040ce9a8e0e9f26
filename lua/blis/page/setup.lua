--- Section "Configuration" of pages: for one run, or for several runs with their differences and
--- common settings.
local html = require "blis.page.html"
local options = require "blis.config.option_text"
local origin = require "blis.page.origin"
local parts = require "blis.page.parts"
local result_file = require "blis.results.file"
local settings = require "blis.results.asked_settings"
local setup = require "blis.results.setup"

local page = {}

--- A table of names and strings.
local function rows_table(caption, rows)
  local cells = {}
  for i, row in ipairs(rows) do cells[i] = { row.name, row.text } end
  return parts.table(caption, { "", "" }, cells, { [2] = true })
end

--- One line that stays visible while the configuration is folded.
local function summary_of(setup_of_run)
  local traffic = setup_of_run and rawget(setup_of_run, "traffic")
  local text = setup_of_run and origin.cluster(setup_of_run) or ""
  return traffic and ("%s; %s"):format(text, traffic) or text
end

--- The section "Configuration", folded under a line of summary.
---@param summary any the visible line
---@param ... any
---@return blis.page.Element
function page.folded(summary, ...)
  return parts.section("setup", "Configuration",
    html.details({ class = "folded" }, html.summary(summary), ...))
end

--- The configuration, and how to reproduce the run.
---@param r blis.Result
---@return blis.page.Element
function page.section(r)
  return page.folded(summary_of(r.setup), rows_table("As resolved", setup.rows(r)),
    origin.inputs(r.setup), origin.element(r.hash, result_file.was_read(r)))
end

--- The names of all rows in order, and the values of each run by name.
local function collected(runs)
  local names, texts, is_known = {}, {}, {}
  for i, rows in ipairs(runs) do
    texts[i] = {}
    for _, row in ipairs(rows) do
      texts[i][row.name] = row.text
      if not is_known[row.name] then names[#names + 1], is_known[row.name] = row.name, true end
    end
  end
  return names, texts
end

--- The rows that are equal in all runs, and the rows that differ, with one value per run.
local function split(runs)
  local names, texts = collected(runs)
  local same, different = {}, {}
  for _, name in ipairs(names) do
    local row, is_same = { name }, true
    for i in ipairs(runs) do
      row[i + 1] = texts[i][name] or settings.usual(name, texts[i].profile or "design") or "-"
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

--- Whether a row already shows a change, such as { cluster = { instances = 2 } }: a single option,
--- with the same name and value.
local function tells(name, text, change)
  if change == "nothing" then return true end
  local inner = change:match "^{ cluster = ({.*}) }$" or change
  local option, value = inner:match '^{ ([%w_]+) = "?([^{}"]-)"? }$'
  if not option or options.words(option) ~= name then return false end
  return text == value or text:gsub(",", ""):sub(1, #value + 1) == value .. " "
end

local function is_told(changes, different)
  for _, row in ipairs(different) do
    local all = true
    for i, change in ipairs(changes) do all = all and tells(row[1], row[i + 1], change) end
    if all then return true end
  end
  return false
end

-- Maximum number of runs with a column each; more runs use rows, so that tables fit on paper.
local most_columns = 4

--- The same cells with a row for each run.
local function transposed(header, rows)
  local heads, lines = { "" }, {}
  for i, row in ipairs(rows) do heads[i + 1] = row[1] end
  for k = 2, #header do
    lines[k - 1] = { header[k] }
    for i, row in ipairs(rows) do lines[k - 1][i + 1] = row[k] end
  end
  return heads, lines
end

local function differences_table(kind, labels, rows)
  local header, is_words = { "", table.unpack(labels) }, {}
  if #labels > most_columns then header, rows = transposed(header, rows) end
  for i = 2, #header do is_words[i] = true end
  return parts.table("By " .. kind, header, rows, is_words)
end

--- The differences between runs; changes are the variants in the script. Variants of a command are
--- named by their flags.
local function differences(different, labels, kind, changes)
  if changes and not is_told(changes, different) then
    table.insert(different, 1, { "changed", table.unpack(changes) })
  end
  if #different > 0 then
    return differences_table(kind, labels, different)
  elseif kind == "variant" then
    return html.p("The flags differ only in settings that reports do not "
      .. "show: ", table.concat(labels, "; "), ".")
  end
  return html.p "Only settings that reports do not show."
end

--- The values of several runs, by row.
local function section_of(runs, labels, kind, changes, inputs)
  local same, different = split(runs)
  local traffic = inputs and rawget(inputs, "traffic") or "the same traffic"
  return page.folded(("%d %s; %s"):format(#labels, kind == "variant" and "variants" or "policies",
    traffic),
    html.h3 "What differs", differences(different, labels, kind, changes),
    html.h3 "The same for all", rows_table("As resolved", same),
    origin.inputs(inputs), origin.element())
end

--- For several runs with the same traffic.
---@param results blis.Comparison
---@param labels string[]
---@return blis.page.Element
function page.compared(results, labels)
  local runs = {}
  for i, r in ipairs(results) do runs[i] = setup.rows(r) end
  return section_of(runs, labels, results.labels and "variant" or "policy",
    rawget(results, "changes"), results[1].setup)
end

--- For policies with several seeds: pages do not store the results of their runs.
---@param self blis.ReplicatedComparison
---@return blis.page.Element
function page.replicated(self)
  return section_of(self.setup.rows, self.policies, self.table.parameters[1] == "variant"
    and "variant" or "policy", rawget(self, "changes"), self.setup)
end

return page
