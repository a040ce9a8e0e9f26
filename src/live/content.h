/*
 * content.h - maps prompts of token ids to streams of content (workload/request.h), so that equal
 * tokens after equal tokens have equal KV blocks.
 *
 * Full blocks of tokens are looked up by a hash over all tokens up to the end of the block. The
 * first unknown block starts a new stream, which contains the rest of the prompt, followed by the
 * reply. Blocks of a reply are added in advance, because its tokens are known, so a later prompt
 * that contains the reply finds them. A prompt that is known up to its last block has one segment
 * per stream.
 *
 * Invariant: a hash identifies one block of one stream. When more than `blocks_max` blocks are
 * known, all blocks are forgotten, and later prompts count as new. Cost: O(tokens of prompt and
 * reply), and 26 to 51 bytes per block.
 */
#ifndef BLIS_LIVE_CONTENT_H
#define BLIS_LIVE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"

typedef struct blis_live_content blis_live_content;

/* Creates an index with blocks of block_tokens > 0 tokens, which the caller owns. Copies *alloc.
   NULL = out of memory. */
blis_live_content *blis_live_content_new(const blis_alloc *alloc, uint32_t block_tokens,
                                         size_t blocks_max);

/* NULL is allowed. */
void blis_live_content_free(blis_live_content *content);

/* A prompt of count > 0 tokens, and its reply (text.h). Prompts with different salts share
   nothing. */
typedef struct blis_live_prompt {
  const uint32_t *tokens;
  uint32_t count;
  uint64_t salt;
  uint64_t reply_seed;
  uint32_t reply_tokens;
} blis_live_prompt;

/*
 * Sets *segments to an array of *count segments that cover the prompt; the caller owns it. The
 * reply continues after the last segment (shares_output of a request). BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_live_content_place(blis_live_content *content,
                                                 const blis_live_prompt *prompt,
                                                 blis_segment **segments, uint32_t *count);

/* Returns a hash of all tokens and the salt. */
uint64_t blis_live_content_hash(const blis_live_prompt *prompt);

#endif
