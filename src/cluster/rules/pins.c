/*
 * pins.c - routing decisions made in advance.
 *
 * For a pinned request, the policy sees only its instance, as if all other instances were out of
 * service at that time. The policy therefore remembers this decision like any other, and pins work
 * with every policy, including scripted ones. If a group balances its ranks, the policy sees the
 * group.
 */
#include "cluster/rules/pins.h"

#include <inttypes.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "cluster/feature.h"
#include "cluster/ranks/balance.h"

struct blis__pins {
  blis_map instances;        /* unused pins, by request number and role */
  BLIS_ARRAY(uint64_t) keys; /* in order of creation */
  blis_routing_view view;
  const blis_routing_view *whole; /* the view of which the pinned view is a part */
  size_t place;
};

static struct blis__pins *state_of(const blis_cluster *cluster) {
  return blis__feature_state(cluster, BLIS_FEATURE_PINS);
}

typedef struct blis__pins blis__pins;

static const double *column(void *ud, blis_signal signal) {
  const blis__pins *pins = ud;
  const double *whole = pins->whole->column(pins->whole->column_ud, signal);
  return whole == NULL ? NULL : whole + pins->place;
}

static void show_one(blis__pins *pins, const blis_routing_view *whole, size_t place) {
  pins->whole = whole;
  pins->place = place;
  pins->view = *whole;
  pins->view.count = 1;
  pins->view.least_load = NULL;
  pins->view.extremes = NULL;
  pins->view.rank_extremes = NULL;
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

/* Returns the key of a pin. Numbers of follow-ups are negative. */
static uint64_t key_of(int64_t number, uint32_t role) {
  return (uint64_t)number << 3 | role;
}

/* Removes and returns a pin for any stage or for this stage. */
static bool take_pin(blis__pins *pins, const blis_routing_request *shown, uint64_t *instance) {
  const uint32_t roles[] = {0, shown->stage};
  for (size_t i = 0; i < sizeof roles / sizeof *roles; i++) {
    uint64_t key = key_of(shown->number, roles[i]);
    if (blis_map_get(&pins->instances, key, instance)) {
      blis_map_remove(&pins->instances, key);
      return true;
    }
  }
  return false;
}

static blis_status on_routing(void *ud, blis_cluster *cluster, const blis__news *news,
                              blis_error *error) {
  blis__pins *pins = ud;
  const blis_routing_view *view = *news->view;
  uint64_t instance = 0;
  if (!take_pin(pins, news->shown, &instance)) {
    return BLIS_OK;
  }
  size_t place = blis_routing_view_find(view, blis__front_of(cluster, (uint32_t)instance));
  if (place == view->count) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request number %" PRId64 " is pinned to instance_%" PRIu64
                     ", which is no candidate at %" PRId64 " us",
                     news->shown->number, instance, view->now_us);
  }
  show_one(pins, view, place);
  *news->view = &pins->view;
  blis__name_rank(cluster, (uint32_t)instance);
  return BLIS_OK;
}

static blis_status add_pins(blis_cluster *cluster) {
  if (state_of(cluster) != NULL) {
    return BLIS_OK;
  }
  blis__pins *pins = blis_alloc_zeroed(&cluster->alloc, 1, sizeof *pins);
  if (pins == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis_map_init(&pins->instances, &cluster->alloc);
  const blis__listener listener = {
      .ud = pins, .phase = BLIS__POLICIES, .on = {[BLIS__ROUTING] = on_routing}};
  if (blis__listeners_add(&cluster->listeners, &listener) != BLIS_OK) {
    blis_alloc_free(&cluster->alloc, pins, sizeof *pins);
    return BLIS_ERR_NOMEM;
  }
  cluster->features[BLIS_FEATURE_PINS] = pins;
  return BLIS_OK;
}

blis_status blis_cluster_pin(blis_cluster *cluster, int64_t number, uint32_t role,
                             uint32_t instance, blis_error *error) {
  if (instance >= cluster->existing) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "there is no instance_%" PRIu32 " among %" PRIu32 " instances", instance,
                     cluster->existing);
  }
  BLIS_TRY_MEM(add_pins(cluster), error);
  blis__pins *pins = state_of(cluster);
  uint64_t key = key_of(number, role);
  BLIS_TRY_MEM(blis_array_push(&cluster->alloc, &pins->keys, key), error);
  BLIS_TRY_MEM(blis_map_put(&pins->instances, key, instance), error);
  return BLIS_OK;
}

size_t blis_cluster_unused_pins(const blis_cluster *cluster, int64_t *number) {
  const blis__pins *pins = state_of(cluster);
  size_t count = pins == NULL ? 0 : blis_map_count(&pins->instances);
  uint64_t instance;
  for (size_t i = 0; count > 0 && i < pins->keys.count; i++) {
    if (blis_map_get(&pins->instances, pins->keys.items[i], &instance)) {
      *number = (int64_t)pins->keys.items[i] >> 3;
      break;
    }
  }
  return count;
}

static void free_pins(blis_cluster *cluster) {
  if (state_of(cluster) != NULL) {
    blis_map_deinit(&state_of(cluster)->instances);
    blis_array_deinit(&cluster->alloc, &state_of(cluster)->keys);
    blis_alloc_free(&cluster->alloc, state_of(cluster), sizeof *state_of(cluster));
  }
}

const blis__feature blis__pins_feature = {
    .slot = BLIS_FEATURE_PINS,
    .name = "pins",
    .free = free_pins,
};
