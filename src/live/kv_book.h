/*
 * kv_book.h - the content of KV blocks: what tokens stand behind the identities of a cluster.
 *
 * A block has a hash over its tokens, all tokens before it, the salt, and the adapter, so equal
 * prompts have equal hashes in every run, at every instance. The book contains a block as long as
 * a request is open that has it, or a cache that contains it: its size is bounded by the caches and
 * the open requests.
 *
 * O(tokens) per request, O(1) per change of a cache.
 */
#ifndef BLIS_LIVE_KV_BOOK_H
#define BLIS_LIVE_KV_BOOK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/containers/block_chain.h"
#include "base/slice.h"
#include "live/ask.h"
#include "live/content.h"

typedef struct blis_live_kv_book blis_live_kv_book;

/* The content of a block; valid as long as a request or a cache has it. */
typedef struct blis_live_kv_block {
  uint64_t hash;
  uint64_t parent; /* hash of the block before; 0 for the first block of a prompt */
  uint32_t number; /* in its prompt, from 0 */
  uint32_t size;   /* tokens */
  const uint32_t *tokens;
  const blis_live_adapter *adapter; /* borrowed; NULL = none */
  const char *salt;                 /* cache_salt, of the first block of a prompt; NULL = none */
} blis_live_kv_block;

/* Copies *alloc; the caller owns it. NULL = out of memory. */
blis_live_kv_book *blis_live_kv_book_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_live_kv_book_free(blis_live_kv_book *book);

/*
 * A request opens. Copies its tokens and its salt; the adapter is borrowed as long as the book.
 * BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_live_kv_book_open(blis_live_kv_book *book, int64_t request,
                                                const blis_live_prompt *prompt,
                                                blis_slice salt_text,
                                                const blis_live_adapter *adapter);

/*
 * The blocks of an open request of block_tokens tokens have the shared identities of the chain.
 * Does nothing for an unknown request, and if its blocks of this size are known. BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_live_kv_book_name(blis_live_kv_book *book, int64_t request,
                                                const blis_block_chain *chain,
                                                uint32_t block_tokens);

/* Its end. Does nothing for an unknown request. */
void blis_live_kv_book_close(blis_live_kv_book *book, int64_t request);

/* A cache has the block from now on, or no longer. NULL = no content is known. A block that is left
   is valid until the next call of the book. */
const blis_live_kv_block *blis_live_kv_book_enter(blis_live_kv_book *book, blis_block_id id);
const blis_live_kv_block *blis_live_kv_book_leave(blis_live_kv_book *book, blis_block_id id);

/* Blocks with known content. */
size_t blis_live_kv_book_count(const blis_live_kv_book *book);

#endif
