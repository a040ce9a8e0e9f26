-- expect: 
(''):rep(1e18)
