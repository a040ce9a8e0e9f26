--- Pictures of charts: as characters, or as files (SVG, PNG, PDF, text).
local core = require "blis.core"
local deferred = require "blis.deferred"
local endings = require "blis.endings"
local errors = require "blis.errors"
local svg = deferred "blis.plot.svg"
local text = require "blis.plot.text"

local plot = {}

---@class blis.PlotOptions
---@field path? string a file: .svg, .png and .pdf (with rsvg-convert of package librsvg2-bin), .txt
---@field width? integer text: characters, default 72. Files: pixels per chart, default 720
---@field height? integer text: lines, default 18. Files: pixels, default 400
---@field log? "x"|"y"|"xy" axes that are logarithmic

local logs = { x = true, y = true, xy = true }

-- What can be drawn at all, in characters and in pixels.
local least, most = 5, 20000

--- Raises for unknown options and invalid values.
---@param given any
---@param more? string[] names of further options
---@return table
function plot.check_options(given, more)
  if given ~= nil and type(given) ~= "table" then
    errors.invalid("plot: %s: expected a table of options", errors.invalid_value(given))
  end
  local options = given or {}
  local names = { "path", "width", "height", "log" }
  table.move(more or {}, 1, #(more or {}), #names + 1, names)
  errors.check_names(options, names, "plot", "option")
  for _, name in ipairs { "width", "height" } do
    local value = options[name]
    if value ~= nil and (math.type(value) ~= "integer" or value < least or value > most) then
      errors.invalid("plot: %s: %s: expected an integer from %d to %d", name,
        errors.invalid_value(value), least, most)
    end
  end
  if options.log ~= nil and not logs[options.log] then
    errors.invalid("plot: log: %s: expected 'x', 'y' or 'xy'",
      errors.invalid_value(options.log))
  end
  if options.path ~= nil then
    endings.check("plot", options.path, endings.picture)
  end
  return options
end

--- Raises for a logarithmic axis with values that have no logarithm.
local function check_logs(list, log)
  for _, given in ipairs(list) do
    for key in log:gmatch "." do
      local axis = given[key]
      local first, last = 1, 1
      if key == "y" then first, last = 2, #given.data end
      if given.kind then
        errors.invalid("plot: log: the axes of '%s' cannot be logarithmic", given.title)
      end
      for i = first, last do
        for _, value in ipairs(given.data[i]) do
          if value and value <= 0 then
            errors.invalid("plot: log: %s is %g at a point, but must be above 0", axis.label,
              value)
          end
        end
      end
      given[key] = { label = axis.label, unit = axis.unit, percent = axis.percent, log = true }
    end
  end
end

local function quoted(word) return "'" .. word:gsub("'", "'\\''") .. "'" end

-- The first bytes of a file of each kind.
local signatures = { png = "\137PNG", pdf = "%PDF" }

--- The bytes of a PNG or PDF, by the program of librsvg2-bin.
---@param picture string SVG
---@param kind "png"|"pdf"
---@param path string for messages
---@return string
local function converted(picture, kind, path)
  local ok, pipe = pcall(io.popen, "command -v rsvg-convert 2>/dev/null", "r")
  local found = ok and pipe and pipe:read "a" or ""
  if ok and pipe then pipe:close() end
  if found == "" then
    errors.invalid("plot: '%s' requires the program rsvg-convert, which is not installed (Debian: "
      .. "apt-get install librsvg2-bin); a name that ends in .svg does not", path)
  end
  local name = os.tmpname()
  local file <close> = assert(io.open(name, "w"))
  file:write(picture)
  file:close()
  local convert <close> = assert(io.popen(("rsvg-convert --zoom %d --format %s %s 2>&1")
    :format(kind == "png" and 2 or 1, kind, quoted(name)), "r"))
  local bytes = convert:read "a"
  convert:close()
  os.remove(name)
  if bytes:sub(1, 4) ~= signatures[kind] then
    errors.invalid("plot: '%s': rsvg-convert failed: %s", path, bytes:sub(1, 300))
  end
  return bytes
end

--- Draws charts: returns them as characters, or writes options.path, whole or not at all.
---@param list blis.plot.Chart[] whose axes may become logarithmic
---@param options blis.PlotOptions that are checked
---@return string? picture of characters, where there is no path
function plot.draw(list, options)
  if options.log then check_logs(list, options.log) end
  if not options.path then return text.draw(list, options) end
  local kind = options.path:lower():match "%.(%w+)$"
  local is_picture = kind == "svg" or signatures[kind] ~= nil
  local bytes = is_picture and svg.document(list, options) or text.draw(list, options) .. "\n"
  if signatures[kind] then bytes = converted(bytes, kind, options.path) end
  local output <close> = errors.located(core.output, options.path)
  errors.located(output.write, output, bytes)
  errors.located(output.commit, output)
end

return plot
