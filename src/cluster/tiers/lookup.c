/* Lookup of blocks: see tiers.h. */
#include "base/invariant.h"
#include "cluster/tiers/kv_tiers.h"
#include "cluster/tiers/tiers.h"

int32_t blis__tier_store_of(const blis__tiers *tiers, uint32_t tier, uint32_t instance) {
  const blis__tier *t = &tiers->all[tier];
  if (t->store_count == 0) {
    return BLIS__NO_STORE;
  }
  switch (t->is.scope) {
  case BLIS_TIER_OF_INSTANCE:
    return t->first_store + (int32_t)instance;
  case BLIS_TIER_OF_NODE:
    return t->first_store + (int32_t)(instance / (uint64_t)t->is.instances_per_node);
  case BLIS_TIER_OF_CLUSTER:
    break;
  }
  return t->first_store;
}

static bool has(const blis__tiers *tiers, int32_t store, blis_block_id id) {
  return store != BLIS__NO_STORE &&
         blis_tier_store_has(blis__tier_place_at(tiers, store)->blocks, id);
}

/* Returns the number of consecutive blocks of the chain in a store, starting at `first`. */
static uint32_t reach(const blis__tiers *tiers, int32_t store, const blis_block_chain *chain,
                      uint32_t first, uint32_t end) {
  uint32_t k = first;
  while (k < end && has(tiers, store, blis_block_chain_at(chain, k))) {
    k++;
  }
  return k;
}

/* Returns the store of a shared tier, other than `own`, that has most of the following blocks; the
   first one on a tie. BLIS__NO_STORE = no store has the next block. */
static int32_t best_peer(const blis__tiers *tiers, uint32_t tier, int32_t own,
                         const blis_block_chain *chain, uint32_t first, uint32_t end) {
  const blis__tier *t = &tiers->all[tier];
  int32_t best = BLIS__NO_STORE;
  uint32_t furthest = first;
  for (int32_t k = 0; k < t->store_count; k++) {
    int32_t store = t->first_store + k;
    uint32_t far = store == own ? first : reach(tiers, store, chain, first, end);
    if (far > furthest) {
      furthest = far;
      best = store;
    }
  }
  return best;
}

/* For each tier, the peer to read from; initially NOT_ASKED. */
typedef struct peers {
  int32_t of[BLIS_KV_TIERS_MAX];
} peers;

enum { NOT_ASKED = -2 };

/* Returns the store from which a block is read. */
static int32_t find_one(const blis__tiers *tiers, uint32_t instance, const blis_block_chain *chain,
                        uint32_t k, uint32_t end, peers *p) {
  blis_block_id id = blis_block_chain_at(chain, k);
  for (uint32_t t = 0; t < tiers->count; t++) {
    int32_t own = blis__tier_store_of(tiers, t, instance);
    if (has(tiers, own, id)) {
      return own;
    }
    if (!tiers->all[t].is.is_shared || own == BLIS__NO_STORE) {
      continue;
    }
    if (p->of[t] == NOT_ASKED) {
      p->of[t] = best_peer(tiers, t, own, chain, k, end);
    }
    if (has(tiers, p->of[t], id)) {
      return p->of[t];
    }
  }
  return BLIS__NO_STORE;
}

blis_status blis__tiers_find(blis__tiers *tiers, uint32_t instance, const blis_block_chain *chain,
                             uint32_t first, uint32_t end) {
  peers p;
  for (uint32_t t = 0; t < tiers->count; t++) {
    p.of[t] = NOT_ASKED;
  }
  tiers->found.count = 0;
  for (uint32_t k = first; k < end; k++) {
    int32_t from = find_one(tiers, instance, chain, k, end, &p);
    if (from == BLIS__NO_STORE) {
      return BLIS_OK;
    }
    const blis__tier_block block = {.id = blis_block_chain_at(chain, k),
                                    .depth = k,
                                    .blocks = end,
                                    .reused_after_us = -1,
                                    .from = from,
                                    .into = BLIS__NO_STORE};
    BLIS_TRY(blis_array_push(&tiers->cluster->alloc, &tiers->found, block));
  }
  return BLIS_OK;
}

/* Returns the weight of a block that an instance reads from a store. */
static double weight_of(const blis__tiers *tiers, int32_t store, uint32_t instance) {
  uint32_t t = blis__tier_place_at(tiers, store)->tier;
  const blis_kv_tier *tier = &tiers->all[t].is;
  bool is_own = store == blis__tier_store_of(tiers, t, instance);
  return is_own ? tier->weight : tier->peer_weight;
}

double blis__tiers_weigh(const void *ud, uint32_t instance, const blis_block_chain *chain,
                         uint32_t cached) {
  const blis__tiers *tiers = ud;
  double sum = cached * tiers->config.cache_weight;
  peers p;
  for (uint32_t t = 0; t < tiers->count; t++) {
    bool is_seen = tiers->all[t].is.peer_weight > 0;
    p.of[t] = is_seen ? NOT_ASKED : BLIS__NO_STORE;
  }
  for (uint32_t k = cached; k < chain->prompt_blocks; k++) {
    int32_t from = find_one(tiers, instance, chain, k, chain->prompt_blocks, &p);
    if (from == BLIS__NO_STORE) {
      return sum;
    }
    sum += weight_of(tiers, from, instance);
  }
  return sum;
}
