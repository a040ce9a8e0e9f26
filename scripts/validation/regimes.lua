--- The sections of docs/validation.md about data/validation/residuals.yaml, the expected errors by
--- regime, and about tests/data/truth/groups.yaml, errors by group of rows, in sample and held out.
local core = require "blis.core"
local markdown = require "markdown"

local regimes = {}

local function data() return core.yaml_read("data/validation/residuals.yaml").residuals end

local function groups() return core.yaml_read("tests/data/truth/groups.yaml").groups end

local kinds = {
  { key = "calibrated", title = "`calibrated`" },
  { key = "composed", title = "in sample" },
  { key = "without_part", title = "part held out" },
  { key = "without_model", title = "model held out" },
  { key = "closed_form", title = "no tables: in sample" },
  { key = "closed_form_without_model", title = "no tables: model held out" },
}

local function mean_of(figures, name)
  return figures and figures[name] and markdown.share(figures[name][1]) or "-"
end

local function figures_table(name)
  local header, rows = { "rows", "n" }, {}
  for _, kind in ipairs(kinds) do header[#header + 1] = kind.title end
  for _, group in ipairs(groups()) do
    if group.composed[name] then
      local row = { group.name, tostring(group.rows) }
      for _, kind in ipairs(kinds) do row[#row + 1] = mean_of(group[kind.key], name) end
      rows[#rows + 1] = row
    end
  end
  return markdown.table(header, rows, 1)
end

--- Errors of groups of rows: the old model, and the composed one in sample and held out.
---@return string
function regimes.groups()
  return table.concat({ "Mean error of TPOT, percent:", "", figures_table "tpot", "",
    "Mean error of TTFT, percent:", "", figures_table "ttft" }, "\n")
end

local level_texts = {
  model = "this model", format = "this format", family = "other formats",
  nothing = "none of these",
}

local function scheduling(row)
  if row.is_async == nil then return "" end
  return row.is_async and ", async" or ", sync"
end

local function regime_text(row)
  local class = row.has_experts == nil and "" or row.has_experts and "experts" or "dense"
  local parts = { row.family or "any GPU", row.weights or "any format", class }
  if class == "" then parts[3] = nil end
  return table.concat(parts, ", ") .. scheduling(row)
end

local function tpot_text(row)
  local t = row.tpot
  if not row.prefill_share then
    return ("%s, %s"):format(markdown.share(t[1]), markdown.share(t[2]))
  end
  return ("%s, %s / %s, %s"):format(markdown.share(t[1]), markdown.share(t[2]),
    markdown.share(t[3]), markdown.share(t[4]))
end

--- The expected errors that results report.
---@return string
function regimes.expected()
  local rows = {}
  for i, row in ipairs(data().regimes) do
    rows[i] = { regime_text(row), level_texts[row.level], row.rows > 0 and tostring(row.rows)
      or "reported", tpot_text(row), row.ttft and ("%s, %s"):format(markdown.share(row.ttft[1]),
        markdown.share(row.ttft[2])) or "-" }
  end
  return markdown.table({ "regime", "measured", "n", "TPOT: median, p80", "TTFT: median, p80" },
    rows, 2)
end

local function between_row(name, title)
  local found = data().between[name]
  return { title, markdown.share(found.tpot[1]), markdown.share(found.tpot[2]),
    markdown.share(found.ttft[1]), markdown.share(found.ttft[2]) }
end

--- Errors of the quotient of two setups.
---@return string
function regimes.between()
  return markdown.table({ "setups", "TPOT: median", "p80", "TTFT: median", "p80" }, {
    between_row("part", "one model and GPU, other TP degree or engine version"),
    between_row("model", "another model or GPU"),
  }, 1)
end

return regimes
