/*
 * blocks.h - hash ids of prompts as segments of content; for session graphs only.
 *
 * Ids are numbered in order of first appearance. Number d represents the tokens [d B, (d + 1) B) of
 * one stream. Most prompts continue with new blocks, so they consist of a few segments rather than
 * one per block.
 */
#ifndef BLIS_WORKLOAD_GRAPH_BLOCKS_H
#define BLIS_WORKLOAD_GRAPH_BLOCKS_H

#include "base/containers/map.h"
#include "base/format/json.h"
#include "workload/graph/graph.h"

/* Streams of content shared by all graphs; ids of strings are below this value. */
#define BLIS__BLOCKS_GLOBAL (UINT64_C(1) << 62)

typedef struct blis__blocks {
  blis_alloc alloc;
  blis_map numbers; /* by id */
  uint32_t count;
  BLIS_ARRAY(uint32_t) ids; /* ids of all prompts since the last clear */
  BLIS_ARRAY(blis_segment) segments;
} blis__blocks;

void blis__blocks_init(blis__blocks *blocks, const blis_alloc *alloc);
void blis__blocks_deinit(blis__blocks *blocks);

/* Removes all prompts. with_ids also removes the ids, so that numbering restarts at 0. */
void blis__blocks_clear(blis__blocks *blocks, bool with_ids);

/* Appends one id by its key (hash_id.h). */
BLIS_MUSTUSE blis_status blis__blocks_add(blis__blocks *blocks, uint64_t key);

/* Appends a list of ids, which are integers or strings. A missing or null list is empty. */
BLIS_MUSTUSE blis_status blis__blocks_read(blis__blocks *blocks, blis_json_value list,
                                           uint32_t *first, uint32_t *count, blis_error *error);

/* Returns the number of streams that all numbers require. */
uint64_t blis__blocks_streams(const blis__blocks *blocks, uint32_t block_tokens);

/*
 * Returns the segments of the ids from index first on, with at most prompt_tokens tokens. Borrowed
 * until the next call.
 */
BLIS_MUSTUSE blis_status blis__blocks_segments(blis__blocks *blocks, uint32_t first, uint32_t count,
                                               uint64_t stream, uint32_t block_tokens,
                                               blis_request *request, blis_error *error);

#endif
