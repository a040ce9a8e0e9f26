#include "policy/registry.h"

#include "base/nearest.h"
#include "policy/pipeline/pieces.h"

/* XX(kind, name): the entry is blis__<kind>_<name>. */

#define ROUTERS(XX)                                                                                \
  XX(router, round_robin)                                                                          \
  XX(router, least_loaded)                                                                         \
  XX(router, weighted)                                                                             \
  XX(router, lmetric)                                                                              \
  XX(router, always_busiest)                                                                       \
  XX(router, weighted_stateless)                                                                   \
  XX(router, load_only)                                                                            \
  XX(router, sticky)                                                                               \
  XX(router, unified)                                                                              \
  XX(router, unified_as_printed)                                                                   \
  XX(router, capped)                                                                               \
  XX(router, routesim_round_robin)                                                                 \
  XX(router, routesim_least_outstanding)                                                           \
  XX(router, routesim_least_kv)                                                                    \
  XX(router, routesim_prefix_aware)                                                                \
  XX(router, routesim_prefix_overlap)                                                              \
  XX(router, routesim_session_affinity)                                                            \
  XX(router, routesim_cost_escalation)                                                             \
  XX(router, cognitora_score)                                                                      \
  XX(router, prefix_policy)                                                                        \
  XX(router, weighted_scoring)                                                                     \
  XX(router, weighted_v04)                                                                         \
  XX(router, random)                                                                               \
  XX(router, power_of_two)                                                                         \
  XX(router, consistent_hash)                                                                      \
  XX(router, smg_consistent_hashing)                                                               \
  XX(router, smg_prefix_hash)                                                                      \
  XX(router, sglang_bounded_consistent_hashing)                                                    \
  XX(router, b3_linear)                                                                            \
  XX(router, b3_lpwl)                                                                              \
  XX(router, b3_unified_ab)                                                                        \
  XX(router, b3_leastwork_kappa)                                                                   \
  XX(router, blitz_join_shortest_weight)                                                           \
  XX(router, blitz_least_bs)                                                                       \
  XX(router, blitz_least_waiting)                                                                  \
  XX(router, blitz_least_wait_token)                                                               \
  XX(router, blitz_bounded_most_hit)                                                               \
  XX(router, blitz_lmetric)                                                                        \
  XX(router, blitz_least_active)                                                                   \
  XX(router, blitz_least_token_load)                                                               \
  XX(router, blitz_dynamo)                                                                         \
  XX(router, blitz_bailian)                                                                        \
  XX(router, blitz_aibrix)                                                                         \
  XX(router, blitz_llmd)                                                                           \
  XX(router, smg_cache_aware)                                                                      \
  XX(router, smg_least_load)                                                                       \
  XX(router, smg_bucket)                                                                           \
  XX(router, smg_power_of_two)                                                                     \
  XX(router, smg_manual)                                                                           \
  XX(router, sglang_lmetric)                                                                       \
  XX(router, sglang_workload_aware)                                                                \
  XX(router, dynamo_kv)                                                                            \
  XX(router, dynamo_lmetric)                                                                       \
  XX(router, aibrix_prefix_cache)                                                                  \
  XX(router, aibrix_prefix_cache_preble)                                                           \
  XX(router, aibrix_least_request)                                                                 \
  XX(router, aibrix_least_kv_cache)                                                                \
  XX(router, aibrix_least_gpu_cache)                                                               \
  XX(router, aibrix_power_of_two)                                                                  \
  XX(router, aibrix_session_affinity)                                                              \
  XX(router, aibrix_vtc_basic)                                                                     \
  XX(router, ray_prefix_cache_affinity)                                                            \
  XX(router, vllm_stack_session)                                                                   \
  XX(router, vllm_stack_kvaware)                                                                   \
  XX(router, vllm_stack_prefixaware)                                                               \
  XX(router, vllm_router_kv_aware)                                                                 \
  XX(router, vllm_router_ttft_aware)                                                               \
  XX(router, vllm_router_smetric)                                                                  \
  XX(router, vllm_router_least_conn_sticky)                                                        \
  XX(router, vllm_router_rendezvous_hash)                                                          \
  XX(router, preble_e2)                                                                            \
  XX(router, infera_kv)                                                                            \
  XX(router, vllm_dp)                                                                              \
  XX(router, sglang_dp_room)

ROUTERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const routers[] = {ROUTERS(BLIS__ENTRY_ADDRESS)};

#define ADMISSIONS(XX)                                                                             \
  XX(admission, always_admit)                                                                      \
  XX(admission, reject_all)                                                                        \
  XX(admission, token_bucket)                                                                      \
  XX(admission, rate_limit)                                                                        \
  XX(admission, tenant_quota)                                                                      \
  XX(admission, tier_shed)                                                                         \
  XX(admission, gaie_legacy)                                                                       \
  XX(admission, probabilistic)                                                                     \
  XX(admission, latency_slo)                                                                       \
  XX(admission, cognitora_admission)

ADMISSIONS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const admissions[] = {ADMISSIONS(BLIS__ENTRY_ADDRESS)};

#define PRIORITIES(XX)                                                                             \
  XX(priority, constant)                                                                           \
  XX(priority, slo_based)                                                                          \
  XX(priority, tenant_priority)                                                                    \
  XX(priority, deadline_aware)                                                                     \
  XX(priority, inverted_slo)                                                                       \
  XX(priority, least_attained_service)

PRIORITIES(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const priorities[] = {PRIORITIES(BLIS__ENTRY_ADDRESS)};

#define CASCADES(XX) XX(cascade, cognitora)

CASCADES(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const cascades[] = {CASCADES(BLIS__ENTRY_ADDRESS)};

#define AUTOSCALERS(XX)                                                                            \
  XX(autoscaler, threshold)                                                                        \
  XX(autoscaler, target_utilization)                                                               \
  XX(autoscaler, queue_depth)                                                                      \
  XX(autoscaler, hpa)                                                                              \
  XX(autoscaler, keda)                                                                             \
  XX(autoscaler, llmd_queue)                                                                       \
  XX(autoscaler, llmd_saturation)                                                                  \
  XX(autoscaler, llmd_guard)                                                                       \
  XX(autoscaler, llmd_token_aware)                                                                 \
  XX(autoscaler, llmd_slo_aware)                                                                   \
  XX(autoscaler, llmd_wva)                                                                         \
  XX(autoscaler, dynamo_planner)                                                                   \
  XX(autoscaler, dynamo_power)                                                                     \
  XX(autoscaler, ray_serve)                                                                        \
  XX(autoscaler, knative)                                                                          \
  XX(autoscaler, saturation_pipeline)                                                              \
  XX(autoscaler, oracle)

AUTOSCALERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const autoscalers[] = {AUTOSCALERS(BLIS__ENTRY_ADDRESS)};

#define SATURATIONS(XX)                                                                            \
  XX(saturation, never)                                                                            \
  XX(saturation, utilization)                                                                      \
  XX(saturation, concurrency)

SATURATIONS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const saturations[] = {SATURATIONS(BLIS__ENTRY_ADDRESS)};

#define USAGE_LIMITS(XX)                                                                           \
  XX(usage_limit, static)                                                                          \
  XX(usage_limit, linear)                                                                          \
  XX(usage_limit, priority_holdback)                                                               \
  XX(usage_limit, soft_reflective)

USAGE_LIMITS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const usage_limits[] = {USAGE_LIMITS(BLIS__ENTRY_ADDRESS)};
#define DECIDERS(XX)                                                                               \
  XX(decider, never)                                                                               \
  XX(decider, always)                                                                              \
  XX(decider, prefix_threshold)                                                                    \
  XX(decider, llmd_prefix_based)                                                                   \
  XX(decider, llmd_if_available)                                                                   \
  XX(decider, dynamo)                                                                              \
  XX(decider, dynamo_token_cap)                                                                    \
  XX(decider, cognitora)

DECIDERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const deciders[] = {DECIDERS(BLIS__ENTRY_ADDRESS)};

static const blis_policy_list router_list = BLIS__POLICY_LIST(routers);
static const blis_policy_list admission_list = BLIS__POLICY_LIST(admissions);
static const blis_policy_list priority_list = BLIS__POLICY_LIST(priorities);
static const blis_policy_list cascade_list = BLIS__POLICY_LIST(cascades);
static const blis_policy_list autoscaler_list = BLIS__POLICY_LIST(autoscalers);
static const blis_policy_list saturation_list = BLIS__POLICY_LIST(saturations);
static const blis_policy_list usage_limit_list = BLIS__POLICY_LIST(usage_limits);

static const blis_policy_list decider_list = BLIS__POLICY_LIST(deciders);

static const blis_policy_list *list_of(blis_policy_kind kind) {
  static const blis_policy_list *const lists[BLIS_POLICY_KIND_COUNT] = {
      [BLIS_POLICY_FILTER] = &blis__filters,       [BLIS_POLICY_SCORER] = &blis__scorers,
      [BLIS_POLICY_PICKER] = &blis__pickers,       [BLIS_POLICY_ROUTER] = &router_list,
      [BLIS_POLICY_ADMISSION] = &admission_list,   [BLIS_POLICY_PRIORITY] = &priority_list,
      [BLIS_POLICY_CASCADE] = &cascade_list,       [BLIS_POLICY_AUTOSCALER] = &autoscaler_list,
      [BLIS_POLICY_SATURATION] = &saturation_list, [BLIS_POLICY_USAGE_LIMIT] = &usage_limit_list,
      [BLIS_POLICY_DECIDER] = &decider_list,
  };
  return lists[kind];
}

size_t blis_policy_count(blis_policy_kind kind) {
  return list_of(kind)->count;
}

const blis_policy_entry *blis_policy_at(blis_policy_kind kind, size_t index) {
  return list_of(kind)->entries[index];
}

const blis_policy_entry *blis_policy_find(blis_policy_kind kind, const char *name,
                                          blis_error *error) {
  return blis_policy_list_find(list_of(kind), name, error);
}

BLIS__POLICY_CREATE(router, &router_list, .name = entry->name, .needs = setup.needs,
                    .needs_extremes = setup.needs_extremes,
                    .needs_least_load = entry->needs_least_load, .is_blind = setup.is_blind,
                    .entry = entry)
BLIS__POLICY_CREATE(admission, &admission_list, .name = entry->name, .needs = setup.needs)
BLIS__POLICY_CREATE(priority, &priority_list, .name = entry->name)
BLIS__POLICY_CREATE(decider, &decider_list, .name = entry->name, .needs = setup.needs,
                    .is_blind = setup.is_blind)
BLIS__POLICY_CREATE(cascade, &cascade_list, .name = entry->name, .chains = setup.chains,
                    .chain_count = setup.chain_count)

static blis_status fail_fixed(const blis_policy_entry *entry, const char *name, blis_error *error) {
  char live[256] = "";
  for (size_t i = 0; i < entry->param_count; i++) {
    if (entry->params[i].is_live) {
      blis_word_list_add(live, sizeof live, entry->params[i].name);
    }
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "routing policy %s: %s is fixed for the run; only %s can change", entry->name,
                   name, live);
}

static bool has_live_params(const blis_policy_entry *entry) {
  for (size_t i = 0; i < entry->param_count; i++) {
    if (entry->params[i].is_live) {
      return true;
    }
  }
  return false;
}

static const blis_param_spec *spec_of(const blis_policy_entry *entry, const blis_param *param) {
  return blis_param_spec_find(entry->params, entry->param_count, param->name);
}

blis_status blis_router_change(const blis_router *router, const blis_params *params,
                               blis_error *error) {
  const blis_policy_entry *entry = router->entry;
  if (entry == NULL || !has_live_params(entry)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "routing policy %s: it has no parameters that can change during a run",
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

static int64_t interval_of(const blis_policy_setup *setup) {
  return (int64_t)(blis_setup_number(setup, "interval_seconds") * 1e6);
}

BLIS__POLICY_CREATE(autoscaler, &autoscaler_list, .name = entry->name,
                    .needs = (blis_scale_needs)setup.needs,
                    .interval_us = status == BLIS_OK ? interval_of(&setup) : 0)

BLIS__POLICY_CREATE(saturation, &saturation_list, .name = entry->name, .needs = setup.needs)

BLIS__POLICY_CREATE(usage_limit, &usage_limit_list, .name = entry->name)
