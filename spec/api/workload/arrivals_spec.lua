-- Arrivals have the rate and the coefficient of variation that was asked for, however the traffic
-- is split.
local blis = require "blis"

local processes = {
  { "constant", 0 }, { "poisson", 1 }, { { "gamma", cv = 0.5 }, 0.5 }, { { "gamma", cv = 3 }, 3 },
  { { "weibull", cv = 0.3 }, 0.3 }, { { "weibull", cv = 2 }, 2 },
}

--- Requests per second and coefficient of variation of the gaps of times in microseconds.
local function measure(times)
  local n, sum, squares = #times - 1, times[#times] - times[1], 0.0
  local mean = sum / n
  for i = 2, #times do squares = squares + (times[i] - times[i - 1] - mean) ^ 2 end
  return 1e6 / mean, math.sqrt(squares / n) / mean
end

--- Arrivals by a label of the requests; all under one name without a label.
local function times_by(list, label)
  local by = {}
  for i = 1, #list do
    local request = list[i]
    local key = label and request[label] or "all"
    by[key] = by[key] or {}
    table.insert(by[key], request.arrival_us)
  end
  return by
end

local function check(times, rate, cv, what)
  local got_rate, got_cv = measure(times)
  -- Five standard errors of the mean gap, and what its square scatters by.
  local width = 5 * math.max(cv, 0.02) / math.sqrt(#times)
  assert.is_true(math.abs(got_rate / rate - 1) < width, ("%s: rate %g"):format(what, got_rate))
  assert.is_true(math.abs(got_cv - cv) <= 0.01 + 0.12 * cv, ("%s: cv %g"):format(what, got_cv))
end

describe("arrivals", function()
  for _, one in ipairs(processes) do
    local process, cv = one[1], one[2]
    local name = type(process) == "table" and ("%s cv %g"):format(process[1], cv) or process

    it("are one process over all prefix groups: " .. name, function()
      for _, groups in ipairs { 1, 100 } do
        local list = blis.workload { rate = 100, requests = 20000, arrival = process,
          prompt_tokens = 8, output_tokens = 1, prefixes = { groups = groups, tokens = 16 } }
        check(times_by(list).all, 100, cv, groups .. " groups")
      end
    end)

    for _, label in ipairs { "tenant", "slo_class" } do
      it(("are a process for each client, at its share of the rate: %s by %s"):format(name, label),
        function()
          local clients, shares = {}, { a = 0.5, b = 0.3, c = 0.2 }
          for key, share in pairs { batch = 0.5, standard = 0.3, critical = 0.2 } do
            clients[#clients + 1] = { id = key, rate_fraction = share, arrival = process,
              tenant_id = share == 0.5 and "a" or share == 0.3 and "b" or "c", slo_class = key,
              input_distribution = 8, output_distribution = 1 }
            shares[key] = share
          end
          table.sort(clients, function(a, b) return a.id < b.id end)
          local list = blis.workload { rate = 100, num_requests = 30000, clients = clients }
          local by, count = times_by(list, label), 0
          for key, times in pairs(by) do
            count = count + 1
            check(times, 100 * shares[key], cv, key)
          end
          assert.equal(3, count)
        end)
    end
  end
end)
