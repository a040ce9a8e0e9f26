--- The table of README.md's section "Accuracy", from the same data as docs/validation.md.
local core = require "blis.core"
local markdown = require "markdown"

local readme = {}

local rows = {
  { group = "all InferenceX",
    title = "Llama-3.1-70B FP8, gpt-oss-120b, MiniMax-M2.5 on H200, B200" },
  { group = "Qwen/Qwen3-32B on H100", title = "Qwen3-32B on H100, synchronous scheduling" },
  { group = "all stages", title = "5 models on H100, A100, L40S" },
}

local kinds = {
  { key = "composed", title = "in sample" },
  { key = "without_part", title = "held out: TP degree or workload" },
  { key = "without_model", title = "held out: model" },
}

local function cell(figures)
  if not figures.ttft then return markdown.share(figures.tpot[1]) .. "% / -" end
  return ("%s%% / %s%%"):format(markdown.share(figures.tpot[1]), markdown.share(figures.ttft[1]))
end

local function accuracy_table()
  local groups, header, lines = {}, { "Rows", "n" }, {}
  for _, group in ipairs(core.yaml_read("tests/data/truth/groups.yaml").groups) do
    groups[group.name] = group
  end
  for _, kind in ipairs(kinds) do header[#header + 1] = kind.title end
  for _, row in ipairs(rows) do
    local group = groups[row.group]
    local cells = { row.title, tostring(group.rows) }
    for _, kind in ipairs(kinds) do cells[#cells + 1] = cell(group[kind.key]) end
    lines[#lines + 1] = cells
  end
  return markdown.table(header, lines, 1)
end

--- The text of README.md with the table of its section "Accuracy" replaced by the current one.
---@param text string
---@return string
function readme.text(text)
  local section = text:find("\n## Accuracy\n", 1, true)
  assert(section, "README.md has no section 'Accuracy'")
  local first = assert(text:find("\n|", section, true), "section 'Accuracy' has no table") + 1
  local last = first
  while text:sub(last, last) == "|" do last = assert(text:find("\n", last, true)) + 1 end
  return text:sub(1, first - 1) .. accuracy_table() .. "\n" .. text:sub(last)
end

return readme
