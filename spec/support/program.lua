--- Runs the program as a user does: as a process of its own.
local program = {}

--- The program that runs these specs, if it is blis.
local function own_path()
  local first = 0
  while arg and arg[first - 1] do first = first - 1 end
  local path = arg and arg[first]
  return path and path:match "[^/]*$" == "blis" and path or nil
end

--- Where the build put it; CTest says so.
program.path = os.getenv("BLIS_PROGRAM") or own_path() or "build/blis"

--- Text as one word of the shell.
function program.quote(text)
  return "'" .. text:gsub("'", [['\'']]) .. "'"
end

local function read_and_remove(path)
  local file = assert(io.open(path, "rb"))
  local text = file:read("a")
  file:close()
  os.remove(path)
  return text
end

---@class program.outcome
---@field out string What went to standard output.
---@field err string What went to standard error.
---@field status integer Exit status; 128 + n when signal n ended it.

--- Runs a line of shell in which $BLIS is the program.
---@param line string
---@return program.outcome
function program.shell(line)
  local out, err = os.tmpname(), os.tmpname()
  local _, kind, code = os.execute(("BLIS=%s; { %s\n} >%s 2>%s"):format(
    program.quote(program.path), line, out, err))
  return {
    out = read_and_remove(out),
    err = read_and_remove(err),
    status = kind == "signal" and 128 + code or code,
  }
end

--- Runs the program with these arguments.
---@param ... string
---@return program.outcome
function program.run(...)
  return program.feed("", ...)
end

--- Runs the program with these arguments and this text as standard input.
---@param input string
---@param ... string
---@return program.outcome
function program.feed(input, ...)
  local words = {}
  for i, argument in ipairs({ ... }) do
    words[i] = program.quote(argument)
  end
  return program.shell(("printf %%s %s | \"$BLIS\" %s"):format(
    program.quote(input), table.concat(words, " ")))
end

--- Calls body with the path of a new file that holds text, then removes it.
---@param text string
---@param body fun(path: string)
function program.with_file(text, body)
  local path = os.tmpname()
  local file = assert(io.open(path, "wb"))
  file:write(text)
  file:close()
  local ok, problem = pcall(body, path)
  os.remove(path)
  if not ok then
    error(problem, 0)
  end
end

return program
