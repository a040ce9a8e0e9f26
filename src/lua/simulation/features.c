#include "lua/simulation/features.h"

#include "cluster/adapters/adapters.h"
#include "cluster/cascade/cascade.h"
#include "cluster/encode/encode.h"
#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/regions/regions.h"
#include "cluster/tiers/kv_tiers.h"
#include "lua/bind/bind.h"
#include "lua/engine/adapters.h"
#include "lua/policies/queue/gateway.h"
#include "lua/policies/routing/disaggregation.h"
#include "lua/policies/routing/regions.h"
#include "lua/policies/routing/replicas.h"
#include "lua/policies/routing/routing.h"
#include "lua/results/attempts.h"
#include "lua/results/figures.h"
#include "lua/results/record_methods.h"
#include "lua/simulation/faults.h"
#include "lua/simulation/live.h"
#include "lua/simulation/paid.h"
#include "lua/simulation/scaling.h"
#include "results/summary/groups.h"
#include "results/summary/tier_summary.h"

/* Prefill and decode in pools, with an encode stage. */

static void check_pools(lua_State *L, int config, bind_simulation *sim) {
  const blis_policy_context *context = &sim->view.context;
  if (lua_getfield(L, config, "disaggregation") != LUA_TNIL) {
    sim->has_pools = true;
    check_disaggregation(L, lua_gettop(L), &sim->view, context, &sim->apart);
    check_encode_stage(L, lua_gettop(L), &sim->view, context, &sim->encode);
  }
}

static blis_signal_set needs_of_pools(const bind_simulation *sim) {
  return sim->apart.decider.needs | sim->apart.prefill.needs | sim->encode.router.needs;
}

static void attach_pools(lua_State *L, int config, bind_simulation *sim) {
  (void)config;
  blis_error error = {0};
  if (sim->has_pools) {
    check_status(L, blis_cluster_set_disaggregation(sim->cluster, &sim->apart, &error), &error);
  }
  if (sim->encode.rule != BLIS_ENCODES_NOBODY) {
    check_status(L, blis_cluster_set_encode_stage(sim->cluster, &sim->encode, &error), &error);
  }
}

/* Sets the links that were used; each instance has two links. */
static void set_links(lua_State *L, const bind_simulation *sim, int64_t duration_us) {
  const blis_cluster *cluster = sim->cluster;
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
      push_instance_id(L, link.counts.instance, sim->records->id_digits);
      lua_pushstring(L, link.counts.is_in ? " in" : " out");
      lua_concat(L, 2);
    }
    lua_setfield(L, -2, "name");
    lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
  }
  lua_setfield(L, -2, "links");
}

static void set_handoffs(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  if (sim->has_pools) {
    lua_createtable(L, 0, 20);
    set_figures(L, BLIS_FIGURES_HANDOFFS, &summary->handoffs);
    set_links(L, sim, summary->duration_us);
    lua_setfield(L, -2, "handoffs");
  }
}

/* KV cache tiers. */

static void configure_tiers(lua_State *L, int config, bind_simulation *sim,
                            blis_cluster_config *made) {
  if (lua_getfield(L, config, "kv_tiers") != LUA_TNIL) {
    blis_kv_tiers *tiers = push_buffer(L, 1, sizeof *tiers);
    check_kv_tiers(L, lua_gettop(L) - 1, &sim->view, &sim->kv_tiers, tiers);
    made->options[BLIS_FEATURE_TIERS] = tiers;
  }
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

static void set_tiers(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  if (blis_cluster_kv_tier_count(sim->cluster) > 0) {
    push_tiers(L, sim->cluster, summary->duration_us);
    lua_setfield(L, -2, "kv_tiers");
  }
}

/* The gateway queue. */

static void check_queue(lua_State *L, int config, bind_simulation *sim) {
  if (lua_getfield(L, config, "queue") != LUA_TNIL) {
    sim->has_gateway = true;
    check_gateway(L, lua_gettop(L), &sim->view, &sim->view.context, &sim->gateway);
  }
}

static void attach_queue(lua_State *L, int config, bind_simulation *sim) {
  (void)config;
  blis_error error = {0};
  if (sim->has_gateway) {
    check_status(L, blis_cluster_set_gateway(sim->cluster, &sim->gateway, &error), &error);
  }
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

static void set_queue(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  if (sim->has_gateway) {
    push_queue(L, sim->cluster, &summary->queue);
    lua_setfield(L, -2, "queue");
  }
}

/* LoRA adapters. */

/* Reads the adapters, which are the same for all instances. */
static void check_adapters_of_engines(lua_State *L, int cluster, bind_simulation *sim) {
  if (lua_getfield(L, cluster, "lora") != LUA_TNIL) {
    check_adapters(L, lua_gettop(L), &sim->adapters);
    push_hook_function(L, &sim->hooks);
    sim->engine.config.adapters = &sim->adapters.config;
    sim->adapters.names.own_prefixes = !sim->profile->shares_adapter_prefixes;
  }
  lua_settop(L, cluster);
}

static void check_mix(lua_State *L, int cluster, bind_simulation *sim) {
  if (lua_getfield(L, cluster, "lora") != LUA_TNIL) {
    check_adapter_mix(L, lua_gettop(L), sim->seed, &sim->records->source);
  }
}

static void configure_adapters(lua_State *L, int config, bind_simulation *sim,
                               blis_cluster_config *made) {
  (void)L, (void)config;
  made->options[BLIS_FEATURE_ADAPTERS] = &sim->adapters.names;
}

/* Pushes the adapters that were loaded at least once. */
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

static void set_adapters(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  if (sim->adapters.names.count > 0) {
    push_lora(L, sim->cluster, &summary->lora);
    lua_setfield(L, -2, "lora");
  }
}

static void set_groups_of_adapters(lua_State *L, const bind_simulation *sim) {
  if (sim->adapters.names.count > 0) {
    push_groups(L, sim->records, BLIS_GROUP_ADAPTER);
    lua_setfield(L, -2, "by_adapter");
  }
}

/* Speculative decoding. */

static bind_engine *engine_of_group(bind_simulation *sim, uint32_t group) {
  return group == 0 ? &sim->engine : &sim->groups.others[group - 1];
}

/* Reads speculation. The seed determines which drafts are accepted; a function may return the
   probability. */
static void check_speculation(lua_State *L, int cluster, bind_simulation *sim) {
  uint32_t count = sim->groups.other_count + 1;
  bool drafts = false;
  for (uint32_t g = 0; g < count; g++) {
    bind_engine *engine = engine_of_group(sim, g);
    engine->speculation.seed = (uint64_t)sim->seed;
    drafts |= engine->config.speculation != NULL;
  }
  if (!drafts) {
    return;
  }
  sim->acceptances = push_buffer(L, count, sizeof *sim->acceptances);
  push_hook_function(L, &sim->hooks);
  lua_getfield(L, cluster, "groups");
  for (uint32_t g = 0; g < count; g++) {
    lua_pushvalue(L, cluster);
    if (g > 0) {
      lua_rawgeti(L, cluster + 1, (lua_Integer)g + 1);
    }
    check_acceptance(L, lua_gettop(L), &sim->view, &sim->acceptances[g],
                     &engine_of_group(sim, g)->speculation);
    lua_settop(L, cluster + 1);
  }
  lua_settop(L, cluster);
}

static void attach_speculation(lua_State *L, int config, bind_simulation *sim) {
  (void)L, (void)config;
  for (uint32_t g = 0; sim->acceptances != NULL && g <= sim->groups.other_count; g++) {
    sim->acceptances[g].cluster = sim->cluster;
  }
}

/* Returns the maximum number of draft tokens per request and step; 0 = no drafts. */
static int64_t most_drafts(const bind_simulation *sim) {
  int64_t most = sim->engine.speculation.tokens;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    int64_t tokens = sim->groups.others[i].speculation.tokens;
    most = tokens > most ? tokens : most;
  }
  return most;
}

/* Sets the metrics by the position of a draft in its step; sets nothing without speculation. */
static void set_speculation(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  const blis_speculation_summary *speculation = &summary->speculation;
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

/* Data-parallel ranks. */

/* Returns whether any group of instances has ranks. */
static bool has_ranks(const bind_simulation *sim) {
  bool has = sim->engine.config.ranks != NULL;
  for (uint32_t i = 0; i < sim->groups.other_count; i++) {
    has = has || sim->groups.others[i].config.ranks != NULL;
  }
  return has;
}

/* Sets the ranks of the result on the stack and of its instances; sets nothing without ranks. */
static void set_ranks(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  (void)summary;
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

/* Cascades of models. */

static void check_cascade_policy(lua_State *L, int config, bind_simulation *sim) {
  if (lua_getfield(L, config, "cascade") != LUA_TNIL) {
    check_cascade(L, lua_gettop(L), &sim->view, &sim->view.context, &sim->cascade);
  }
}

static void attach_cascade(lua_State *L, int config, bind_simulation *sim) {
  (void)config;
  blis_error error = {0};
  if (sim->cascade.ops != NULL) {
    blis_cascade cascade = sim->cascade;
    sim->has_cascade = true;
    sim->cascade = (blis_cascade){0};
    check_status(L, blis_cluster_set_cascade(sim->cluster, &cascade, &error), &error);
  }
}

static void set_cascade(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  (void)summary;
  if (sim->has_cascade) {
    push_cascade(L, sim->records);
    lua_setfield(L, -2, "cascade");
  }
}

/* Replicas of the router. */

static void set_routers(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  (void)summary;
  set_replica_reports(L, &sim->view);
}

/* Regions. */

static void configure_regions(lua_State *L, int config, bind_simulation *sim,
                              blis_cluster_config *made) {
  if (lua_getfield(L, config, "regions") != LUA_TNIL) {
    blis_regions *regions = push_buffer(L, 1, sizeof *regions);
    check_regions(L, lua_gettop(L) - 1, &sim->view, regions);
    made->options[BLIS_FEATURE_REGIONS] = regions;
  }
}

static void push_regions(lua_State *L, const blis_cluster *cluster) {
  uint32_t count = blis_cluster_region_count(cluster);
  blis_regions_summary all;
  blis_regions_summary_fill(&all, cluster);
  lua_createtable(L, 0, 6);
  set_figures(L, BLIS_FIGURES_REGIONS, &all);
  lua_createtable(L, (int)count, 0);
  for (uint32_t r = 0; r < count; r++) {
    blis_region_summary region;
    blis_region_summary_fill(&region, cluster, r);
    lua_createtable(L, 0, 10);
    set_field_string(L, "name", blis_cluster_region_name(cluster, r));
    set_figures(L, BLIS_FIGURES_REGION, &region);
    lua_rawseti(L, -2, (lua_Integer)r + 1);
  }
  lua_setfield(L, -2, "regions");
}

static void set_regions(lua_State *L, const bind_simulation *sim, const blis_summary *summary) {
  (void)summary;
  if (blis_cluster_region_count(sim->cluster) > 0) {
    push_regions(L, sim->cluster);
    lua_setfield(L, -2, "regions");
  }
}

/* Configures autoscaling, faults, and prices. */

static void configure_scaling(lua_State *L, int config, bind_simulation *sim,
                              blis_cluster_config *made) {
  (void)L, (void)config, (void)sim;
  made->room_option = "scaling.max_starts";
}

static void set_scaling_report(lua_State *L, const bind_simulation *sim,
                               const blis_summary *summary) {
  set_scaling(L, sim, summary->duration_us);
}

static void attach_faults(lua_State *L, int config, bind_simulation *sim) {
  check_set_faults(L, config, sim);
}

static void set_faults_report(lua_State *L, const bind_simulation *sim,
                              const blis_summary *summary) {
  (void)summary;
  set_faults(L, sim);
}

static void attach_prices(lua_State *L, int config, bind_simulation *sim) {
  check_set_prices(L, config, sim);
}

static void attach_billing(lua_State *L, int config, bind_simulation *sim) {
  check_set_billing(L, config, sim);
}

const bind_feature bind_features[BIND_FEATURES] = {
    {.policies = check_pools,
     .needs = needs_of_pools,
     .attach = attach_pools,
     .set_result = set_handoffs},
    {.configure = configure_tiers, .set_result = set_tiers},
    {.policies = check_queue, .attach = attach_queue, .set_result = set_queue},
    {.engines = check_adapters_of_engines,
     .traffic = check_mix,
     .configure = configure_adapters,
     .set_result = set_adapters,
     .set_groups = set_groups_of_adapters},
    {.engines = check_speculation, .attach = attach_speculation, .set_result = set_speculation},
    {.set_result = set_ranks},
    {.policies = check_cascade_policy, .attach = attach_cascade, .set_result = set_cascade},
    {.room = check_scaling_room,
     .policies = check_scaling_policy,
     .before_traffic = check_scaling_future,
     .configure = configure_scaling,
     .attach = check_set_scaling,
     .set_result = set_scaling_report},
    {.attach = attach_faults, .set_result = set_faults_report},
    {.attach = attach_prices},
    {.attach = attach_billing},
    {.set_result = set_routers},
    {.configure = configure_regions, .set_result = set_regions},
    {.configure = bind_configure_live},
};
