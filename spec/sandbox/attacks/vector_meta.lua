-- expect: index a boolean value
getmetatable(require('blis').rng(1)).__gc = 1
