/*
 * content.h - gives prompts of token ids their place in streams of content (workload/request.h), so
 * that equal tokens after equal tokens have equal KV blocks.
 *
 * Full blocks of tokens are looked up by a hash over all tokens up to their end. The first unknown
 * block starts a new stream, in which the rest of the prompt lies, and the reply behind it. Blocks
 * of a reply are entered beforehand, because its tokens are known: a later prompt that contains the
 * reply finds them. A prompt that is known up to its last block has as many segments as streams.
 *
 * Invariant: a hash stands for one block of one stream. When more than `blocks_max` blocks are
 * known, all are forgotten, and later prompts count as new. O(tokens of prompt and reply); 26 to 51
 * bytes per block.
 */
#ifndef BLIS_LIVE_CONTENT_H
#define BLIS_LIVE_CONTENT_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/request.h"

typedef struct blis_live_content blis_live_content;

/* Blocks of block_tokens > 0 tokens. Copies *alloc; the caller owns it. NULL = out of memory. */
blis_live_content *blis_live_content_new(const blis_alloc *alloc, uint32_t block_tokens,
                                         size_t blocks_max);

/* NULL is allowed. */
void blis_live_content_free(blis_live_content *content);

/* A prompt, count > 0 tokens, and its reply (text.h). Prompts of different salts share nothing. */
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

/* A hash of all tokens and the salt. */
uint64_t blis_live_content_hash(const blis_live_prompt *prompt);

#endif
