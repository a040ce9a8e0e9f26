-- expect: the sandbox starts no processes
require('blis').run { routing = { "external", command = "echo went on >&2" } }
