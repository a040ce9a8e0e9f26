-- expect: global 'coroutine'
for i=1,1e12 do local co=coroutine.wrap(function() local x=0 for i=1,400 do x=x+1 end end) co() end
