#include "lua/simulation/construct.h"

#include <string.h>

#include "instance/request/instance_id.h"
#include "lua/bind/bind.h"
#include "lua/bind/interrupt.h"
#include "lua/engine/shares.h"
#include "lua/policies/builtin/builtin.h"
#include "lua/policies/engine/batch_scheduler.h"
#include "lua/policies/routing/routing.h"
#include "lua/policies/routing/scorer.h"
#include "lua/policies/view/fresh.h"
#include "lua/policies/view/stage_context.h"
#include "lua/simulation/features.h"
#include "lua/simulation/simulation.h"

static bool is_interrupted(void *ud) {
  bind_simulation *sim = ud;
  bind_progress_tell(&sim->progress);
  bind_watch_tell(&sim->watch);
  return blis_interrupt_requested() || sim->hooks.has_error;
}

/* Creates a Lua latency model, which every instance calls under its own name. */
static void check_latency_part(lua_State *L, int config, bind_simulation *sim) {
  lua_getfield(L, config, "cluster");
  if (lua_getfield(L, -1, "latency_definition") != LUA_TNIL) {
    check_scripted_latency(L, lua_gettop(L), &sim->hooks, &sim->latency);
    sim->latencies = push_buffer(L, sim->instance_count, sizeof *sim->latencies);
    push_hook_function(L, &sim->hooks);
    for (uint32_t i = 0; i < sim->instance_count; i++) {
      bind_instance_latency_init(&sim->latencies[i], &sim->latency, i);
    }
  }
}

/* Creates a scheduler of whole batches, which is called separately for every instance. */
static void check_batch_part(lua_State *L, int index, bind_simulation *sim) {
  blis_instance_config *made = &sim->engine.config;
  check_batch_scheduler(L, index, &sim->view, &sim->batch_scheduler);
  sim->batches = push_buffer(L, sim->instance_count, sizeof *sim->batches);
  push_hook_function(L, &sim->hooks);
  for (uint32_t i = 0; i < sim->instance_count; i++) {
    sim->batches[i] = (bind_instance_batches){.scheduler = &sim->batch_scheduler, .index = i};
  }
  made->make_batch = bind_make_batch;
  made->request_queued = sim->batch_scheduler.on_arrival != 0 ? bind_request_queued : NULL;
}

/* Creates the scheduler of each instance. */
static void make_orders(lua_State *L, bind_simulation *sim) {
  sim->orders = push_buffer(L, sim->instance_count, sizeof *sim->orders);
  push_hook_function(L, &sim->hooks);
  for (uint32_t i = 0; i < sim->instance_count; i++) {
    sim->orders[i] = (bind_instance_order){.scheduler = &sim->scheduler, .index = i};
  }
}

static void check_scheduler_parts(lua_State *L, int config, bind_simulation *sim) {
  blis_instance_config *made = &sim->engine.config;
  const blis_policy_context *context = &sim->view.context;
  bind_scheduler_init(&sim->scheduler, &sim->view);
  if (lua_getfield(L, config, "scheduler") != LUA_TNIL) {
    check_fresh(L, lua_gettop(L), context);
    if (is_batch_scheduler(L, lua_gettop(L))) {
      check_batch_part(L, lua_gettop(L), sim);
    }
  }
  bool orders_queue = !lua_isnil(L, -1) && sim->batches == NULL;
  if (orders_queue) {
    check_goes_before(L, lua_gettop(L), &sim->scheduler);
    made->scheduler = BLIS_SCHEDULER_SCRIPTED;
    made->goes_before = bind_scheduler_goes_before;
  }
  if (lua_getfield(L, config, "preemption") != LUA_TNIL) {
    check_fresh(L, lua_gettop(L), context);
    check_victim(L, lua_gettop(L), &sim->scheduler);
    made->preemption = BLIS_PREEMPTION_SCRIPTED;
    made->choose_victim = bind_scheduler_victim;
  }
  if (sim->scheduler.goes_before != 0 || sim->scheduler.victim != 0) {
    make_orders(L, sim);
  }
}

/* Reads the functions that return the power draw of steps, one for each group. */
static void check_power_part(lua_State *L, int cluster, bind_simulation *sim) {
  lua_settop(L, cluster);
  uint32_t count = sim->groups.other_count + 1;
  sim->powers = push_buffer(L, count, sizeof *sim->powers);
  push_hook_function(L, &sim->hooks);
  size_t carbon_count;
  const blis_carbon_step *carbon = push_carbon(L, cluster, &carbon_count);
  push_hook_function(L, &sim->hooks);
  bool has_groups = lua_getfield(L, cluster, "groups") != LUA_TNIL;
  for (uint32_t i = 0; i < count; i++) {
    bind_engine *engine = i == 0 ? &sim->engine : &sim->groups.others[i - 1];
    if (has_groups) {
      lua_rawgeti(L, cluster + 1, (lua_Integer)i + 1);
    } else {
      lua_pushvalue(L, cluster);
    }
    check_power_function(L, lua_gettop(L), &sim->hooks, &sim->powers[i], &engine->power);
    engine->power.carbon = carbon;
    engine->power.carbon_count = carbon_count;
    lua_pop(L, 1);
  }
  lua_settop(L, cluster);
}

static void check_hooks_parts(lua_State *L, int self, int config, bind_simulation *sim) {
  push_hooks_anchor(L, &sim->hooks); // [anchor]
  sim->hooks.alias = bind_alias_of(opt_field_integer(L, config, "alias", 0));
  sim->hooks.alias.id_digits = sim->records->id_digits;
  lua_pushvalue(L, self);
  lua_rawseti(L, -2, ANCHOR_SELF);
  lua_newtable(L);
  lua_rawseti(L, -2, ANCHOR_CALLBACKS);
  lua_newtable(L);
  lua_rawseti(L, -2, ANCHOR_LOG);
  lua_setiuservalue(L, self, SIMULATION_ANCHOR);
  bool oracle = opt_field_boolean(L, config, "oracle", false);
  sim->profile = check_profile(L, config);
  const blis_policy_context context = {
      .instance_count = sim->instance_count,
      .kv_block_size_tokens = sim->engine.config.block_size_tokens,
      .kv_blocks = sim->engine.config.kv_blocks,
      .seed = sim->seed,
      .script_seed = bind_alias_seed(&sim->hooks.alias, sim->seed),
      .profile = sim->profile->policies,
  };
  push_view_tables(L, &sim->view, &sim->hooks, &context, oracle);
  push_stage_context(L, &sim->view);
  sim->view.is_strict = !oracle && opt_field_boolean(L, config, "is_strict", false);
  sim->view.hides_live = !opt_field_boolean(L, config, "live_signals", true);
  push_scorer_places(L, &sim->view);
  check_observer(L, config, &sim->view, &sim->observer);
  check_scheduler_parts(L, config, sim);
  check_progress(L, config, &sim->hooks, &sim->progress);
  check_watch(L, config, &sim->hooks, &sim->watch);
}

/* Checks the signals that built-in policies declare. */
static void check_locality(lua_State *L, const bind_simulation *sim) {
  const struct {
    const char *what;
    const char *name;
    blis_signal_set needs;
  } policies[] = {{"routing policy", sim->router.name, sim->router.needs},
                  {"admission policy", sim->admission.name, sim->admission.needs}};
  for (size_t i = 0; i < sizeof policies / sizeof *policies; i++) {
    if (sim->view.is_strict && (policies[i].needs & BLIS_SIGNALS_OF_PROMPT) != 0) {
      blis_error error = {0};
      (void)blis_fail(&error, BLIS_ERR_INVALID,
                      "locality: %s '%s' reads where prompts are cached, which "
                      "'strict' hides; with oracle = true it may",
                      policies[i].what, policies[i].name);
      bind_raise(L, &error);
    }
  }
}

static void check_policy_parts(lua_State *L, int config, bind_simulation *sim) {
  const blis_policy_context *context = &sim->view.context;
  lua_getfield(L, config, "routing");
  blis_policy_context of_routing = *context;
  of_routing.ties = opt_field_string(L, config, "routing_ties");
  check_router(L, lua_gettop(L), &sim->view, &of_routing, &sim->router);
  if (lua_getfield(L, config, "admission") != LUA_TNIL) {
    check_admission(L, lua_gettop(L), &sim->view, context, &sim->admission);
  }
  if (lua_getfield(L, config, "priority_policy") != LUA_TNIL) {
    check_builtin_priority(L, lua_gettop(L), context, &sim->priority);
  }
  BIND_EACH_FEATURE(policies, L, config, sim);
  check_locality(L, sim);
}

/* With instance_times = true: records the inter-token latencies of each instance. */
static void check_instance_times(lua_State *L, int config, bind_simulation *sim) {
  if (!opt_field_boolean(L, config, "instance_times", false)) {
    return;
  }
  blis_alloc alloc = bind_alloc(L);
  sim->itl_of_instance_us =
      blis_alloc_zeroed(&alloc, sim->instance_count, sizeof *sim->itl_of_instance_us);
  if (sim->itl_of_instance_us == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  for (uint32_t i = 0; i < sim->instance_count; i++) {
    blis_histogram_init(&sim->itl_of_instance_us[i], &alloc);
  }
}

/* Returns whether a policy may read how much of a prompt is cached on an instance. */
static bool reads_caches(lua_State *L, int config, const bind_simulation *sim) {
  const blis_signal_set signals = BLIS_SIGNAL_BIT(BLIS_SIGNAL_CACHED_TOKENS) |
                                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_PREFIX_HIT) |
                                  BLIS_SIGNAL_BIT(BLIS_SIGNAL_TIERED_PREFIX_HIT);
  blis_signal_set needs = sim->router.needs | sim->admission.needs;
  for (int i = 0; i < BIND_FEATURES; i++) {
    needs |= bind_features[i].needs == NULL ? 0 : bind_features[i].needs(sim);
  }
  return opt_field_boolean(L, config, "is_scripted", false) || (needs & signals) != 0;
}

/* Creates the instances of the cluster whose options are at index `options`; pushes their
   buffers. */
static void check_cluster_instances(lua_State *L, int options, bind_simulation *sim,
                                    blis_cluster_config *made) {
  blis_instance_config *instances = push_buffer(L, sim->instance_count, sizeof *instances);
  blis_instance_facts *facts = push_buffer(L, sim->instance_count, sizeof *facts);
  check_instances(L, options, &sim->engine, &sim->groups, instances, facts, sim->instance_count);
  for (uint32_t i = 0; i < sim->instance_count && sim->latencies != NULL; i++) {
    instances[i].latency = &sim->latencies[i].model;
  }
  made->has_own_latencies = sim->latencies != NULL;
  for (uint32_t i = 0; i < sim->instance_count && sim->batches != NULL; i++) {
    instances[i].make_batch_ud = &sim->batches[i];
  }
  for (uint32_t i = 0; i < sim->instance_count && sim->orders != NULL; i++) {
    instances[i].goes_before_ud = &sim->orders[i];
    instances[i].choose_victim_ud = &sim->orders[i];
  }
  made->instances = instances;
  made->facts = facts;
  made->instance_count = sim->instance_count;
  made->initial_count = sim->initial_count;
}

static blis_status keep_step(void *ud, uint32_t instance, const blis_step_report *report,
                             blis_error *error) {
  bind_simulation *sim = ud;
  double in_front_end = blis_cluster_signal(sim->cluster, instance, BLIS_SIGNAL_PENDING);
  BLIS_TRY_MEM(blis_step_log_add(&sim->steps, instance, report, (int64_t)in_front_end), error);
  return BLIS_OK;
}

/* Limit on the rows of each log, for charts and for Lua's memory. In longer runs, a row of the
   step log covers several steps. Other logs drop the rows beyond the limit. */
enum { KEPT_ROWS = 1 << 18 };

/* With keep_steps = true: logs what every step computed. */
static void read_steps(lua_State *L, int config, bind_simulation *sim) {
  if (opt_field_boolean(L, config, "keep_steps", false)) {
    blis_alloc alloc = bind_alloc(L);
    blis_step_log_init(&sim->steps, &alloc, KEPT_ROWS,
                       opt_field_integer(L, config, "keep_steps_from_us", 0),
                       opt_field_integer(L, config, "keep_steps_to_us", INT64_MAX));
    sim->step_sink = (blis_step_sink){.ud = sim, .step = keep_step};
  }
}

/* Reads keep_timeline, which logs visits of requests, loads, and waits for other requests. */
static void read_timeline(lua_State *L, int config, bind_simulation *sim) {
  if (!opt_field_boolean(L, config, "keep_timeline", false)) {
    return;
  }
  blis_alloc alloc = bind_alloc(L);
  blis_load_log_init(&sim->loads, &alloc, KEPT_ROWS);
  sim->load_sink = blis_load_log_sink(&sim->loads);
  blis_visit_log_init(&sim->visits, &alloc, KEPT_ROWS);
  sim->visit_sink = blis_visit_log_sink(&sim->visits);
  if (sim->records->source.graphs.player != NULL) {
    blis_graph_player_keep_joins(sim->records->source.graphs.player, KEPT_ROWS);
  }
}

/* Reads request_carbon from the options of the cluster. */
static blis_facility_carbon check_carbon(lua_State *L, int options) {
  blis_facility_carbon carbon = {0};
  if (lua_getfield(L, options, "request_carbon") != LUA_TNIL) {
    int given = lua_gettop(L);
    carbon = (blis_facility_carbon){.is_known = true,
                                    .pg_per_nj = check_field_number(L, given, "pg_per_nj"),
                                    .factor = check_field_number(L, given, "factor")};
  }
  lua_pop(L, 1);
  return carbon;
}

/* Returns a configuration that borrows from the simulation and from the values it pushes. */
static blis_cluster_config check_cluster_config(lua_State *L, int config, bind_simulation *sim) {
  lua_getfield(L, config, "cluster");
  int options = lua_gettop(L);
  blis_cluster_config made = {
      .admission_latency_us = check_field_integer(L, options, "admission_latency_us"),
      .routing_latency_us = check_field_integer(L, options, "routing_latency_us"),
      .carbon = check_carbon(L, options),
      .snapshot_refresh_us = check_field_integer(L, options, "snapshot_refresh_us"),
      .cache_signal_delay_us = check_field_integer(L, options, "cache_signal_delay_us"),
      .horizon_us = sim->engine.config.horizon_us,
      .load_counts_in_flight = sim->profile->load_counts_in_flight,
      .surveys_mark_caches = sim->profile->surveys_mark_caches,
      .id_digits = sim->records->id_digits,
      .counts_priorities_down = bind_counts_down(&sim->view),
      .keeps_traffic = opt_field_boolean(L, config, "is_scripted", false),
      .oracle = sim->view.oracle,
      .hides_output_limits = opt_field_boolean(L, config, "hides_output_limits", false),
      .max_requests_in_memory = check_field_integer(L, options, "max_requests_in_memory"),
      .interrupted = is_interrupted,
      .interrupted_ud = sim,
      .itl_of_instance_us = sim->itl_of_instance_us,
      .decisions =
          sim->records->decisions == NULL ? NULL : blis_decisions_sink(sim->records->decisions),
  };
  check_cluster_instances(L, options, sim, &made);
  push_shares(L, options, &made);
  if (sim->priority.ops != NULL) {
    made.priority = sim->priority.ops->decide;
    made.priority_ud = sim->priority.state;
  }
  read_steps(L, config, sim);
  made.steps = sim->step_sink.step == NULL ? NULL : &sim->step_sink;
  BIND_EACH_FEATURE(configure, L, config, sim, &made);
  if (!reads_caches(L, config, sim)) {
    made.cache_signal_delay_us = 0; /* no policy could observe the difference */
  }
  bind_observer_configure(&sim->observer, &made);
  check_run_events(L, &sim->view, &sim->run_events);
  made.run_listener = &sim->run_events.listener;
  read_timeline(L, config, sim);
  made.loads = sim->load_sink.moved == NULL ? NULL : &sim->load_sink;
  made.visits = sim->visit_sink.visit == NULL ? NULL : &sim->visit_sink;
  return made;
}

/* Raises the stored error of a script function, if any, because it contains more detail than the
   status of the core. */
static void check_hook_status(lua_State *L, const bind_simulation *sim, blis_status status,
                              const blis_error *error) {
  if (sim->hooks.has_error) {
    bind_hooks_anchor(L, &sim->hooks);
    lua_rawgeti(L, -1, ANCHOR_ERROR);
    lua_error(L);
  }
  check_status(L, status, error);
}

static void check_cluster_part(lua_State *L, int config, bind_simulation *sim) {
  blis_cluster_config made = check_cluster_config(L, config, sim);
  const blis_request_source *source =
      check_observed_source(L, &sim->observer, &sim->records->source.source);
  blis_alloc alloc = bind_alloc(L);
  blis_error error = {0};
  blis_router router = sim->router;
  sim->router = (blis_router){0}; /* the cluster takes ownership even on failure */
  sim->hooks.L = L;               /* a script may create the first request */
  blis_status status =
      blis_cluster_new(&alloc, &made, &router, source, blis_recorder_sink(sim->records->recorder),
                       &sim->itl_us, &sim->cluster, &error);
  sim->hooks.L = NULL;
  check_hook_status(L, sim, status, &error);
  int64_t interval_us = opt_field_integer(L, config, "series_interval_us", 0);
  if (interval_us > 0) {
    check_status(L, blis_series_init(&sim->series, &alloc, sim->cluster, interval_us, &error),
                 &error);
  }
  sim->scheduler.cluster = sim->cluster;
  sim->latency.cluster = sim->cluster;
  sim->progress.cluster = sim->cluster;
  sim->watch.cluster = sim->cluster;
  sim->watch.records = sim->records;
  if (sim->admission.ops != NULL) { /* the cluster takes ownership even on failure */
    check_status(L, blis_cluster_set_admission(sim->cluster, &sim->admission, &error), &error);
  }
  BIND_EACH_FEATURE(attach, L, config, sim);
}

/* Creates the decision trace, with decisions = true. */
static void check_decisions(lua_State *L, int config, bind_simulation *sim) {
  if (!opt_field_boolean(L, config, "decisions", false)) {
    return;
  }
  blis_alloc alloc = bind_alloc(L);
  sim->records->decisions = blis_decisions_new(
      &alloc, opt_field_integer(L, config, "counterfactual_k", BLIS_DECISIONS_ALL));
  if (sim->records->decisions == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
}

/* Fills the new simulation at index self from the table at index config. */
static void check_simulation_parts(lua_State *L, int self, int config, bind_simulation *sim) {
  int top = lua_gettop(L);
  blis_alloc alloc = bind_alloc(L);
  sim->seed = check_field_integer(L, config, "seed");
  sim->script_random.hooks = &sim->hooks;
  sim->script_random.name = "scripts";
  sim->script_random.seed = bind_alias_seed(&sim->hooks.alias, sim->seed);
  lua_getfield(L, config, "cluster");
  luaL_checktype(L, -1, LUA_TTABLE);
  sim->instance_count = (uint32_t)check_field_integer(L, top + 1, "instances");
  BIND_EACH_FEATURE(room, L, config, sim);
  sim->records->id_digits =
      check_profile(L, config)->has_plain_ids ? 1 : blis_instance_id_digits(sim->instance_count);
  check_engine(L, top + 1, &sim->engine);
  check_groups(L, top + 1, self, SIMULATION_GROUPS, &sim->groups);
  check_hooks_parts(L, self, config, sim);
  lua_settop(L, top + 1);
  BIND_EACH_FEATURE(engines, L, top + 1, sim);
  check_power_part(L, top + 1, sim);
  check_latency_part(L, config, sim);
  check_policy_parts(L, config, sim);
  lua_getfield(L, config, "workload");
  BIND_EACH_FEATURE(before_traffic, L, lua_gettop(L), sim);
  check_source(L, lua_gettop(L), &sim->hooks, &sim->records->source);
  BIND_EACH_FEATURE(traffic, L, top + 1, sim);
  if (opt_field_boolean(L, config, "keep_requests", false)) {
    check_source_copy(L, &sim->records->source);
  }
  blis_histogram_init(&sim->itl_us, &alloc);
  check_instance_times(L, config, sim);
  sim->records->recorder = opt_field_boolean(L, config, "keep_records", true)
                               ? blis_recorder_new(&alloc)
                               : blis_recorder_new_streaming(&alloc);
  if (sim->records->recorder == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  check_decisions(L, config, sim);
  check_cluster_part(L, config, sim);
  bind_hooks_shut(L, &sim->hooks);
  lua_settop(L, top);
}

int bind_simulation_new(lua_State *L) {
  luaL_checktype(L, 1, LUA_TTABLE);
  lua_settop(L, 1);
  /* Created first, so that Lua finalizes them last: the cluster borrows them. */
  bind_records *records = push_records(L);
  bind_simulation *sim = lua_newuserdatauv(L, sizeof *sim, SIMULATION_VALUES);
  memset(sim, 0, sizeof *sim);
  sim->records = records;
  luaL_setmetatable(L, SIMULATION_TYPE); // [config, records, sim]
  lua_pushvalue(L, 1);
  lua_setiuservalue(L, 3, SIMULATION_CONFIG);
  lua_getfield(L, 1, "workload"); /* records refer to its strings */
  lua_setiuservalue(L, 2, 1);
  lua_pushvalue(L, 2);
  lua_setiuservalue(L, 3, SIMULATION_RECORDS);
  check_simulation_parts(L, 3, 1, sim);
  return 1;
}
