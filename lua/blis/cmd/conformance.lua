--- blis conformance: what each policy of the catalogue does with the same inputs.
local command = require "blis.cli.command"
local core = require "blis.core"
local errors = require "blis.errors"
local json = require "blis.json"
local listing = require "blis.listing"
local recorded = require "blis.production.conformance.recorded"
local text_file = require "blis.production.text_file"
local vectors = require "blis.production.conformance.vectors"

local definition = {
  name = "conformance",
  summary = "check policies against recorded decisions, and write these for other projects",
  usage = "blis conformance [NAME] [FLAGS]",
  description = "Runs every routing policy, filter, scorer, and picker on the same small workload. "
    .. "Prints the source and version of its rules, and whether its decisions match the recorded "
    .. "ones. With --output, writes a JSON file with inputs, scores, and choices per policy, which "
    .. "other implementations can run. Exit status: 1 if any decision differs.",
  positional = { name = "NAME", doc = "Only the policy of this name or alias." },
  groups = {
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        { name = "output", type = "path", flag = "--output", metavar = "DIR",
          doc = "Write the vectors into this folder, KIND.NAME.json each." },
        { name = "check", type = "path", flag = "--check", metavar = "FILE",
          doc = "Compare the vectors of another version or project with the policies of this "
            .. "program, instead of the built-in vectors." },
        { name = "format", type = "choice", choices = { "table", "json", "csv", "recorded" },
          default = "table", flag = "--format",
          doc = "recorded: what decisions are compared with, as the file in the source has it." },
      },
    },
  },
}

local columns = {
  { key = "kind", title = "kind", is_text = true },
  { key = "name", title = "name", is_text = true },
  { key = "decisions", title = "decisions" },
  { key = "draws", title = "draws" },
  { key = "result", title = "result", is_text = true },
  { key = "source", title = "version and source", is_text = true },
}

local function is_named(case, name)
  if not name or case.name == name then return true end
  for _, alias in ipairs(case.aliases) do
    if alias == name then return true end
  end
  return false
end

local function cases_of(name)
  local list, names = {}, {}
  for _, case in ipairs(vectors.cases()) do
    names[#names + 1] = case.name
    if is_named(case, name) then list[#list + 1] = case end
  end
  if #list == 0 then
    errors.invalid("unknown policy '%s'%s", name, errors.suggestion(name, names))
  end
  return list
end

local function key_of(case) return case.kind .. "." .. case.name end

local function result_of(vector)
  local known = recorded[key_of(vector.case)]
  return known == vector.hash and "as recorded" or known and "DIFFERS" or "not recorded"
end

local function write(path, text)
  local file <close> = core.output(path)
  file:write(text)
  file:commit()
end

local function recorded_text(rows)
  local lines = { "--- Hashes of all decisions and scores of blis conformance. Generated:",
    "--- blis conformance --format recorded", "return {" }
  for _, row in ipairs(rows) do
    lines[#lines + 1] = ("  [%q] = %q,"):format(row.kind .. "." .. row.name, row.hash)
  end
  lines[#lines + 1] = "}\n"
  return table.concat(lines, "\n")
end

local function run_all(name, folder)
  local rows, differs = {}, false
  if folder then core.make_folder(folder) end
  for i, case in ipairs(cases_of(name)) do
    local vector = vectors.of(case)
    if folder then write(("%s/%s.json"):format(folder, key_of(case)), vector.text()) end
    rows[i] = { kind = case.kind, name = case.name, source = case.source, draws = vector.draws,
      decisions = vector.decisions, result = result_of(vector), hash = vector.hash }
    differs = differs or rows[i].result ~= "as recorded"
  end
  return rows, differs
end

local function read_vector(path)
  local ok, given = pcall(json.decode, text_file.read(path))
  if not ok or type(given) ~= "table" or given.format ~= "blis-conformance-1"
    or type(given.steps) ~= "table" then
    errors.raise("parse", path .. ": expected a vector of the format blis-conformance-1")
  end
  for i, step in ipairs(given.steps) do
    if type(step) ~= "table" then
      errors.raise("parse", ("%s: steps[%d] is %s, expected an object"):format(path, i,
        errors.show(step)))
    end
  end
  return given
end

local function check(path)
  local given = read_vector(path)
  for _, case in ipairs(vectors.cases()) do
    if case.kind == given.kind and case.name == given.policy then
      return vectors.difference(given, json.decode(vectors.of(case).text())), given
    end
  end
  errors.invalid("%s: there is no policy %s of kind %s here", path, errors.show(given.policy),
    errors.show(given.kind))
end

return command.define(definition, function(parsed)
  local output = parsed.values.output
  if output.check then
    local difference, given = command.checked(definition, check, output.check)
    command.print(("%s %s: %s\n"):format(given.kind, given.policy,
      difference or "all decisions are the same"))
    return difference and 1 or 0
  end
  local rows, differs = command.checked(definition, run_all, parsed.positional, output.output)
  if output.format == "recorded" then
    command.print(recorded_text(rows))
    return 0
  end
  command.print(listing.text({ columns = columns, rows = rows }, output.format))
  return differs and 1 or 0
end)
