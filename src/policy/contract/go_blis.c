#include "policy/contract/go_blis.h"

#include "policy/contract/entry.h"

enum { INDEX_BLOCKS = 10000, LOAD_QUEUE = 1 };

static const blis_policy_default defaults[] = {
    {BLIS_POLICY_ADMISSION, "token-bucket", "bucket_size", 10000},
    {BLIS_POLICY_ADMISSION, "token-bucket", "refill_rate", 1000},
    {BLIS_POLICY_ADMISSION, "token-bucket", "per_tenant", 0},
    {BLIS_POLICY_SCORER, "queue-depth", "load", LOAD_QUEUE},
    {BLIS_POLICY_SCORER, "prefix-affinity", "block_size", BLIS_DEFAULT_KV_BLOCK_SIZE},
    {BLIS_POLICY_SCORER, "prefix-affinity", "capacity", INDEX_BLOCKS},
    {BLIS_POLICY_ROUTER, "prefix-affinity", "block_size", BLIS_DEFAULT_KV_BLOCK_SIZE},
};

const blis_policy_profile blis_policy_go_blis = {
    .defaults = defaults,
    .default_count = sizeof defaults / sizeof *defaults,
    .weighted_scorers = "precise-prefix-cache:2,queue-depth:1,kv-utilization:1",
    .has_random_ties = true,
    .counts_priorities_down = true,
};
