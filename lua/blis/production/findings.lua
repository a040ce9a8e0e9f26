--- What an import or an export did with each part of a configuration.
local core = require "blis.core"

---@class blis.production.Finding
---@field kind string one of the kinds below
---@field part string what it is about: "queue-scorer", "--router-mode"
---@field text string
---@field line? integer of the file

---@class blis.production.Findings
---@field source string the file
---@field what string what the file was read as
---@field list blis.production.Finding[]
local Findings = {}
Findings.__index = Findings

local findings = {}

-- Kinds of findings, in output order.
local titles = {
  { kind = "taken", title = "taken over" },
  { kind = "rewritten", title = "rewritten: the spelling is deprecated" },
  { kind = "filled", title = "filled in, as the router does" },
  { kind = "ignored", title = "ignored: changes no decision" },
  { kind = "routing", title = "not simulated: changes routing" },
  { kind = "unmapped", title = "has no counterpart there" },
  { kind = "note", title = "notes" },
}

---@param source string
---@param what string
---@return blis.production.Findings
function findings.new(source, what)
  return setmetatable({ source = source, what = what, list = {} }, Findings)
end

--- Adds one; the text is a format.
---@param kind string
---@param part string
---@param line integer?
---@param text string
function Findings:add(kind, part, line, text, ...)
  self.list[#self.list + 1] = { kind = kind, part = part, line = line, text = text:format(...) }
end

---@param kind string
---@return blis.production.Finding[]
function Findings:of(kind)
  local some = {}
  for _, one in ipairs(self.list) do
    if one.kind == kind then some[#some + 1] = one end
  end
  return some
end

local function line_of(one)
  local place = one.line and ("line %d, "):format(one.line) or ""
  return ("  %s%s: %s"):format(place, one.part, one.text)
end

--- For people: a paragraph for each kind.
---@return string
function Findings:text()
  local lines = { ("%s: %s"):format(self.source, self.what) }
  for _, one in ipairs(titles) do
    local some = self:of(one.kind)
    if #some > 0 then lines[#lines + 1] = one.title end
    for _, finding in ipairs(some) do lines[#lines + 1] = line_of(finding) end
  end
  return table.concat(lines, "\n") .. "\n"
end

--- Writes the list into an object of a JSON writer.
function Findings:write(writer)
  writer:array("findings")
  for _, one in ipairs(self.list) do
    writer:object():field("kind", one.kind):field("part", one.part)
    if one.line then writer:field("line", one.line) end
    writer:field("text", one.text):done()
  end
  writer:done()
end

-- Maximum length of quoted text, and maximum number of reported problems.
local longest_quote, most_problems = 120, 40

local function clipped(text)
  return (text:gsub("'([^']+)'", function(quoted)
    return #quoted > longest_quote and ("'%s...'"):format(quoted:sub(1, longest_quote)) or nil
  end))
end

---@class blis.production.Problems problems of a file, collected so that all are reported together
---@field path string
---@field list { line: integer, text: string }[]
local Problems = {}
Problems.__index = Problems

---@param path string
---@return blis.production.Problems
function findings.problems(path) return setmetatable({ path = path, list = {} }, Problems) end

---@param line integer?
---@param text string
function Problems:add(line, text, ...)
  self.list[#self.list + 1] = { line = line or 1, text = clipped(text:format(...)) }
end

--- Raises all problems, in order of their lines; returns without problems.
function Problems:raise()
  if #self.list == 0 then return end
  local order = {}
  for i = 1, #self.list do order[i] = i end
  table.sort(order, function(a, b)
    local x, y = self.list[a], self.list[b]
    if x.line ~= y.line then return x.line < y.line end
    return a < b
  end)
  local lines = {}
  for k, i in ipairs(order) do
    if k > most_problems then
      lines[k] = ("... and %d more"):format(#order - most_problems)
      break
    end
    lines[k] = ("%s:%d: %s"):format(self.path, self.list[i].line, self.list[i].text)
  end
  local object = core.error_object("parse", table.concat(lines, "\n"))
  object.traceback = false
  error(object, 0)
end

return findings
