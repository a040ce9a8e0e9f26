#include "lua/simulation/result.h"

#include <inttypes.h>

#include "cluster/adapters/adapters.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/policies/replicas.h"
#include "lua/policies/scorer.h"
#include "lua/results/attempts.h"
#include "lua/results/decisions.h"
#include "lua/results/figures.h"
#include "lua/results/record_methods.h"
#include "lua/results/series.h"
#include "lua/results/steps.h"
#include "lua/simulation/faults.h"
#include "lua/simulation/scaling.h"
#include "lua/simulation/timeline_log.h"
#include "results/summary/groups.h"
#include "results/summary/summary.h"
#include "results/summary/tier_summary.h"

/* What is computed on the way; Lua frees it should something raise. */
typedef struct working {
  blis_alloc alloc;
  blis_summary summary;
  const blis_instance_times *times; /* Lua's own; NULL = not wanted */
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
  lua_pushfstring(L, "instance_%I", (LUAI_UACINT)index);
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
  lua_setfield(L, -2, "cache_belief");
  push_hash(L, s->hash);
  lua_setfield(L, -2, "hash");
  lua_createtable(L, (int)s->instance_count, 0);
  for (uint32_t i = 0; i < s->instance_count; i++) {
    push_instance(L, w, i);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "instances");
}

/* What the run was made of, as far as the program has worked it out. */
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

/* Pushes what each instance counted, and adds it up for the whole. */
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

/* What only records tell; a run without them has none of these fields. */
static void set_from_records(lua_State *L, int index, const bind_simulation *sim) {
  const bind_records *records = sim->records;
  push_groups(L, records, BLIS_GROUP_SLO_CLASS);
  lua_setfield(L, -2, "by_slo_class");
  push_groups(L, records, BLIS_GROUP_TENANT);
  lua_setfield(L, -2, "by_tenant");
  push_groups(L, records, BLIS_GROUP_MODEL);
  lua_setfield(L, -2, "by_model");
  if (sim->adapters.names.count > 0) {
    push_groups(L, records, BLIS_GROUP_ADAPTER);
    lua_setfield(L, -2, "by_adapter");
  }
  lua_getiuservalue(L, index, SIMULATION_RECORDS);
  lua_setfield(L, -2, "requests");
  lua_pushboolean(L, blis_recorder_has(records->recorder, BLIS_EXTRA_session));
  lua_setfield(L, -2, "has_sessions");
}

/* With engines that are asked: what the steps of each instance have drawn, a
   list in the field drawn. */
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

/* Whether the range of any of the coefficients is known. */
static bool has_coverage(const bind_simulation *sim) {
  bool has = bind_engine_coverage(&sim->engine) != NULL;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    has = has || bind_engine_coverage(&sim->groups.others[i]) != NULL;
  }
  return has;
}

/* How many steps were beyond it, of all. May raise: with strict_coverage. */
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

static void push_queue(lua_State *L, const blis_cluster *cluster, const blis_queue_summary *queue) {
  size_t count = blis_cluster_gateway_band_count(cluster);
  lua_createtable(L, 0, 18);
  set_figures(L, BLIS_FIGURES_QUEUE, queue);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    blis_queue_band band;
    blis_queue_band_fill(&band, cluster, i);
    lua_createtable(L, 0, 12);
    set_figures(L, BLIS_FIGURES_BAND, &band);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  lua_setfield(L, -2, "bands");
}

/* Tokens that a request drafts in a step, where most; 0 = none drafts. */
static int64_t most_drafts(const bind_simulation *sim) {
  int64_t most = sim->engine.speculation.tokens;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    int64_t tokens = sim->groups.others[i].speculation.tokens;
    most = tokens > most ? tokens : most;
  }
  return most;
}

/* By the place of a draft in its step; nothing without speculation. */
static void set_speculation(lua_State *L, const bind_simulation *sim,
                            const blis_speculation_summary *speculation) {
  const blis_draft_stats *counts = &speculation->counts;
  int places = (int)most_drafts(sim);
  if (places == 0) {
    return;
  }
  lua_createtable(L, 0, 10);
  set_figures(L, BLIS_FIGURES_SPECULATION, speculation);
  lua_createtable(L, places, 0);
  lua_createtable(L, places, 0);
  for (int i = 0; i < places; i++) {
    double drafts = counts->drafts > 0 ? (double)counts->drafts : 1;
    lua_pushinteger(L, counts->accepted_at[i]);
    lua_rawseti(L, -3, i + 1);
    lua_pushnumber(L, (double)counts->accepted_at[i] / drafts);
    lua_rawseti(L, -2, i + 1);
  }
  lua_setfield(L, -3, "acceptance_rate_per_position");
  lua_setfield(L, -2, "accepted_per_position");
  lua_setfield(L, -2, "speculation");
}

/* Has any group of instances? */
static bool has_ranks(const bind_simulation *sim) {
  bool has = sim->engine.config.ranks != NULL;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    has = has || sim->groups.others[i].config.ranks != NULL;
  }
  return has;
}

/* Of the result on the stack, and of its instances; nothing without ranks. */
static void set_ranks(lua_State *L, const bind_simulation *sim) {
  if (!has_ranks(sim)) {
    return;
  }
  blis_ranks_summary ranks;
  blis_ranks_summary_fill(&ranks, sim->cluster);
  lua_createtable(L, 0, 6);
  set_figures(L, BLIS_FIGURES_RANKS, &ranks);
  lua_setfield(L, -2, "ranks");
  lua_getfield(L, -1, "instances");
  for (uint32_t i = 0; i < blis_cluster_instance_count(sim->cluster); i++) {
    lua_rawgeti(L, -1, (lua_Integer)i + 1);
    set_field_integer(L, "rank_group", blis_cluster_unit_of(sim->cluster, i));
    set_field_integer(L, "rank", blis_cluster_place_in_unit(sim->cluster, i));
    lua_pop(L, 1);
  }
  lua_pop(L, 1);
}

/* Of adapters, those that were ever loaded. */
static void push_lora(lua_State *L, const blis_cluster *cluster, const blis_lora_summary *lora) {
  lua_createtable(L, 0, 16);
  set_figures(L, BLIS_FIGURES_LORA, lora);
  lua_newtable(L);
  for (uint32_t i = 1; i <= blis_cluster_adapter_count(cluster); i++) {
    blis_adapter_summary adapter;
    blis_adapter_summary_fill(&adapter, cluster, i);
    if (adapter.loads == 0) {
      continue;
    }
    lua_createtable(L, 0, 4);
    set_figures(L, BLIS_FIGURES_ADAPTER, &adapter);
    set_field_string(L, "name", adapter.name);
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "adapters");
}

/* Of links that were used; there are two for each instance. */
static void set_links(lua_State *L, const blis_cluster *cluster, int64_t duration_us) {
  lua_newtable(L);
  for (size_t i = 0; i < blis_cluster_link_count(cluster); i++) {
    blis_link_summary link;
    blis_link_summary_fill(&link, cluster, i, duration_us);
    if (link.counts.peak == 0) {
      continue;
    }
    lua_createtable(L, 0, 8);
    set_figures(L, BLIS_FIGURES_LINK, &link);
    if (link.counts.instance < 0) {
      lua_pushliteral(L, "fabric");
    } else {
      lua_pushfstring(L, "instance_%I %s", (LUAI_UACINT)link.counts.instance,
                      link.counts.is_in ? "in" : "out");
    }
    lua_setfield(L, -2, "name");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "links");
}

static void push_tiers(lua_State *L, const blis_cluster *cluster, int64_t duration_us) {
  size_t count = blis_cluster_kv_tier_count(cluster);
  blis_tiers_summary all;
  blis_tiers_summary_fill(&all, cluster);
  lua_createtable(L, 0, 10);
  set_figures(L, BLIS_FIGURES_TIERS, &all);
  lua_createtable(L, (int)count, 0);
  for (size_t t = 0; t < count; t++) {
    blis_tier_summary tier;
    blis_tier_summary_fill(&tier, cluster, t, duration_us);
    lua_createtable(L, 0, 20);
    lua_pushstring(L, tier.counts.name);
    lua_setfield(L, -2, "name");
    set_figures(L, BLIS_FIGURES_TIER, &tier);
    lua_rawseti(L, -2, (lua_Integer)t + 1);
  }
  lua_setfield(L, -2, "tiers");
}

/* What policies in Lua have said of themselves; nothing where none does. */
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
  if (sim->itl_of_instance_us != NULL) {
    w->times = push_times(L, sim);
  }
  check_status(L,
               blis_summary_init(&w->summary, &w->alloc, sim->cluster, sim->records->recorder,
                                 &sim->itl_us, &error),
               &error);
  lua_createtable(L, 0, 40);
  set_summary(L, w);
  if (sim->has_pools) {
    lua_createtable(L, 0, 20);
    set_figures(L, BLIS_FIGURES_HANDOFFS, &w->summary.handoffs);
    set_links(L, sim->cluster, w->summary.duration_us);
    lua_setfield(L, -2, "handoffs");
  }
  if (blis_cluster_kv_tier_count(sim->cluster) > 0) {
    push_tiers(L, sim->cluster, w->summary.duration_us);
    lua_setfield(L, -2, "kv_tiers");
  }
  if (sim->has_gateway) {
    push_queue(L, sim->cluster, &w->summary.queue);
    lua_setfield(L, -2, "queue");
  }
  set_speculation(L, sim, &w->summary.speculation);
  set_ranks(L, sim);
  if (sim->adapters.names.count > 0) {
    push_lora(L, sim->cluster, &w->summary.lora);
    lua_setfield(L, -2, "lora");
  }
  set_drawn(L, sim);
  set_coverage(L, sim, &w->summary);
  set_setup(L, index, sim);
  set_clamped_scores(L, &sim->view);
  set_custom_metrics(L, index);
  set_replica_reports(L, &sim->view);
  if (sim->series.interval_us > 0) {
    push_series(L, &sim->series);
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
  if (sim->has_cascade) {
    push_cascade(L, sim->records);
    lua_setfield(L, -2, "cascade");
  }
  if (push_tasks(L, sim->records, w->summary.duration_us)) {
    lua_setfield(L, -2, "tasks");
  }
  set_scaling(L, sim, w->summary.duration_us);
  set_faults(L, sim);
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
