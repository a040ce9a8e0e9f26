--- blis decisions: recorded decisions, taken again by another policy.
local command = require "blis.cli.command"
local explain = require "blis.production.explain"
local json = require "blis.json"
local records = require "blis.production.records"
local replay = require "blis.production.replay"
local sorted = require "blis.sorted"
local subject = require "blis.production.subject"

local definition = {
  name = "decisions",
  summary = "replay recorded decisions of a gateway against a policy",
  usage = "blis decisions FILE POLICY [FLAGS]",
  description = "Evaluates POLICY, which must add up scores, on the recorded inputs of each "
    .. "decision in FILE. Prints how often the choices agree, and the reasons for differences. "
    .. "FILE is from a run (blis run --trace-level decisions --decisions-path FILE), or contains "
    .. "JSON lines or OpenTelemetry spans of a gateway that logs the scores of its plugins.",
  positional = { name = "FILE POLICY", count = 2, doc = "The record, and a policy as for "
    .. "blis gate." },
  groups = {
    {
      title = "Input", section = "input", has_defaults = true,
      options = {
        { name = "fields", type = "string", is_list = true, flag = "--field",
          metavar = "PART=NAME",
          doc = "For the log of a gateway: name of the field or attribute that contains a part. "
            .. "Parts: chosen (an endpoint), scores (by endpoint and plugin, or by plugin and "
            .. "endpoint, as an object or JSON text), and request (an ID). For Lua scorers also "
            .. "prompt_tokens, max_output_tokens, priority, tenant, session, slo_class, model." },
      },
    },
    {
      title = "Output", section = "output", has_defaults = true,
      options = {
        { name = "limit", type = "integer", min = 0, max = 1000000, default = 5, flag = "--limit",
          doc = "Number of differences to explain." },
        { name = "format", type = "choice", choices = { "text", "json" }, default = "text",
          flag = "--format", doc = "Output format." },
      },
    },
  },
}

local function fields_of(list)
  local fields = {}
  for _, text in ipairs(list or {}) do
    local part, name = text:match "^([%w_]+)=(.+)$"
    local is_known = false
    for _, known in ipairs(records.fields) do is_known = is_known or known == part end
    if not is_known then
      command.fail(definition, "--field: invalid value '%s': expected PART=NAME with one of %s",
        text, table.concat(records.fields, ", "))
    end
    fields[part] = name
  end
  return fields
end

local function percent(part, all) return 100 * part / math.max(1, all) end

local function text_of(outcome, found)
  local lines = { ("%d of %d decisions agree (%.1f %%)"):format(outcome.agreed, outcome.decisions,
    percent(outcome.agreed, outcome.decisions)) }
  if found.skipped > 0 then
    lines[1] = lines[1] .. ("; %d lines or spans are not routing decisions"):format(found.skipped)
  end
  if outcome.absent > 0 then
    lines[#lines + 1] = ("%d chose an endpoint without scores"):format(outcome.absent)
  end
  for _, name in ipairs(sorted.names(outcome.asked)) do
    lines[#lines + 1] = ("  scores of %s: %s"):format(name, outcome.asked[name] == "recorded"
      and "as recorded" or "computed from the recorded state")
  end
  for _, one in ipairs(outcome.differences) do
    lines[#lines + 1] = ("%s went to %s, this policy prefers %s: %s"):format(one.request,
      one.recorded, one.preferred, explain.text(one.terms))
  end
  return table.concat(lines, "\n") .. "\n"
end

local function json_of(outcome, found)
  local list = {}
  for i, one in ipairs(outcome.differences) do
    local terms = {}
    for k, term in ipairs(one.terms) do
      terms[k] = json.object("scorer", term.scorer, "weight", term.weight, "preferred", term.a,
        "recorded", term.b, "gain", term.gain)
    end
    list[i] = json.object("request", one.request, "recorded", one.recorded, "preferred",
      one.preferred, "terms", json.list(terms))
  end
  return json.encode(json.object("decisions", outcome.decisions, "agreed", outcome.agreed, "absent",
    outcome.absent, "skipped", found.skipped, "scores", outcome.asked, "differences",
    json.list(list))) .. "\n"
end

local function run(parsed, fields)
  local one = subject.read(parsed.positionals[2], { allow_missing = true })
  local found = records.read(parsed.positionals[1], fields)
  return replay.run(found, one.points.routing, one.name, parsed.values.output.limit), found
end

return command.define(definition, function(parsed)
  if #parsed.positionals ~= 2 then
    command.fail(definition, "expected FILE POLICY, got %d words", #parsed.positionals)
  end
  local outcome, found = command.checked(definition, run, parsed,
    fields_of(parsed.values.input.fields))
  local writer = parsed.values.output.format == "json" and json_of or text_of
  command.print(writer(outcome, found))
end)
