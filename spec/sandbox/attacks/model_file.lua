-- expect: /etc/passwd
require('blis').run { cluster = { model_config = '/etc/passwd' } }
