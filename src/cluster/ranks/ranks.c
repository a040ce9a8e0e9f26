/*
 * ranks.c - data-parallel ranks. The ranks of a group are instances with consecutive numbers, and
 * form one deployment unit (units.h).
 */
#include <inttypes.h>

#include "cluster/feature.h"
#include "cluster/units.h"

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

/* Checks that the ranks of a group have equal configurations. */
static blis_status check_group(const blis_cluster *cluster, uint32_t first, uint32_t size,
                               blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  for (uint32_t k = 1; k < size; k++) {
    if (k >= cluster->existing - first ||
        config->instances[first + k].ranks != config->instances[first].ranks) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s: its group has %" PRIu32 " ranks, and behind it are %" PRIu32
                       "; expected all of them",
                       cluster->ids[first], size, k - 1);
    }
  }
  return BLIS_OK;
}

/*
 * Divides the instances into groups. BLIS_ERR_INVALID names an instance with an incomplete group.
 */
static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  const blis_cluster_config *config = &cluster->config;
  if (!has_ranks(config)) {
    return BLIS_OK;
  }
  uint32_t *sizes = blis_arena_new(&cluster->texts, cluster->existing * sizeof *sizes);
  BLIS_TRY_NEW(sizes, error);
  for (uint32_t first = 0; first < cluster->existing; first += sizes[first]) {
    sizes[first] = size_at(config, first);
    BLIS_TRY(check_group(cluster, first, sizes[first], error));
  }
  return blis__units_divide(cluster, sizes, error);
}

const blis__feature blis__ranks_feature = {
    .slot = BLIS_FEATURE_RANKS,
    .name = "ranks",
    .prepare = prepare,
};
