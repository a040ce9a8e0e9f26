--- Pieces of SVG: text that cannot become markup, marks that can be told apart, paths.
local markup = require "blis.markup"

local shapes = {}

--- As many as pages have; see styles.
shapes.colours = 8

-- One mark per colour, so that series can be distinguished without colours.
local marks = {
  "m-4 0a4 4 0 1 0 8 0a4 4 0 1 0 -8 0z", "m-3.6 -3.6h7.2v7.2h-7.2z", "m0 -4.8l4.6 8.4h-9.2z",
  "m0 -5l5 5l-5 5l-5 -5z", "m0 4.8l4.6 -8.4h-9.2z",
  "m-1.4 -4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z",
  "m-4.6 -2.2h9.2v4.4h-9.2z", "m-2.2 -4.6h4.4v9.2h-4.4z",
}

--- Colours for light and for dark places.
shapes.styles = [[
<style>
text{font:12px sans-serif;fill:#1c2733}
.title{font-weight:bold;font-size:14px}
.soft{fill:#5b6875}
.paper{fill:#fff}
.grid{stroke:#d8dde3;fill:none}
.zero{stroke:#5b6875;fill:none;stroke-dasharray:3 3}
.line{fill:none;stroke-width:1.6;stroke-linejoin:round}
.c0{fill:#0072b2;stroke:#0072b2}
.c1{fill:#d55e00;stroke:#d55e00}
.c2{fill:#00896a;stroke:#00896a}
.c3{fill:#b0598a;stroke:#b0598a}
.c4{fill:#7a6a00;stroke:#7a6a00}
.c5{fill:#3d8fc4;stroke:#3d8fc4}
.c6{fill:#8a4fbf;stroke:#8a4fbf}
.c7{fill:#6b6b6b;stroke:#6b6b6b}
.line{fill:none}
.mark{stroke-width:0.5}
.heat{fill:#0072b2}
.limit{stroke:#b3470e;fill:none;stroke-dasharray:2 3}
.limit-text{fill:#b3470e;font-size:11px}
@media (prefers-color-scheme:dark){
text{fill:#e6eaee}
.soft{fill:#a2adb8}
.paper{fill:#14181d}
.grid{stroke:#364049}
.zero{stroke:#a2adb8}
.c0{fill:#5db4e8;stroke:#5db4e8}
.c1{fill:#f0924f;stroke:#f0924f}
.c2{fill:#4fd1a8;stroke:#4fd1a8}
.c3{fill:#e59bc4;stroke:#e59bc4}
.c4{fill:#e3cf57;stroke:#e3cf57}
.c5{fill:#9bd0f0;stroke:#9bd0f0}
.c6{fill:#c39bea;stroke:#c39bea}
.c7{fill:#b5b5b5;stroke:#b5b5b5}
.line{fill:none}
.heat{fill:#5db4e8}
.limit{stroke:#f0924f}
.limit-text{fill:#f0924f}
}
</style>
]]

--- Upper bound of the width of a string in pixels, for usual fonts.
---@param text string
---@param size? number default 12
---@return number
function shapes.text_width(text, size)
  return (utf8.len(text) or #text) * 0.61 * (size or 12)
end

--- Shortens a string to at most `width` pixels; a shortened string ends in "…".
---@param text string
---@param width number
---@param size? number
---@return string
function shapes.fitted(text, width, size)
  if shapes.text_width(text, size) <= width then return text end
  local kept = math.max(1, math.floor(width / (0.61 * (size or 12))) - 1)
  if not utf8.len(text) then return text:sub(1, kept) .. "…" end
  return text:sub(1, utf8.offset(text, kept + 1) - 1) .. "…"
end

--- A text element; class and anchor ("middle", "end") are optional.
---@param x number
---@param y number
---@param text string
---@param class? string
---@param anchor? string
---@return string
function shapes.text(x, y, text, class, anchor)
  return ('<text x="%.1f" y="%.1f"%s%s>%s</text>'):format(x, y,
    class and (' class="%s"'):format(class) or "",
    anchor and (' text-anchor="%s"'):format(anchor) or "", markup.escape(text))
end

---@param class string
---@param d string path data of SVG
---@param rest? string further attributes
---@return string
function shapes.path(class, d, rest)
  return ('<path class="%s" d="%s"%s/>'):format(class, d, rest or "")
end

--- The class of the colour of the i-th series.
function shapes.colour(i) return ("c%d"):format((i - 1) % shapes.colours) end

-- Later lines cover earlier ones. The first line is solid. Each further line has gaps that show the
-- lines below it. The gaps differ in length, so that they do not coincide.
local dashes = { {}, { 12, 6 }, { 5, 5 }, { 12, 5, 2, 5 }, { 2, 4 }, { 7, 5, 2, 5, 2, 5 }, { 3, 6 },
  { 9, 9 } }

--- Lengths of the dashes and gaps of the i-th series, in pixels; empty for a solid line. Series
--- that share a colour have different dashes.
---@param i integer
---@return number[]
function shapes.dashes(i)
  return dashes[(i - 1 + (i - 1) // shapes.colours) % #dashes + 1]
end

--- The line of the i-th series.
---@param i integer
---@param d string path data of SVG
---@return string
function shapes.line(i, d)
  local lengths = shapes.dashes(i)
  return shapes.path("line " .. shapes.colour(i), d,
    #lengths > 0 and (' stroke-dasharray="%s"'):format(table.concat(lengths, " ")) or nil)
end

--- The mark of the i-th series.
---@param i integer
---@param x number
---@param y number
---@return string
function shapes.mark(i, x, y)
  return shapes.path("mark " .. shapes.colour(i),
    ("M%.1f %.1f%s"):format(x, y, marks[(i - 1) % #marks + 1]))
end

--- A small one.
function shapes.dot(i, x, y)
  return ('<circle class="mark %s" cx="%.1f" cy="%.1f" r="2"/>'):format(shapes.colour(i), x, y)
end

return shapes
