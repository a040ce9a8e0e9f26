/*
 * policy.h - what a built-in filter, scorer, picker or routing policy says
 * about itself, and the list of all of them.
 *
 * To add one: write its file with a constant entry, and add its line below.
 * Lookup, parameter checks, error texts and the policy table follow from it.
 */
#ifndef BLIS_POLICY_CONTRACT_POLICY_H
#define BLIS_POLICY_CONTRACT_POLICY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/nearest.h"
#include "policy/contract/filter.h"
#include "policy/contract/params.h"
#include "policy/contract/picker.h"
#include "policy/contract/router.h"
#include "policy/contract/scorer.h"
#include "policy/contract/tie.h"

/* The cluster that a policy is made for. */
typedef struct blis_policy_context {
  uint32_t instance_count;
  int64_t kv_block_size_tokens;
  int64_t kv_blocks; /* of one instance */
  int64_t seed;      /* of the experiment */
  bool go_blis;      /* defaults and formulas of profile go-blis */
} blis_policy_context;

typedef struct blis_scorer_entry {
  const char *name;
  const char *aliases; /* "a|b"; "" = none */
  const char *summary;
  const char *source; /* design document, paper or system and version */
  const blis_param_spec *params;
  size_t param_count;
  /* params are checked. The caller owns *scorer. */
  blis_status (*create)(const blis_alloc *alloc, const blis_params *params,
                        const blis_policy_context *context, blis_scorer *scorer,
                        blis_error *error);
} blis_scorer_entry;

typedef struct blis_picker_entry {
  const char *name;
  const char *aliases;
  const char *summary;
  const char *source;
  const blis_param_spec *params;
  size_t param_count;
  blis_status (*create)(const blis_alloc *alloc, const blis_params *params,
                        const blis_policy_context *context, blis_picker *picker,
                        blis_error *error);
} blis_picker_entry;

typedef struct blis_filter_entry {
  const char *name;
  const char *aliases;
  const char *summary;
  const char *source;
  const blis_param_spec *params;
  size_t param_count;
  blis_status (*create)(const blis_alloc *alloc, const blis_params *params,
                        const blis_policy_context *context, blis_filter *filter,
                        blis_error *error);
} blis_filter_entry;

typedef struct blis_router_entry {
  const char *name;
  const char *aliases;
  const char *summary;
  const char *source;
  const blis_param_spec *params;
  size_t param_count;
  blis_status (*create)(const blis_alloc *alloc, const blis_params *params,
                        const blis_policy_context *context, blis_router *router,
                        blis_error *error);
} blis_router_entry;

/* Parameters that many policies have; what is theirs: default and summary. */
#define BLIS__BLOCK_SIZE_PARAM(fallback_tokens, text)                          \
  {                                                                            \
    .name = "block_size", .kind = BLIS_PARAM_INTEGER, .minimum = 1,            \
    .maximum = 1 << 20, .fallback = (fallback_tokens), .unit = "tokens",       \
    .summary = text                                                            \
  }

#define BLIS__PREFIX_TOKENS_PARAM(fallback_tokens, text)                       \
  {                                                                            \
    .name = "prefix_tokens", .kind = BLIS_PARAM_INTEGER, .minimum = 0,         \
    .maximum = 1 << 30, .fallback = (fallback_tokens), .unit = "tokens",       \
    .summary = text                                                            \
  }

/* Size of a prefix index. */
#define BLIS__INDEX_CAPACITY_PARAM(fallback_blocks, text)                      \
  {                                                                            \
    .name = "capacity", .kind = BLIS_PARAM_INTEGER, .minimum = 1,              \
    .maximum = 1 << 30, .fallback = (fallback_blocks), .unit = "blocks",       \
    .summary = text                                                            \
  }

/* Parameter "tie" of routers that break ties at random in profile go-blis. */
#define BLIS__TIE_PARAM                                                        \
  {                                                                            \
    .name = "tie", .kind = BLIS_PARAM_CHOICE, .choices = BLIS_TIE_CHOICES,     \
    .unit = "",                                                                \
    .summary = "which of equally good ones (profile go-blis: random)"          \
  }

blis_tie_rule blis__tie_param(const blis_params *params,
                              const blis_param_spec *specs, size_t spec_count,
                              const blis_policy_context *context);

/* Parameter "tie" of routers that take the first of equally good ones. */
#define BLIS__TIE_FIRST_PARAM                                                  \
  {                                                                            \
    .name = "tie", .kind = BLIS_PARAM_CHOICE,                                  \
    .choices = BLIS_TIE_CHOICES_FIRST, .unit = "",                             \
    .summary = "which of equally good ones"                                    \
  }

blis_tie_rule blis__tie_first_param(const blis_params *params,
                                    const blis_param_spec *specs,
                                    size_t spec_count);

/* For registries: whether name is the entry's name or one of its aliases. */
bool blis__policy_is_named(const char *name, const char *entry_name,
                           const char *aliases);

/* Says which name is meant, or which there are. */
void blis__policy_fail_unknown(const char *kind, const char *name,
                               const blis_nearest *nearest, const char *names,
                               blis_error *error);

/* XX(file-local name): the entry is blis__filter_<name>. */
#define BLIS__FILTER_MAP(XX)                                                   \
  XX(utilization)                                                              \
  XX(utilization_detector)                                                     \
  XX(concurrency_detector)                                                     \
  XX(session_affinity)                                                         \
  XX(prefix_cache_affinity)

/* The entry is blis__scorer_<name>. */
#define BLIS__SCORER_MAP(XX)                                                   \
  XX(prefix_affinity)                                                          \
  XX(queue_depth)                                                              \
  XX(kv_utilization)                                                           \
  XX(load_balance)                                                             \
  XX(precise_prefix_cache)                                                     \
  XX(oracle_prefix)                                                            \
  XX(no_hit_lru)                                                               \
  XX(active_requests)                                                          \
  XX(running_requests)                                                         \
  XX(load_aware)                                                               \
  XX(vllm_dp)                                                                  \
  XX(llmd_queue)                                                               \
  XX(llmd_active_request)                                                      \
  XX(llmd_token_load)                                                          \
  XX(llmd_prefix_cache)                                                        \
  XX(llmd_no_hit_lru)                                                          \
  XX(llmd_session_affinity)

/* The entry is blis__picker_<name>. */
#define BLIS__PICKER_MAP(XX)                                                   \
  XX(best)                                                                     \
  XX(random)                                                                   \
  XX(power_of_two)                                                             \
  XX(softmax)                                                                  \
  XX(epsilon_greedy)                                                           \
  XX(weighted_random)                                                          \
  XX(max_score)

/* The entry is blis__router_<name>. */
#define BLIS__ROUTER_MAP(XX)                                                   \
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

#define XX(name) extern const blis_filter_entry blis__filter_##name;
BLIS__FILTER_MAP(XX)
#undef XX
#define XX(name) extern const blis_picker_entry blis__picker_##name;
BLIS__PICKER_MAP(XX)
#undef XX
#define XX(name) extern const blis_scorer_entry blis__scorer_##name;
BLIS__SCORER_MAP(XX)
#undef XX
#define XX(name) extern const blis_router_entry blis__router_##name;
BLIS__ROUTER_MAP(XX)
#undef XX

#endif
