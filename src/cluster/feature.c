#include "cluster/feature.h"

#include <string.h>

#include "base/invariant.h"

blis_status blis__features_prepare(blis_cluster *cluster, blis_error *error) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->prepare != NULL) {
      BLIS_TRY(feature->prepare(cluster, error));
    }
  }
  return BLIS_OK;
}

void blis__features_watch(blis_cluster *cluster, blis_instance_events *events) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->watch != NULL) {
      feature->watch(cluster, events);
    }
  }
}

void blis__features_equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->equip != NULL) {
      feature->equip(cluster, instance, config);
    }
  }
}

blis_status blis__features_start(blis_cluster *cluster, blis_error *error) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->start != NULL) {
      BLIS_TRY(feature->start(cluster, error));
    }
  }
  return BLIS_OK;
}

void blis__features_free(blis_cluster *cluster) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->free != NULL) {
      feature->free(cluster);
    }
  }
}

int64_t blis__features_waiting(const blis_cluster *cluster) {
  int64_t sum = 0;
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    sum += feature->waiting == NULL ? 0 : feature->waiting(cluster);
  }
  return sum;
}

bool blis__features_saturation(blis_cluster *cluster, bool is_live, double *value) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->saturation != NULL && feature->saturation(cluster, is_live, value)) {
      return true;
    }
  }
  return false;
}

void blis__features_describe_waiting(const blis_cluster *cluster, char *words, size_t size) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    size_t length = strlen(words);
    BLIS_ASSERT(length < size);
    if (feature->describe_waiting != NULL) {
      feature->describe_waiting(cluster, words + length, size - length);
    }
  }
}

bool blis__features_expect_change(const blis_cluster *cluster) {
  for (size_t i = 0; i < cluster->table->count; i++) {
    const blis__feature *feature = cluster->table->all[i];
    if (feature->expects_change != NULL && feature->expects_change(cluster)) {
      return true;
    }
  }
  return false;
}
