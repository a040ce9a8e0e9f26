#include "instance/stepwise/sequence.h"

#include "base/invariant.h"

/* Adds a sequence to the unused ones. */
static blis_status create(const blis_alloc *alloc, blis__sequences *sequences) {
  size_t count = sequences->all.count + 1;
  /* Returning a sequence must not fail, so there is always capacity for all of them. */
  BLIS_TRY(blis_array_reserve(alloc, &sequences->spare, count));
  BLIS_TRY(blis_array_reserve(alloc, &sequences->all, count));
  blis__sequence *created = blis_alloc_zeroed(alloc, 1, sizeof *created);
  if (created == NULL) {
    return BLIS_ERR_NOMEM;
  }
  sequences->all.items[sequences->all.count++] = created;
  sequences->spare.items[sequences->spare.count++] = created;
  return BLIS_OK;
}

blis_status blis__sequences_take(const blis_alloc *alloc, blis__sequences *sequences,
                                 blis_live_request *request, blis__sequence **sequence) {
  if (sequences->spare.count == 0) {
    BLIS_TRY(create(alloc, sequences));
  }
  blis__sequence *taken = sequences->spare.items[--sequences->spare.count];
  taken->place.request = request;
  taken->itl_us.count = 0;
  taken->rates.count = 0;
  taken->itl_zeros = 0;
  taken->told_tokens = 0;
  taken->drafted_tokens = 0;
  taken->ahead_tokens = 0;
  taken->event = BLIS_EVENT_NONE;
  taken->furthest_tokens = -1;
  taken->is_parked = false;
  taken->has_kv = false;
  taken->was_reserved = false;
  taken->first_itl_us = -1;
  taken->tree = (blis__tree_kv){0};
  request->engine = taken;
  *sequence = taken;
  return BLIS_OK;
}

void blis__sequences_give(blis__sequences *sequences, blis__sequence *sequence) {
  BLIS_ASSERT(sequence->blocks.count == 0 && sequence->ahead.count == 0);
  BLIS_ASSERT(sequence->groups.held == 0);
  BLIS_ASSERT(sequence->tree.tree_pages == 0 && sequence->tree.own_pages == 0);
  BLIS_ASSERT(sequence->place.request->engine == sequence);
  sequence->place.request->engine = NULL;
  sequences->spare.items[sequences->spare.count++] = sequence;
}

void blis__sequences_deinit(const blis_alloc *alloc, blis__sequences *sequences) {
  for (size_t i = 0; i < sequences->all.count; i++) {
    blis__sequence *freed = sequences->all.items[i];
    blis_array_deinit(alloc, &freed->blocks);
    blis_group_holder_deinit(alloc, &freed->groups);
    blis_array_deinit(alloc, &freed->ahead);
    blis_array_deinit(alloc, &freed->itl_us);
    blis_array_deinit(alloc, &freed->rates);
    blis_alloc_free(alloc, freed, sizeof *freed);
  }
  blis_array_deinit(alloc, &sequences->all);
  blis_array_deinit(alloc, &sequences->spare);
}
