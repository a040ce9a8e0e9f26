--- Tables as short, readable Lua: for values at the prompt, and for results as text.
local core = require "blis.core"
local format = require "blis.format"
local sorted = require "blis.sorted"

local show = {}

local usual_width = 100
local most_depth = 5
local most_items = 24 -- of a list
local most_lines = 60
local most_letters = 70

local reserved = {}
for word in ([[and break do else elseif end false for function goto if in local nil not or repeat
return then true until while]]):gmatch "%a+" do reserved[word] = true end

local escapes = { ["\n"] = "\\n", ["\r"] = "\\r", ["\t"] = "\\t", ['"'] = '\\"', ["\\"] = "\\\\" }

--- A quoted string, truncated if long; control characters are escaped.
local function quoted(text)
  local rest = #text - most_letters
  if rest > 0 then text = text:sub(1, most_letters) end
  text = text:gsub('[%c"\\]', function(letter)
    return escapes[letter] or ("\\%03d"):format(letter:byte())
  end)
  return rest > 0 and ('"%s" .. %d more'):format(text, rest) or '"' .. text .. '"'
end

local function number_text(x)
  if math.type(x) == "integer" then return ("%d"):format(x) end
  if x ~= x then return "nan" end
  if math.abs(x) == math.huge then return x > 0 and "inf" or "-inf" end
  local text = ("%.7g"):format(x)
  return math.tointeger(text) and text .. ".0" or text
end

-- What scripts call functions of blis.
local public_names = setmetatable({}, { __mode = "k" })

local function function_text(fn)
  if public_names[fn] then return "function " .. public_names[fn] end
  local info = debug.getinfo(fn, "S")
  if info.what == "C" then return "function" end
  return ("function of %s:%d"):format(info.short_src, info.linedefined)
end

--- The first line of what a value says of itself.
local function own_text(value)
  local ok, text = pcall(tostring, value)
  if not ok then return type(value) end
  local first, rest = text:match "^([^\n]*)(.*)$"
  return rest:find "%S" and first .. " ..." or first
end

local figures_type = "blis.figures"

local function is_plain(value)
  local meta = debug.getmetatable(value)
  return meta == nil or meta.__name == figures_type or not meta.__tostring
end

local function scalar_text(value)
  local kind = type(value)
  if kind == "string" then return quoted(value) end
  if kind == "number" then return number_text(value) end
  if kind == "function" then return function_text(value) end
  if kind == "table" or kind == "userdata" then return own_text(value) end
  return tostring(value)
end

local function key_text(key)
  if type(key) ~= "string" then return "[" .. scalar_text(key) .. "]" end
  return key:find "^[%a_][%w_]*$" and not reserved[key] and key or "[" .. quoted(key) .. "]"
end

--- Keys other than 1 to count: strings in order, then others in the order of their text.
local function other_keys(value, count)
  local others = {}
  for key in next, value do
    local is_item = math.type(key) == "integer" and key >= 1 and key <= count
    if type(key) ~= "string" and not is_item then others[#others + 1] = key end
  end
  table.sort(others, function(a, b)
    if type(a) == "number" and type(b) == "number" then return a < b end
    return tostring(a) < tostring(b)
  end)
  local names = sorted.names(value)
  return table.move(others, 1, #others, #names + 1, names)
end

local render

--- The items of a table, each as { prefix, value }, and the number of omitted items.
local function items_of(value)
  local items, count = {}, rawlen(value)
  for i = 1, math.min(count, most_items) do items[i] = { "", rawget(value, i) } end
  local left_out = count - #items
  for _, key in ipairs(other_keys(value, count)) do
    items[#items + 1] = { key_text(key) .. " = ", rawget(value, key) }
  end
  return items, left_out
end

local function one_line(parts, left_out)
  if left_out > 0 then parts[#parts + 1] = ("... %d more"):format(left_out) end
  return #parts == 0 and "{}" or "{ " .. table.concat(parts, ", ") .. " }"
end

--- Parts in lines: short ones share a line, tables have their own.
local function filled(parts, is_table, room)
  local lines, open = {}, nil
  for i, part in ipairs(parts) do
    local length = #part + 2
    if open and not is_table[i] and open + length <= room then
      lines[#lines] = lines[#lines] .. " " .. part .. ","
      open = open + length
    else
      lines[#lines + 1] = part .. ","
      open = not is_table[i] and length or nil
    end
  end
  return lines
end

local function many_lines(parts, is_table, left_out, indent, room, state)
  local lines = { "{" }
  for _, line in ipairs(filled(parts, is_table, room - 2)) do
    lines[#lines + 1] = indent .. "  " .. line
  end
  if left_out > 0 then
    lines[#lines + 1] = ("%s  -- %d more"):format(indent, left_out)
  end
  lines[#lines + 1] = indent .. "}"
  state.lines = state.lines + #lines - 1
  return table.concat(lines, "\n")
end

local function table_text(value, indent, room, depth, state)
  if state.above[value] then return "{ --[[ shown above ]] }" end
  if depth > most_depth then return next(value) == nil and "{}" or "{ ... }" end
  state.above[value] = true
  local items, left_out = items_of(value)
  local parts, is_table, length, has_lines = {}, {}, 4, false
  for i, item in ipairs(items) do
    if state.lines + i > most_lines then -- the rest of it would not be read
      left_out = left_out + #items - i + 1
      break
    end
    local before = item[1]
    parts[i] = before .. render(item[2], indent .. "  ", room - 2 - #before, depth + 1, state)
    length = length + (utf8.len(parts[i]) or #parts[i]) + 2
    is_table[i] = type(item[2]) == "table"
    has_lines = has_lines or parts[i]:find("\n", 1, true) ~= nil
  end
  state.above[value] = nil
  if not has_lines and length <= room then return one_line(parts, left_out) end
  return many_lines(parts, is_table, left_out, indent, room, state)
end

function render(value, indent, room, depth, state)
  if type(value) == "table" and is_plain(value) then
    return table_text(value, indent, room, depth, state)
  end
  return scalar_text(value)
end

--- A value as a short piece of Lua: long lists, deep tables, and long strings are truncated.
---@param value any
---@param width? integer of a line, 100 by default
---@return string
function show.text(value, width)
  return render(value, "", width or usual_width, 1, { above = {}, lines = 0 })
end

core.set_tostring(figures_type, function(value) return show.text(value) end)

local function module_text(name, module)
  if getmetatable(module).__call then
    return ("function %s; help(%s) explains it"):format(name, name)
  end
  local functions = {}
  for _, key in ipairs(sorted.names(module)) do
    if type(rawget(module, key)) == "function" then functions[#functions + 1] = key end
  end
  local text = ('%s has %s; help(%s.%s) explains the first one'):format(name,
    table.concat(functions, ", "), name, functions[1])
  return table.concat(format.wrap(text, usual_width), "\n")
end

--- Makes a table of functions, and nested ones, print their content; their functions print their
--- names.
---@param name string that scripts have for it: "blis"
---@param module table
function show.module(name, module)
  local meta = getmetatable(module) or {}
  if not meta.__tostring then
    meta.__tostring = function() return module_text(name, module) end
    setmetatable(module, meta)
  end
  public_names[module] = name
  for key, value in next, module do
    local its = name .. "." .. tostring(key)
    if type(value) == "function" then public_names[value] = its end
    if type(value) == "table" then show.module(its, value) end
  end
end

--- What scripts call a function, or a table of functions, of blis; nil for others.
---@param value any
---@return string?
function show.name_of(value) return public_names[value] end

--- Lets a table without a metatable, and those in it, print like that.
---@generic T: table
---@param value T
---@return T value
function show.figures(value)
  return core.printable(value)
end

return show
