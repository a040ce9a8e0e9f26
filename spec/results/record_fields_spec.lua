--- Every field of a request record, from its table (src/cluster/lists/record_fields.h): a record
--- that a
--- script adds returns each value, and files have the columns in the order of the table.
local blis = require "blis"
local core = require "blis.core"
local files = require "spec.support.files"

local fields = core.record_fields()

-- Fields that are computed from others, and values that depend on others.
local derived = { id = true, status_code = true, steps = true, model_used = true, verdict = true }
local given = { state = "rejected", instance = "instance_3", prefill_instance = "instance_2",
  encode_instance = "instance_1", tier_tokens = { 7, 0 }, was_counted = true, had_hit = true,
  attempts = false, priority = false }

--- A value that the field can have, different for each field.
local function value_of(field, i)
  if given[field.name] ~= nil then return given[field.name] or nil end
  local type = field.type:match "^[^?]*"
  if type == "string" then return "text " .. i end
  if type == "number" then return i + 0.25 end
  return i * 1000
end

local function full_record()
  local record = {}
  for i, field in ipairs(fields) do
    if not derived[field.name] then record[field.name] = value_of(field, i) end
  end
  return record
end

describe("fields of a request record", function()
  it("return the value that a script has added", function()
    local list = blis.records()
    local record = full_record()
    list:add(record)
    local again = list[1]
    for name, value in pairs(record) do assert.same(value, again[name], name) end
    list = blis.records()
    list:add { state = "completed", ttft_us = 1, e2e_us = 2, end_us = 2 }
    for _, field in ipairs(fields) do
      local is_optional = field.type:find("?", 1, true) ~= nil
      local is_set = field.name == "ttft_us" or field.name == "e2e_us"
      assert.equal(is_optional and not is_set, list[1][field.name] == nil, field.name)
    end
  end)

  it("keep a value that does not fit 32 bits", function()
    local record = full_record()
    local checked = 0
    for _, field in ipairs(fields) do
      local list, great = blis.records(), 1 << 52
      local ok = type(record[field.name]) == "number" and field.type:find "^integer"
        and pcall(list.add, list, { state = "rejected", [field.name] = great })
      if ok then
        checked = checked + 1
        assert.equal(great, list[1][field.name], field.name)
      end
    end
    assert.is_true(checked > 15)
  end)

  it("reject a value of a wrong type by name", function()
    for _, field in ipairs(fields) do
      if not derived[field.name] and field.type ~= "boolean" then
        local record = full_record()
        record[field.name] = print
        local ok, problem = pcall(function() blis.records():add(record) end)
        assert.is_false(ok, field.name)
        assert.is_truthy(tostring(problem):find(field.name, 1, true), tostring(problem))
      end
    end
  end)

  it("are in files in the order of the table, if the result has their condition", function()
    local r = blis.run { workload = { requests = 3 }, cluster = { lora = { adapters = 2 },
      frontend = "none" } }
    local path = os.tmpname()
    r:save(path)
    r:export_requests(path .. ".csv")
    local saved, exported = {}, {}
    for _, field in ipairs(fields) do
      if field.when == "" or field.when == "lora" then
        if field.saved then saved[#saved + 1] = field.name end
        if field.exported then exported[#exported + 1] = field.name end
      end
    end
    assert.same(saved, core.json_read(files.read(path):match "^[^\n]+").columns)
    assert.equal(table.concat(exported, ","), files.read(path .. ".csv"):match "^[^\n]+")
    os.remove(path)
    os.remove(path .. ".csv")
  end)
end)
