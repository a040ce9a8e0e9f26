-- expect: only 'blis' is offered
require('io')
