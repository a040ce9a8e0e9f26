-- expect: index a boolean value
getmetatable(require('blis')).__index = 1
