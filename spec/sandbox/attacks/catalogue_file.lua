-- expect: /etc/passwd
require('blis').run { cluster = { catalogue = '/etc/passwd' } }
