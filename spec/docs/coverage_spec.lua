local commands = require "spec.support.commands"

local documents = dofile "docs/coverage.lua"
local coverage = dofile "scripts/lib/coverage.lua"

local function read(path)
  local file = io.open(path)
  if not file then return nil end
  local text = file:read "a"
  file:close()
  return text or "" -- of a folder
end

local helps = {}

--- What lacks of a command line, if anything.
local function lacks_of_command(line)
  local name = line:match "^blis (%S+)"
  if not read("lua/blis/cmd/" .. name .. ".lua") then return "command " .. name end
  helps[name] = helps[name] or commands.output_of(name, "--help")
  for flag in line:gmatch "%-%-[%w-]+" do
    if not helps[name]:find(flag, 1, true) then return flag end
  end
end

--- Whether the text of a file has a test: of a spec the beginning of its title is given, of a test
--- in C its name.
local function has_test(path, text, title)
  local pattern = title:gsub("%p", "%%%0")
  if path:find "%.c$" then return text:find("RUN%(" .. pattern .. "%)") end
  return text:find('it%(+%s*"' .. pattern)
end

--- What lacks of what shows a row, if anything: of a command, or of a file and a test in it. A file
--- of tests in C says which.
local function lacks_of(witness)
  if witness:find "^blis " then return lacks_of_command(witness) end
  local path, title = witness:match "^([^:]+): (.+)$"
  local text = read(path or witness)
  if not text then return path or witness end
  local has_tests = not title and witness:find "%.c$" and text:find "RUN%("
  if has_tests then return "which test of it" end
  if title and not has_test(path, text, title) then return title end
end

describe("every row of the design documents", function()
  for _, document in ipairs(documents) do
    it("is where it is said to be: " .. document.title, function()
      local missing = {}
      for _, row in ipairs(document.rows) do
        for i = 3, #row do
          local lacks = lacks_of(row[i])
          if lacks then missing[#missing + 1] = ("%s: %s"):format(row[2], lacks) end
        end
      end
      assert.same({}, missing)
    end)
  end

  it("has one state, and one that is shown says where", function()
    for _, document in ipairs(documents) do
      for _, row in ipairs(document.rows) do
        assert.is_string(row[1])
        assert.is_string(row[2])
        local is_shown = coverage.status(row) == "shown"
        assert.is_true(not is_shown or #row > 2, row[2])
        for key in pairs(row) do
          local known = math.type(key) == "integer" or key == "differs" or key == "waits"
            or key == "left_out"
          assert.is_true(known, tostring(key))
        end
      end
    end
  end)

  it("is on the page: build-dev/blis scripts/lib/coverage.lua >docs/coverage.md", function()
    assert.equal(coverage.markdown(documents), read "docs/coverage.md")
  end)
end)
