--- Loads of LoRA adapters on a track of their instance, of results with keep_timeline: one is
--- under way at a time.
local adapters = {}

--- Behind that of the steps, in front of the lanes of requests.
adapters.tid = 2

--- The rows of the loads of a window, by instance.
---@param result blis.Result
---@param window blis.timeline.Window
---@return table<string, integer[]>
function adapters.rows(result, window)
  local log, rows = rawget(result, "timeline_log"), {}
  local loads = log and log.loads or {}
  for i, instance in ipairs(loads.instance or {}) do
    if loads.end_us[i] >= window.from_us and loads.start_us[i] <= window.to_us then
      rows[instance] = rows[instance] or {}
      table.insert(rows[instance], i)
    end
  end
  return rows
end

--- Draws some rows of the loads of an instance.
---@param out blis.timeline.Writer
---@param pid integer
---@param loads blis.AdapterLoads
---@param rows integer[]
function adapters.draw(out, pid, loads, rows)
  for _, i in ipairs(rows) do
    out:slice(pid, adapters.tid, loads.adapter[i], "adapter", loads.start_us[i], loads.end_us[i],
      "req", loads.request[i], "adapter", loads.adapter[i], "rank", loads.rank[i], "waiting",
      loads.waiting[i])
  end
  out:track(pid, adapters.tid, "adapter loads")
end

return adapters
