-- expect: global 'load'
load(function() return 'x=1 ' end)
