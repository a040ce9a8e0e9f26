--- A deterministic, scriptable simulator of LLM inference clusters.
local core = require "blis.core"

return { _VERSION = core._VERSION }
