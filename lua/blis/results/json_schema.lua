--- The schema of `--format json`: share/schema/blis-result-1.json. Regenerate it after adding a
--- metric. Removing a metric or changing a type requires a new version.
---
---   blis -e 'io.write(require("blis.results.json_schema").generate())' \
---     >share/schema/blis-result-1.json
local figures = require "blis.results.figures"
local json = require "blis.json"
local result_json = require "blis.results.json"

local json_schema = {}

local object = json.object

-- JSON types of metrics that are not classes; the rest is open.
local of_type = {
  integer = { type = "integer" }, number = { type = "number" }, string = { type = "string" },
  boolean = { type = "boolean" }, ["integer[]"] = object("type", "array", "items",
    { type = "integer" }), ["number[]"] = object("type", "array", "items", { type = "number" }),
  ["blis.Series"] = object("type", "array", "items", { type = "object" }),
}

--- Requests are written to a separate file.
local not_written = { ["blis.Requests"] = true, ["blis.StepLog"] = true,
  ["blis.TimelineLog"] = true }
local function is_written(figure) return not not_written[figure.type] end

local function schema_of(figure)
  local found
  if figure.class then
    found = object("$ref", "#/$defs/" .. figure.class)
    if figure.is_list or figure.is_named then found = object("type", "array", "items", found) end
  else
    found = of_type[figure.type:gsub("%?$", "")] or object()
  end
  local doc = figure.doc .. (figure.unit and (" (%s)"):format(figure.unit) or "")
  if getmetatable(found) == getmetatable(object()) then
    return object("description", doc, table.unpack(found.pairs_of, 1, found.pairs_of.n))
  end
  return object("description", doc, "type", found.type)
end

--- { name, schema, ... } of a class, including inherited fields.
local function properties_of(name, list)
  for _, figure in ipairs(figures.of(name)) do
    if is_written(figure) then
      list[#list + 1] = figure.name
      list[#list + 1] = schema_of(figure)
    end
  end
  return object(table.unpack(list))
end

--- The text of the file.
---@return string
function json_schema.generate()
  local classes = {}
  for _, class in ipairs(figures.classes) do
    if class.name ~= "Result" then
      classes[#classes + 1] = class.name
      classes[#classes + 1] = object("type", "object", "description", class.summary, "properties",
        properties_of(class.name, {}))
    end
  end
  return json.encode(object("$schema", "https://json-schema.org/draft/2020-12/schema",
    "title", result_json.format, "description", "A result, as printed by blis run --format json. "
      .. "Metrics can be added; existing metrics remain.",
    "type", "object", "required", { "format", "arrived", "completed", "routing", "hash" },
    "properties", properties_of("Result", { "format", object("const", result_json.format),
      "fitness", object("type", "object"), "saturation", object("type", "object") }),
    "$defs", object(table.unpack(classes)))):gsub('},"', '},\n"') .. "\n"
end

return json_schema
