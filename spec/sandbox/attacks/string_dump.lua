-- expect: field 'dump'
string.dump(print)
