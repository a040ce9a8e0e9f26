---@meta
--- Vectors and random streams: types whose values come from C, for editors;
--- nothing here is ever run.

--- Numbers on which arithmetic works as a whole. Vectors made in a decision end with it.
---@class blis.Vector
---@field [integer] number
---@operator len: integer
---@operator unm: blis.Vector
---@operator add(blis.Vector|number): blis.Vector
---@operator sub(blis.Vector|number): blis.Vector
---@operator mul(blis.Vector|number): blis.Vector
---@operator div(blis.Vector|number): blis.Vector
---@operator pow(blis.Vector|number): blis.Vector

---@class blis.vec
local vec = {}

--- A vector that lasts, of the numbers in a list.
---@param numbers number[]
---@return blis.Vector
function vec.new(numbers) end

--- The numbers of a vector as a list, which may be kept.
---@param v blis.Vector
---@return number[]
function vec.totable(v) end

--- The least number of v; with a second argument, the smaller ones item by item.
---@param v blis.Vector|number
---@param w? blis.Vector|number
---@return number|blis.Vector
function vec.min(v, w) end

--- The greatest number of v; with a second argument, the larger ones item by item.
---@param v blis.Vector|number
---@param w? blis.Vector|number
---@return number|blis.Vector
function vec.max(v, w) end

--- The sum of all numbers.
---@param v blis.Vector
---@return number
function vec.sum(v) end

--- Numbers below low become low, those above high become high; 0 and 1 by default.
---@param v blis.Vector
---@param low? number
---@param high? number
---@return blis.Vector
function vec.clamp(v, low, high) end

--- (x - min) / (max - min), or when_equal (default 0) if all values are equal. norm(-load, 1)
--- returns 1 for the least loaded candidate and 0 for the most loaded one.
---@param v blis.Vector
---@param when_equal? number
---@return blis.Vector
function vec.norm(v, when_equal) end

--- Items of a where the condition is not 0, otherwise items of b.
---@param condition blis.Vector
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.where(condition, a, b) end

--- 1 where a < b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.lt(a, b) end

--- 1 where a <= b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.le(a, b) end

--- 1 where a > b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.gt(a, b) end

--- 1 where a >= b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.ge(a, b) end

--- 1 where a == b, else 0.
---@param a blis.Vector|number
---@param b blis.Vector|number
---@return blis.Vector
function vec.eq(a, b) end

---@class blis.Rng a random stream
local rng = {}

--- A whole number from 1 to n, or from m to n.
---@param m integer
---@param n? integer
---@return integer
function rng:integer(m, n) end

--- Uniform from 0 to 1, without 1.
---@return number
function rng:number() end

--- Exponentially distributed.
---@param mean? number 1 by default
---@return number
function rng:exponential(mean) end

--- Normally distributed.
---@param mean? number 0 by default
---@param std_dev? number 1 by default
---@return number
function rng:normal(mean, std_dev) end

--- Shuffles a list in place and returns it.
---@param items any[]
---@return any[] items
function rng:shuffle(items) end
