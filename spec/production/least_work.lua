-- A policy that the simulator runs, and a plugin of Dynamo's router as it is.
local blis = require "blis"

local least_work = blis.scorer {
  name = "least-work",
  score = function(request, instance)
    local work = instance.pending_prefill_tokens + request.prompt_tokens - instance.cached_tokens
    return 1 / (1 + work / instance.max_num_batched_tokens)
  end,
}

local prefix = blis.scorer {
  name = "prefix",
  score = function(_, instance) return instance.prefix_hit end,
}

-- Remembers where a session was.
local sticky = blis.scorer {
  name = "sticky",
  new = function()
    local places = {}
    return {
      score_all = function(request, instances, scores)
        for i = 1, #instances do
          scores[i] = places[request.session] == instances[i].id and 1 or 0
        end
      end,
      observe = function(request, chosen)
        if request.session ~= "" then places[request.session] = chosen.id end
      end,
    }
  end,
}

return { "weighted", scorers = { { least_work, 3 }, { prefix, 2 }, { sticky, 0.5 } } }
