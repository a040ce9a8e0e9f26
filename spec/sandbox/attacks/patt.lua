-- expect: 
string.find(('a'):rep(64), ('a*'):rep(40)..'b')
