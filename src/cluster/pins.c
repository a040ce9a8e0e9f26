#include "cluster/pins.h"

#include <inttypes.h>

void blis__pins_init(blis__pins *pins, const blis_alloc *alloc) {
  blis_map_init(&pins->instances, alloc);
}

void blis__pins_deinit(blis__pins *pins) {
  blis_map_deinit(&pins->instances);
}

blis_status blis__pins_put(blis__pins *pins, int64_t number,
                           uint32_t instance) {
  return blis_map_put(&pins->instances, (uint64_t)number, instance);
}

static const double *column(void *ud, blis_signal signal) {
  const blis__pins *pins = ud;
  const double *whole = pins->whole->column(pins->whole->column_ud, signal);
  return whole == NULL ? NULL : whole + pins->place;
}

static void show_one(blis__pins *pins, const blis_routing_view *whole,
                     size_t place) {
  pins->whole = whole;
  pins->place = place;
  pins->view = *whole;
  pins->view.count = 1;
  pins->view.least_load = NULL;
  pins->view.instances += place;
  pins->view.ids += place;
  pins->view.id_ranks += place;
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    if (whole->columns[i] != NULL) {
      pins->view.columns[i] = whole->columns[i] + place;
    }
  }
  if (whole->column != NULL) {
    pins->view.column = column;
    pins->view.column_ud = pins;
  }
}

blis_status blis__pins_apply(blis__pins *pins, int64_t number,
                             const blis_routing_view **view,
                             blis_error *error) {
  uint64_t instance = 0;
  if (blis_map_count(&pins->instances) == 0 ||
      !blis_map_get(&pins->instances, (uint64_t)number, &instance)) {
    return BLIS_OK;
  }
  blis_map_remove(&pins->instances, (uint64_t)number);
  size_t place = blis_routing_view_find(*view, (uint32_t)instance);
  if (place == (*view)->count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request number %" PRId64 " is pinned to instance_%" PRIu64
                     ", which is no candidate at %" PRId64 " us",
                     number, instance, (*view)->now_us);
  }
  show_one(pins, *view, place);
  *view = &pins->view;
  return BLIS_OK;
}
