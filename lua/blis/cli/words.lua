--- Splits a string into arguments, as a shell does.
local words = {}

--- The token at a position of the string: its kind, and the position of the next token; nil for an
--- unclosed quote.
local function piece_at(text, at)
  local mark = text:match("^[\"']", at)
  local close = mark and text:find(mark, at + 1, true)
  if close then return text:sub(at + 1, close - 1), close + 1 end
  if mark then return nil end
  return text:match("^([^\"'%s]+)()", at)
end

--- Quoted parts belong to one word, unchanged; a backslash has no effect.
---@param text string
---@return string[]? list nil when a quote is not closed
function words.split(text)
  local list, at = {}, text:match "^%s*()"
  while at <= #text do
    local word = ""
    while text:find("^%S", at) do
      local piece, behind = piece_at(text, at)
      if not piece then return nil end
      word, at = word .. piece, behind
    end
    list[#list + 1], at = word, text:match("^%s*()", at)
  end
  return list
end

return words
