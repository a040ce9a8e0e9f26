--- Where the figures of a page come from: the program, and how to get them again.
local core = require "blis.core"
local format = require "blis.format"
local html = require "blis.page.html"

local origin = {}

-- The command that makes pages, without the name of the program; nil in a script.
local arguments

--- Tells which command makes the pages: { "run", "--model", ... }.
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

--- How to repeat a run that had this hash.
---@param hash? string
---@return any
function origin.element(hash)
  local line = command()
  if not line then return {} end
  return { html.h3 "Again", html.pre({ class = "command" }, line), html.p({ class = "soft" },
    "The same bytes come out, on any machine",
    hash and { ": the result hash is ", html.code(hash), "." } or ".") }
end

--- "blis 0.9, result hash 1234567890abcdef"
---@param hash? string
---@return string
function origin.line(hash)
  local line = "blis " .. core._VERSION
  return hash and ("%s, result hash %s"):format(line, hash) or line
end

--- "4 × qwen/qwen3-14b on H100", with what a pool is there for, of the first groups of a cluster.
---@param setup table
---@return string
function origin.cluster(setup)
  local words = {}
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
