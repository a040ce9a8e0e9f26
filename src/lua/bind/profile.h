/*
 * profile.h - the choices of a profile in every layer of the core.
 *
 * This is the only place in src that selects a profile by name. All other code refers to individual
 * rules. Each layer has a module <layer>/..._go_blis with the rules of BLIS (Go).
 */
#ifndef BLIS_LUA_BIND_PROFILE_H
#define BLIS_LUA_BIND_PROFILE_H

#include <lua.h>
#include <stdbool.h>

#include "cluster/gateway/gateway.h"
#include "cluster/handoff/handoff.h"
#include "cluster/machines/node_pools.h"
#include "instance/config/defects.h"
#include "policy/contract/profile.h"
#include "workload/rules.h"

/* Meaning of the names of queue options. */
typedef struct bind_gateway_variants {
  blis_flow_fairness strict;      /* "global-strict" */
  blis_gateway_order deadline;    /* "slo-deadline" */
  blis_gateway_eviction eviction; /* used if eviction is enabled */
  bool joins_stages;              /* saturation is computed over both stages together */
} bind_gateway_variants;

typedef struct bind_profile {
  const blis_workload_rules *workload;
  const blis_instance_defects *instances;
  const blis_policy_profile *policies;
  bind_gateway_variants gateway;
  blis_node_pool_rules node_pools;
  bool has_own_scaling_loop; /* scaling/go_blis_loop.h instead of the default scaler */
  const blis_handoff_ops *handoffs;
  bool encodes_in_passing;      /* blis_encode_stage.chooses_only */
  bool shares_adapter_prefixes; /* blis_adapter_names.own_prefixes is false */
  /* Members of blis_cluster_config. */
  bool load_counts_in_flight;
  bool surveys_mark_caches;
  bool
      has_plain_ids; /* ids without leading zeros, in byte order (instance/request/instance_id.h) */
} bind_profile;

/* Returns the profile that the field "go_blis" of the table at index selects. The default is false.
   May raise. */
const bind_profile *check_profile(lua_State *L, int index);

#endif
