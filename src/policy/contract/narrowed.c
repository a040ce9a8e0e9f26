#include "policy/contract/narrowed.h"

void blis__narrowed_deinit(blis__narrowed *narrowed) {
  blis_array_deinit(&narrowed->alloc, &narrowed->places);
  blis_array_deinit(&narrowed->alloc, &narrowed->instances);
  blis_array_deinit(&narrowed->alloc, &narrowed->id_ranks);
  blis_array_deinit(&narrowed->alloc, &narrowed->ids);
  blis_array_deinit(&narrowed->alloc, &narrowed->columns);
}

void blis__narrowed_begin(blis__narrowed *narrowed, const blis_routing_view *whole) {
  narrowed->whole = whole;
  narrowed->is_all = true;
}

static double *own_column(const blis__narrowed *narrowed, int signal) {
  return narrowed->columns.items + (size_t)signal * narrowed->whole->count;
}

/* Copies one column of whole for the remaining candidates. */
static void gather(blis__narrowed *narrowed, int signal, const double *from) {
  double *to = own_column(narrowed, signal);
  for (size_t k = 0; k < narrowed->view.count; k++) {
    to[k] = from[narrowed->places.items[k]];
  }
  narrowed->view.columns[signal] = to;
}

static const double *column_on_demand(void *column_ud, blis_signal signal) {
  blis__narrowed *narrowed = column_ud;
  const blis_routing_view *whole = narrowed->whole;
  const double *from = whole->column(whole->column_ud, signal);
  if (from == NULL) {
    return NULL;
  }
  gather(narrowed, signal, from);
  return narrowed->view.columns[signal];
}

static blis_status make_room(blis__narrowed *narrowed) {
  size_t count = narrowed->whole->count;
  BLIS_TRY(blis_array_reserve(&narrowed->alloc, &narrowed->places, count));
  BLIS_TRY(blis_array_reserve(&narrowed->alloc, &narrowed->instances, count));
  BLIS_TRY(blis_array_reserve(&narrowed->alloc, &narrowed->id_ranks, count));
  BLIS_TRY(blis_array_reserve(&narrowed->alloc, &narrowed->ids, count));
  return blis_array_reserve(&narrowed->alloc, &narrowed->columns, count * BLIS_SIGNAL_COUNT);
}

/* Prepares the first narrowing of a view: places are indices in whole. */
static blis_status leave_whole(blis__narrowed *narrowed) {
  const blis_routing_view *whole = narrowed->whole;
  BLIS_TRY(make_room(narrowed));
  for (size_t i = 0; i < whole->count; i++) {
    narrowed->places.items[i] = (uint32_t)i;
  }
  narrowed->view = (blis_routing_view){
      .count = whole->count,
      .now_us = whole->now_us,
      .instances = narrowed->instances.items,
      .ids = narrowed->ids.items,
      .id_ranks = narrowed->id_ranks.items,
      .column = whole->column == NULL ? NULL : column_on_demand,
      .column_ud = narrowed,
  };
  narrowed->is_all = false;
  return BLIS_OK;
}

static size_t count_kept(const bool *keep, size_t count) {
  size_t kept = 0;
  for (size_t k = 0; k < count; k++) {
    kept += keep[k];
  }
  return kept;
}

blis_status blis__narrowed_keep(blis__narrowed *narrowed, const bool *keep) {
  size_t count = blis__narrowed_view(narrowed)->count;
  if (count_kept(keep, count) == count) {
    return BLIS_OK;
  }
  if (narrowed->is_all) {
    BLIS_TRY(leave_whole(narrowed));
  }
  const blis_routing_view *whole = narrowed->whole;
  size_t left = 0;
  for (size_t k = 0; k < count; k++) {
    if (keep[k]) {
      uint32_t place = narrowed->places.items[k];
      narrowed->places.items[left] = place;
      narrowed->instances.items[left] = whole->instances[place];
      narrowed->ids.items[left] = whole->ids[place];
      narrowed->id_ranks.items[left] = whole->id_ranks[place];
      left++;
    }
  }
  narrowed->view.count = left;
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if (whole->columns[s] != NULL) {
      gather(narrowed, s, whole->columns[s]);
    }
  }
  return BLIS_OK;
}
