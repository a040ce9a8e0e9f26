#include "policy/pipeline/pieces.h"

/* XX(name): the entry is blis__<kind>_<name>. */

#define FILTERS(XX)                                                            \
  XX(utilization)                                                              \
  XX(utilization_detector)                                                     \
  XX(concurrency_detector)                                                     \
  XX(session_affinity)                                                         \
  XX(prefix_cache_affinity)

#define XX(name) extern const blis_policy_entry blis__filter_##name;
FILTERS(XX)
#undef XX

static const blis_policy_entry *const filters[] = {
#define XX(name) &blis__filter_##name,
    FILTERS(XX)
#undef XX
};

#define SCORERS(XX)                                                            \
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

#define XX(name) extern const blis_policy_entry blis__scorer_##name;
SCORERS(XX)
#undef XX

static const blis_policy_entry *const scorers[] = {
#define XX(name) &blis__scorer_##name,
    SCORERS(XX)
#undef XX
};

#define PICKERS(XX)                                                            \
  XX(best)                                                                     \
  XX(random)                                                                   \
  XX(power_of_two)                                                             \
  XX(softmax)                                                                  \
  XX(epsilon_greedy)                                                           \
  XX(weighted_random)                                                          \
  XX(max_score)

#define XX(name) extern const blis_policy_entry blis__picker_##name;
PICKERS(XX)
#undef XX

static const blis_policy_entry *const pickers[] = {
#define XX(name) &blis__picker_##name,
    PICKERS(XX)
#undef XX
};

#define LIST_OF(array)                                                         \
  { (array), sizeof(array) / sizeof *(array) }

const blis_policy_list blis__filters = LIST_OF(filters);
const blis_policy_list blis__scorers = LIST_OF(scorers);
const blis_policy_list blis__pickers = LIST_OF(pickers);

BLIS__POLICY_CREATE(filter, &blis__filters, .name = entry->name,
                    .needs = setup.needs)
BLIS__POLICY_CREATE(scorer, &blis__scorers, .name = entry->name,
                    .needs = setup.needs)
BLIS__POLICY_CREATE(picker, &blis__pickers, .name = entry->name,
                    .needs = setup.needs)
