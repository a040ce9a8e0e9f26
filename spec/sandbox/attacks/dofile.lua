-- expect: global 'dofile'
dofile('/etc/passwd')
