--- The manual page blis(1) in roff, from the same descriptions that flags are read by.
local core = require "blis.core"
local help = require "blis.cli.help"

local manual = {}

--- Escapes a string for roff.
local function plain(text)
  return (text:gsub("\\", "\\e"):gsub("%-", "\\-"):gsub("'", "\\(aq"):gsub("%f[^\n\0]%.", "\\&."))
end

local function add(lines, ...)
  for _, line in ipairs { ... } do lines[#lines + 1] = line end
end

local function add_entry(lines, left, text)
  local flag, value = left:match("^(%S+) ?(.*)$")
  local head = "\\fB" .. plain(flag) .. "\\fR"
  if value ~= "" then head = head .. " \\fI" .. plain(value) .. "\\fR" end
  add(lines, ".TP", head, plain(text))
end

local function add_form(lines, form)
  local definition = form.definition
  add(lines, ".SS " .. plain(definition.usage), plain(definition.description or definition.summary))
  if definition.positional then
    add_entry(lines, definition.positional.name, definition.positional.doc)
  end
  for _, group in ipairs(help.groups(definition)) do
    add(lines, ".PP", ".I " .. plain(group.title))
    for _, entry in ipairs(group.entries) do add_entry(lines, entry[1], entry[2]) end
  end
  if definition.notes then add(lines, ".PP", plain(definition.notes)) end
  local refused = help.refused(definition)
  if #refused > 0 then add(lines, ".PP", ".I Unsupported flags (rejected)") end
  for _, one in ipairs(refused) do
    add(lines, ".TP", plain(one.feature), plain(one.flags))
  end
end

local description = "blis simulates clusters that serve large language models: admission, routing, "
  .. "batching, prefill, decode, prefix caching, preemption, and scaling. Policies are written in "
  .. "C or Lua. The same seed gives byte-identical results on every machine."

local ending = {
  ".SH FILES",
  ".TP",
  "\\fBmodels/\\fINAME\\fB.yaml\\fR, \\fBmodels/\\fINAME\\fB/config.json\\fR, "
    .. "\\fBhardware/\\fINAME\\fB.yaml\\fR",
  "Models and GPUs in the folder of the script or, for commands, in the current folder. They "
    .. "override the catalog.",
  ".SH ENVIRONMENT",
  ".TP",
  "\\fBLUA_INIT_5_4\\fR, \\fBLUA_INIT\\fR, \\fBLUA_PATH_5_4\\fR, \\fBLUA_PATH\\fR, "
    .. "\\fBLUA_CPATH_5_4\\fR, \\fBLUA_CPATH\\fR",
  "As for lua(1); \\fB\\-E\\fR ignores them.",
  ".SH EXIT STATUS",
  ".TP",
  "0",
  "Success.",
  ".TP",
  "1",
  "A run failed, or a file cannot be read or written.",
  ".TP",
  "2",
  "The command line is wrong; nothing was simulated.",
  ".TP",
  "130",
  "Interrupted.",
}

--- The page.
---@param described table of program.describe()
---@return string
function manual.text(described)
  local lines = {
    '.\\" Written by \'blis man\'; do not edit.',
    (".TH BLIS 1 \"\" \"blis %s\" \"User Commands\""):format(core._VERSION),
    ".SH NAME",
    "blis \\- a deterministic, scriptable simulator of LLM inference clusters",
    ".SH SYNOPSIS",
    "\\fBblis\\fR [\\fIOPTIONS\\fR] \\fIFILE.lua\\fR [\\fIARGUMENTS\\fR]",
    ".br",
    "\\fBblis\\fR [\\fIOPTIONS\\fR] \\fICOMMAND\\fR [\\fIARGUMENTS\\fR]",
    ".SH DESCRIPTION",
    plain(description),
    ".SH OPTIONS",
  }
  for _, option in ipairs(described.options) do add_entry(lines, option[1], option[2]) end
  add(lines, ".SH COMMANDS")
  for _, command in ipairs(described.commands) do
    add_entry(lines, command.name, command.summary)
  end
  for _, command in ipairs(described.commands) do
    for _, form in ipairs(command.forms) do add_form(lines, form) end
  end
  table.move(ending, 1, #ending, #lines + 1, lines)
  return table.concat(lines, "\n") .. "\n"
end

return manual
