--- Compares text with a committed file that holds the expected text.
---
--- With BLIS_UPDATE_GOLDEN=1 in the environment, a check writes the file instead. Read the
--- difference in git before you commit it.
local files = require "spec.support.files"

local golden = {}

--- The lines of text. A text without a final newline has the same lines, and one mark more.
local function lines_of(text)
  local lines = {}
  for line, ending in text:gmatch "([^\n]*)(\n?)" do
    if line ~= "" or ending ~= "" then
      lines[#lines + 1] = ending == "" and line .. " (no newline at the end)" or line
    end
  end
  return lines
end

--- Describes the first line that differs; nil if both texts are equal.
---@param expected string
---@param actual string
---@return string?
function golden.difference(expected, actual)
  if expected == actual then return nil end
  local wanted, got = lines_of(expected), lines_of(actual)
  local line = 1
  while wanted[line] == got[line] do line = line + 1 end
  return ("line %d differs\n  expected: %s\n  actual:   %s"):format(line,
    wanted[line] or "(end of the file)", got[line] or "(end of the text)")
end

--- Fails if text is not the content of the file at path.
---@param path string relative to the root of the repository
---@param text string
function golden.check(path, text)
  if os.getenv "BLIS_UPDATE_GOLDEN" then
    local file = assert(io.open(path, "wb"))
    assert(file:write(text))
    assert(file:close())
    return
  end
  local expected = files.read(path)
  local problem = expected and golden.difference(expected, text)
    or not expected and "the file is missing"
  if problem then
    error(("%s: %s\nIf the change is intended, run this test with BLIS_UPDATE_GOLDEN=1.")
      :format(path, problem), 2)
  end
end

return golden
