local core = require "blis.core"
local files = require "spec.support.files"
local flags = require "blis.cli.flags"
local json_schema = require "blis.results.json_schema"
local notices = require "blis.notices"
local program = require "spec.support.program"
local schema = require "blis.config.schema"
local small = require "spec.support.small"

local path = "share/schema/blis-result-1.json"

local kinds = {
  integer = function(value) return math.type(value) == "integer" end,
  number = function(value) return type(value) == "number" or value == core.json_null end,
  string = function(value) return type(value) == "string" end,
  boolean = function(value) return type(value) == "boolean" end,
  object = function(value) return type(value) == "table" end,
  array = function(value) return type(value) == "table" end,
}

--- What of a value a schema does not say: names that it has not, values of another type.
local function problems(root, one, value, place, found)
  if one["$ref"] then one = root["$defs"][one["$ref"]:match "[^/]+$"] end
  if one.const and value ~= one.const then found[#found + 1] = place .. ": " .. tostring(value) end
  if one.type and not kinds[one.type](value) then
    found[#found + 1] = ("%s is no %s"):format(place, one.type)
  elseif one.type == "array" and one.items then
    for i, item in ipairs(value) do
      problems(root, one.items, item, ("%s[%d]"):format(place, i), found)
    end
  elseif one.properties then
    for name, item in pairs(value) do
      local known = one.properties[name]
      if not known then
        found[#found + 1] = ("%s.%s is unknown"):format(place, name)
      else
        problems(root, known, item, place .. "." .. name, found)
      end
    end
  end
  return found
end

describe("the schema of --format json", function()
  it("is what figures say, and is written again with them", function()
    assert.equal(json_schema.generate(), files.read(path))
  end)

  it("holds for results #host", function()
    local root = core.json_read(files.read(path), path)
    for _, given in ipairs { "", "--series-interval 1s --trace-level decisions",
      "--slo-ttft standard=100ms --horizon 3s", "--flow-control", "--routing-policy weighted",
      "--num-instances 2 --prefill-instances 1 --decode-instances 1" } do
      local run = program.shell('"$BLIS" run --num-requests 40 --quiet --format json ' .. given)
      assert.equal(0, run.status, run.err)
      local value = core.json_read(run.out, "out")
      assert.same({}, problems(root, root, value, "result", {}))
      for _, name in ipairs(root.required) do assert.is_not_nil(value[name], name) end
    end
    local plain = program.shell '"$BLIS" run --num-requests 5 --format json'
    local value = core.json_read(plain.out, "out")
    assert.equal("blis-result-1", value.format)
    value.new_figure, value.completed = 1, "many"
    assert.equal(2, #problems(root, root, value, "result", {}))
  end)
end)

describe("a deprecated name", function()
  local section = { name = "things", summary = "Things.", options = {
    { name = "count", type = "integer", default = 1, doc = "How many.", aliases = { "number" },
      flag = "--count", flag_aliases = { "--number" },
      deprecated = { number = "2.0.0", ["--number"] = "2.0.0" } } } }

  it("works, and says so", function()
    local told = {}
    local before = notices.collect(function(line) told[#told + 1] = line end)
    local values = schema.read(section, { number = 3 }, "things")
    local parsed = flags.parse({ name = "x", usage = "x", groups = { { section = "things",
      title = "Things", options = section.options } } }, { "--number", "4" })
    schema.read(section, { count = 3 }, "things")
    notices.collect(before)
    assert.equal(3, values.count)
    assert.equal(4, parsed.values.things.count)
    assert.same({ "things: 'number' is deprecated and will be removed in blis 2.0.0; use 'count'",
      "'--number' is deprecated and will be removed in blis 2.0.0; use '--count'" }, told)
  end)
end)

describe("a store of another format", function()
  local folders = require "spec.support.folders"
  local sweep = require "blis.sweep"

  it("is refused by name", function()
    folders.with(function(folder)
      local function run()
        return sweep.new { name = "s", parameters = { { "a", { 1 } } }, identity = "x",
          trial = function(p) return p.a end }:run { store = folder, jobs = 1, quiet = true }
      end
      run()
      for _, name in ipairs(core.folder(folder)) do
        local file = folder .. "/" .. name
        local text = files.read(file)
        local is_journal = name:match "jsonl$"
        local other = is_journal and text:gsub('"format":2', '"format":1', 1)
          or text:gsub('"sweep": *1', '"sweep": 9', 1)
        local out <close> = assert(io.open(file, "w"))
        out:write(other)
        out:flush()
        small.says(small.message_of(run), is_journal and "this journal has format 1, but this "
          .. "program reads format 2" or "this sweep has format 9, but this program reads format 1")
        local back <close> = assert(io.open(file, "w"))
        back:write(text)
      end
    end)
  end)
end)
