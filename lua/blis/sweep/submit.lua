--- The job of a sweep for a cluster scheduler, as a string that the scheduler accepts.
local errors = require "blis.errors"

local submit = {}

---@class blis.sweep.Job
---@field script string
---@field shards integer
---@field cpus integer
---@field store string
---@field only? integer[] parts that are run again
---@field image? string

local function quote(text)
  return text:match "^[%w_./@:,+=-]+$" and text or "'" .. text:gsub("'", "'\\''") .. "'"
end

--- The command of a part, which the environment names.
local function command_of(job, quoted)
  quoted = quoted or quote
  return ("blis sweep run %s --store %s --jobs %d"):format(quoted(job.script), quoted(job.store),
    job.cpus)
end

local function parts_of(job, all) return job.only and table.concat(job.only, ",") or all end

--- For sbatch.
local function slurm(job)
  return ([[
#!/bin/sh
#SBATCH --job-name=blis
#SBATCH --array=%s
#SBATCH --cpus-per-task=%d
#SBATCH --requeue
BLIS_SHARDS=%d
export BLIS_SHARDS
exec %s
]]):format(parts_of(job, ("0-%d"):format(job.shards - 1)), job.cpus, job.shards, command_of(job))
end

--- A string in YAML.
local function scalar(text) return '"' .. tostring(text):gsub('[\\"]', "\\%0") .. '"' end

--- For kubectl apply -f -.
local function k8s(job)
  if job.only then
    errors.invalid("only: an indexed Job repeats failed parts by itself (backoffLimitPerIndex)")
  end
  return ([[
apiVersion: batch/v1
kind: Job
metadata:
  name: blis-sweep
spec:
  completionMode: Indexed
  completions: %d
  parallelism: %d
  backoffLimitPerIndex: 3
  template:
    spec:
      restartPolicy: Never
      containers:
        - name: blis
          image: %s
          workingDir: /data
          command: ["blis", "sweep", "run", %s, "--store", %s, "--jobs", "%d"]
          env:
            - name: BLIS_SHARDS
              value: "%d"
          resources:
            requests: {cpu: %d}
            limits: {cpu: %d}
          volumeMounts:
            - name: data
              mountPath: /data
      volumes:
        - name: data
          persistentVolumeClaim:
            claimName: blis-data
]]):format(job.shards, job.shards, scalar(job.image), scalar(job.script), scalar(job.store),
    job.cpus, job.shards, job.cpus, job.cpus)
end

--- For sh: a part at a time on each machine of BLIS_HOSTS, or on this one.
local function parallel(job)
  local parts = job.only and ("printf '%%s\\n' " .. table.concat(job.only, " "))
    or ("seq 0 %d"):format(job.shards - 1)
  return ([[
#!/bin/sh
%s | parallel ${BLIS_HOSTS:+--sshloginfile "$BLIS_HOSTS" --workdir .} -j1 --halt never \
  %s --shard {}/%d
]]):format(parts, command_of(job), job.shards)
end

--- A word among the arguments of HTCondor: in single quotes, with all quotes inside doubled.
local function condor_word(text)
  if text:match "^[%w_./@:,+=-]+$" then return text end
  return "'" .. text:gsub("'", "''"):gsub('"', '""') .. "'"
end

--- For condor_submit, with a file system that all machines see.
local function condor(job)
  local queue = job.only and ("queue part in (%s)"):format(table.concat(job.only, ", "))
    or "queue " .. job.shards
  return ([[
executable   = /usr/bin/env
arguments    = "%s --shard $(%s)/%d"
request_cpus = %d
should_transfer_files = NO
log          = blis-sweep.log
%s
]]):format(command_of(job, condor_word), job.only and "part" or "Process", job.shards, job.cpus,
    queue)
end

--- Engines, and the command that takes their text from standard input.
submit.engines = {
  slurm = { write = slurm, command = "sbatch" },
  k8s = { write = k8s, command = "kubectl apply -f -" },
  parallel = { write = parallel, command = "sh" },
  condor = { write = condor, command = "condor_submit" },
}

--- The parts of "3,17" or "0-5,9"; raises what is no part.
---@param text string
---@param shards integer
---@return integer[]
function submit.parts(text, shards)
  local parts, known = {}, {}
  for item in (text .. ","):gmatch "([^,]*)," do
    local first, last = item:match "^(%d+)%-(%d+)$"
    first = math.tointeger(tonumber(first or item:match "^%d+$"))
    last = math.tointeger(tonumber(last)) or first
    if not first or last < first or last >= shards then
      errors.invalid("only: invalid value '%s': expected parts from 0 to %d, such as 3,17 or 0-5",
        item, shards - 1)
    end
    for part = first, last do
      if not known[part] then known[part], parts[#parts + 1] = true, part end
    end
  end
  return parts
end

return submit
