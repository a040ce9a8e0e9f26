#include "live/content.h"

#include <string.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "base/hash.h"
#include "base/minmax.h"
#include "live/text.h"

struct blis_live_content {
  blis_alloc alloc;
  uint32_t block_tokens;
  size_t blocks_max;
  blis_map places; /* from the hash of a block to its stream and its index in the stream */
  blis_map ends;   /* number of blocks by stream */
  uint64_t streams;
  uint32_t *block;             /* tokens of the current block */
  BLIS_ARRAY(uint64_t) hashes; /* hashes of the blocks of the prompt and its reply */
  BLIS_ARRAY(blis_segment) made;
};

blis_live_content *blis_live_content_new(const blis_alloc *alloc, uint32_t block_tokens,
                                         size_t blocks_max) {
  blis_live_content *content = blis_alloc_zeroed(alloc, 1, sizeof *content);
  if (content == NULL) {
    return NULL;
  }
  content->alloc = *alloc;
  content->block_tokens = block_tokens;
  content->blocks_max = blocks_max;
  blis_map_init(&content->places, alloc);
  blis_map_init(&content->ends, alloc);
  content->block = blis_alloc_zeroed(alloc, block_tokens, sizeof *content->block);
  if (content->block == NULL || blis_map_reserve(&content->places, 1) != BLIS_OK ||
      blis_map_reserve(&content->ends, 1) != BLIS_OK) {
    blis_live_content_free(content);
    return NULL;
  }
  return content;
}

void blis_live_content_free(blis_live_content *content) {
  if (content == NULL) {
    return;
  }
  blis_alloc alloc = content->alloc;
  blis_map_deinit(&content->places);
  blis_map_deinit(&content->ends);
  blis_array_deinit(&alloc, &content->hashes);
  blis_array_deinit(&alloc, &content->made);
  blis_alloc_free(&alloc, content->block, content->block_tokens * sizeof *content->block);
  blis_alloc_free(&alloc, content, sizeof *content);
}

uint64_t blis_live_content_hash(const blis_live_prompt *prompt) {
  return blis_hash64(prompt->tokens, prompt->count * sizeof *prompt->tokens, prompt->salt);
}

/* Returns token i of the prompt followed by its reply. */
static uint32_t token_at(const blis_live_prompt *prompt, uint64_t i) {
  return i < prompt->count
             ? prompt->tokens[i]
             : blis_live_reply_token(prompt->reply_seed, (uint32_t)(i - prompt->count));
}

static blis_status hash_blocks(blis_live_content *content, const blis_live_prompt *prompt) {
  uint32_t size = content->block_tokens;
  uint64_t blocks = ((uint64_t)prompt->count + prompt->reply_tokens) / size;
  content->hashes.count = 0;
  BLIS_TRY(blis_array_reserve(&content->alloc, &content->hashes, (size_t)blocks));
  uint64_t before = prompt->salt;
  for (uint64_t k = 0; k < blocks; k++) {
    for (uint32_t i = 0; i < size; i++) {
      content->block[i] = token_at(prompt, k * size + i);
    }
    before = blis_hash64(content->block, size * sizeof *content->block, before + 1);
    content->hashes.items[content->hashes.count++] = before;
  }
  return BLIS_OK;
}

/* Encodes a position: a stream, and the index of a block in it. */
static uint64_t place_of(uint64_t stream, uint64_t number) {
  return stream << 32 | number;
}

/* Appends a whole or partial block to the segments. */
static blis_status append(blis_live_content *content, uint64_t place, uint32_t length) {
  uint64_t stream = place >> 32;
  uint64_t offset = (place & UINT32_MAX) * content->block_tokens;
  size_t count = content->made.count;
  blis_segment *last = count > 0 ? &content->made.items[count - 1] : NULL;
  if (last != NULL && last->stream == stream &&
      (uint64_t)last->offset_tokens + last->length_tokens == offset) {
    last->length_tokens += length;
    return BLIS_OK;
  }
  const blis_segment made = {
      .stream = stream, .offset_tokens = (uint32_t)offset, .length_tokens = length};
  return blis_array_push(&content->alloc, &content->made, made);
}

/* Returns how many of the blocks that start at `first` are consecutive in one stream. *place is the
   position of the first of them. */
static size_t count_known(const blis_live_content *content, size_t first, uint64_t *place) {
  size_t k = first;
  for (; k < content->hashes.count; k++) {
    uint64_t found;
    if (!blis_map_get(&content->places, content->hashes.items[k], &found) ||
        (k > first && found != *place + (k - first))) {
      break;
    }
    *place = k == first ? found : *place;
  }
  return k - first;
}

/* Adds the blocks from index `first` on, at consecutive positions from place on. The last
   position becomes the end of the stream. */
static blis_status enter(blis_live_content *content, size_t first, uint64_t place) {
  for (size_t k = first; k < content->hashes.count; k++) {
    BLIS_TRY(blis_map_put(&content->places, content->hashes.items[k], place++));
  }
  return first < content->hashes.count
             ? blis_map_put(&content->ends, place >> 32, place & UINT32_MAX)
             : BLIS_OK;
}

/* Returns whether a position is the last one in its stream. */
static bool is_end(const blis_live_content *content, uint64_t place) {
  uint64_t end;
  return blis_map_get(&content->ends, place >> 32, &end) && end == (place & UINT32_MAX);
}

/* Finds or creates consecutive positions for the blocks from index `first` on. */
static blis_status place_rest(blis_live_content *content, size_t first, uint64_t *place) {
  size_t rest = first < content->hashes.count ? content->hashes.count - first : 0;
  size_t known = count_known(content, first, place);
  if (known > 0 && known == rest) {
    return BLIS_OK;
  }
  if (known > 0 && is_end(content, *place + known)) {
    return enter(content, first + known, *place + known); /* a longer reply */
  }
  *place = place_of(++content->streams, 0);
  return enter(content, first, *place);
}

/* Creates the segments. The reply continues in the last block of the prompt, even if that block
   is full, because an engine computes at least one token of a prompt. */
static blis_status make_segments(blis_live_content *content, const blis_live_prompt *prompt) {
  uint32_t size = content->block_tokens;
  size_t inner = (prompt->count - 1) / size;
  uint32_t rest = prompt->count - (uint32_t)inner * size;
  uint64_t place = 0;
  size_t k = 0;
  content->made.count = 0;
  while (k < inner && blis_map_get(&content->places, content->hashes.items[k], &place)) {
    BLIS_TRY(append(content, place, size));
    k++;
  }
  BLIS_TRY(place_rest(content, k, &place));
  for (; k < inner; k++) {
    BLIS_TRY(append(content, place++, size));
  }
  return append(content, place, rest);
}

blis_status blis_live_content_place(blis_live_content *content, const blis_live_prompt *prompt,
                                    blis_segment **segments, uint32_t *count) {
  if (blis_map_count(&content->places) > content->blocks_max) {
    blis_map_clear(&content->places);
    blis_map_clear(&content->ends);
  }
  BLIS_TRY(hash_blocks(content, prompt));
  BLIS_TRY(make_segments(content, prompt));
  size_t bytes = content->made.count * sizeof **segments;
  blis_segment *copy = blis_alloc_new(&content->alloc, bytes);
  if (copy == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(copy, content->made.items, bytes);
  *segments = copy;
  *count = (uint32_t)content->made.count;
  return BLIS_OK;
}
