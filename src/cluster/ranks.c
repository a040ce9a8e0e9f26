#include "cluster/ranks.h"

#include <inttypes.h>

#include "base/invariant.h"

static bool has_ranks(const blis_cluster_config *config) {
  for (uint32_t i = 0; i < config->instance_count; i++) {
    if (config->instances[i].ranks != NULL) {
      return true;
    }
  }
  return false;
}

static uint32_t size_at(const blis_cluster_config *config, uint32_t i) {
  const blis_rank_config *ranks = config->instances[i].ranks;
  return ranks == NULL ? 1 : ranks->count;
}

/* The ranks of a group are alike. */
static blis_status check_group(const blis_cluster *cluster, uint32_t first, uint32_t size,
                               blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  for (uint32_t k = 1; k < size; k++) {
    if (k >= cluster->existing - first ||
        config->instances[first + k].ranks != config->instances[first].ranks) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "instance_%" PRIu32 ": its group has %" PRIu32
                       " ranks, and behind it are %" PRIu32 "; expected all of them",
                       first, size, k - 1);
    }
  }
  return BLIS_OK;
}

static void put(const blis__ranks *ranks, uint32_t first, uint32_t size, uint32_t group) {
  for (uint32_t i = first; i < first + size; i++) {
    ranks->first[i] = first;
    ranks->group[i] = group;
    ranks->size[i] = size;
  }
}

blis_status blis__ranks_init(blis_cluster *cluster, blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  uint32_t count = config->instance_count;
  if (!has_ranks(config)) {
    return BLIS_OK;
  }
  blis__ranks *ranks = blis_arena_new(&cluster->texts, sizeof *ranks);
  uint32_t *columns = blis_arena_new(&cluster->texts, 3 * (size_t)count * sizeof *columns);
  BLIS_TRY_NEW(ranks, error);
  BLIS_TRY_NEW(columns, error);
  *ranks = (blis__ranks){columns, columns + count, columns + 2 * (size_t)count};
  uint32_t group = 0;
  for (uint32_t first = 0; first < count; group++) {
    uint32_t size = first < cluster->existing ? size_at(config, first) : 1;
    BLIS_TRY(check_group(cluster, first, size, error));
    put(ranks, first, size, group);
    first += size;
  }
  cluster->ranks = ranks;
  return BLIS_OK;
}

void blis__ranks_join(const blis_cluster *cluster, uint32_t first, uint32_t other) {
  blis__ranks *ranks = cluster->ranks;
  if (ranks != NULL) {
    BLIS_ASSERT(first > 0 && first >= cluster->existing);
    put(ranks, first, ranks->size[other], ranks->group[first - 1] + 1);
  }
}

uint32_t blis_cluster_rank_group(const blis_cluster *cluster, uint32_t index) {
  return blis__rank_group(cluster, index);
}

uint32_t blis_cluster_rank(const blis_cluster *cluster, uint32_t index) {
  return index - blis__rank_first(cluster, index);
}
