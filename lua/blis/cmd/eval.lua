--- blis eval: the score of a policy in a suite, for people and for loops of optimisers.
return require("blis.eval.command").of "eval"
