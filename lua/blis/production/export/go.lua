--- Skeletons of llm-d plugins in Go for scorers that are written in Lua.
---
--- The interface of a scorer is a sketch. Replace the names of packages and types by the names in
--- your version of the router.
local catalogue = require "blis.policy.catalogue"
local errors = require "blis.errors"
local policy = require "blis.policy"

local go = {}

local head = [[
// Scorers of %s as plugins of llm-d's router: a skeleton.
//
// Each Score gives every endpoint a number from 0 (worst) to 1 (best). To adapt: the imports and
// types of your version of llm-d-router, and the body, which the simulator has in Lua.
package scorers

import (
	"context"

	// TODO: the scheduling framework of your llm-d-router.
	scheduling "example.com/llm-d-router/scheduling"
)
]]

local scorer = [[

// %sType is the type of the plugin in an EndpointPickerConfig.
const %sType = %q

// %sParameters are read from its parameters; unknown ones are errors.
type %sParameters struct{}

// %s scores endpoints as scorer "%s" does in the simulator.
type %s struct {
	parameters %sParameters
}

// Score is to compute what the Lua function computes.
func (s *%s) Score(ctx context.Context, state *scheduling.CycleState,
	request *scheduling.LLMRequest, endpoints []scheduling.Endpoint,
) map[scheduling.Endpoint]float64 {
	scores := make(map[scheduling.Endpoint]float64, len(endpoints))
	for _, endpoint := range endpoints {
		scores[endpoint] = 0 // TODO: %s
	}
	return scores
}
]]

local function exported_name(name)
  local made = name:gsub("[^%w]+(%w?)", string.upper):gsub("^%l", string.upper)
  return ((made:gsub("[^%w]", "") .. "Scorer"):gsub("^%d", "N%0"))
end

--- Names that no other scorer of the file has: of the Go type, and of the plugin.
local function names_of(given, taken)
  local own = given.name:match "%w" and given.name or "own"
  local name = exported_name(own)
  local kind = own:lower():gsub("[^%w]+", "-"):gsub("^%-", "") .. "-scorer"
  local count = (taken[name] or 0) + 1
  taken[name] = count
  if count == 1 then return name, kind end
  return ("%s%d"):format(name, count), ("%s-%d"):format(kind, count)
end

--- Makes a string safe for a comment.
local function one_line(text) return (text:gsub("%c+", " ")) end

--- Whether the catalogue has a scorer; some of it is in Lua, too, and llm-d has plugins for that.
local function is_ours(name)
  for _, entry in ipairs(catalogue.scorers) do
    if entry.name == name then return true end
  end
  return false
end

--- The file, with a type for each scorer in Lua; one that is inverted has a negative weight there.
---@param one blis.production.Subject
---@return string
function go.of(one)
  local router = policy.read_router(one.points.routing, "routing")
  local parts, taken = { head:format(one_line(one.name:match "[^/]*$")) }, {}
  for _, item in ipairs(router.scorers or {}) do
    local given, weight = item.scorer, item.weight
    while given.inverts do given, weight = given.inverts, -weight end
    if (given.score or given.make) and not is_ours(given.name) then
      local name, kind = names_of(given, taken)
      parts[#parts + 1] = scorer:format(name, name, kind, name, name, name, one_line(given.name),
        name, name, name, ("weight %.6g in %s"):format(weight, one_line(one.label)))
    end
  end
  if #parts == 1 then
    errors.invalid("%s: no scorer of it is written in Lua, so no plugin is needed", one.name)
  end
  return table.concat(parts)
end

return go
