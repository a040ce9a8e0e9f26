--- HTML from Lua: elements are values, and every text in them is escaped.
---
---     html.write(html.p("5 < 6"))   --> "<p>5 &lt; 6</p>"
local markup = require "blis.markup"

local html = {}

local element_meta = {}

html.escape = markup.escape

-- Void elements. All elements of SVG have end tags.
local is_void = { meta = true, br = true, wbr = true }

---@class blis.page.Element
---@field tag string
---@field attributes table<string, string|number|true>
---@field children any[] elements, strings, numbers, and lists of them

--- Creates an element: new("p", { class = "soft" }, "text", other). Attributes are optional.
---@param tag string
---@param ... any attributes first, if any; then children
---@return blis.page.Element
function html.new(tag, ...)
  local children, attributes = { ... }, {}
  local first = children[1]
  if type(first) == "table" and getmetatable(first) ~= element_meta and first[1] == nil then
    attributes = table.remove(children, 1)
  end
  return setmetatable({ tag = tag, attributes = attributes, children = children }, element_meta)
end

setmetatable(html, { __index = function(_, tag)
  return function(...) return html.new(tag, ...) end
end })

--- Text that is HTML already, from here and not from who uses blis.
---@param text string
---@return blis.page.Element
function html.raw(text)
  return setmetatable({ raw = text }, element_meta)
end

local function add_attributes(out, attributes)
  local names = {}
  for name in pairs(attributes) do names[#names + 1] = name end
  table.sort(names)
  for _, name in ipairs(names) do
    local value = attributes[name]
    out[#out + 1] = value == true and " " .. name
      or (' %s="%s"'):format(name, html.escape(tostring(value)))
  end
end

--- Letters that are written from right to left, of Hebrew, Arabic and their neighbours.
local function is_from_right(code)
  return code >= 0x590 and code <= 0x8ff or code >= 0xfb1d and code <= 0xfdff
    or code >= 0xfe70 and code <= 0xfeff
end

--- Where words from right to left end that begin at a place; spaces between them belong to them.
local function end_of_words(text, from)
  local last = from
  for at, code in utf8.codes(text:sub(from)) do
    if is_from_right(code) then
      last = from + at + #utf8.char(code) - 1
    elseif code ~= 0x20 then
      break
    end
  end
  return last
end

--- Escaped text with right-to-left words in separate elements, so that they do not reorder adjacent
--- text.
local function isolated(text)
  if not text:find "[\xd6-\xdf\xe0\xef]" then return text end
  local pieces, from = {}, 1
  for at, code in utf8.codes(text) do
    if at >= from and is_from_right(code) then
      local last = end_of_words(text, at)
      pieces[#pieces + 1] = ("%s<bdi>%s</bdi>"):format(text:sub(from, at - 1),
        text:sub(at, last - 1))
      from = last
    end
  end
  pieces[#pieces + 1] = text:sub(from)
  return table.concat(pieces)
end

-- Elements whose content is plain text.
local has_text_alone = { title = true }

local function add(out, node, tag)
  if type(node) ~= "table" then
    local text = html.escape(tostring(node))
    out[#out + 1] = has_text_alone[tag] and text or isolated(text)
  elseif getmetatable(node) ~= element_meta then
    for _, child in ipairs(node) do add(out, child, tag) end
  elseif node.raw then
    out[#out + 1] = node.raw
  else
    out[#out + 1] = "<" .. node.tag
    add_attributes(out, node.attributes)
    out[#out + 1] = ">"
    if is_void[node.tag] then return end
    for _, child in ipairs(node.children) do add(out, child, node.tag) end
    out[#out + 1] = "</" .. node.tag .. ">"
  end
end

--- The text of elements and lists of them.
---@param node any
---@return string
function html.write(node)
  local out = {}
  add(out, node)
  return table.concat(out)
end

return html
