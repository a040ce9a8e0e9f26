/*
 * blocks.h - hash ids of prompts as segments of content; for graph files only.
 *
 * Ids are numbered in the order of their first sight, and number d stands for the
 * tokens [d B, (d + 1) B) of one stream. A prompt that continues with new blocks,
 * as most do, therefore consists of a few runs and not of a segment per block.
 */
#ifndef BLIS_WORKLOAD_GRAPH_BLOCKS_H
#define BLIS_WORKLOAD_GRAPH_BLOCKS_H

#include "base/containers/map.h"
#include "base/format/json.h"
#include "workload/graph/graph.h"

/* Streams of content shared by all graphs; IDs of strings are below it. */
#define BLIS__BLOCKS_GLOBAL (UINT64_C(1) << 62)

typedef struct blis__blocks {
  blis_alloc alloc;
  blis_map numbers; /* by id */
  uint32_t count;
  BLIS_ARRAY(uint32_t) ids; /* of all prompts since the last clear */
  BLIS_ARRAY(blis_segment) segments;
} blis__blocks;

void blis__blocks_init(blis__blocks *blocks, const blis_alloc *alloc);
void blis__blocks_deinit(blis__blocks *blocks);

/* Forgets prompts, and with ids also these: others begin at 0 again. */
void blis__blocks_clear(blis__blocks *blocks, bool with_ids);

/* Appends a list of IDs, whole numbers or strings; missing or null = empty. */
BLIS_MUSTUSE blis_status blis__blocks_read(blis__blocks *blocks, blis_json_value list,
                                           uint32_t *first, uint32_t *count, blis_error *error);

/* How many streams all numbers need. */
uint64_t blis__blocks_streams(const blis__blocks *blocks, uint32_t block_tokens);

/*
 * The segments of the ids at first, of prompt_tokens at most; borrowed until
 * the next call.
 */
BLIS_MUSTUSE blis_status blis__blocks_segments(blis__blocks *blocks, uint32_t first, uint32_t count,
                                               uint64_t stream, uint32_t block_tokens,
                                               blis_request *request, blis_error *error);

#endif
