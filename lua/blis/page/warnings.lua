--- Warnings about the metrics of a page.
local between = require "blis.results.between"
local html = require "blis.page.html"
local parts = require "blis.page.parts"
local report = require "blis.results.report"
local signs = require "blis.results.signs"

local warnings = {}

--- All of a run, with the gravest first.
local function of_result(r)
  local list = {}
  local function add(more) table.move(more, 1, #more, #list + 1, list) end
  for _, reason in ipairs(r.verdict.reasons) do
    list[#list + 1] = ("%s (%s): %s"):format(reason.code, reason.status, reason.text)
  end
  for note in r.setup.notes:gmatch "[^\n]+" do list[#list + 1] = note end
  add(signs.ordering(r))
  add(report.coverage(r))
  if not r.keeps_records then
    list[#list + 1] = "No request records were kept. Percentiles other than ITL can be 0.4 % low. "
      .. "Distributions and requests are not available."
  end
  return list
end

local function section(list)
  return parts.section("notes", "Coverage and warnings",
    #list > 0 and parts.notes(list) or html.p "None.")
end

---@param r blis.Result
---@return blis.page.Element
function warnings.section(r)
  return section(of_result(r))
end

--- Warnings of several runs: each sentence once, with its runs.
---@param results blis.Result[]
---@param labels string[]
---@return blis.page.Element
function warnings.compared(results, labels)
  local texts, about = {}, {}
  for i, r in ipairs(results) do
    for _, text in ipairs(of_result(r)) do
      if not about[text] then
        texts[#texts + 1], about[text] = text, {}
      end
      table.insert(about[text], labels[i])
    end
  end
  local list = {}
  for i, text in ipairs(texts) do
    list[i] = ("%s: %s"):format(#about[text] == #results and "all"
      or table.concat(about[text], ", "), text)
  end
  for _, line in ipairs(between.lines(results, labels)) do list[#list + 1] = line end
  return section(list)
end

return warnings
