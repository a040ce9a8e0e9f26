-- expect: field 'move'
table.move({},1,1e18,2)
