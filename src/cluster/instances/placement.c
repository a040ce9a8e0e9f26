#include "cluster/instances/placement.h"

#include "cluster/units.h"

void blis__unplace_unit(blis_cluster *cluster, uint32_t i) {
  for (uint32_t k = blis__unit_first(cluster, i);
       cluster->placer != NULL && k < blis__unit_end(cluster, i); k++) {
    cluster->placer->unplace(cluster, k);
  }
}

blis_status blis__place_unit(blis_cluster *cluster, uint32_t i, blis__placement *placement,
                             blis_error *error) {
  *placement = BLIS__PLACED;
  if (cluster->placer == NULL) {
    return BLIS_OK;
  }
  for (uint32_t k = blis__unit_first(cluster, i); k < blis__unit_end(cluster, i); k++) {
    blis__placement own;
    BLIS_TRY(cluster->placer->place(cluster, k, &own, error));
    *placement = own > *placement ? own : *placement;
  }
  if (*placement == BLIS__PENDING) {
    blis__unplace_unit(cluster, i);
  }
  return BLIS_OK;
}
