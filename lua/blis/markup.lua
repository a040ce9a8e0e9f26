--- Text as HTML and SVG show it.
local markup = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  ["'"] = "&#39;" }

--- A text as HTML shows it; bytes that are no UTF-8, and controls, become "?".
---@param text string
---@return string
function markup.escape(text)
  if not utf8.len(text) then text = text:gsub("[\x80-\xff]", "?") end
  return (text:gsub("[%z\1-\8\11\12\14-\31\127]", "?"):gsub("[&<>\"']", escapes))
end

return markup
