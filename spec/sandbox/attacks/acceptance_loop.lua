-- expect: instructions per call
require('blis').run { cluster = { speculation = { method = 'ngram', acceptance = function() while true do end end } } }
