#!/usr/bin/env bash
# Real clients, routers, and monitors against blis live; `scripts/test --live` runs each.
#
#   tools.sh NAME    openai, hostile, slow, kv-events, split, router, promtool, prometheus, haproxy,
#                    nginx, or example
#
# BLIS_PROGRAM is the program. Status 77: a tool is not installed (scripts/setup --live).
set -euo pipefail

name=$1
top=$(cd "$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")/../.." && pwd)
blis=${BLIS_PROGRAM:-blis}
folder=$(mktemp -d)
port=$((20000 + RANDOM % 8000))
url=http://127.0.0.1:$port
pids=()

finish() {
  for pid in "${pids[@]}"; do kill "$pid" 2>/dev/null || true; done
  wait 2>/dev/null || true
  rm -rf "$folder"
}
trap finish EXIT

fail() {
  printf 'tools: %s: %s\n' "$name" "$*" >&2
  exit 1
}

need() { # command...
  local one
  for one in "$@"; do
    command -v "$one" >/dev/null || exit 77
  done
}

# serve FLAGS...: a server with a gateway at $url, and instances on the next ports.
serve() {
  "$blis" live --model qwen/qwen3-14b --hardware H100 --gateway "127.0.0.1:$port" "$@" \
    >"$folder/out" 2>"$folder/err" &
  pids+=($!)
  until_is grep -q gateway "$folder/err"
}

until_is() { # command...
  local i
  for ((i = 0; i < 200; i++)); do
    if "$@" >/dev/null 2>&1; then
      return 0
    fi
    sleep 0.05
  done
  fail "no success in 10 s: $*"
}

# The requests that each instance has completed, a number a line.
completed() { # count of instances
  local i
  for ((i = 1; i <= $1; i++)); do
    curl -sS "http://127.0.0.1:$((port + i))/metrics" |
      awk '/^vllm:request_success_total.*finished_reason="(stop|length)"/ { n += $2 } END { print n + 0 }'
  done
}

# observe URL FLAGS...: sends a workload.
observe() {
  local target=$1
  shift
  "$blis" observe --target "$target" --max-send-delay 1h "$@" >"$folder/observed"
  grep -q ' + 0 failed' "$folder/observed" || fail "$(cat "$folder/observed")"
}

# need_packages NAME...: the npm packages of `scripts/setup --live`.
need_packages() {
  local one
  export NODE_PATH=${BLIS_LIVE_NODE:-$top/build/live-clients/node_modules}
  for one in "$@"; do
    [ -d "$NODE_PATH/$one" ] || exit 77
  done
}

test_openai() {
  need node
  need_packages openai
  serve --speed 20
  node "$top/tests/live/clients/openai.js" "$url"
}

test_hostile() {
  need node
  serve --speed 20 --kv-handoff-bandwidth 25 --kv-handoff-latency 100ms
  node "$top/tests/live/clients/hostile.js" "$url" "${BLIS_HOSTILE_REQUESTS:-2000}"
  kill -INT "${pids[0]}"
  wait "${pids[0]}" && status=0 || status=$?
  [ "$status" = 130 ] || fail "the server ended with status $status"
}

test_slow() {
  need node
  serve --speed 200
  node "$top/tests/live/clients/slow.js" "$url" 36000 5
}

# A cache of 120 blocks for each instance: prompts evict blocks of each other.
test_kv-events() {
  need node
  need_packages zeromq @msgpack/msgpack
  "$blis" --version | grep -q 'KV events: libzmq' || exit 77
  local form
  for form in array map; do
    serve --speed 20 --num-instances 2 --port-base $((port + 1)) --total-kv-blocks 120 \
      --kv-events "127.0.0.1:$((port + 3))+" --kv-events-replay "127.0.0.1:$((port + 5))+" \
      --kv-events-format $form
    node "$top/tests/live/clients/kv_events.js" "$url" $((port + 1)) $((port + 3)) \
      $((port + 5)) $form
    kill -INT "${pids[-1]}"
    wait "${pids[-1]}" || true
    port=$((port + 10))
    url=http://127.0.0.1:$port
  done
}

test_split() {
  need node
  serve --speed 2 --num-instances 2 --port-base $((port + 1)) --kv-handoff-bandwidth 25 \
    --kv-handoff-latency 200ms
  node "$top/tests/live/clients/split.js" "http://127.0.0.1:$((port + 1))" \
    "http://127.0.0.1:$((port + 2))" 100
}

# A router that scrapes every 50 ms, against blis' own router with signals of that age.
test_router() {
  need node curl
  local flags="--num-requests 400 --rate 60 --output-tokens 100 --output-tokens-stdev 30 --seed 5"
  serve --num-instances 4 --port-base $((port + 1))
  node "$top/tests/live/clients/router.js" $((port + 20)) \
    "http://127.0.0.1:"{$((port + 1)),$((port + 2)),$((port + 3)),$((port + 4))} &
  pids+=($!)
  until_is curl -sf "http://127.0.0.1:$((port + 20))/health"
  observe "http://127.0.0.1:$((port + 20))" $flags
  completed 4 >"$folder/loads"
  awk '$1 < 50 || $1 > 150 { bad = 1 } { n += $1 } END { exit bad || n != 400 }' "$folder/loads" ||
    fail "the router is uneven: $(tr '\n' ' ' <"$folder/loads")"
  kill -INT "${pids[0]}"
  wait "${pids[0]}" || true
  printf 'router: loads %s\nby its decisions:\n' "$(tr '\n' ' ' <"$folder/loads")"
  grep -E '^  (ms|TTFT)' "$folder/out"
  echo 'the same rule in virtual time, with signals that are 50 ms old:'
  "$blis" run --model qwen/qwen3-14b --hardware H100 --num-instances 4 $flags --quiet \
    --trace-output "$folder/traffic" >/dev/null
  "$blis" "$top/tests/live/clients/router.lua" "$folder/traffic.csv"
}

# promtool complains about names that vLLM itself has: colons, and a histogram called _total.
test_promtool() {
  need promtool curl
  serve --speed 20 --lora-adapters 2 --num-instances 2
  observe "$url" --num-requests 20 --rate 20 --output-tokens 8 --speed 20
  curl -sS "$url/metrics" >"$folder/metrics"
  promtool check metrics <"$folder/metrics" >"$folder/said" 2>&1 || true
  if grep -v -e "should not contain ':'" -e 'iteration_tokens_total non-counter' "$folder/said" |
    grep -q .; then
    fail "$(cat "$folder/said")"
  fi
}

# Queries of KEDA's recipe, llm-d's workload-variant autoscaler, and dashboards of vLLM.
queries=(
  'sum(vllm:num_requests_waiting)'
  'max by (instance)(max_over_time(vllm:kv_cache_usage_perc{model_name="qwen/qwen3-14b"}[1m]))'
  'sum(increase(vllm:request_success_total[1m]))'
  'sum(rate(vllm:request_generation_tokens_sum[1m])) / sum(rate(vllm:request_generation_tokens_count[1m]))'
  'histogram_quantile(0.99, sum by (le)(rate(vllm:time_to_first_token_seconds_bucket[1m])))'
  'histogram_quantile(0.5, sum by (le)(rate(vllm:inter_token_latency_seconds_bucket[1m])))'
  'vllm:cache_config_info'
)

test_prometheus() {
  need prometheus curl
  serve --num-instances 8 --port-base $((port + 1))
  local targets='' i
  for ((i = 1; i <= 8; i++)); do targets+="127.0.0.1:$((port + i)),"; done
  cat >"$folder/prometheus.yml" <<YAML
global: {scrape_interval: 1s}
scrape_configs:
  - job_name: blis
    static_configs: [{targets: [${targets%,}]}]
YAML
  local web=127.0.0.1:$((port + 20))
  prometheus --config.file="$folder/prometheus.yml" --storage.tsdb.path="$folder/tsdb" \
    --web.listen-address="$web" >"$folder/prometheus.log" 2>&1 &
  pids+=($!)
  until_is curl -sf "http://$web/-/ready"
  observe "$url" --num-requests 80 --rate 10 --output-tokens 20
  sleep 2
  ask() { curl -sS --data-urlencode "query=$1" "http://$web/api/v1/query"; }
  ask 'sum(up)' | grep -q '"8"' || fail "not all targets are up: $(ask up)"
  local query
  for query in "${queries[@]}"; do
    ask "$query" | grep -q '"value":\[' || fail "no data of $query: $(ask "$query")"
  done
  ! grep -E 'level=(warn|error)' "$folder/prometheus.log" || fail "prometheus complains"
}

haproxy_config() { # balance
  cat <<CFG
defaults
  mode http
  option http-no-delay
  timeout connect 5s
  timeout client 600s
  timeout server 600s
frontend api
  bind 127.0.0.1:$((port + 20))
  default_backend instances
backend instances
  $1
  option httpchk GET /health
$(for i in 1 2 3 4; do echo "  server i$i 127.0.0.1:$((port + i)) check inter 500ms"; done)
CFG
}

test_haproxy() {
  need haproxy curl
  serve --num-instances 4 --port-base $((port + 1))
  haproxy_config 'balance leastconn' >"$folder/haproxy.cfg"
  haproxy -q -f "$folder/haproxy.cfg" >"$folder/haproxy.log" 2>&1 &
  pids+=($!)
  until_is curl -sf "http://127.0.0.1:$((port + 20))/health"
  observe "http://127.0.0.1:$((port + 20))" --num-requests 400 --rate 80 --output-tokens 60 \
    --output-tokens-stdev 20
  completed 4 >"$folder/loads"
  awk '$1 < 85 || $1 > 115 { bad = 1 } { n += $1 } END { exit bad || n != 400 }' "$folder/loads" ||
    fail "leastconn is uneven: $(tr '\n' ' ' <"$folder/loads")"
  # A failed instance gets nothing more.
  curl -sS -X POST "$url/admin/fail?instance=0" >/dev/null
  sleep 2
  observe "http://127.0.0.1:$((port + 20))" --num-requests 60 --rate 60 --output-tokens 10
  [ "$(completed 1)" = "$(head -1 "$folder/loads")" ] || fail "a failed instance got requests"
}

test_nginx() {
  need nginx curl
  serve --num-instances 4 --port-base $((port + 1)) --speed 10
  cat >"$folder/nginx.conf" <<CFG
daemon off;
pid $folder/nginx.pid;
error_log $folder/nginx.log;
events {}
http {
  access_log off;
  client_body_temp_path $folder/body;
  proxy_temp_path $folder/proxy;
  fastcgi_temp_path $folder/fastcgi;
  uwsgi_temp_path $folder/uwsgi;
  scgi_temp_path $folder/scgi;
  upstream instances {
    hash \$http_x_session_id consistent;
$(for i in 1 2 3 4; do echo "    server 127.0.0.1:$((port + i));"; done)
  }
  server {
    listen 127.0.0.1:$((port + 20));
    location / { proxy_pass http://instances; proxy_buffering off; proxy_http_version 1.1; }
  }
}
CFG
  nginx -c "$folder/nginx.conf" -p "$folder" 2>"$folder/nginx.err" &
  pids+=($!)
  until_is curl -sf "http://127.0.0.1:$((port + 20))/health"
  local session turn where=''
  for session in a b c d e f; do
    for turn in 1 2 3; do
      curl -sS -D - -o /dev/null -H 'Content-Type: application/json' -H "x-session-id: $session" \
        -d '{"prompt": "a", "max_tokens": 2}' "http://127.0.0.1:$((port + 20))/v1/completions" |
        tr -d '\r' | awk -v s="$session" 'tolower($1) == "x-inference-pod:" { print s, $2 }'
    done
  done >"$folder/where"
  where=$(sort -u "$folder/where" | wc -l)
  [ "$(wc -l <"$folder/where")" = 18 ] || fail "answers name no instance: $(cat "$folder/where")"
  [ "$where" = 6 ] || fail "a session has several instances: $(sort -u "$folder/where")"
}

test_example() {
  need haproxy curl
  BLIS_PROGRAM=$blis "$blis" "$top/examples/live/haproxy.lua" 120 60 >"$folder/said"
  grep -q '^least-loaded, virtual time  *[0-9.]* ' "$folder/said" || fail "$(cat "$folder/said")"
  cat "$folder/said"
}

case $name in
  openai | hostile | slow | kv-events | split | router | promtool | prometheus | haproxy | nginx | \
    example)
    "test_$name"
    ;;
  *)
    fail "unknown, expected openai, hostile, slow, kv-events, split, router, promtool," \
      "prometheus, haproxy, nginx, or example"
    ;;
esac
