--- HTML from Lua: elements are values, and every text in them is escaped.
---
---     html.write(html.p("5 < 6"))   --> "<p>5 &lt; 6</p>"
local markup = require "blis.markup"

local html = {}

local element_meta = {}

html.escape = markup.escape

-- Elements without an end; those of SVG all have one.
local is_void = { meta = true, br = true, wbr = true }

---@class blis.page.Element
---@field tag string
---@field attributes table<string, string|number|true>
---@field children any[] elements, texts, numbers, and lists of them

--- An element: new("p", { class = "soft" }, "text", other). Attributes may be left out.
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

local function add(out, node)
  if type(node) ~= "table" then
    out[#out + 1] = html.escape(tostring(node))
  elseif getmetatable(node) ~= element_meta then
    for _, child in ipairs(node) do add(out, child) end
  elseif node.raw then
    out[#out + 1] = node.raw
  else
    out[#out + 1] = "<" .. node.tag
    add_attributes(out, node.attributes)
    out[#out + 1] = ">"
    if is_void[node.tag] then return end
    for _, child in ipairs(node.children) do add(out, child) end
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
