--- The simplex search of Nelder and Mead (1965): the smallest value of a function that is known by
--- trying only. For few parameters, where every trial is a simulation; blis.cma_es is for rougher
--- landscapes.
local nelder_mead = {}

--- The simplex at the start: the place itself, and one step along every axis.
local function simplex_of(try, start, steps)
  local simplex = { try(start) }
  for axis = 1, #start do
    local place = table.move(start, 1, #start, 1, {})
    place[axis] = place[axis] + steps[axis]
    simplex[axis + 1] = try(place)
  end
  return simplex
end

--- Equal values keep their order, so that equal functions are searched alike.
local function sort(simplex)
  for i = 2, #simplex do
    local corner, k = simplex[i], i - 1
    while k >= 1 and simplex[k].value > corner.value do
      simplex[k + 1] = simplex[k]
      k = k - 1
    end
    simplex[k + 1] = corner
  end
end

local function middle_of(simplex)
  local n, middle = #simplex - 1, {}
  for axis = 1, n do
    local sum = 0.0
    for i = 1, n do sum = sum + simplex[i].place[axis] end
    middle[axis] = sum / n
  end
  return middle
end

--- from + t (to - from)
local function between(from, to, t)
  local place = {}
  for axis = 1, #from do place[axis] = from[axis] + t * (to[axis] - from[axis]) end
  return place
end

--- The corner that takes the place of the worst; nil when the simplex has to shrink.
local function better_corner(try, simplex)
  local n = #simplex - 1
  local best, second_worst, worst = simplex[1], simplex[n], simplex[n + 1]
  local middle = middle_of(simplex)
  local reflected = try(between(middle, worst.place, -1))
  if reflected.value < best.value then
    local expanded = try(between(middle, worst.place, -2))
    return expanded.value < reflected.value and expanded or reflected
  end
  if reflected.value < second_worst.value then return reflected end
  local is_outside = reflected.value < worst.value
  local contracted = try(between(middle, worst.place, is_outside and -0.5 or 0.5))
  if contracted.value < math.min(reflected.value, worst.value) then return contracted end
end

---@class blis.NelderMeadOptions
---@field start number[]
---@field steps number[] along every axis, not 0
---@field trials? integer at most, about; default 200 times the axes
---@field tolerance? number ends when best and worst value are closer; default 1e-6
---@field tell? fun(trials: integer, best: number) is called after every trial

--- Searches. The result is the same for the same function and options.
---@param value_of fun(place: number[]): number
---@param options blis.NelderMeadOptions
---@return { place: number[], value: number, trials: integer, is_settled: boolean }
function nelder_mead.search(value_of, options)
  local start, trials, best = options.start, 0, math.huge
  local most, tolerance = options.trials or 200 * #start, options.tolerance or 1e-6
  local function try(place)
    local value = value_of(place)
    trials = trials + 1
    best = math.min(best, value)
    if options.tell then options.tell(trials, best) end
    return { place = place, value = value }
  end
  local simplex = simplex_of(try, start, options.steps)
  sort(simplex)
  local function is_settled() return simplex[#simplex].value - simplex[1].value < tolerance end
  while trials < most and not is_settled() do
    local corner = better_corner(try, simplex)
    if corner then
      simplex[#simplex] = corner
    else
      for i = 2, #simplex do
        simplex[i] = try(between(simplex[1].place, simplex[i].place, 0.5))
      end
    end
    sort(simplex)
  end
  return {
    place = simplex[1].place, value = simplex[1].value, trials = trials, is_settled = is_settled(),
  }
end

return nelder_mead
