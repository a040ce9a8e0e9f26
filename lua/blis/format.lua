--- Numbers and tables as people read them.
local errors = require "blis.errors"

local format = {}

--- 12345 as "12,345".
---@param n integer
---@return string
function format.count(n)
  local text = ("%d"):format(n)
  local sign, digits = text:match("^(%-?)(%d+)$")
  local grouped = digits:reverse():gsub("(%d%d%d)", "%1,"):reverse():gsub("^,", "")
  return sign .. grouped
end

--- A number with a fixed count of decimals and groups of three digits; "-" for none.
---@param x number?
---@param decimals? integer 1 by default
---@return string
function format.number(x, decimals)
  if x == nil or x ~= x then return "-" end
  if math.abs(x) == math.huge then return x > 0 and "inf" or "-inf" end
  local text = ("%%.%df"):format(decimals or 1):format(x)
  local whole, rest = text:match("^(%-?%d+)(.*)$")
  local integer = math.tointeger(tonumber(whole))
  if not integer then return text end
  local grouped = format.count(math.abs(integer))
  return (text:sub(1, 1) == "-" and "-" or "") .. grouped .. rest
end

--- "1 block", "1,200 blocks".
---@param n integer
---@param word string
---@return string
function format.plural(n, word)
  return ("%s %s%s"):format(format.count(n), word, n == 1 and "" or "s")
end

--- "a, b, or c".
---@param list string[]
---@param word string "and" or "or"
---@return string
function format.listed(list, word)
  if #list < 3 then return table.concat(list, (" %s "):format(word)) end
  return ("%s, %s %s"):format(table.concat(list, ", ", 1, #list - 1), word, list[#list])
end

--- 0.1234 as "12.3 %".
---@param share number?
---@return string
function format.percent(share)
  if share == nil or share ~= share then return "-" end
  return ("%.1f %%"):format(share * 100)
end

--- A share of requests: "100.0 %" and "0.0 %" only for all and none of them. 0.99962 is "99.96 %",
--- 0.0004 is "0.04 %".
---@param share number?
---@return string
function format.share(share)
  if share == nil or share ~= share then return "-" end
  local distance = math.min(math.abs(share), math.abs(1 - share)) * 100
  if distance == 0 or distance >= 0.05 then return format.percent(share) end
  for decimals = 2, 4 do
    if distance >= 0.5 * 10 ^ -decimals then
      return ("%%.%df %%%%"):format(decimals):format(share * 100)
    end
  end
  return share < 0.5 and "< 0.0001 %" or "> 99.9999 %"
end

local bars = { "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" }

--- Counts as bars of different heights, one character each; a space for none.
---@param counts integer[]
---@return string
function format.bars(counts)
  local most, cells = 0, {}
  for _, n in ipairs(counts) do most = math.max(most, n) end
  for i, n in ipairs(counts) do
    cells[i] = n == 0 and " " or bars[math.max(1, (2 * n * #bars + most) // (2 * most))]
  end
  return table.concat(cells)
end

--- Words of text in lines of at most limit characters.
---@param text string
---@param limit integer
---@return string[]
function format.wrap(text, limit)
  local lines, line = {}, ""
  for word in text:gmatch("%S+") do
    if line ~= "" and #line + 1 + #word > limit then
      lines[#lines + 1] = line
      line = word
    else
      line = line == "" and word or line .. " " .. word
    end
  end
  lines[#lines + 1] = line
  return lines
end

local function width_of(text)
  return utf8.len(text) or #text
end

--- Rows of strings in columns: the first column left-aligned, all others right-aligned. A row is a
--- single line, whatever names it contains.
---@param header string[]
---@param rows string[][]
---@param indent? string
---@param is_left? table<integer, boolean> other columns to the left
---@return string lines joined by newlines
function format.table(header, rows, indent, is_left)
  local all, widths = {}, {}
  for r, row in ipairs(table.move(rows, 1, #rows, 2, { header })) do
    all[r] = {}
    for i, text in ipairs(row) do
      all[r][i] = errors.escaped(text)
      widths[i] = math.max(widths[i] or 0, width_of(all[r][i]))
    end
  end
  local lines = {}
  for _, row in ipairs(all) do
    local cells = {}
    for i, text in ipairs(row) do
      local padding = (" "):rep(widths[i] - width_of(text))
      local goes_left = i == 1 or is_left and is_left[i]
      cells[i] = goes_left and text .. padding or padding .. text
    end
    lines[#lines + 1] = (indent or "") .. table.concat(cells, "  "):gsub("%s+$", "")
  end
  return table.concat(lines, "\n")
end

return format
