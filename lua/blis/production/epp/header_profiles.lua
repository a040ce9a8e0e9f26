--- Profiles of llm-d that a header selects (header-profile-handler), as one routing policy. It
--- contains the scorers of all profiles. A scorer returns 0 unless the request selects its profile.
--- Scorers learn from all requests, like plugins that several profiles share. Only the weights of
--- the selected profile enter the sum, so the order of candidates is the order of this profile.
---
local lua_text = require "blis.production.lua_text"

local header_profiles = {}

local code = lua_text.code

local longest_name = 63

local function names_of(plugins)
  local names = {}
  for i, plugin in ipairs(plugins) do names[i] = plugin.name end
  return table.concat(names, "\n")
end

-- A scorer that is a filter as well.
local function filtering_scorers(profile)
  local names = {}
  for _, item in ipairs(profile.scorers) do
    if item.plugin.parameters.enableFiltering then names[#names + 1] = item.plugin.name end
  end
  return table.concat(names, "\n")
end

--- Whether profiles differ in nothing but scorers and weights.
---@param profiles blis.epp.Profile[]
---@return boolean
function header_profiles.are_alike(profiles)
  local first = profiles[1]
  for _, one in ipairs(profiles) do
    if one.picker ~= first.picker or names_of(one.filters) ~= names_of(first.filters)
      or filtering_scorers(one) ~= filtering_scorers(first) then
      return false
    end
  end
  return true
end

local function chooser(parts, default, field)
  local known = {}
  for i, part in ipairs(parts) do known[i] = ("[%q] = true"):format(part.name) end
  return ("-- The profile of a request: the one that its %s names, or %s.\n"
    .. "local profiles = { %s }\nlocal function profile_of(request)\n"
    .. "  return profiles[request.%s] and request.%s or %q\nend"):format(field, default,
      table.concat(known, ", "), field, field, default)
end

--- A scorer that counts only for requests of its profile.
local function silenced(made, part, number, k, definitions)
  local base = {}
  for key, value in pairs(made) do
    if key ~= 2 then base[key] = value end
  end
  local label = made.base and "inverted " .. made.base[1] or made[1]
  local variable = ("of_profile_%d_scorer_%d"):format(number, k)
  definitions[#definitions + 1] = ("local %s = blis.scorer {\n  name = %q,\n  base = %s,\n"
    .. "  score = function(request, _, base) return profile_of(request) == %q and base or 0 end,"
    .. "\n}"):format(variable, ("%s/%s"):format(label, part.name):sub(1, longest_name),
      lua_text.of(base, 2), part.name)
  return { code(variable), made[2] }
end

--- The scorers of all profiles; their definitions are added.
---@param parts { name: string, stages: table }[]
---@param default string the profile of requests that name none
---@param field string of requests, in place of the header
---@param definitions string[]
---@return table[]
function header_profiles.combine(parts, default, field, definitions)
  definitions[#definitions + 1] = chooser(parts, default, field)
  local all = {}
  for number, part in ipairs(parts) do
    for k, made in ipairs(part.stages.scorers) do
      all[#all + 1] = silenced(made, part, number, k, definitions)
    end
  end
  return all
end

return header_profiles
