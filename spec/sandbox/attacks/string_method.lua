-- expect: a nil value (method 'gsub')
('x'):gsub('x', 'y')
