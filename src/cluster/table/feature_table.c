/*
 * feature_table.c - the table of optional features, and the construction of clusters with all
 * features. Only this file refers to every feature.
 */
#include "cluster/construct/construct.h"
#include "cluster/feature.h"

#define XX(slot, descriptor) extern const blis__feature blis__##descriptor##_feature;
BLIS_FEATURE_MAP(XX)
#undef XX

static const blis__feature *const features[BLIS_FEATURE_COUNT] = {
#define XX(slot, descriptor) [BLIS_FEATURE_##slot] = &blis__##descriptor##_feature,
    BLIS_FEATURE_MAP(XX)
#undef XX
};

static const blis__feature_table table = {features, BLIS_FEATURE_COUNT};

blis_status blis_cluster_new(const blis_alloc *alloc, const blis_cluster_config *config,
                             blis_router *router, const blis_request_source *source,
                             const blis_request_sink *sink, blis_histogram *itl_us,
                             blis_cluster **cluster, blis_error *error) {
  return blis__cluster_make(&table, alloc, config, router, source, sink, itl_us, cluster, error);
}
