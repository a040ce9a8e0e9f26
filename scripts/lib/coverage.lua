--- docs/coverage.lua as a page: build-dev/blis scripts/lib/coverage.lua >docs/coverage.md
local coverage = {}

--- Places in the repository are links, tests with their titles, commands are code.
local function shown_as(witness)
  if witness:find "^blis " then return "`" .. witness .. "`" end
  local path, title = witness:match "^([^:]+): (.+)$"
  path = path or witness
  local link = ("[%s](../%s)"):format(path, path)
  return title and ("%s: “%s”"):format(link, title) or link
end

--- What is true of a row: "shown", "differs", "waits" or "left out".
function coverage.status(row)
  return row.waits and "waits" or row.left_out and "left out" or row.differs and "differs"
    or "shown"
end

local function row_of(row)
  local said = row.waits or row.left_out or row.differs
  local where = {}
  for i = 3, #row do where[#where + 1] = shown_as(row[i]) end
  local status = coverage.status(row)
  return ("| %s | %s | %s | %s |"):format(row[1], row[2],
    said and ("%s: %s"):format(status, said) or status, table.concat(where, "<br>"))
end

--- The page.
---@param documents table[] docs/coverage.lua
---@return string
function coverage.markdown(documents)
  local lines = {
    "# The design documents, row by row", "",
    "Written by scripts/lib/coverage.lua of docs/coverage.lua; a test holds every place named here",
    "against what there is. *Shown*: see there. *Differs*: on purpose, with the option that is the",
    "document's. *Waits*: not there yet. *Left out*: not to be shown, with the reason.", "",
    "| document | shown | differs | waits | left out |", "|---|---|---|---|---|",
  }
  local tables = {}
  for _, document in ipairs(documents) do
    local counts = { shown = 0, differs = 0, waits = 0, ["left out"] = 0 }
    tables[#tables + 1] = ("\n## %s\n\n| place | asks for | here | where |\n|---|---|---|---|")
      :format(document.title)
    for _, row in ipairs(document.rows) do
      local status = coverage.status(row)
      counts[status] = counts[status] + 1
      tables[#tables + 1] = row_of(row)
    end
    lines[#lines + 1] = ("| %s | %d | %d | %d | %d |"):format(document.title, counts.shown,
      counts.differs, counts.waits, counts["left out"])
  end
  return table.concat(lines, "\n") .. "\n" .. table.concat(tables, "\n") .. "\n"
end

if arg and arg[0] and arg[0]:find "coverage%.lua$" then
  io.write(coverage.markdown(dofile "docs/coverage.lua"))
end

return coverage
