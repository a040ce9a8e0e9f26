--- A page in a single file: it contains its styles, scripts, and data, and loads nothing. A content
--- security policy allows only the scripts and styles of blis, by hash, so that no text can become
--- a script.
local core = require "blis.core"
local endings = require "blis.endings"
local html = require "blis.page.html"
local markup = require "blis.markup"

local document = {}

local base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

--- Hexadecimal digits of whole bytes as base64.
---@param hex string
---@return string
function document.base64(hex)
  local bytes = hex:gsub("%x%x", function(pair) return string.char(tonumber(pair, 16)) end)
  local parts = {}
  for at = 1, #bytes, 3 do
    local a, b, c = bytes:byte(at, at + 2)
    local bits = a << 16 | (b or 0) << 8 | (c or 0)
    for k = 0, 3 do
      local digit = bits >> (18 - 6 * k) & 63
      local is_padding = k == 2 and not b or k == 3 and not c
      parts[#parts + 1] = is_padding and "=" or base64_digits:sub(digit + 1, digit + 1)
    end
  end
  return table.concat(parts)
end

--- A file that comes with blis, as an element, and the source that the policy names.
local function asset(tag, name)
  local text, sha256 = core.embedded("page/" .. name)
  return html.new(tag, html.raw(text)), ("'sha256-%s'"):format(document.base64(sha256))
end

local function assets(tag, names)
  local elements, sources = {}, {}
  for i, name in ipairs(names) do elements[i], sources[i] = asset(tag, name) end
  return elements, table.concat(sources, " ")
end

local function json_escape(control) return ("\\u%04x"):format(utf8.codepoint(control)) end

--- Data for scripts: JSON that cannot end the element or reverse the displayed text.
local function island(id, json)
  json = markup.without_bidi_controls(json, json_escape):gsub("<", "\\u003c")
  return html.script({ type = "application/json", id = id }, html.raw(json))
end

---@class blis.page.Document
---@field title string
---@field body any elements
---@field data table<string, string> JSON by the id of its element
---@field styles string[] files below data/page/
---@field scripts string[]

--- The whole page.
---@param given blis.page.Document
---@return string
function document.text(given)
  local styles, style_sources = assets("style", given.styles)
  local scripts, script_sources = assets("script", given.scripts)
  local policy = table.concat({ "default-src 'none'", "style-src " .. style_sources,
    "script-src " .. script_sources, "img-src data:", "base-uri 'none'", "form-action 'none'" },
    "; ")
  local islands, ids = {}, {}
  for id in pairs(given.data) do ids[#ids + 1] = id end
  table.sort(ids)
  for i, id in ipairs(ids) do islands[i] = island(id, given.data[id]) end
  return "<!doctype html>\n" .. html.write(html.html({ lang = "en" },
    html.head(
      html.meta { charset = "utf-8" },
      html.meta { ["http-equiv"] = "Content-Security-Policy", content = policy },
      html.meta { name = "viewport", content = "width=device-width, initial-scale=1" },
      html.meta { name = "referrer", content = "no-referrer" },
      html.title(given.title), styles),
    html.body(html.main(given.body), islands, scripts))) .. "\n"
end

--- Writes a page to a file, whole or not at all.
---@param path string
---@param given blis.page.Document
function document.write(path, given)
  endings.check("report", path, endings.page)
  local output <close> = core.output(path)
  output:write(document.text(given))
  output:commit()
end

return document
