--- Targets of a search on the command line: --target FIGURE=LIMIT.
local figures = require "blis.results.figures"
local flags = require "blis.cli.flags"

local target_flags = {}

---@type blis.Option
target_flags.option = {
  name = "targets", type = "string", is_list = true, flag = "--target", metavar = "FIGURE=LIMIT",
  doc = "A figure with what it must not exceed (or fall below, where more is better), such as "
    .. "ttft_ms.p99=500. Percentiles count requests that are not served as the slowest.",
}

--- The targets by figure; there is one at least.
---@param definition blis.cli.Command
---@param texts string[]?
---@return table<string, number>
function target_flags.read(definition, texts)
  local list = {}
  for _, text in ipairs(texts or {}) do
    local name, limit = text:match "^([^=]+)=(.+)$"
    if not tonumber(limit) then
      flags.fail(definition, "--target: '%s' is not allowed, expected FIGURE=LIMIT such as "
        .. "ttft_ms.p99=500", text)
    elseif not figures.find(name) then
      flags.fail(definition, "--target: unknown figure '%s'%s", name,
        figures.suggestion(name, figures.paths "Result", ""))
    end
    local problem = figures.why_no_number(name)
    if problem then flags.fail(definition, "--target: %s", problem) end
    list[name] = tonumber(limit)
  end
  if not next(list) then flags.fail(definition, "--target is missing") end
  return list
end

return target_flags
