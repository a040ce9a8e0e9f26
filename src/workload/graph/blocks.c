#include "workload/graph/blocks.h"

#include "workload/hash_id.h"

void blis__blocks_init(blis__blocks *blocks, const blis_alloc *alloc) {
  *blocks = (blis__blocks){.alloc = *alloc};
  blis_map_init(&blocks->numbers, alloc);
}

void blis__blocks_deinit(blis__blocks *blocks) {
  blis_map_deinit(&blocks->numbers);
  blis_array_deinit(&blocks->alloc, &blocks->ids);
  blis_array_deinit(&blocks->alloc, &blocks->segments);
}

void blis__blocks_clear(blis__blocks *blocks, bool with_ids) {
  blocks->ids.count = 0;
  if (with_ids && blocks->count > 0) {
    blis_map_clear(&blocks->numbers);
    blocks->count = 0;
  }
}

blis_status blis__blocks_add(blis__blocks *b, uint64_t key) {
  uint64_t *number;
  bool is_new;
  blis_status status = blis_map_add(&b->numbers, key, b->count, &number, &is_new);
  if (status != BLIS_OK) {
    return status;
  }
  b->count += is_new;
  return blis_array_push(&b->alloc, &b->ids, (uint32_t)*number);
}

blis_status blis__blocks_read(blis__blocks *b, blis_json_value list, uint32_t *first,
                              uint32_t *count, blis_error *error) {
  *first = (uint32_t)b->ids.count;
  *count = 0;
  if (!blis_json_has(list)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(list, error));
  size_t length = blis_json_count(list);
  BLIS_TRY_MEM(blis_array_reserve(&b->alloc, &b->ids, b->ids.count + length), error);
  BLIS_TRY_MEM(blis_map_reserve(&b->numbers, 16), error);
  for (size_t i = 0; i < length; i++) {
    uint64_t key;
    BLIS_TRY(blis__hash_id(blis_json_item(list, i), &key, error));
    BLIS_TRY_MEM(blis__blocks_add(b, key), error);
  }
  *count = (uint32_t)length;
  return BLIS_OK;
}

/* Returns the number of blocks per stream, which the size of an offset limits. */
static uint32_t blocks_per_stream(uint32_t block_tokens) {
  return (UINT32_MAX / 2) / block_tokens;
}

uint64_t blis__blocks_streams(const blis__blocks *b, uint32_t block_tokens) {
  return b->count / blocks_per_stream(block_tokens) + 1;
}

blis_status blis__blocks_segments(blis__blocks *b, uint32_t first, uint32_t count, uint64_t stream,
                                  uint32_t block_tokens, blis_request *request, blis_error *error) {
  const uint32_t *ids = count > 0 ? &b->ids.items[first] : NULL;
  uint32_t per_stream = blocks_per_stream(block_tokens);
  b->segments.count = 0;
  for (uint32_t i = 0; i < count; i++) {
    uint32_t offset = ids[i] % per_stream * block_tokens;
    if (i > 0 && ids[i] == ids[i - 1] + 1 && offset > 0) {
      b->segments.items[b->segments.count - 1].length_tokens += block_tokens;
      continue;
    }
    const blis_segment segment = {.stream = stream + ids[i] / per_stream,
                                  .offset_tokens = offset,
                                  .length_tokens = block_tokens};
    BLIS_TRY_MEM(blis_array_push(&b->alloc, &b->segments, segment), error);
  }
  request->segments = b->segments.items;
  request->segment_count = (uint32_t)b->segments.count;
  request->shared_tokens = count * block_tokens;
  return BLIS_OK;
}
