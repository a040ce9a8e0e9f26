#include "policy/pipeline/pieces.h"

/* XX(kind, name): the entry is blis__<kind>_<name>. */

#define FILTERS(XX)                                                                                \
  XX(filter, utilization)                                                                          \
  XX(filter, utilization_detector)                                                                 \
  XX(filter, concurrency_detector)                                                                 \
  XX(filter, session_affinity)                                                                     \
  XX(filter, prefix_cache_affinity)

FILTERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const filters[] = {FILTERS(BLIS__ENTRY_ADDRESS)};

#define SCORERS(XX)                                                                                \
  XX(scorer, prefix_affinity)                                                                      \
  XX(scorer, queue_depth)                                                                          \
  XX(scorer, kv_utilization)                                                                       \
  XX(scorer, load_balance)                                                                         \
  XX(scorer, predicted_latency)                                                                    \
  XX(scorer, precise_prefix_cache)                                                                 \
  XX(scorer, oracle_prefix)                                                                        \
  XX(scorer, tiered_prefix)                                                                        \
  XX(scorer, no_hit_lru)                                                                           \
  XX(scorer, active_requests)                                                                      \
  XX(scorer, running_requests)                                                                     \
  XX(scorer, load_aware)                                                                           \
  XX(scorer, vllm_dp)                                                                              \
  XX(scorer, lora_affinity)                                                                        \
  XX(scorer, llmd_lora_affinity)                                                                   \
  XX(scorer, llmd_queue)                                                                           \
  XX(scorer, llmd_active_request)                                                                  \
  XX(scorer, llmd_token_load)                                                                      \
  XX(scorer, llmd_prefix_cache)                                                                    \
  XX(scorer, llmd_no_hit_lru)                                                                      \
  XX(scorer, llmd_session_affinity)

SCORERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const scorers[] = {SCORERS(BLIS__ENTRY_ADDRESS)};

#define PICKERS(XX)                                                                                \
  XX(picker, best)                                                                                 \
  XX(picker, random)                                                                               \
  XX(picker, power_of_two)                                                                         \
  XX(picker, softmax)                                                                              \
  XX(picker, epsilon_greedy)                                                                       \
  XX(picker, weighted_random)                                                                      \
  XX(picker, max_score)

PICKERS(BLIS__DECLARE_ENTRY)
static const blis_policy_entry *const pickers[] = {PICKERS(BLIS__ENTRY_ADDRESS)};

const blis_policy_list blis__filters = BLIS__POLICY_LIST(filters);
const blis_policy_list blis__scorers = BLIS__POLICY_LIST(scorers);
const blis_policy_list blis__pickers = BLIS__POLICY_LIST(pickers);

BLIS__POLICY_CREATE(filter, &blis__filters, .name = entry->name, .needs = setup.needs)
BLIS__POLICY_CREATE(scorer, &blis__scorers, .name = entry->name, .needs = setup.needs)
BLIS__POLICY_CREATE(picker, &blis__pickers, .name = entry->name, .needs = setup.needs)
