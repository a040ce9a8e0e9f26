--- Generates the annotations of results for editors, which blis.reference also reads. The build
--- writes them to the file `annotations/figures.lua` of the build folder, and installs them as
--- `blis/meta/figures.lua`.
local core = require "blis.core"
local figures = require "blis.results.figures"

local annotations = {}

local function type_of(figure)
  if not figure.class then return figure.type end
  local name = "blis." .. figure.class
  if figure.is_named then return ("table<string|integer, %s>"):format(name) end
  return figure.is_list and name .. "[]" or name
end

local function field_line(figure)
  local name = figure.name:find "[^%w_]" and ('["%s"]'):format(figure.name) or figure.name
  local unit = figure.unit and (" (%s)"):format(figure.unit) or ""
  return ("---@field %s %s %s%s"):format(name, type_of(figure), figure.doc, unit)
end

--- Adds the fields of a request record, see src/cluster/lists/record_fields.h.
local function add_record(lines)
  lines[#lines + 1] = "\n--- A request and how it ended. A value that is not set is nil."
  lines[#lines + 1] = "---@class blis.RequestRecord"
  for _, field in ipairs(core.record_fields()) do
    local type, optional = field.type:match "^(.-)(%??)$"
    lines[#lines + 1] = ("---@field %s%s %s %s"):format(field.name, optional, type, field.doc)
  end
end

--- The text of the annotations.
---@return string
function annotations.generate()
  local lines = {
    "---@meta",
    "--- The figures of results, for editors. Written by blis.results.annotations; do not edit.",
  }
  for _, class in ipairs(figures.classes) do
    local parent = class.parent and " : blis." .. class.parent or ""
    lines[#lines + 1] = "\n--- " .. class.summary
    lines[#lines + 1] = ("---@class blis.%s%s"):format(class.name, parent)
    for _, figure in ipairs(class.figures) do lines[#lines + 1] = field_line(figure) end
  end
  add_record(lines)
  return table.concat(lines, "\n") .. "\n"
end

return annotations
