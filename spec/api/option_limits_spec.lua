--- Limits and defaults of options. `limits.txt` lists the lowest value, the highest value, and the
--- default of each option ("-": none). A new option can be missing in it. BLIS_UPDATE_GOLDEN=1
--- writes the file.
local annotations = require "blis.config.annotations"
local files = require "spec.support.files"
local golden = require "spec.support.golden"

local path = "spec/api/limits.txt"

local function shown(value)
  if value == nil then return "-" end
  if type(value) == "table" then return "(table)" end
  return (tostring(value):gsub("\n", " "))
end

--- Every option with a number among its limits and defaults, in order.
local function all_lines()
  local lines, is_listed = {}, {}
  for _, item in ipairs(annotations.sections) do
    local section = item[2]
    for _, option in ipairs(section.options) do
      local low = option.min or option.above and ">" .. option.above
      local high = option.max or option.below and "<" .. option.below
      local line = ("%s.%s %s %s %s"):format(section.name, option.name, shown(low), shown(high),
        shown(option.default))
      local has_number = low or high or type(option.default) == "number"
      if has_number and not is_listed[line] then
        is_listed[line] = true
        lines[#lines + 1] = line
      end
    end
  end
  table.sort(lines)
  return lines, is_listed
end

describe("the limits of options", function()
  it("are those of the list", function()
    local lines, is_listed = all_lines()
    if os.getenv "BLIS_UPDATE_GOLDEN" then
      golden.check(path, table.concat(lines, "\n") .. "\n")
    end
    local changed = {}
    for line in files.read(path):gmatch "[^\n]+" do
      if not is_listed[line] then changed[#changed + 1] = line end
    end
    assert.same({}, changed)
  end)
end)
