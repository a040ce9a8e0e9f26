--- Folders of measurements that are not part of the repository.
local shared = {}

--- The path of a folder, with a slash at its end. Ends the script if the folder is absent.
---@param name string a folder beside the repository's own, in ../shared or $BLIS_SHARED_DIR
---@param part string a folder in it; "": the folder itself
---@param source string where its owner publishes the measurements
---@return string
function shared.folder(name, part, source)
  local path = (os.getenv "BLIS_SHARED_DIR" or "../shared") .. "/" .. name .. "/"
    .. (part ~= "" and part .. "/" or "")
  local file = io.open(path)
  if not file then
    io.stderr:write(("validate: %s is missing; the measurements are published by %s\n"):format(path,
      source))
    os.exit(77)
  end
  file:close()
  return path
end

return shared
