/*
 * id_set.h - a compact set of ids, for files with very many ids; for trace files only.
 *
 * Ids that are close together share a 64-bit word. A million consecutive ids take at most 0.5 MB; a
 * million ids that are far apart take 50 MB.
 */
#ifndef BLIS_WORKLOAD_TRACE_ROWS_ID_SET_H
#define BLIS_WORKLOAD_TRACE_ROWS_ID_SET_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/map.h"
#include "base/error.h"

/* The members are private. */
typedef struct blis__id_set {
  blis_map words; /* all words except the last used one */
  uint64_t last_key;
  uint64_t last_word; /* 0 = none used yet */
} blis__id_set;

/* Copies *alloc; allocates nothing yet. */
void blis__id_set_init(blis__id_set *set, const blis_alloc *alloc);
void blis__id_set_deinit(blis__id_set *set);

/* Adds an id, and sets *is_new if it was not in the set. Returns BLIS_ERR_NOMEM on failure. */
BLIS_MUSTUSE blis_status blis__id_set_add(blis__id_set *set, int64_t id, bool *is_new);

#endif
