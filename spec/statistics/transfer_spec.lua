local blis = require "blis"

local statistics = blis.statistics

describe("the rank correlation", function()
  it("is 1 for the same order and -1 for the reverse, whatever the values", function()
    assert.equal(1, statistics.spearman({ 1, 2, 3, 10 }, { 5, 6, 700, 701 }))
    assert.equal(-1, statistics.spearman({ 1, 2, 3 }, { 9, 4, 1 }))
  end)

  it("follows the textbook: 1 - 6 sum d^2 / n (n^2 - 1) without ties", function()
    -- d = 1, -1, 0, 1, -1
    assert.is_near(1 - 6 * 4 / (5 * 24),
      statistics.spearman({ 1, 2, 3, 4, 5 }, { 2, 1, 3, 5, 4 }), 1e-12)
  end)

  it("gives equal values the mean of their ranks", function()
    -- Ranks 1, 2.5, 2.5, 4 against 1, 2, 3, 4.
    assert.is_near(4.5 / math.sqrt(4.5 * 5), statistics.spearman({ 1, 2, 2, 3 }, { 1, 2, 3, 4 }),
      1e-12)
  end)

  it("is unknown where nothing differs", function()
    assert.is_nil(statistics.spearman({ 1 }, { 2 }))
    assert.is_nil(statistics.spearman({ 1, 1 }, { 2, 3 }))
  end)
end)

describe("what transfers from simulation to reality", function()
  it("is the order of pairs and the size of gaps", function()
    local transfer = statistics.transfer({ 10, 20, 30, 25 }, { 12, 18, 24, 24 })
    assert.equal(4, transfer.n)
    assert.equal(5, transfer.pairs) -- the last two do not differ in reality
    assert.equal(5, transfer.pairs_ordered_right)
    assert.equal(1, transfer.order_preserved)
    assert.same({ 2, 2, 6, 1 }, transfer.gaps)
    assert.equal(2.75, transfer.mean_gap)
    assert.is_near((2 / 12 + 2 / 18 + 6 / 24 + 1 / 24) / 4, transfer.mean_relative_gap, 1e-12)
    assert.equal("rank correlation 0.949, 5 of 5 pairs ordered right, mean gap 2.75 (14.2 % of the "
      .. "real metric)", tostring(transfer))
  end)

  it("does not count a tie as the naming of a winner", function()
    assert.equal(0, statistics.transfer({ 1, 1 }, { 1, 2 }).order_preserved)
  end)

  it("wants pairs of numbers", function()
    assert.has_error(function() statistics.transfer({ 1 }, { 1, 2 }) end)
    assert.has_error(function() statistics.transfer({ "x" }, { 1 }) end)
    assert.has_error(function() statistics.spearman(1, { 1 }) end)
  end)
end)
