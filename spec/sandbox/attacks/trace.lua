-- expect: it is not offered
require('blis').trace.read('/etc/passwd')
