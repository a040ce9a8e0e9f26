--- Charts of characters, for terminals: a letter for each series, ticks at the axes, a legend.
local axis = require "blis.plot.axis"
local chart = require "blis.plot.chart"

local text = {}

local letters = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
local shades = " .:-=+*#%@"

local function letter(i)
  local k = (i - 1) % #letters + 1
  return letters:sub(k, k)
end

--- Pads a string to `width` characters, on the right or left. Characters can have several bytes.
local function padded(word, width, is_right)
  local room = (" "):rep(math.max(0, width - (utf8.len(word) or #word)))
  return is_right and room .. word or word .. room
end

--- Shortens a string to `most` characters, without line breaks and terminal commands.
local function plain(word, most)
  word = word:gsub("[%z\1-\31\127]", "?")
  if not utf8.len(word) then word = word:gsub("[\x80-\xff]", "?") end
  local count = utf8.len(word)
  if count <= most then return word end
  return word:sub(1, utf8.offset(word, most) - 1) .. "…"
end

local function longest(words)
  local most = 0
  for _, word in ipairs(words) do most = math.max(most, utf8.len(word) or #word) end
  return most
end

-- A line of more points than this is drawn in every column.
local most_points = 24

--- Where a line is drawn, as pairs of an x share and a value: at its points, or in every column.
local function places(given, i, x, width)
  local list = {}
  for k, value in ipairs(given.data[i + 1]) do
    local at = given.data[1][k]
    if value and value == value and not (x.is_log and at <= 0) then
      list[#list + 1] = { x:share(at), value }
    end
  end
  local is_points = given.marks or given.series[i].is_points
  if is_points or #list <= most_points and not given.steps then return list end
  local filled, k = {}, 1
  for column = 0, width - 1 do
    local share = column / (width - 1)
    while list[k + 1] and list[k + 1][1] < share do k = k + 1 end
    local from, to = list[k], list[k + 1] or list[k]
    if share >= from[1] and share <= to[1] then
      local between = to[1] > from[1] and (share - from[1]) / (to[1] - from[1]) or 0
      filled[#filled + 1] = { share, given.steps and from[2] or from[2]
        + between * (to[2] - from[2]) }
    end
  end
  return filled
end

--- Places letters on rows of characters; where several series meet there is a star.
local function draw(given, x, y, width, height)
  local canvas, has_meetings = {}, false
  for row = 1, height do
    canvas[row] = {}
    for column = 1, width do canvas[row][column] = " " end
  end
  for i in ipairs(given.series) do
    for _, place in ipairs(places(given, i, x, width)) do
      if not (y.is_log and place[2] <= 0) then
        local column = 1 + math.floor(place[1] * (width - 1) + 0.5)
        local row = height - math.floor(y:share(place[2]) * (height - 1) + 0.5)
        local there, mark = canvas[row][column], letter(i)
        canvas[row][column] = (there == " " or there == mark) and mark or "*"
        has_meetings = has_meetings or canvas[row][column] == "*"
      end
    end
  end
  return canvas, has_meetings
end

--- The line below a canvas, and the numbers and the title below that.
local function add_x_axis(lines, x, margin, width)
  local line, numbers, used = {}, "", 0
  for column = 1, width do line[column] = "-" end
  for i, value in ipairs(x.ticks) do
    local column = math.floor(x:share(value) * (width - 1) + 0.5)
    line[column + 1] = "+"
    local word = x.texts[i]
    local start = math.max(0, margin + 2 + column - #word // 2)
    if start >= used then
      numbers = numbers .. (" "):rep(start - #numbers) .. word
      used = #numbers + 2
    end
  end
  lines[#lines + 1] = (" "):rep(margin) .. " +" .. table.concat(line)
  lines[#lines + 1] = numbers
  lines[#lines + 1] = (" "):rep(margin + 2 + math.max(0, (width - #x.title) // 2)) .. x.title
end

local function add_legend(lines, given, has_meetings)
  local is_one = #given.series == 1 and (given.series[1].label == ""
    or given.series[1].label == given.y.label)
  for i, one in ipairs(is_one and {} or given.series) do
    lines[#lines + 1] = ("  %s  %s"):format(letter(i), plain(one.label, 200))
  end
  if has_meetings then lines[#lines + 1] = "  *  several of them" end
  local same = chart.coinciding(given)
  if same then lines[#lines + 1] = "     " .. plain(same, 200) end
end

local function of_lines(lines, given, width, height)
  local x = axis.new(given, "x", { most = math.max(2, width // 10) })
  local y = axis.new(given, "y", { most = math.max(3, height // 3), is_rounded = not given.y.log })
  local canvas, has_meetings = draw(given, x, y, width, height)
  local labels, margin = {}, longest(y.texts)
  for i, value in ipairs(y.ticks) do
    labels[height - math.floor(y:share(value) * (height - 1) + 0.5)] = y.texts[i]
  end
  lines[#lines + 1] = y.title
  for row = 1, height do
    lines[#lines + 1] = padded(labels[row] or "", margin, true) .. " |"
      .. table.concat(canvas[row])
  end
  add_x_axis(lines, x, margin, width)
  add_legend(lines, given, has_meetings)
end

--- Names of rows, all of one width.
local function names_of(given, width)
  local names = {}
  for i, name in ipairs(given.rows) do names[i] = plain(name, math.max(12, width // 2)) end
  return names, longest(names)
end

local function of_ranges(lines, given, width)
  local x = axis.new(given, "x", { most = math.max(2, width // 10), room = 0.04 })
  local names, margin = names_of(given, width)
  local one = given.series[1]
  local function column(value) return 1 + math.floor(x:share(value) * (width - 1) + 0.5) end
  lines[#lines + 1] = given.caption
  for i, name in ipairs(names) do
    local cells, mean = {}, given.data[1][i]
    for k = 1, width do cells[k] = " " end
    if given.zero then cells[column(0)] = ":" end
    local low, high = one.low and one.low[i], one.high and one.high[i]
    if low and high then
      for k = column(low), column(high) do cells[k] = "-" end
      cells[column(low)], cells[column(high)] = "|", "|"
    end
    if mean then cells[column(mean)] = "o" end
    lines[#lines + 1] = padded(name, margin, false) .. " |" .. table.concat(cells)
  end
  add_x_axis(lines, x, margin, width)
end

--- The mean of the columns of a row that fall on a character.
local function cell(row, column, width)
  local from, to = (column - 1) * #row // width + 1, math.max(1, column * #row // width)
  local sum, count = 0, 0
  for k = math.min(from, to), to do
    if row[k] then sum, count = sum + row[k], count + 1 end
  end
  return count > 0 and sum / count or 0
end

local function of_heat(lines, given, width)
  local x = axis.new({ x = given.x, y = given.y, data = { given.times } }, "x",
    { most = math.max(2, width // 10) })
  local names, margin = names_of(given, width)
  local most, rows = 0, {}
  for r, row in ipairs(given.data) do
    rows[r] = {}
    for column = 1, width do
      rows[r][column] = cell(row, column, width)
      most = math.max(most, rows[r][column])
    end
  end
  lines[#lines + 1] = ("%s: '%s' is 0, '%s' is %s%s"):format(chart.axis_title(given.y),
    shades:sub(1, 1), shades:sub(-1), axis.number(given.y.percent and most * 100 or most),
    given.y.percent and " %" or "")
  for r, row in ipairs(rows) do
    local cells = {}
    for k, value in ipairs(row) do
      local level = most > 0 and math.ceil(value / most * (#shades - 1)) or 0
      cells[k] = shades:sub(level + 1, level + 1)
    end
    lines[#lines + 1] = padded(names[r], margin, true) .. " |" .. table.concat(cells)
  end
  add_x_axis(lines, x, margin, width)
end

---@class blis.plot.TextSize
---@field width? integer characters between the axes; default 72
---@field height? integer lines; default 18

--- Charts drawn with characters, below each other.
---@param list blis.plot.Chart[]
---@param options? blis.plot.TextSize
---@return string
function text.draw(list, options)
  local width = options and options.width or 72
  local height = options and options.height or 18
  local lines = {}
  for i, given in ipairs(list) do
    if i > 1 then lines[#lines + 1] = "" end
    lines[#lines + 1] = plain(given.title, 200)
    local add = given.kind == "ranges" and of_ranges or given.kind == "heat" and of_heat
      or of_lines
    add(lines, given, width, height)
  end
  for i, line in ipairs(lines) do lines[i] = line:gsub("%s+$", "") end
  return table.concat(lines, "\n")
end

return text
