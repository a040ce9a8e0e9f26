--- blis openevolve-evaluate: blis eval, by the name that users of that framework look for.
return require("blis.eval.command").of("openevolve-evaluate", function(arguments)
  return require("blis.cmd.run").run(arguments)
end)
