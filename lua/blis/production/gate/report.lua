--- The result of a gate as text, Markdown, JSON and JUnit.
local explain = require "blis.production.explain"
local format = require "blis.format"
local gate = require "blis.production.gate.gate"
local json = require "blis.json"
local verdict = require "blis.results.verdict"
local words = require "blis.statistics.words"

local report = {}

-- Changed decisions that a table of them shows.
local shown_decisions = 5

local function number(value) return ("%.4g"):format(value) end

local function interval(pair)
  if not pair.low then return "-" end
  return ("%s to %s"):format(words.change(pair, pair.low), words.change(pair, pair.high))
end

local is_undecided = gate.is_undecided

--- "no regression: 45 comparisons, 0 improved", or that changes for the worse are undecided.
local function headline_without_regression(result)
  local undecided = gate.undecided_worse(result)
  local summary = ("%d comparisons, %d improved"):format(#result.comparisons,
    gate.count(result, "improvement"))
  if undecided == 0 then return "no regression: " .. summary end
  return ("no regression found, and %d change%s for the worse undecided: %s"):format(undecided,
    undecided == 1 and "" or "s", summary)
end

local function headline(result)
  if not result.is_regression then return headline_without_regression(result) end
  local parts, count = {}, gate.count(result, "regression")
  if count > 0 then parts[1] = ("%d of %d comparisons regressed"):format(count,
    #result.comparisons) end
  if #result.invariants > 0 then
    parts[#parts + 1] = ("%d rules are broken"):format(#result.invariants)
  end
  if result.reviewed and #result.reviewed.changed > 0 then
    parts[#parts + 1] = ("decisions differ from the reviewed ones in %s"):format(
      table.concat(result.reviewed.changed, ", "))
  end
  return "regression: " .. table.concat(parts, "; ")
end

--- The comparisons with a conclusion; all comparisons on request.
local function told(result, all)
  local list = {}
  for _, one in ipairs(result.comparisons) do
    if all or one.verdict ~= "none" or is_undecided(result, one) then list[#list + 1] = one end
  end
  return list
end

local function rows_of(result, list)
  local rows = {}
  for i, one in ipairs(list) do
    rows[i] = { one.scenario, one.figure.title, number(one.pair.mean_a), number(one.pair.mean_b),
      words.change(one.pair, one.pair.change), interval(one.pair),
      is_undecided(result, one) and "undecided" or one.verdict == "none" and "" or one.verdict }
  end
  return rows
end

local header = { "scenario", "figure", "base", "new", "change", "95 % interval", "" }

local function change_lines(change)
  return {
    ("%s at %.3f s: base chooses %s, new %s%s"):format(change.request, change.time_us / 1e6,
      change.base, change.new, change.dominated and ", which is worse in every respect" or ""),
    ("  %s: %s"):format(change.base, change.base_signals),
    ("  %s: %s"):format(change.new, change.new_signals),
    "  for the base: " .. explain.text(change.base_terms),
    "  for the new one: " .. explain.text(change.new_terms),
  }
end

--- Scenarios in the order of how many decisions change.
local function by_changes(result)
  local list = table.move(result.scenarios, 1, #result.scenarios, 1, {})
  local order = {}
  for i, one in ipairs(list) do order[one] = i end
  table.sort(list, function(a, b)
    if a.changes.changed ~= b.changes.changed then return a.changes.changed > b.changes.changed end
    return order[a] < order[b]
  end)
  return list
end

--- The clearest changes over all scenarios.
local function clearest(result)
  local list = {}
  for _, wants_dominated in ipairs { true, false } do
    for _, one in ipairs(by_changes(result)) do
      for _, change in ipairs(one.changes.list) do
        if (change.dominated or false) == wants_dominated and #list < shown_decisions then
          list[#list + 1] = { scenario = one.id, change = change }
        end
      end
    end
  end
  return list
end

local function changed_text(changes)
  return ("%s%d of %d"):format(changes.is_complete and "" or "at least ", changes.changed,
    changes.asked)
end

local function about(result)
  return ("base %s, new %s; suite %s, %d seeds, tolerance %g %%"):format(result.base.name,
    result.new.name, result.suite, result.seeds, 100 * result.tolerance)
end

--- Undecided changes with the reason; nil without any.
local function undecided_text(result)
  local list = {}
  for _, one in ipairs(result.comparisons) do
    if is_undecided(result, one) then
      list[#list + 1] = ("%s %s (%s, p = %.2g)"):format(one.scenario, one.figure.title,
        words.change(one.pair, one.pair.change), one.adjusted_p)
    end
  end
  if #list == 0 then return nil end
  return ("Undecided changes: %s. Each interval is of one comparison. Among %d comparisons, some "
    .. "such intervals exclude 0 by chance, so a conclusion requires Holm's p-value to be below "
    .. "0.05. Raise --seeds to decide."):format(table.concat(list, ", "), #result.comparisons)
end

--- For a terminal.
---@param result blis.gate.Result
---@return string
function report.text(result)
  local lines = { headline(result), about(result), "" }
  lines[#lines + 1] = format.table(header, rows_of(result, told(result, true)), nil,
    { true, true, false, false, false, true, true })
  local undecided = undecided_text(result)
  if undecided then
    lines[#lines + 1] = ""
    table.move(format.wrap(undecided, 100), 1, 100, #lines + 1, lines)
  end
  lines[#lines + 1] = "\nDecisions that change, with the same state before both policies:"
  for _, one in ipairs(result.scenarios) do
    lines[#lines + 1] = ("  %-15s %s"):format(one.id, changed_text(one.changes))
  end
  for _, one in ipairs(clearest(result)) do
    lines[#lines + 1] = ("\n%s, %s"):format(one.scenario, change_lines(one.change)[1])
    table.move(change_lines(one.change), 2, 5, #lines + 1, lines)
  end
  for _, one in ipairs(result.invariants) do
    lines[#lines + 1] = ("\nbroken rule, %s: %s: %s"):format(one.name, one.scenario, one.text)
  end
  return table.concat(lines, "\n") .. "\n"
end

local function cell(text) return (tostring(text):gsub("|", "\\|")) end

local function markdown_table(head, rows)
  local lines = { "| " .. table.concat(head, " | ") .. " |",
    "|" .. (" --- |"):rep(#head) }
  for _, row in ipairs(rows) do
    local cells = {}
    for i, value in ipairs(row) do cells[i] = cell(value) end
    lines[#lines + 1] = "| " .. table.concat(cells, " | ") .. " |"
  end
  return table.concat(lines, "\n")
end

--- For a pull request.
---@param result blis.gate.Result
---@return string
function report.markdown(result)
  local lines = { ("## %s %s"):format(result.is_regression and "❌"
    or gate.undecided_worse(result) > 0 and "⚠️" or "✅", headline(result)), "",
    about(result), "" }
  local some = told(result, false)
  if #some > 0 then lines[#lines + 1] = markdown_table(header, rows_of(result, some)) .. "\n" end
  local rows = {}
  for i, one in ipairs(result.scenarios) do
    rows[i] = { one.id, one.what or "", changed_text(one.changes) }
  end
  lines[#lines + 1] = markdown_table({ "scenario", "what", "decisions that change" }, rows)
  for _, one in ipairs(result.invariants) do
    lines[#lines + 1] = ("\n- **%s** (%s): %s"):format(one.name, one.scenario, one.text)
  end
  for _, one in ipairs(clearest(result)) do
    lines[#lines + 1] = ("\n**%s**, %s"):format(one.scenario, change_lines(one.change)[1])
    lines[#lines + 1] = "```"
    table.move(change_lines(one.change), 2, 5, #lines + 1, lines)
    lines[#lines + 1] = "```"
  end
  lines[#lines + 1] = "\n<details><summary>All figures</summary>\n\n"
    .. markdown_table(header, rows_of(result, told(result, true))) .. "\n\n</details>"
  return table.concat(lines, "\n") .. "\n"
end

local function terms_json(terms)
  local list = {}
  for i, term in ipairs(terms) do
    list[i] = json.object("scorer", term.scorer, "weight", term.weight, "chosen", term.a, "other",
      term.b, "gain", term.gain)
  end
  return json.list(list)
end

local function change_json(change)
  return json.object("request", change.request, "time_us", change.time_us, "base", change.base,
    "new", change.new, "dominated", change.dominated or false, "base_terms",
    terms_json(change.base_terms), "new_terms", terms_json(change.new_terms))
end

--- For programs.
---@param result blis.gate.Result
---@return string
function report.json(result)
  local comparisons, scenarios, rules = {}, {}, {}
  for i, one in ipairs(result.comparisons) do
    local pair = one.pair
    comparisons[i] = json.object("scenario", one.scenario, "figure", one.figure.name, "base",
      pair.mean_a, "new", pair.mean_b, "kind", pair.kind, "change", pair.change, "low", pair.low,
      "high", pair.high, "adjusted_p", one.adjusted_p, "verdict", one.verdict)
  end
  for i, one in ipairs(result.scenarios) do
    local list = {}
    for k, change in ipairs(one.changes.list) do list[k] = change_json(change) end
    scenarios[i] = json.object("id", one.id, "decisions", one.changes.asked, "changed",
      one.changes.changed, "is_complete", one.changes.is_complete, "changes", json.list(list))
  end
  for i, one in ipairs(result.invariants) do
    rules[i] = json.object("scenario", one.scenario, "name", one.name, "text", one.text)
  end
  local undecided, findings = undecided_text(result), { verdict.few_seeds(result.seeds) }
  if undecided then
    findings[#findings + 1] = { code = "undecided", status = "warning", text = undecided }
  end
  return json.encode(json.object(
    "verdict", verdict.json(findings),
    "regression", result.is_regression, "headline", headline(result),
    "base", result.base.name, "new", result.new.name, "suite", result.suite, "seeds",
    result.seeds, "comparisons", json.list(comparisons), "scenarios", json.list(scenarios),
    "broken_rules", json.list(rules))) .. "\n"
end

local entities = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;" }

local function xml(text) return (tostring(text):gsub('[&<>"]', entities)) end

local function case(class, name, failure)
  local open = ('    <testcase classname="%s" name="%s"'):format(xml(class), xml(name))
  if not failure then return open .. "/>" end
  return ('%s>\n      <failure message="%s"/>\n    </testcase>'):format(open, xml(failure))
end

--- Test cases as CI systems read them: one for each metric of a scenario, and the rules.
---@param result blis.gate.Result
---@return string
function report.junit(result)
  local cases, failures = {}, 0
  local function add(class, name, failure)
    cases[#cases + 1] = case(class, name, failure)
    if failure then failures = failures + 1 end
  end
  for _, one in ipairs(result.comparisons) do
    add(one.scenario, one.figure.title, one.verdict == "regression" and ("%s to %s, %s (%s)")
      :format(number(one.pair.mean_a), number(one.pair.mean_b),
        words.change(one.pair, one.pair.change), interval(one.pair)))
  end
  for _, one in ipairs(result.invariants) do add(one.scenario, one.name, one.text) end
  if #result.invariants == 0 then add("rules", "no rule is broken", nil) end
  if result.reviewed then
    local changed = result.reviewed.changed
    add("reviewed", result.reviewed.path, #changed > 0 and "differs in "
      .. table.concat(changed, ", ") or nil)
  end
  return ('<?xml version="1.0" encoding="UTF-8"?>\n<testsuites>\n  <testsuite name="blis gate" '
    .. 'tests="%d" failures="%d">\n%s\n  </testsuite>\n</testsuites>\n'):format(#cases, failures,
    table.concat(cases, "\n"))
end

return report
