local core = require "blis.core"
local small = require "spec.support.small"
local toml_file = require "blis.toml_file"

local says, message_of = small.says, small.message_of

local function parse(text) return toml_file.parse(text, "a.toml").root end

describe("a TOML file", function()
  it("has tables, texts, numbers, booleans and lists", function()
    local root = parse [==[
# a comment
top = 1
[simulation] # another one
name = "a \"quoted\" text\t\u00e9 # no comment"
path = 'C:\raw'
seed = 1_000
"two words" = -7
[cluster.compute_model]
rate = 5.5e3
small = -0.25
big = 1e6
is_on = true
is_off=false
list = [1, 2, 3,]
texts = [ "a", 'b' ] # of texts
nested = [[1], []]
]==]
    assert.same({
      top = 1,
      simulation = { name = 'a "quoted" text\té # no comment', path = "C:\\raw", seed = 1000,
        ["two words"] = -7 },
      cluster = { compute_model = { rate = 5500.0, small = -0.25, big = 1e6, is_on = true,
        is_off = false, list = { 1, 2, 3 }, texts = { "a", "b" }, nested = { { 1 }, {} } } },
    }, root)
    assert.equal("integer", math.type(root.simulation.seed))
    assert.equal("float", math.type(root.cluster.compute_model.big))
    assert.same({}, parse "")
    assert.same({ a = 1, b = { c = 2 } }, parse "a = 1\r\n[b]\r\nc = 2\r\n")
  end)

  it("is refused by line where it has anything else", function()
    local cases = {
      { "a = 1\nb = 1979-05-27", "a.toml:2: dates and times are not read" },
      { "a = 07:32:00", "a.toml:1: dates and times are not read" },
      { 'a = """x"""', "a.toml:1: texts of several lines are not read" },
      { "a = '''x'''", "texts of several lines are not read" },
      { "a = { b = 1 }", "tables inside a line are not read; write a [table]" },
      { "[[servers]]", "lists of tables, [[...]], are not read" },
      { "a.b = 1", "keys with dots are not read; write a [table]" },
      { "a = 0xFF", "hexadecimal, octal and binary numbers are not read" },
      { "a = [1,\n2]", "a.toml:1: a list has no end on its line" },
      { "a = inf", "inf is not a number that a configuration can have" },
      { "a = -nan", "-nan is not a number" },
      { "\n\na = 1\na = 2", "a.toml:4: a is given twice, here and in line 3" },
      { "[t]\na = 1\n[t]\n", "a.toml:3: duplicate table [t]" },
      { "t = 1\n[t]", "a.toml:2: t is a value, in line 1" },
      { "[t", "']' is missing" },
      { "a", "'=' is missing behind a" },
      { "a =", "a value is missing behind '='" },
      { "a = # nothing", "a value is missing behind '='" },
      { "= 1", "expected a name" },
      { 'a = "x', 'a string has no end: " is missing' },
      { "a = 'x", "a string has no end: ' is missing" },
      { [[a = "\q"]], [['\q' is not an escape sequence]] },
      { [[a = "\ud800"]], "is not an escape sequence" },
      { "a = 1 2", "'2' is not expected here" },
      { "a = [1 2]", "expected ',' or ']' in the list, got '2'" },
      { "a = hello", "'hello' is not a value; texts stand in quotation marks" },
      { "a = 012", "'012' is not a value" },
      { "a = 1__0", "'1__0' is not a value" },
      { "a = 1.", "'1.' is not a value" },
      { "a = 99999999999999999999", "is not within 64 bits" },
      { "a = \"\xff\"", "this is not UTF-8" },
      { "a = \"\1\"", "there is a control character" },
    }
    for _, case in ipairs(cases) do says(message_of(parse, case[1]), case[2]) end
  end)

  it("gives a table or an error with a line, whatever is in it", function()
    local pieces = { "[", "]", "=", '"', "'", "\\", "#", "\n", ".", ",", "a", "b_c", "1", "-2.5",
      "true", " ", "{", "}", "e", "_", "\t", "é", "[a]\n", "a = 1\n", "x = [1, 2]\n" }
    local rng, read, refused = core.rng(1, "toml"), 0, 0
    for _ = 1, 3000 do
      local parts = {}
      for i = 1, rng:integer(1, 12) do parts[i] = pieces[rng:integer(1, #pieces)] end
      local ok, problem = pcall(parse, table.concat(parts))
      read, refused = read + (ok and 1 or 0), refused + (ok and 0 or 1)
      if not ok then
        assert.equal("parse", type(problem) == "table" and problem.code or problem)
        assert.is_truthy(problem.message:find "a%.toml:%d+: ")
      end
    end
    assert.is_true(read > 100 and refused > 100)
  end)
end)
