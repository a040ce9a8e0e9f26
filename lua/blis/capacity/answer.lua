--- What searches print: their answer in one line, and what is behind it.
local show = require "blis.show"
local verdict = require "blis.results.verdict"

local answer = {}

--- Lines of the answer: the verdict unless it is ok, the answer, its range over the model's error,
--- the question, all measured points, and notes.
---@param found { headline: fun(self), table: fun(self), accuracy: (fun(self): string?)?,
--- notes: string[], verdict: blis.RunVerdict? }
---@param asked string
---@param more? string[] lines between the table and the notes
---@return string
function answer.text(found, asked, more)
  local lines = found.verdict and verdict.lines(found.verdict) or {}
  if #lines > 0 then lines[#lines + 1] = "" end
  lines[#lines + 1] = found:headline()
  lines[#lines + 1] = found.accuracy and found:accuracy() or nil
  table.move({ asked, "", found:table() }, 1, 3, #lines + 1, lines)
  if more and #more > 0 then
    lines[#lines + 1] = ""
    table.move(more, 1, #more, #lines + 1, lines)
  end
  for _, note in ipairs(found.notes) do lines[#lines + 1] = "note: " .. note end
  return table.concat(lines, "\n")
end

--- The class of a kind of answer; made(found) gives it the methods.
---@param name string as type() of its metatable says
---@return table class, fun(found: table): table made
function answer.class(name)
  local class = { __name = name }
  class.__index = class
  return class, function(found) return setmetatable(show.figures(found), class) end
end

return answer
