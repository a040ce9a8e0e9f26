-- expect: table.unpack returns at most
print(#table.pack(table.unpack({},1,999000)))
