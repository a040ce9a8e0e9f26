local flags = require "blis.cli.flags"
local help = require "blis.cli.help"

local section = {
  name = "part",
  options = {
    { name = "count", type = "integer", min = 1, max = 9, default = 3, flag = "--count",
      flag_aliases = { "--old-count" }, unit = "pieces", doc = "How many." },
    { name = "share", type = "number", min = 0, flag = "--share", doc = "How much of count." },
    { name = "wait_us", type = "time_us", min = 0, flag = "--wait", doc = "How long." },
    { name = "coeffs", type = "numbers", flag = "--coeffs", doc = "Numbers." },
    { name = "is_on", type = "boolean", default = false, flag = "--on", doc = "Whether." },
    { name = "kind", type = "choice", choices = { "plain", "fancy" }, flag = "--kind",
      doc = "Which.", profiles = { ["go-blis"] = "fancy" } },
    { name = "paths", type = "path", is_list = true, flag = "--path", doc = "Where." },
    { name = "mood", type = "choice", choices = { "good", "bad" }, flag = "--mood",
      may_be_empty = true, doc = "Which." },
    { name = "page", type = "path", is_output = true, flag = "--page", doc = "Shown.",
      endings = { ".html", ".htm" } },
    { name = "silent", type = "string", doc = "No flag." },
  },
}

local definition = {
  name = "try", summary = "tries", usage = "blis try [NAME]",
  positional = { name = "NAME", doc = "Whom." },
  groups = { { title = "Part", section = "part", options = flags.all(section) } },
  refused = {
    { flag = "--moon", type = "integer", harmless = { 0 }, feature = "there is no moon" },
    { flag = "--sun", type = "string", harmless = {}, feature = "there is no sun" },
  },
}

local function values_of(...)
  return flags.parse(definition, { ... }).values.part
end

local function message_of(...)
  local ok, problem = pcall(flags.parse, definition, { ... })
  assert.is_false(ok)
  assert.equal("usage", problem.code)
  return problem.message
end

describe("flags", function()
  it("take a value behind = or in the next argument", function()
    assert.same({ count = 4 }, values_of("--count", "4"))
    assert.same({ count = 4 }, values_of("--count=4"))
    assert.same({ share = 0.5 }, values_of("--share", "5e-1"))
    assert.same({ paths = { "a=b" } }, values_of("--path=a=b"))
  end)

  it("may have older spellings", function()
    local parsed = flags.parse(definition, { "--old-count", "5" })
    assert.equal(5, parsed.values.part.count)
    assert.is_true(parsed.given["--count"])
  end)

  it("name files by what is in them", function()
    for _, name in ipairs { "x.html", "X.HTML", "a.b/x.htm", "-", "/dev/null", "/dev/fd/63" } do
      assert.same({ page = name }, values_of("--page", name))
    end
    for _, name in ipairs { "x", "x.txt", "html", "x.html.gz", "x.html/" } do
      assert.matches("--page: invalid value '" .. name .. "': expected a name that ends in "
        .. ".html or .htm", message_of("--page", name), 1, true)
    end
    assert.matches("--page: invalid value ''", message_of("--page", ""), 1, true)
  end)

  it("that are booleans take no argument", function()
    assert.same({ is_on = true }, values_of("--on"))
    assert.same({ is_on = false }, values_of("--on=false"))
    local parsed = flags.parse(definition, { "--on", "name" })
    assert.equal("name", parsed.positional)
  end)

  it("take whole numbers with a fraction of zeros", function()
    assert.same({ count = 3 }, values_of("--count", "3.0"))
  end)

  it("say the last word when given twice, or make a list", function()
    assert.same({ count = 2 }, values_of("--count", "1", "--count", "2"))
    assert.same({ paths = { "a", "b" } }, values_of("--path", "a", "--path", "b"))
  end)

  it("read times with a unit", function()
    for text, us in pairs { ["0"] = 0, ["70us"] = 70, ["1.5ms"] = 1500, ["2s"] = 2000000,
      ["3m"] = 180000000, ["1h"] = 3600000000 } do
      assert.equal(us, values_of("--wait", text).wait_us)
    end
  end)

  it("read lists of numbers", function()
    assert.same({ 1, 2.5, 0 }, values_of("--coeffs", "1, 2.5,0").coeffs)
  end)

  it("of texts and paths that are empty are not given", function()
    assert.same({}, values_of("--path", ""))
    local card = { name = "part", options = {
      { name = "model", type = "described", described = false, flag = "--model", doc = "Which." },
    } }
    local described = { name = "try", summary = "tries", usage = "blis try",
      groups = { { title = "Part", section = "part", options = flags.all(card) } } }
    assert.same({}, flags.parse(described, { "--model", "" }).values.part)
    assert.same({ model = "a/b" }, flags.parse(described, { "--model", "a/b" }).values.part)
    assert.same({}, values_of("--mood="))
    assert.same({}, values_of("--sun="))
  end)

  it("end behind --", function()
    assert.equal("--count", flags.parse(definition, { "--", "--count" }).positional)
  end)

  it("tell what is wrong", function()
    local hint = "; 'blis try --help' lists the flags"
    for _, case in ipairs {
      { { "--cout", "1" }, "try: unknown flag '--cout'; did you mean '--count'?" },
      { { "-c", "1" }, "try: unknown flag '-c'; known are --help, --count, --share, --wait, "
        .. "--coeffs, --on, --kind, --path, --mood, --page, --moon, --sun" },
      { { "--count" }, "try: missing value after '--count'" },
      { { "--count", "x" }, "try: --count: invalid value 'x': expected an integer from 1 to 9" },
      { { "--count", "10" }, "try: --count: invalid value 10: expected an integer from 1 to 9" },
      { { "--count", "1.5" },
        "try: --count: invalid value '1.5': expected an integer from 1 to 9" },
      { { "--share", "inf" },
        "try: --share: invalid value 'inf': expected a number of at least 0" },
      { { "--share", "nan" },
        "try: --share: invalid value 'nan': expected a number of at least 0" },
      { { "--count=" }, "try: --count: invalid value '': expected an integer from 1 to 9" },
      { { "--share", "" }, "try: --share: invalid value '': expected a number of at least 0" },
      { { "--kind", "" }, "try: --kind: invalid value '': expected one of plain, fancy" },
      { { "--on=" }, "try: --on: invalid value '': expected true or false" },
      { { "--coeffs=" }, "try: --coeffs: invalid value '': expected a list of numbers of at "
        .. "least 0" },
      { { "--moon=" }, "try: --moon is not available: there is no moon" },
      { { "--wait", "3 days" }, "try: --wait: invalid value '3 days': expected a duration, "
        .. "such as 500us, 50ms, 30s, 5m, or 1h" },
      { { "--wait", "70" }, "try: --wait: '70' has no unit; write --wait 70s (units: us, ms, s, "
        .. "m, h, d)" },
      { { "--coeffs", "1,,2" }, "try: --coeffs: invalid value '1,,2': expected a list of numbers "
        .. "of at least 0" },
      { { "--on=maybe" }, "try: --on: invalid value 'maybe': expected true or false" },
      { { "--kind", "fanncy" }, "try: --kind: invalid value 'fanncy': expected one of plain, "
        .. "fancy; did you mean 'fancy'?" },
      { { "--moon", "2" }, "try: --moon is not available: there is no moon" },
      { { "a", "b" }, "try: unexpected argument 'b'" },
    } do
      local expected = (case[2] .. hint):gsub("%?;", "?")
      assert.equal(expected, message_of(table.unpack(case[1])))
    end
  end)

  it("accept what is refused where it does no harm", function()
    assert.same({}, values_of("--moon", "0"))
  end)

  it("are all in the help", function()
    assert.equal([[
usage: blis try [NAME]

tries

  NAME                            Whom.

Part:
  --count N                       How many. (pieces, default 3)
  --share X                       How much of count.
  --wait TIME                     How long.
  --coeffs X,X,...                Numbers.
  --on                            Whether.
  --kind WORD                     Which. Choices: plain, fancy. (go-blis fancy)
  --path PATH                     Where. (may be repeated)
  --mood WORD                     Which. Choices: good, bad.
  --page PATH                     Shown.

  --help                          Print this text.

Unsupported flags (rejected):
  there is no moon:
    --moon
  there is no sun:
    --sun
]], help.text(definition))
  end)
end)
