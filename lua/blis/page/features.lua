--- The sections of pages for parts that only some results have: session graphs, optional features,
--- targets, and energy. The tables follow from the lists of metrics, so a new metric needs no
--- change here.
local figures = require "blis.results.figures"
local format = require "blis.format"
local html = require "blis.page.html"
local lives = require "blis.page.lives"
local optional = require "blis.feature"
local parts = require "blis.page.parts"
local sorted = require "blis.sorted"

local features = {}

local count, number = format.count, format.number

-- Parts that are not features but have a section of the same form, with its position.
local own_parts = {
  { part = "tasks", page = { title = "Session graphs" }, at = 0 },
  { part = "goodput", page = { title = "Targets" }, at = 15 },
  { part = "energy", page = { title = "Energy" }, at = 16 },
}

--- Returns all parts that have a section, in the order of the sections.
local function all_parts()
  local parts_of_all = optional.pages()
  table.move(own_parts, 1, #own_parts, #parts_of_all + 1, parts_of_all)
  table.sort(parts_of_all, function(a, b) return a.at < b.at end)
  return parts_of_all
end

-- A list of tiers or adapters.
local most_items = 20

-- One class of targets is all that there is of them.
local told_from = { classes = 2 }

-- Longer tables of metrics are collapsed.
local most_rows = 10

-- Tables with many metrics and few entries use columns for the entries.
local most_as_columns, fewest_figures = 6, 8

--- A metric with its unit; counts have no unit, because their names state what they count.
local function text_of(figure, value)
  if value == nil or value ~= value then return "-" end
  if type(value) ~= "number" then return tostring(value) end
  if figure.unit == "0 to 1" then return format.share(value) end
  if math.type(value) == "integer" then return count(value) end
  local size = math.abs(value)
  local text = number(value, size >= 100 and 1 or size >= 1 and 2 or size == 0 and 0 or 4)
  return figure.unit and ("%s %s"):format(text, figure.unit) or text
end

local function is_number(figure)
  return figure.type and figure.type:find "^integer%??$" or figure.type
    and figure.type:find "^number%??$"
end

--- The values of a class that at least one entry has.
local function numbers_of(class, values)
  local list = {}
  for _, figure in ipairs(figures.of(class)) do
    local has_any = false
    for _, one in ipairs(values) do has_any = has_any or figures.value(one, figure) ~= nil end
    if is_number(figure) and has_any then list[#list + 1] = figure end
  end
  return list
end

--- A row per metric, a column per entry, and the definitions of the metrics.
local function table_by_figure(caption, class, values, labels)
  local rows, header = {}, { "", table.unpack(labels) }
  header[#header + 1] = "meaning"
  for i, figure in ipairs(numbers_of(class, values)) do
    rows[i] = { parts.words(figure.name) }
    for k, one in ipairs(values) do
      rows[i][k + 1] = text_of(figure, figures.value(one, figure))
    end
    rows[i][#header] = parts.sentence(figure.doc)
  end
  return parts.table(caption, header, rows, { [#header] = true })
end

--- A row per entry, a column per metric.
local function table_by_thing(caption, class, values, labels)
  local list, header, rows = numbers_of(class, values), { "" }, {}
  for i, figure in ipairs(list) do header[i + 1] = parts.words(figure.name) end
  for k = 1, math.min(#values, most_items) do
    rows[k] = { labels[k] }
    for i, figure in ipairs(list) do
      rows[k][i + 1] = text_of(figure, figures.value(values[k], figure))
    end
  end
  if #values > most_items then
    caption = ("%s, the first %d of %s"):format(caption, most_items, count(#values))
  end
  return parts.table(caption, header, rows)
end

--- All metrics of a section, for one run or several.
local function all_figures(class, values, labels)
  local element = table_by_figure("All metrics", class, values, labels)
  if #numbers_of(class, values) <= most_rows then return element end
  return html.details(html.summary "All metrics", element)
end

-- Tiers and bands have a defined order.
local in_natural_order = { LoraAdapter = true, Link = true }

--- A list of tiers, adapters, links, ...
local function table_of_list(title, class, list)
  local labels = {}
  if in_natural_order[class] then list = sorted.naturally(list, "name") end
  for i, one in ipairs(list) do
    labels[i] = rawget(one, "name") or rawget(one, "model")
      or ("priority %d"):format(rawget(one, "priority"))
  end
  local make = #list <= most_as_columns and #numbers_of(class, list) >= fewest_figures
    and table_by_figure or table_by_thing
  return make(title, class, list, labels)
end

local statistics = { "mean", "p50", "p90", "p99", "max" }

--- The time charts of a section; nothing if it has none.
local function table_of_times(class, value)
  local rows = {}
  for _, figure in ipairs(figures.of(class)) do
    local times = figure.class == "Percentiles" and figures.value(value, figure)
    if times and times.count > 0 then
      local row = { parts.words(figure.name), count(times.count) }
      for i, name in ipairs(statistics) do row[i + 2] = number(times[name]) end
      row[#row + 1] = parts.sentence(figure.doc)
      rows[#rows + 1] = row
    end
  end
  if #rows == 0 then return {} end
  local header = table.move(statistics, 1, #statistics, 3, { "", "of" })
  header[#header + 1] = "meaning"
  return parts.table("Times in ms", header, rows, { [#header] = true })
end

--- A metric of the summary in large print with its words: { "busiest link busy", "12.3 %", "of the
--- time" } for "hand-offs: busiest link busy {%} of the time".
local function card_of(figure, value)
  local subject, before, hole, after = figure.shown:match "^(.-): (.-) ?(%b{}) ?(.*)$"
  local counted = hole:match "^{(%a+)}$"
  if counted then after = value == 1 and counted or counted .. "s" end
  local text = text_of(figure, value)
  if not text:find "%%$" then text = text:match "^%S+" end
  return { before ~= "" and before or subject, text, after ~= "" and after or nil }
end

--- The summary metrics of a section.
local function cards_of(class, value)
  local list = {}
  for _, figure in ipairs(figures.of(class)) do
    local one = (figure.shown or "") ~= "" and figures.value(value, figure)
    if one and not (one == 0 and figure.shown:find "{%d?%?}") then
      list[#list + 1] = card_of(figure, one)
    end
  end
  return list
end

local function part_of_result(name)
  for _, figure in ipairs(figures.of "Result") do
    if figure.name == name then return figure end
  end
end

local function section(r, one)
  local name, own = one.part, one.page
  local part, value = part_of_result(name), rawget(r, name)
  if own.section then return own.section(r, parts) end
  if not value or name == "energy" and not value.kwh then return nil end
  local class, lists = part.class, {}
  local cards = cards_of(class, value)
  if own.cards then own.cards(cards, value, most_as_columns) end
  for _, figure in ipairs(figures.of(class)) do
    local list = (figure.is_list or figure.is_named) and figures.value(value, figure) or {}
    if #list >= (told_from[figure.name] or 1) then
      lists[#lists + 1] = table_of_list("By " .. parts.words(figure.name):gsub("([^s])s$", "%1"),
        figure.class, list)
    end
  end
  return parts.section("part-" .. name:gsub("_", "-"), own.title, parts.cards(cards),
    name == "tasks" and lives.tasks(r) or {}, lists, table_of_times(class, value),
    all_figures(class, { value }, { "value" }))
end

--- A section for each of those parts that the run has.
---@param r blis.Result
---@return blis.page.Element[]
function features.sections(r)
  local list = {}
  for _, one in ipairs(all_parts()) do list[#list + 1] = section(r, one) end
  return list
end

--- The lines of features for the block at the top of a page.
---@param r blis.Result
---@return string[]
function features.answers(r)
  local list = {}
  for _, one in ipairs(all_parts()) do
    local value = one.page.answer and rawget(r, one.part)
    if value then list[#list + 1] = one.page.answer(value) end
  end
  return list
end

--- The sections that any of several runs has, side by side; nil if no run has one.
---@param results blis.Result[]
---@param labels string[]
---@return blis.page.Element?
function features.compared(results, labels)
  local tables = {}
  for _, one in ipairs(all_parts()) do
    local values, has_any = {}, false
    for i, r in ipairs(results) do
      values[i] = not one.page.section and rawget(r, one.part) or {}
      has_any = has_any or next(values[i]) ~= nil
    end
    if has_any then
      tables[#tables + 1] = { html.h3(one.page.title), all_figures(part_of_result(one.part).class,
        values, labels) }
    end
  end
  return #tables > 0 and parts.section("features", "Features in use", tables) or nil
end

return features
