--- The origin of a page's metrics: the program, and how to reproduce them.
local core = require "blis.core"
local format = require "blis.format"
local html = require "blis.page.html"

local origin = {}

-- The command that makes pages, without the name of the program; nil in a script.
local arguments

--- Sets the command that creates the pages: { "run", "--model", ... }.
---@param given string[]
function origin.set_command(given)
  arguments = given
end

--- An argument as a shell takes it.
local function quoted(word)
  if word:match "^[%w%-_./:=,@%%+]+$" then return word end
  return "'" .. word:gsub("'", "'\\''") .. "'"
end

local function command()
  local words = { "blis" }
  if arguments then
    for _, word in ipairs(arguments) do words[#words + 1] = quoted(word) end
  elseif type(arg) == "table" and type(arg[0]) == "string" then
    for i = 0, #arg do words[#words + 1] = quoted(tostring(arg[i])) end
  else
    return nil
  end
  return table.concat(words, " ")
end

-- Larger files take long to read.
local most_bytes = 64 << 20

--- " (XXH128 06b05ab6733a618578af5f94892f3950)" for the content of a file; empty if unknown.
---@param path string
---@return string
function origin.file_hash(path)
  local file <close> = core.open_input(path, "data")
  local size = file and file:seek "end"
  if not size or size > most_bytes then return "" end
  file:seek "set"
  return (" (XXH128 %s)"):format(core.hash128(file:read "a" or ""))
end

--- The script, unless a command creates the page.
local function script()
  local path = not arguments and type(arg) == "table" and arg[0]
  local hash = type(path) == "string" and origin.file_hash(path) or ""
  return hash ~= "" and (" of the script%s and the files that it reads"):format(hash) or ""
end

--- How to reproduce a run with this hash; unknown for a saved result.
---@param hash? string
---@param was_saved? boolean
---@return any
function origin.element(hash, was_saved)
  if was_saved then
    return html.p({ class = "soft" }, "Read from a saved result; its hash is ", html.code(hash),
      ".")
  end
  local line = command()
  if not line then return {} end
  return { html.h3 "Again", html.pre({ class = "command" }, line), html.p({ class = "soft" },
    ("The same bytes come out%s, on any machine"):format(script()),
    hash and { ": the result hash is ", html.code(hash), "." } or ".") }
end

--- How to make a page again that a command has made of results in a folder.
---@param folder string
---@return any
function origin.of_folder(folder)
  return { html.h3 "Again", html.pre({ class = "command" }, command() or ""),
    html.p({ class = "soft" }, "This reads the results in the folder ", html.code(folder),
      " and runs nothing: where they are, the same page comes out. To run them again takes the "
      .. "script; then the same results come out on any machine.") }
end

--- What came in, and what of the script decided.
---@param setup table of a result
---@return any
function origin.inputs(setup)
  local traffic, policies = rawget(setup, "traffic"), rawget(setup, "scripted")
  local file = rawget(setup, "traffic_file")
  return {
    traffic and html.p(("Traffic: %s%s."):format(traffic,
      file and origin.file_hash(file) or "")) or {},
    policies and html.p(("Policies of the script: %s."):format(policies)) or {},
  }
end

--- "blis 0.9, result hash 1234567890abcdef"
---@param hash? string
---@return string
function origin.line(hash)
  local line = "blis " .. core._VERSION
  return hash and ("%s, result hash %s"):format(line, hash) or line
end

--- "4 × qwen/qwen3-14b on H100", with the role of pools, for the first groups of a cluster.
---@param setup table
---@return string
function origin.cluster(setup)
  local words = {}
  if rawget(setup, "endpoint") then return setup.endpoint end
  for i, group in ipairs(rawget(setup, "groups") or { setup }) do
    if i > 2 then
      words[#words + 1] = "..."
      break
    end
    local role = rawget(group, "role")
    words[i] = ("%s × %s%s%s"):format(format.count(group.instances), group.model,
      group.hardware == "" and "" or " on " .. group.hardware,
      role and (" (%s)"):format(role) or "")
  end
  return table.concat(words, ", ")
end

return origin
