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
      { "a = 1\nb = 1979-05-27", "a.toml:2: dates and times are not supported" },
      { "a = 07:32:00", "a.toml:1: dates and times are not supported" },
      { 'a = """x"""', "a.toml:1: strings of several lines are not supported" },
      { "a = '''x'''", "strings of several lines are not supported" },
      { "a = { b = 1 }", "inline tables are not supported; write a [table]" },
      { "[[servers]]", "lists of tables, [[...]], are not supported" },
      { "a.b = 1", "keys with dots are not supported; write a [table]" },
      { "a = 0xFF", "hexadecimal, octal, and binary numbers are not supported" },
      { "a = [1,\n2]", "a.toml:1: the list does not end on its line" },
      { "a = inf", "inf is not a valid number" },
      { "a = -nan", "-nan is not a valid number" },
      { "\n\na = 1\na = 2", "a.toml:4: duplicate key a, first used in line 3" },
      { "[t]\na = 1\n[t]\n", "a.toml:3: duplicate table [t]" },
      { "t = 1\n[t]", "a.toml:2: t is a value, in line 1" },
      { "[t", "missing ']'" },
      { "a", "missing '=' after a" },
      { "a =", "missing value after '='" },
      { "a = # nothing", "missing value after '='" },
      { "= 1", "expected a name" },
      { 'a = "x', 'unterminated string: " is missing' },
      { "a = 'x", "unterminated string: ' is missing" },
      { [[a = "\q"]], [['\q' is not an escape sequence]] },
      { [[a = "\ud800"]], "is not an escape sequence" },
      { "a = 1 2", "unexpected '2'" },
      { "a = [1 2]", "expected ',' or ']' in the list, got '2'" },
      { "a = hello", "invalid value 'hello'; put strings in quotation marks" },
      { "a = 012", "invalid value '012'" },
      { "a = 1__0", "invalid value '1__0'" },
      { "a = 1.", "invalid value '1.'" },
      { "a = 99999999999999999999", "is not within 64 bits" },
      { "a = \"\xff\"", "invalid UTF-8" },
      { "a = \"\1\"", "control characters are not supported" },
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
