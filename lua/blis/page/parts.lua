--- Parts that pages of results have in common.
local format = require "blis.format"
local html = require "blis.page.html"
local metric_names = require "blis.results.metric_names"

local parts = {}

--- A section with a heading, which the navigation names.
---@param id string
---@param title string
---@param ... any
---@return blis.page.Element
function parts.section(id, title, ...)
  local section = html.section({ id = id, ["aria-label"] = title }, html.h2(title), ...)
  section.id, section.title = id, title
  return section
end

--- "All requests", or of more than a table has rows for "The first 40 of 1,234".
---@param count integer
---@param most integer
---@param all string
---@return string
function parts.first_of(count, most, all)
  return count > most and ("The first %d of %s"):format(most, format.count(count)) or all
end

--- Links to the sections.
---@param sections blis.page.Element[]
---@return blis.page.Element
function parts.navigation(sections)
  local links = {}
  for i, section in ipairs(sections) do
    links[i] = html.a({ href = "#" .. section.id }, section.title)
  end
  return html.nav({ ["aria-label"] = "Sections" }, links)
end

--- Metrics in large print: { { "TTFT p99", "12.3 ms" }, ... }; a third string is smaller.
---@param list string[][]
---@return blis.page.Element
function parts.cards(list)
  local cards = {}
  for i, one in ipairs(list) do
    cards[i] = html.div(html.dt(one[1]),
      html.dd(one[2], one[3] and html.small(" ", one[3]) or {}))
  end
  return html.dl({ class = "cards" }, cards)
end

-- Maximum length of names that always fit; column titles are side by side.
local longest_name, longest_head = 24, 10

--- A long name with places where lines may be broken, as between the scorers of a policy.
---@param text any
---@param longest? integer that is none
---@return any
function parts.breakable(text, longest)
  if type(text) ~= "string" or #text <= (longest or longest_name) then return text end
  local pieces, from = {}, 1
  for at in text:gmatch "()[,(/_=.]%f[^,(/_=.%s]" do
    local last = at
    if text:find("^%(", at) then -- stays on the page of its table
      last = at - 1
    elseif text:find("^%.", at) and not text:find("^%.%a", at) then -- numbers stay whole
      last = 0
    end
    if last >= from and not text:find("^%s", last) then
      pieces[#pieces + 1], pieces[#pieces + 2] = text:sub(from, last), html.wbr()
      from = last + 1
    end
  end
  pieces[#pieces + 1] = text:sub(from)
  return pieces
end

--- Long strings get more space and can wrap anywhere.
local function class_of(text, is_words)
  if is_words then return "words" end
  return type(text) == "string" and #text > longest_name and "long" or nil
end

--- The name of a column.
local function head(name, is_words)
  return html.th({ scope = "col", class = class_of(name, is_words) },
    parts.breakable(name, longest_head))
end

--- A table; the first cell of a row is its name. Cells are strings or elements; is_words marks
--- columns with prose.
---@param caption string
---@param header string[]
---@param rows any[][]
---@param is_words? table<integer, boolean>
---@param is_sortable? boolean a click on a column sorts the rows
---@return blis.page.Element
function parts.table(caption, header, rows, is_words, is_sortable)
  local heads, body = {}, {}
  for i, name in ipairs(header) do
    heads[i] = head(name, is_words and is_words[i])
  end
  for i, row in ipairs(rows) do
    local cells = { html.th({ scope = "row", class = class_of(row[1]) },
      parts.breakable(row[1])) }
    for k = 2, #header do
      local text = row[k] or "-"
      cells[k] = html.td({ class = class_of(text, is_words and is_words[k]) }, text)
    end
    body[i] = html.tr(cells)
  end
  return html.div({ class = "wide" },
    html.table({ class = is_sortable and "sortable" or nil }, html.caption(caption),
      html.thead(html.tr(heads)), html.tbody(body)))
end

parts.words = metric_names.words

local raw_name = "%f[%w_]%l+_[%l%d_]+"

--- True of "hits / requests": names that programs have, put together.
local function is_formula(text)
  if not text:find " [-+*/] " then return false end
  for operand in (text:gsub("[()]", "") .. " + "):gmatch "(.-) [-+*/] " do
    if operand:find "%s" then return false end
  end
  return true
end

--- Name of a metric within sentences; ambiguous names are quoted.
local function quoted(name)
  local words = parts.words(name)
  return metric_names.has_own_words(name) and words:find " " and ('"%s"'):format(words) or words
end

--- The definition of a metric as a sentence: starts with a capital letter, ends with a period, and
--- contains no formula, nil, or internal name.
---@param doc string
---@return string
function parts.sentence(doc)
  local said = {}
  for part in doc:gmatch "[^;]+" do
    local what, how = part:match "^(.-): (.*)$"
    if how and is_formula(how) then part = what end
    if #said == 0 or not (part:find "%f[%w]nil%f[%W]" or part:find(raw_name)) then
      said[#said + 1] = part:gsub(raw_name, quoted):gsub("%f[%w]availability%f[%W]", quoted)
    end
  end
  local text = table.concat(said, ";"):gsub("^%l", string.upper)
  return text .. (text:find "%.$" and "" or ".")
end

--- "12.3 ms"
---@param value number?
---@return string
function parts.ms(value)
  return value and format.number(value) .. " ms" or "-"
end

--- Notes as a list; nothing without any.
---@param notes string[]
---@return any
function parts.notes(notes)
  local items = {}
  for i, note in ipairs(notes) do items[i] = html.li(note) end
  return #items > 0 and html.ul({ class = "notes" }, items) or {}
end

--- A mean with its interval below it, in smaller print.
---@param estimate { mean?: number, low?: number, high?: number }?
---@param decimals? integer
---@return any
function parts.estimate(estimate, decimals)
  if not estimate or not estimate.mean then return "-" end
  local function text(x) return format.number(x, decimals) end
  if not estimate.low then return text(estimate.mean) end
  return { text(estimate.mean), html.br(), html.small({ class = "soft" },
    ("%s to %s"):format(text(estimate.low), text(estimate.high))) }
end

--- The end of a page: all metrics as data for programs.
---@param id string of the element with the JSON
---@param is_printed? boolean a command prints the same
---@return blis.page.Element
function parts.figures(id, is_printed)
  local as_printed = { ", as printed by ", html.code "--format json",
    ", except the series, which are in the charts" }
  return parts.section("figures", "Data",
    html.p({ class = "soft" }, "Metrics of this page as JSON",
      is_printed and as_printed or {}, "."),
    html.details({ ["data-json"] = id }, html.summary("Show the JSON"),
      html.pre()))
end

return parts
