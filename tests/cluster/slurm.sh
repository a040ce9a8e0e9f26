#!/usr/bin/env bash
# slurm.sh BUILD: a real Slurm on this machine. Arrays share a sweep; a task that
# was cancelled is repeated, with gaps; what comes out is byte for byte that of a
# local run.
set -euo pipefail

for tool in slurmctld slurmd sbatch scancel; do
  command -v $tool >/dev/null || { echo "needs slurm-wlm (scripts/setup --cluster)"; exit 77; }
done
user=$(id -un)
[ "$(id -u)" != 0 ] || user=nobody
host=$(hostname -s)
work=$(mktemp -d)
export SLURM_CONF=$work/slurm.conf

# as_user COMMAND...: Slurm's daemons and jobs are nobody's.
as_user() {
  if [ "$(id -u)" = 0 ]; then
    setpriv --reuid=nobody --regid=nogroup --clear-groups env HOME="$work" "$@"
  else
    "$@"
  fi
}

# Ends the two daemons that were started here, by their own files.
stop() {
  local file pid
  for file in "$work"/slurmd.pid "$work"/slurmctld.pid; do
    [ -e "$file" ] || continue
    pid=$(cat "$file")
    kill "$pid" 2>/dev/null || true
    for _ in $(seq 100); do
      kill -0 "$pid" 2>/dev/null || break
      sleep 0.1
    done
  done
  rm -rf "$work"
}
trap stop EXIT

mkdir "$work/state" "$work/spool"
cp "$1/blis" "$work/blis"
cat >"$SLURM_CONF" <<END
ClusterName=blis
SlurmctldHost=$host(127.0.0.1)
SlurmUser=$user
SlurmdUser=$user
ReturnToService=2
AuthType=auth/none
CredType=cred/none
MpiDefault=none
SwitchType=switch/none
SlurmctldPort=26817
SlurmdPort=26818
ProctrackType=proctrack/pgid
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerType=sched/backfill
SchedulerParameters=sched_interval=1,batch_sched_delay=0
MinJobAge=300
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SlurmctldPidFile=$work/slurmctld.pid
SlurmdPidFile=$work/slurmd.pid
SlurmctldLogFile=$work/slurmctld.log
SlurmdLogFile=$work/slurmd.log
SlurmdSpoolDir=$work/spool
StateSaveLocation=$work/state
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP
END
cat >"$work/sweep.lua" <<'END'
local blis = require "blis"
print(blis.sweep {
  name = "shared", identity = "1",
  parameters = { { "rate", { 5, 10, 20 } }, { "instances", { 1, 2 } } }, replications = 4,
  trial = function(p)
    local hold = os.getenv "HOLD"
    while hold and p.rate == 20 and not io.open(hold) do os.execute "sleep 0.2" end
    return blis.run { cluster = { instances = p.instances }, seed = p.seed, workload = {
      rate = p.rate, requests = 40, prompt_tokens = 100, output_tokens = 5 } }
  end,
  report = { "ttft_ms.p99", "tokens_per_sec" },
}:run())
END
chmod -R a+rX "$work"
[ "$(id -u)" != 0 ] || chown -R nobody "$work"

cd "$work"
as_user slurmctld -c
as_user slurmd
for _ in $(seq 300); do
  [ "$(sinfo -h -o %t 2>/dev/null)" != idle ] || break
  sleep 0.1
done
[ "$(sinfo -h -o %t)" = idle ] || { tail -n 5 ./*.log; echo "Slurm does not start here"; exit 77; }

wait_for() { # JOB
  while [ -n "$(squeue -h -j "$1" -t PENDING,RUNNING,COMPLETING 2>/dev/null)" ]; do sleep 0.2; done
}
command="$work/blis sweep run $work/sweep.lua --store $work/shared.sweep"
table() { ./blis sweep table "$1" --format csv; ./blis sweep export "$1" --format json |
  grep -v -e wall_us -e '"writer"'; }

as_user ./blis sweep run sweep.lua --store local.sweep --jobs 1 >local.txt 2>/dev/null

# The job that `blis sweep submit` writes; two tasks of it wait until they are cancelled.
as_user ./blis sweep submit sweep.lua --slurm --shards 4 --cpus 1 --store "$work/shared.sweep" \
  >job.sh
sed -i "s|^exec blis|exec $work/blis|" job.sh
job=$(as_user env HOLD="$work/go" sbatch --parsable job.sh)
until [ "$(squeue -h -j "$job" -t RUNNING -r | wc -l)" -gt 0 ]; do sleep 0.1; done
as_user scancel "${job}_1"
as_user scancel "${job}_3"
as_user touch "$work/go"
wait_for "$job"
as_user ./blis sweep status shared.sweep --format json >before
grep -q '"missing": 0' before && { echo "nothing was left to repeat"; exit 1; }

# The cancelled ones again: an array with a gap.
as_user ./blis sweep submit sweep.lua --slurm --shards 4 --only 1,3 --cpus 1 \
  --store "$work/shared.sweep" >again.sh
sed -i "s|^exec blis|exec $work/blis|" again.sh
grep -q -- '--array=1,3' again.sh
wait_for "$(as_user sbatch --parsable again.sh)"
as_user ./blis sweep watch shared.sweep --once >watched
grep -q '24 of 24' watched

cmp <(table local.sweep) <(table shared.sweep)
# Repeated once more, nothing is run again.
before=$(cat shared.sweep/*.jsonl | wc -l)
wait_for "$(as_user sbatch --parsable job.sh)"
test "$before" = "$(cat shared.sweep/*.jsonl | wc -l)"
echo "24 trials by two arrays, as by a local run"
