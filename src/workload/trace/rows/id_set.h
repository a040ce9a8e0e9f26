/*
 * id_set.h - a compact set of the ids seen so far, for files with very many;
 * for trace files only.
 *
 * Ids that lie close together share a word of 64 bits, so a million that count
 * up take 0.5 MB at most, and as many far apart 50 MB.
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
  uint64_t last_word; /* 0 = none was used */
} blis__id_set;

/* Copies *alloc; allocates nothing yet. */
void blis__id_set_init(blis__id_set *set, const blis_alloc *alloc);
void blis__id_set_deinit(blis__id_set *set);

/* Adds id; sets *is_new if it was missing. BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__id_set_add(blis__id_set *set, int64_t id, bool *is_new);

#endif
