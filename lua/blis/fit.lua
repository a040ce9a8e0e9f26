--- Text for narrow terminals: lines break between words, and bars that do not fit are omitted.
local fit = {}

local function width_of(text) return utf8.len(text) or #text end

-- The bytes of "▁" to "█", and spaces between them, at the end of a line.
local bars = "%s+[\xe2\x96\x81-\x88 ]*\xe2\x96[\x81-\x88]%s*$"

-- The heading of a column of bars.
local bar_title = "%s+min to p99$"

--- Where the text of a line begins behind its title, "  throughput  19.85 requests/s"; lines
--- without a title continue with an indent.
local function hang_of(line)
  local title = line:match "^%s*%S[^:]-%s%s+%f[%S]"
  local indent = #line:match "^%s*"
  return title and #title <= 24 and #title or indent + 4
end

--- The byte behind the last space at which a line can break; nil without one.
local function break_at(line, columns, from)
  local last = utf8.offset(line, columns + 2) or #line + 1
  for at = last - 1, from + 1, -1 do
    if line:sub(at, at) == " " then return at end
  end
  return line:find(" ", last, true)
end

local function broken(line, columns, list)
  local hang = math.min(hang_of(line), columns // 2)
  local from = hang
  while width_of(line) > columns do
    local at = break_at(line, columns, from)
    if not at then break end
    list[#list + 1] = (line:sub(1, at - 1):gsub("%s+$", ""))
    line = (" "):rep(hang) .. line:sub(at + 1):gsub("^%s+", "")
  end
  list[#list + 1] = line
end

--- The text with lines of at most this width, as far as words allow.
---@param text string
---@param columns integer
---@return string
function fit.text(text, columns)
  local list, has_wide_bars = {}, false
  for line in text:gmatch "[^\n]+" do
    has_wide_bars = has_wide_bars or width_of(line) > columns and line:find(bars) ~= nil
  end
  for line in (text .. "\n"):gmatch "(.-)\n" do
    if has_wide_bars then line = line:gsub(bars, ""):gsub(bar_title, "") end
    if width_of(line) <= columns then
      list[#list + 1] = line
    else
      broken(line, columns, list)
    end
  end
  return table.concat(list, "\n")
end

return fit
