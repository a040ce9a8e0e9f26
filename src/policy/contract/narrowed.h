/*
 * narrowed.h - a view of a subset of another view's candidates.
 *
 * begin() shows all candidates, at no cost. Each keep() removes candidates and copies the columns
 * of the others: O(candidates) per existing column. Order, instances, and on-demand signals are the
 * same as in the whole view.
 */
#ifndef BLIS_POLICY_CONTRACT_NARROWED_H
#define BLIS_POLICY_CONTRACT_NARROWED_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "policy/contract/view.h"

/* Ready for use if zeroed. The struct must not be moved. */
typedef struct blis__narrowed {
  blis_alloc alloc;
  const blis_routing_view *whole;
  bool is_all;                 /* view equals whole */
  blis_routing_view view;      /* remaining candidates */
  BLIS_ARRAY(uint32_t) places; /* index in whole of each remaining candidate */
  BLIS_ARRAY(uint32_t) instances;
  BLIS_ARRAY(uint32_t) id_ranks;
  BLIS_ARRAY(const char *) ids;
  BLIS_ARRAY(double) columns; /* consecutive, whole->count items each */
} blis__narrowed;

void blis__narrowed_deinit(blis__narrowed *narrowed);

/* Shows all candidates of whole, which is borrowed until the next begin. */
void blis__narrowed_begin(blis__narrowed *narrowed, const blis_routing_view *whole);

/* Returns the view of the remaining candidates, valid until the next begin or keep. */
static inline const blis_routing_view *blis__narrowed_view(const blis__narrowed *narrowed) {
  return narrowed->is_all ? narrowed->whole : &narrowed->view;
}

/*
 * Keeps only the candidates k of the view for which keep[k] is true. Returns BLIS_OK or
 * BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__narrowed_keep(blis__narrowed *narrowed, const bool *keep);

/* Returns the index in the whole view of candidate k. */
static inline size_t blis__narrowed_place(const blis__narrowed *narrowed, size_t k) {
  return narrowed->is_all ? k : narrowed->places.items[k];
}

#endif
