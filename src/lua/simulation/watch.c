#include "lua/simulation/watch.h"

#include <time.h>

#include "cluster/adapters/adapters.h"
#include "cluster/gateway/gateway.h"
#include "cluster/scaling/scaling.h"
#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/bind/interrupt.h"
#include "lua/bind/sandbox.h"

/* A sample takes at most 1 / LEAST_SHARE of the time. */
enum { LEAST_SHARE = 200 };

static int64_t wall_clock_us(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000 + now.tv_nsec / 1000;
}

void check_watch(lua_State *L, int index, bind_hooks *hooks, bind_watch *watch) {
  blis_alloc alloc = bind_alloc(L);
  watch->interval_us = opt_field_integer(L, index, "watch_interval_ms", 250) * 1000;
  blis_glance_init(&watch->glance, &alloc);
  watch->hooks = hooks;
  watch->function = push_hook_field(L, index, "watch", hooks);
  watch->is_off = bind_sandbox_of(L) != NULL; /* a sandbox has no clock */
}

void set_watch(lua_State *L, int anchor, bind_watch *watch) {
  if (watch->function == 0) {
    watch->function = ANCHOR_FUNCTIONS + watch->hooks->functions;
    watch->hooks->functions++;
  }
  lua_rawseti(L, anchor, watch->function);
}

void bind_watch_close(bind_watch *watch) {
  if (watch->hooks != NULL) {
    blis_glance_deinit(&watch->glance);
  }
}

/* ---- what is shown ------------------------------------------------------ */

static void set_counts(lua_State *L, const blis_cluster_counts *counts) {
  const struct {
    const char *name;
    int64_t value;
  } fields[] = {
      {"arrived", counts->arrived},     {"routed", counts->routed},
      {"rejected", counts->rejected},   {"completed", counts->completed},
      {"timed_out", counts->timed_out}, {"unservable", counts->unservable},
      {"failed", counts->failed},       {"escalated", counts->escalated},
      {"rerouted", counts->rerouted},   {"retried", counts->retried},
      {"in_flight", counts->in_flight},
  };
  for (size_t i = 0; i < sizeof fields / sizeof *fields; i++) {
    set_field_integer(L, fields[i].name, fields[i].value);
  }
}

/* Sets { p50_us, p99_us }; sets nothing without values. */
static void set_times(lua_State *L, const char *name, const blis_sketch *times) {
  uint64_t total = times == NULL ? 0 : blis_sketch_total(times);
  if (total == 0) {
    return;
  }
  lua_createtable(L, 0, 2);
  set_field_integer(L, "p50_us", blis_sketch_at_rank(times, (total - 1) / 2));
  set_field_integer(
      L, "p99_us",
      blis_sketch_at_rank(times, (total - 1) / 100 * 99 + (total - 1) % 100 * 99 / 100));
  lua_setfield(L, -2, name);
}

static void set_latencies(lua_State *L, bind_watch *watch) {
  blis_glance_times times;
  blis_status status = blis_glance_look(&watch->glance, watch->records->recorder, &times);
  (void)status; /* without memory the snapshot covers fewer requests */
  set_times(L, "ttft", times.ttft_us);
  set_times(L, "itl", times.itl_us);
  set_times(L, "e2e", times.e2e_us);
}

static void set_gateway(lua_State *L, const blis_cluster *cluster) {
  blis_gateway_counts counts;
  blis_cluster_get_gateway(cluster, &counts);
  lua_createtable(L, 0, 3);
  set_field_integer(L, "waiting", counts.waiting);
  set_field_integer(L, "peak", counts.peak);
  set_field_number(L, "saturation", counts.saturation);
  lua_setfield(L, -2, "gateway");
}

static const char *role_name(uint32_t roles) {
  static const char *const names[] = {"",       "prefill",         "decode",         "both",
                                      "encode", "encode, prefill", "encode, decode", "all"};
  return names[roles & BLIS_ROLES_ALL];
}

static void push_pool(lua_State *L, const blis_scaling_report *report) {
  static const char *const roles[] = {
      [BLIS_SCALE_BOTH] = "", [BLIS_SCALE_PREFILL] = "prefill", [BLIS_SCALE_DECODE] = "decode"};
  lua_createtable(L, 0, 10);
  set_field_string(L, "role", roles[report->role]);
  set_field_integer(L, "changes", (int64_t)report->event_count);
  if (report->level_count > 0) {
    const blis_scale_level *level = &report->levels[report->level_count - 1];
    set_field_integer(L, "wanted", level->wanted);
    set_field_integer(L, "ready", level->ready);
    set_field_integer(L, "paid", level->paid);
  }
  if (report->event_count > 0) {
    const blis_scale_event *last = &report->events[report->event_count - 1];
    set_field_integer(L, "last_us", last->time_us);
    set_field_integer(L, "from", last->from);
    set_field_integer(L, "to", last->to);
    set_field_string(L, "reason", last->reason);
  }
}

static void set_pools(lua_State *L, const blis_cluster *cluster) {
  blis_scaling_report report;
  lua_createtable(L, 2, 0);
  for (size_t i = 0; blis_cluster_get_scaling(cluster, i, &report); i++) {
    push_pool(L, &report);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "pools");
}

/* Sets `lora`, over all instances, if requests may need adapters. */
static void set_adapters(lua_State *L, const blis_cluster *cluster) {
  if (blis_cluster_adapter_count(cluster) == 0) {
    return;
  }
  blis_adapter_stats sum;
  blis_cluster_get_adapters(cluster, &sum);
  lua_createtable(L, 0, 5);
  set_field_integer(L, "slots", sum.slots);
  set_field_integer(L, "loaded", sum.loaded);
  set_field_integer(L, "running", sum.running);
  set_field_integer(L, "waiting", sum.waiting);
  set_field_integer(L, "loads", sum.loads);
  lua_setfield(L, -2, "lora");
}

static void set_tiers(lua_State *L, const blis_cluster *cluster) {
  size_t count = blis_cluster_kv_tier_count(cluster);
  if (count == 0) {
    return;
  }
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    blis_kv_tier_counts tier = blis_cluster_kv_tier(cluster, i);
    lua_createtable(L, 0, 3);
    set_field_string(L, "name", tier.name);
    set_field_integer(L, "used_blocks", tier.used_blocks);
    set_field_integer(L, "capacity_blocks", tier.capacity_blocks);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "kv_tiers");
}

/* Sets the counts of session graph tasks. */
static void set_tasks(lua_State *L, const bind_records *records) {
  const blis_graph_player *player = records->source.graphs.player;
  if (player == NULL) {
    return;
  }
  blis_task_counts counts = blis_graph_player_task_counts(player);
  lua_createtable(L, 0, 3);
  set_field_integer(L, "running", counts.running);
  set_field_integer(L, "ended", counts.ended);
  set_field_integer(L, "completed", counts.completed);
  lua_setfield(L, -2, "tasks");
}

/* Sets `groups`, a list by instance; sets nothing without data-parallel ranks. */
static void set_groups(lua_State *L, const blis_cluster *cluster) {
  uint32_t count = blis_cluster_instance_count(cluster);
  if (count == 0 || blis_cluster_unit_of(cluster, count - 1) == count - 1) {
    return;
  }
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    lua_pushinteger(L, blis_cluster_unit_of(cluster, i));
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "groups");
}

/* The lists of set_instances, in the order in which they are on the stack. */
enum { IDS, STATES, ROLES, QUEUES, BATCHES, KV, HITS, LISTS };

static void push_instance_figures(lua_State *L, const blis_cluster *cluster, uint32_t i) {
  blis_instance_stats stats;
  blis_instance_get_stats(blis_cluster_instance(cluster, i), &stats);
  int64_t blocks = stats.cache_hits + stats.cache_misses;
  lua_pushstring(L, blis_cluster_instance_id(cluster, i));
  lua_pushstring(L, blis_service_name(blis_cluster_instance_service(cluster, i)));
  lua_pushstring(L, role_name(blis_cluster_instance_facts(cluster, i)->roles));
  lua_pushinteger(L, stats.queue_depth);
  lua_pushinteger(L, stats.batch_size);
  lua_pushnumber(L, (double)stats.used_kv_blocks / (double)stats.kv_blocks);
  lua_pushnumber(L, blocks == 0 ? -1 : (double)stats.cache_hits / (double)blocks);
}

/* Sets ids, states, roles, queues, batches, kv, and hits: lists by instance. */
static void set_instances(lua_State *L, const blis_cluster *cluster) {
  static const char *const names[LISTS] = {
      [IDS] = "ids",         [STATES] = "states", [ROLES] = "roles", [QUEUES] = "queues",
      [BATCHES] = "batches", [KV] = "kv",         [HITS] = "hits"};
  int look = lua_gettop(L);
  uint32_t count = blis_cluster_instance_count(cluster);
  for (int k = 0; k < LISTS; k++) {
    lua_createtable(L, (int)count, 0);
  }
  for (uint32_t i = 0; i < count; i++) {
    push_instance_figures(L, cluster, i);
    for (int k = LISTS; k >= 1; k--) {
      lua_rawseti(L, look + k, (lua_Integer)i + 1);
    }
  }
  for (int k = LISTS - 1; k >= 0; k--) {
    lua_setfield(L, look, names[k]);
  }
}

static int call_function(lua_State *L) {
  enum { WATCH = 1, ANCHOR };
  bind_watch *watch = lua_touserdata(L, WATCH);
  const blis_cluster *cluster = watch->cluster;
  blis_cluster_counts counts;
  blis_cluster_get_counts(cluster, &counts);
  bind_hooks_anchor(L, watch->hooks);
  lua_rawgeti(L, ANCHOR, watch->function);
  lua_createtable(L, 0, 28);
  set_field_integer(L, "now_us", blis_cluster_now_us(cluster));
  set_counts(L, &counts);
  set_latencies(L, watch);
  set_gateway(L, cluster);
  set_pools(L, cluster);
  set_adapters(L, cluster);
  set_tiers(L, cluster);
  set_tasks(L, watch->records);
  set_groups(L, cluster);
  set_instances(L, cluster);
  lua_call(L, 1, 0);
  return 0;
}

/* ---- when --------------------------------------------------------------- */

static bool is_due(bind_watch *watch, int64_t now_us) {
  if (watch->next_us == 0) {
    watch->next_us = now_us + watch->interval_us;
  }
  return now_us >= watch->next_us;
}

void bind_watch_tell(bind_watch *watch) {
  if (watch->function == 0 || watch->is_off || watch->is_asleep || watch->hooks->has_error) {
    return;
  }
  int64_t begin_us = wall_clock_us();
  if (!is_due(watch, begin_us)) {
    return;
  }
  const bind_hook_place place = {
      .kind = "live view", .name = "", .now_us = blis_cluster_now_us(watch->cluster)};
  blis_error error = {0};
  watch->is_on = true;
  blis_interrupt_hold(true);
  blis_status status = bind_pcall(watch->hooks, &place, call_function, watch, &error);
  blis_interrupt_hold(false);
  (void)status; /* the error is stored in the hooks, which the driver checks */
  int64_t end_us = wall_clock_us();
  int64_t rest_us = LEAST_SHARE * (end_us - begin_us);
  bool is_rare = watch->interval_us == 0 || rest_us < watch->interval_us;
  watch->next_us = end_us + (is_rare ? watch->interval_us : rest_us);
}

void bind_watch_rest(lua_State *L, bind_watch *watch, bool has_failed) {
  if (!watch->is_on) {
    return;
  }
  int top = lua_gettop(L);
  watch->is_on = false;
  watch->next_us = 0;
  bind_hooks_anchor(L, watch->hooks);
  lua_rawgeti(L, -1, watch->function);
  lua_pushboolean(L, 0);
  lua_pushboolean(L, has_failed);
  /* Cleanup only: failures are ignored. */
  blis_interrupt_hold(true);
  (void)lua_pcall(L, 2, 0, 0);
  blis_interrupt_hold(false);
  lua_settop(L, top);
}
