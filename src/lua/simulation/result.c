#include "lua/simulation/result.h"

#include <inttypes.h>

#include "lua/bind/bind.h"
#include "lua/policies/routing/scorer.h"
#include "lua/results/attempts.h"
#include "lua/results/decisions.h"
#include "lua/results/figures.h"
#include "lua/results/record_methods.h"
#include "lua/results/series.h"
#include "lua/results/steps.h"
#include "lua/simulation/features.h"
#include "lua/simulation/timeline_log.h"
#include "results/summary/groups.h"
#include "results/summary/summary.h"

/* Temporary memory of the computation; Lua frees it after an error. */
typedef struct working {
  blis_alloc alloc;
  blis_summary summary;
  const blis_instance_times *times; /* owned by Lua; NULL = not requested */
  int id_digits;
} working;

static int working_gc(lua_State *L) {
  working *w = lua_touserdata(L, 1);
  if (w->alloc.fn != NULL) {
    blis_summary_deinit(&w->summary, &w->alloc);
  }
  return 0;
}

static void push_instance(lua_State *L, const working *w, uint32_t index) {
  lua_createtable(L, 0, 36);
  push_instance_id(L, index, w->id_digits);
  lua_setfield(L, -2, "id");
  set_figures(L, BLIS_FIGURES_INSTANCE, &w->summary.instances[index]);
  if (w->times != NULL) {
    set_figures(L, BLIS_FIGURES_COUNTS, &w->times[index].counts);
    set_figures(L, BLIS_FIGURES_TIMES, &w->times[index].times);
  }
}

static void set_summary(lua_State *L, const working *w) {
  const blis_summary *s = &w->summary;
  set_figures(L, BLIS_FIGURES_COUNTS, &s->counts);
  set_figures(L, BLIS_FIGURES_RESULT, s);
  set_figures(L, BLIS_FIGURES_TIMES, &s->times);
  lua_createtable(L, 0, 8);
  set_figures(L, BLIS_FIGURES_CACHE_BELIEF, &s->cache_belief);
  lua_setfield(L, -2, "cache_prediction");
  push_hash(L, s->hash);
  lua_setfield(L, -2, "hash");
  lua_createtable(L, (int)s->instance_count, 0);
  for (uint32_t i = 0; i < s->instance_count; i++) {
    push_instance(L, w, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}

/* Sets the derived configuration of the run. */
static void set_setup(lua_State *L, int index, const bind_simulation *sim) {
  push_engine_facts(L, &sim->engine);
  lua_getiuservalue(L, index, SIMULATION_CONFIG);
  lua_getfield(L, -1, "cluster");
  push_group_facts(L, lua_gettop(L), &sim->engine, &sim->groups);
  lua_setfield(L, -4, "groups");
  lua_pop(L, 2);
  set_field_integer(L, "instances",
                    sim->initial_count > 0 ? sim->initial_count : sim->instance_count);
  set_field_integer(L, "seed", sim->seed);
  lua_setfield(L, -2, "setup");
}

/* Pushes the counts of each instance, and adds them up for the cluster. */
static const blis_instance_times *push_times(lua_State *L, bind_simulation *sim) {
  uint32_t count = sim->instance_count;
  blis_alloc alloc = bind_alloc(L);
  blis_instance_times *times = push_buffer(L, count, sizeof *times);
  blis_histogram_clear(&sim->itl_us);
  for (uint32_t i = 0; i < count; i++) {
    check_status(L, blis_histogram_merge(&sim->itl_us, &sim->itl_of_instance_us[i]), NULL);
  }
  check_status(L,
               blis_instance_times_fill(times, count, &alloc, sim->records->recorder,
                                        sim->itl_of_instance_us),
               NULL);
  return times;
}

/* Sets the fields that need records; a run without records has none of them. */
static void set_from_records(lua_State *L, int index, const bind_simulation *sim) {
  const bind_records *records = sim->records;
  push_groups(L, records, BLIS_GROUP_SLO_CLASS);
  lua_setfield(L, -2, "by_slo_class");
  push_groups(L, records, BLIS_GROUP_TENANT);
  lua_setfield(L, -2, "by_tenant");
  push_groups(L, records, BLIS_GROUP_MODEL);
  lua_setfield(L, -2, "by_model");
  BIND_EACH_FEATURE(set_groups, L, sim);
  lua_getiuservalue(L, index, SIMULATION_RECORDS);
  lua_setfield(L, -2, "requests");
  lua_pushboolean(L, blis_recorder_has(records->recorder, BLIS_EXTRA_session));
  lua_setfield(L, -2, "has_sessions");
}

/* For engines with a power function: sets the field drawn, a list of the energy of the steps of
   each instance. */
static void set_drawn(lua_State *L, const bind_simulation *sim) {
  bool is_asked = sim->engine.config.power != NULL;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    is_asked |= sim->groups.others[i].config.power != NULL;
  }
  if (!is_asked) {
    return;
  }
  uint32_t count = blis_cluster_instance_count(sim->cluster);
  lua_createtable(L, (int)count, 0);
  for (uint32_t i = 0; i < count; i++) {
    blis_instance_energy energy;
    blis_instance_get_energy(blis_cluster_instance(sim->cluster, i), &energy);
    lua_createtable(L, 0, 2);
    set_field_number(L, "busy_j", (double)energy.busy_nj / 1e9);
    set_field_number(L, "prefill_j", (double)energy.prefill_nj / 1e9);
    set_field_number(L, "carbon_g", energy.carbon_g);
    set_field_number(L, "carbon_s", energy.carbon_us / 1e6);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "drawn");
}

/* Returns whether the range of any coefficients is known. */
static bool has_coverage(const bind_simulation *sim) {
  bool has = bind_engine_coverage(&sim->engine) != NULL;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    has = has || bind_engine_coverage(&sim->groups.others[i]) != NULL;
  }
  return has;
}

/* Sets the number of steps outside of the range, and of all steps. May raise with
   strict_coverage. */
static void set_coverage(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  int64_t beyond = summary->uncovered_steps;
  double steps = summary->steps > 0 ? (double)summary->steps : 1.0;
  double share = (double)beyond / steps;
  if (!has_coverage(sim)) {
    return;
  }
  if (sim->engine.strict_coverage && beyond > 0) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "cluster.strict_coverage: %" PRId64 " of %" PRId64
              " steps (%.2g %%) are outside the fitted range of the step times",
              beyond, summary->steps, 100.0 * share);
    bind_raise(L, &error);
  }
  lua_createtable(L, 0, 2);
  set_field_integer(L, "steps_beyond", beyond);
  set_field_number(L, "share_beyond", share);
  lua_setfield(L, -2, "coverage");
}

/* Sets the custom metrics of policies in Lua; sets nothing without such metrics. */
static void set_custom_metrics(lua_State *L, int index) {
  lua_getiuservalue(L, index, SIMULATION_ANCHOR);
  if (lua_rawgeti(L, -1, ANCHOR_METRICS) == LUA_TTABLE) {
    lua_setfield(L, -3, "custom_metrics");
    lua_pop(L, 1);
  } else {
    lua_pop(L, 2);
  }
}

void push_summary(lua_State *L, int index, bind_simulation *sim) {
  blis_error error = {0};
  working *w = push_guarded(L, 1, sizeof *w, working_gc);
  int guard = lua_gettop(L);
  w->alloc = bind_alloc(L);
  w->id_digits = sim->records->id_digits;
  if (sim->itl_of_instance_us != NULL) {
    w->times = push_times(L, sim);
  }
  check_status(L,
               blis_summary_init(&w->summary, &w->alloc, sim->cluster, sim->records->recorder,
                                 &sim->itl_us, &error),
               &error);
  lua_createtable(L, 0, 40);
  set_summary(L, w);
  BIND_EACH_FEATURE(set_result, L, sim, &w->summary);
  set_drawn(L, sim);
  set_coverage(L, sim, &w->summary);
  set_setup(L, index, sim);
  set_clamped_scores(L, &sim->view);
  set_custom_metrics(L, index);
  if (sim->series.interval_us > 0) {
    push_series(L, &sim->series, sim->records->id_digits);
    lua_setfield(L, -2, "series");
  }
  if (sim->step_sink.step != NULL) {
    push_steps(L, &sim->steps);
    lua_setfield(L, -2, "step_log");
  }
  if (sim->load_sink.moved != NULL) {
    blis_load_log_settle(&sim->loads);
    push_timeline_log(L, sim);
    lua_setfield(L, -2, "timeline_log");
  }
  if (sim->records->decisions != NULL) {
    lua_getiuservalue(L, index, SIMULATION_RECORDS);
    push_decisions(L, -1);
    lua_setfield(L, -3, "decisions");
    lua_pop(L, 1);
  }
  if (push_tasks(L, sim->records, w->summary.duration_us)) {
    lua_setfield(L, -2, "tasks");
  }
  bool keeps_records = blis_recorder_keeps_records(sim->records->recorder);
  lua_pushboolean(L, keeps_records);
  lua_setfield(L, -2, "keeps_records");
  if (keeps_records) {
    set_from_records(L, index, sim);
  }
  blis_summary_deinit(&w->summary, &w->alloc);
  w->alloc.fn = NULL;
  lua_replace(L, guard);
  lua_settop(L, guard);
}
