--- Text as HTML and SVG show it.
local markup = {}

local escapes = { ["&"] = "&amp;", ["<"] = "&lt;", [">"] = "&gt;", ['"'] = "&quot;",
  ["'"] = "&#39;" }

--- The same with "?" in place of every byte that is no UTF-8.
local function repaired(text)
  local pieces, from = {}, 1
  local _, bad = utf8.len(text)
  while bad do
    pieces[#pieces + 1], pieces[#pieces + 2] = text:sub(from, bad - 1), "?"
    from = bad + 1
    _, bad = utf8.len(text, from)
  end
  pieces[#pieces + 1] = text:sub(from)
  return table.concat(pieces)
end

-- Embeddings and overrides, U+202A to U+202E, and isolates, U+2066 to U+2069.
local bidi_controls = { "\xe2\x80[\xaa-\xae]", "\xe2\x81[\xa6-\xa9]" }

--- Escapes also controls of the writing direction, which could make a page show a different text
--- than the source contains.
---@param text string UTF-8
---@param write? fun(control: string): string "[U+202E]"
---@return string
function markup.without_bidi_controls(text, write)
  write = write or function(control) return ("[U+%04X]"):format(utf8.codepoint(control)) end
  for _, pattern in ipairs(bidi_controls) do text = text:gsub(pattern, write) end
  return text
end

--- A string as HTML shows it; invalid UTF-8 and controls become "?".
---@param text string
---@return string
function markup.escape(text)
  if not utf8.len(text) then text = repaired(text) end
  text = markup.without_bidi_controls(text)
  return (text:gsub("[%z\1-\8\11\12\14-\31\127]", "?"):gsub("[&<>\"']", escapes))
end

return markup
