-- expect: a width is at most 20
for i=1,1e9 do local a=string.format('%99.99f', 1e308) end
