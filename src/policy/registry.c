#include "policy/registry.h"

#include "base/nearest.h"
#include "policy/pipeline/pieces.h"

/* XX(name): the entry is blis__<kind>_<name>. */

#define ROUTERS(XX)                                                            \
  XX(round_robin)                                                              \
  XX(least_loaded)                                                             \
  XX(weighted)                                                                 \
  XX(lmetric)                                                                  \
  XX(always_busiest)                                                           \
  XX(weighted_stateless)                                                       \
  XX(load_only)                                                                \
  XX(sticky)                                                                   \
  XX(unified)                                                                  \
  XX(capped)                                                                   \
  XX(routesim_round_robin)                                                     \
  XX(routesim_least_outstanding)                                               \
  XX(routesim_least_kv)                                                        \
  XX(routesim_prefix_aware)                                                    \
  XX(routesim_prefix_overlap)                                                  \
  XX(routesim_session_affinity)                                                \
  XX(routesim_cost_escalation)                                                 \
  XX(cognitora_score)                                                          \
  XX(prefix_policy)                                                            \
  XX(weighted_scoring)                                                         \
  XX(weighted_v04)                                                             \
  XX(random)                                                                   \
  XX(power_of_two)                                                             \
  XX(consistent_hash)                                                          \
  XX(smg_consistent_hashing)                                                   \
  XX(smg_prefix_hash)                                                          \
  XX(sglang_bounded_consistent_hashing)                                        \
  XX(b3_linear)                                                                \
  XX(b3_lpwl)                                                                  \
  XX(b3_unified_ab)                                                            \
  XX(b3_leastwork_kappa)                                                       \
  XX(blitz_join_shortest_weight)                                               \
  XX(blitz_least_bs)                                                           \
  XX(blitz_least_waiting)                                                      \
  XX(blitz_least_wait_token)                                                   \
  XX(blitz_bounded_most_hit)                                                   \
  XX(blitz_lmetric)                                                            \
  XX(blitz_least_active)                                                       \
  XX(blitz_least_token_load)                                                   \
  XX(blitz_dynamo)                                                             \
  XX(blitz_bailian)                                                            \
  XX(blitz_aibrix)                                                             \
  XX(blitz_llmd)                                                               \
  XX(smg_cache_aware)                                                          \
  XX(smg_least_load)                                                           \
  XX(smg_bucket)                                                               \
  XX(smg_power_of_two)                                                         \
  XX(smg_manual)                                                               \
  XX(sglang_lmetric)                                                           \
  XX(sglang_workload_aware)                                                    \
  XX(dynamo_kv)                                                                \
  XX(dynamo_lmetric)                                                           \
  XX(aibrix_prefix_cache)                                                      \
  XX(aibrix_prefix_cache_preble)                                               \
  XX(aibrix_least_request)                                                     \
  XX(aibrix_least_kv_cache)                                                    \
  XX(aibrix_least_gpu_cache)                                                   \
  XX(aibrix_power_of_two)                                                      \
  XX(aibrix_session_affinity)                                                  \
  XX(aibrix_vtc_basic)                                                         \
  XX(ray_prefix_cache_affinity)                                                \
  XX(vllm_stack_session)                                                       \
  XX(vllm_stack_kvaware)                                                       \
  XX(vllm_stack_prefixaware)                                                   \
  XX(vllm_router_kv_aware)                                                     \
  XX(vllm_router_ttft_aware)                                                   \
  XX(vllm_router_smetric)                                                      \
  XX(vllm_router_least_conn_sticky)                                            \
  XX(vllm_router_rendezvous_hash)                                              \
  XX(preble_e2)                                                                \
  XX(infera_kv)

#define XX(name) extern const blis_policy_entry blis__router_##name;
ROUTERS(XX)
#undef XX

static const blis_policy_entry *const routers[] = {
#define XX(name) &blis__router_##name,
    ROUTERS(XX)
#undef XX
};

#define ADMISSIONS(XX)                                                         \
  XX(always_admit)                                                             \
  XX(reject_all)                                                               \
  XX(token_bucket)                                                             \
  XX(rate_limit)                                                               \
  XX(tenant_quota)                                                             \
  XX(tier_shed)                                                                \
  XX(gaie_legacy)                                                              \
  XX(cognitora_admission)

#define XX(name) extern const blis_policy_entry blis__admission_##name;
ADMISSIONS(XX)
#undef XX

static const blis_policy_entry *const admissions[] = {
#define XX(name) &blis__admission_##name,
    ADMISSIONS(XX)
#undef XX
};

#define PRIORITIES(XX)                                                         \
  XX(constant)                                                                 \
  XX(slo_based)                                                                \
  XX(tenant_priority)                                                          \
  XX(deadline_aware)                                                           \
  XX(inverted_slo)

#define XX(name) extern const blis_policy_entry blis__priority_##name;
PRIORITIES(XX)
#undef XX

static const blis_policy_entry *const priorities[] = {
#define XX(name) &blis__priority_##name,
    PRIORITIES(XX)
#undef XX
};

#define CASCADES(XX) XX(cognitora)

#define XX(name) extern const blis_policy_entry blis__cascade_##name;
CASCADES(XX)
#undef XX

static const blis_policy_entry *const cascades[] = {
#define XX(name) &blis__cascade_##name,
    CASCADES(XX)
#undef XX
};

#define LIST_OF(array)                                                         \
  { (array), sizeof(array) / sizeof *(array) }

static const blis_policy_list router_list = LIST_OF(routers);
static const blis_policy_list admission_list = LIST_OF(admissions);
static const blis_policy_list priority_list = LIST_OF(priorities);
static const blis_policy_list cascade_list = LIST_OF(cascades);

static const blis_policy_list *list_of(blis_policy_kind kind) {
  static const blis_policy_list *const lists[BLIS_POLICY_KIND_COUNT] = {
      [BLIS_POLICY_FILTER] = &blis__filters,
      [BLIS_POLICY_SCORER] = &blis__scorers,
      [BLIS_POLICY_PICKER] = &blis__pickers,
      [BLIS_POLICY_ROUTER] = &router_list,
      [BLIS_POLICY_ADMISSION] = &admission_list,
      [BLIS_POLICY_PRIORITY] = &priority_list,
      [BLIS_POLICY_CASCADE] = &cascade_list,
  };
  return lists[kind];
}

size_t blis_policy_count(blis_policy_kind kind) {
  return list_of(kind)->count;
}

const blis_policy_entry *blis_policy_at(blis_policy_kind kind, size_t index) {
  return list_of(kind)->entries[index];
}

const blis_policy_entry *blis_policy_find(blis_policy_kind kind,
                                          const char *name, blis_error *error) {
  return blis_policy_list_find(list_of(kind), name, error);
}

BLIS__POLICY_CREATE(router, &router_list, .name = entry->name,
                    .needs = setup.needs,
                    .needs_least_load = entry->needs_least_load,
                    .is_blind = setup.is_blind, .entry = entry)
BLIS__POLICY_CREATE(admission, &admission_list, .name = entry->name,
                    .needs = setup.needs)
BLIS__POLICY_CREATE(priority, &priority_list, .name = entry->name)
BLIS__POLICY_CREATE(cascade, &cascade_list, .name = entry->name,
                    .chains = setup.chains, .chain_count = setup.chain_count)

static blis_status fail_fixed(const blis_policy_entry *entry, const char *name,
                              blis_error *error) {
  char live[256] = "";
  for (size_t i = 0; i < entry->param_count; i++) {
    if (entry->params[i].is_live) {
      blis_word_list_add(live, sizeof live, entry->params[i].name);
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "routing policy %s: %s is fixed for the run; %s can be "
                   "changed",
                   entry->name, name, live);
}

static bool has_live_params(const blis_policy_entry *entry) {
  for (size_t i = 0; i < entry->param_count; i++) {
    if (entry->params[i].is_live) {
      return true;
    }
  }
  return false;
}

static const blis_param_spec *spec_of(const blis_policy_entry *entry,
                                      const blis_param *param) {
  return blis_param_spec_find(entry->params, entry->param_count, param->name);
}

blis_status blis_router_change(const blis_router *router,
                               const blis_params *params, blis_error *error) {
  const blis_policy_entry *entry = router->entry;
  if (entry == NULL || !has_live_params(entry)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy %s: no parameter of it can be changed "
                     "during a run",
                     router->name);
  }
  BLIS_TRY(blis_policy_check(entry, params, error));
  for (size_t i = 0; i < params->count; i++) {
    if (!spec_of(entry, &params->items[i])->is_live) {
      return fail_fixed(entry, params->items[i].name, error);
    }
  }
  for (size_t i = 0; i < params->count; i++) {
    blis_param_write(spec_of(entry, &params->items[i]), params, router->state);
  }
  return BLIS_OK;
}
