-- expect: blis.compare: replications are not available
local blis = require "blis"
local spec = { routing = { "round-robin", "least-loaded" }, replications = 5, jobs = 1000 }
blis.compare(spec)
print "went on"
