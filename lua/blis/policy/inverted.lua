--- A scorer turned upside down. Weights are above 0 here; one below 0 elsewhere, of llm-d for
--- example, is this with the weight above 0: w s and -w (1 - s) order candidates alike.
local errors = require "blis.errors"

local inverted = {}

--- What is left of a name is cut off at its end.
local longest_name = 63

local function define(given, path)
  local base = require("blis.policy").read_scorer(given.base, path .. ".base")
  if base.make then
    errors.invalid("%s.base: a scorer with new cannot be inverted; return 1 - score in the scorer "
      .. "instead", path)
  end
  return { kind = "scorer", name = ("inverted %s"):format(base.name):sub(1, longest_name),
    base = base, inverts = base, form = "candidate",
    score = function(_, _, score) return 1 - score end }
end

--- What the catalogue says of it.
inverted.entries = {
  scorers = {
    inverted = {
      summary = "1 minus another scorer, for what a negative weight says elsewhere",
      source = "llm-d-router ebab6879, weights below 0",
      options = {
        { name = "base", type = "any", required = true, unit = "",
          expected = "a scorer: a name, or { name, parameter = value, ... }",
          doc = "the scorer: a name, or { name, parameter = value, ... }" },
      },
      define = define,
    },
  },
}

return inverted
