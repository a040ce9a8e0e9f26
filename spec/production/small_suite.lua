-- A suite of one scenario that is soon over.
return {
  name = "small",
  scenarios = {
    { id = "one", cluster = { instances = 2 },
      workload = { requests = 40, rate = 20, prompt_tokens = 100, output_tokens = 20 } },
  },
}
