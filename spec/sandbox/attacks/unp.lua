-- expect: global 'utf8'
local a=utf8.char(table.unpack({},1,10))
