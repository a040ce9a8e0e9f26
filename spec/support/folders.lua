--- Folders for specs.
local folders = {}

--- Calls body with the path of a folder that does not exist yet, then removes what is there.
function folders.with(body)
  local path = os.tmpname()
  os.remove(path)
  local ok, problem = pcall(body, path)
  os.execute(("rm -rf '%s'"):format(path))
  if not ok then error(problem, 0) end
end

return folders
