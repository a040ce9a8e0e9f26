local think_time = require "blis.cli.think_time"

describe("a think time of the command line", function()
  it("is a distribution in microseconds", function()
    assert.same({ "constant", value = 500000 }, think_time.parse "constant:value=500ms")
    assert.same({ "constant", value = 500000 }, think_time.parse("constant:value=500", true))
    assert.same({ "constant", value = 18e9 }, think_time.parse "constant:value=5h")
    assert.same({ "constant", value = 1 }, think_time.parse "constant:value=0")
    assert.same({ "constant", value = 1500000 }, think_time.parse "constant:value=1.5s")
    assert.same({ "lognormal", mu = 1.5 + math.log(1e6), sigma = 0.5, min = 20, max = 3000000 },
      think_time.parse "lognormal:mu=1.5,sigma=0.5,min=20us,max=3s")
  end)

  it("that is wrong is named", function()
    for text, message in pairs {
      [""] = "expected constant", ["uniform:value=5"] = "expected constant",
      ["constant:"] = "not key=value with a supported key",
      ["constant:valu=5"] = "'valu=5' is not key=value with a supported key",
      ["constant:value=x"] = "'x' is not a valid value",
      ["constant:value=-5"] = "'-5' is not a valid value",
      ["constant:value=5"] = "'5' has no unit; write 5ms or 5s",
      ["constant:value=5x"] = "'5x' is not a valid value",
      ["lognormal:mu=1"] = "sigma is missing", ["lognormal:sigma=1"] = "mu is missing",
      ["lognormal:mu=1,mu=2,sigma=1"] = "mu appears twice",
      ["lognormal:mu=1,sigma=0"] = "sigma must be above 0",
      ["lognormal:mu=1,sigma=inf"] = "'inf' is not a valid sigma",
      ["lognormal:mu=1,sigma=1,min=2s,max=1s"] = "min is above max",
    } do
      local distribution, problem = think_time.parse(text)
      assert.is_nil(distribution)
      assert.matches(message, problem, 1, true)
    end
  end)
end)
