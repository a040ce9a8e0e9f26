#include "workload/trace/rows/id_set.h"

void blis__id_set_init(blis__id_set *set, const blis_alloc *alloc) {
  *set = (blis__id_set){0};
  blis_map_init(&set->words, alloc);
}

void blis__id_set_deinit(blis__id_set *set) {
  blis_map_deinit(&set->words);
}

/* Stores the current word and loads the word of another key. */
static blis_status change_word(blis__id_set *set, uint64_t key) {
  if (set->last_word != 0) {
    BLIS_TRY(blis_map_put(&set->words, set->last_key, set->last_word));
  }
  uint64_t word;
  set->last_word = blis_map_get(&set->words, key, &word) ? word : 0;
  set->last_key = key;
  return BLIS_OK;
}

blis_status blis__id_set_add(blis__id_set *set, int64_t id, bool *is_new) {
  uint64_t key = (uint64_t)id / 64;
  if (key != set->last_key) {
    BLIS_TRY(change_word(set, key));
  }
  uint64_t bit = UINT64_C(1) << (uint64_t)id % 64;
  *is_new = (set->last_word & bit) == 0;
  set->last_word |= bit;
  return BLIS_OK;
}
