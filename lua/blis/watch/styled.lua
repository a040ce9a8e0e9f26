--- Lines for terminals. A line is a list of pieces: { { text, style }, ... }.
local styled = {}

local codes = { dim = "2", strong = "1", cool = "32", warm = "33", hot = "31" }

--- The style of a share of something that should not become full.
---@param share number 0 to 1
---@return string
function styled.heat(share)
  return share >= 0.9 and "hot" or share >= 0.7 and "warm" or "cool"
end

--- Names come from scripts: nothing in them may command the terminal.
local function harmless(text)
  return (text:gsub("%c", "?"):gsub("\xC2[\x80-\x9F]", "?"))
end

--- The first `room` characters of a string, and their number.
local function clip(text, room)
  local length = utf8.len(text)
  if not length then -- invalid UTF-8: each byte counts as a character
    text = text:gsub("[\x80-\xFF]", "?")
    length = #text
  end
  if length <= room then return text, length end
  return text:sub(1, utf8.offset(text, room + 1) - 1), room
end

--- Renders a line with fewer than `columns` characters, so that the cursor stays on the line.
---@param pieces { [1]: string, [2]?: string }[]
---@param columns integer
---@param has_colours boolean
---@return string
function styled.text(pieces, columns, has_colours)
  local parts, room = {}, columns - 1
  for _, piece in ipairs(pieces) do
    local text, length = clip(harmless(piece[1]), room)
    local code = has_colours and codes[piece[2]]
    room = room - length
    if text ~= "" then
      parts[#parts + 1] = code and ("\27[%sm%s\27[0m"):format(code, text) or text
    end
  end
  return table.concat(parts)
end

return styled
