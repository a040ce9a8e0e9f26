/*
 * kv_book.h - the content of KV blocks: maps the block ids of a cluster to tokens.
 *
 * The hash of a block covers its tokens, all tokens before it, the salt, and the adapter, so equal
 * prompts have equal hashes in every run and at every instance. The book contains a block as long
 * as an open request or a cache contains the block, so its size is bounded by the caches and the
 * open requests.
 *
 * Cost: O(tokens) per request, and O(1) per change of a cache.
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

/* The content of a block; valid as long as a request or a cache contains it. */
typedef struct blis_live_kv_block {
  uint64_t hash;
  uint64_t parent; /* hash of the previous block; 0 for the first block of a prompt */
  uint32_t number; /* index in its prompt, from 0 */
  uint32_t size;   /* number of tokens */
  const uint32_t *tokens;
  const blis_live_adapter *adapter; /* borrowed; NULL = none */
  const char *salt;                 /* cache_salt, in the first block of a prompt; NULL = none */
} blis_live_kv_block;

/* Creates a book, which the caller owns. Copies *alloc. NULL = out of memory. */
blis_live_kv_book *blis_live_kv_book_new(const blis_alloc *alloc);

/* NULL is allowed. */
void blis_live_kv_book_free(blis_live_kv_book *book);

/*
 * Adds an open request. Copies its tokens and salt; borrows the adapter for the lifetime of the
 * book. BLIS_ERR_NOMEM changes nothing.
 */
BLIS_MUSTUSE blis_status blis_live_kv_book_open(blis_live_kv_book *book, int64_t request,
                                                const blis_live_prompt *prompt,
                                                blis_slice salt_text,
                                                const blis_live_adapter *adapter);

/*
 * Assigns the shared ids of a chain to the blocks of block_tokens tokens of an open request. Does
 * nothing if the request is unknown or its blocks of this size already have ids. Returns
 * BLIS_ERR_NOMEM on failure.
 */
BLIS_MUSTUSE blis_status blis_live_kv_book_name(blis_live_kv_book *book, int64_t request,
                                                const blis_block_chain *chain,
                                                uint32_t block_tokens);

/* Closes a request. Does nothing if the request is unknown. */
void blis_live_kv_book_close(blis_live_kv_book *book, int64_t request);

/* Record that a cache now contains a block, or no longer does. Return its content, or NULL if
   the content is unknown. A removed block is valid until the next call. */
const blis_live_kv_block *blis_live_kv_book_enter(blis_live_kv_book *book, blis_block_id id);
const blis_live_kv_block *blis_live_kv_book_leave(blis_live_kv_book *book, blis_block_id id);

/* Returns the number of blocks with known content. */
size_t blis_live_kv_book_count(const blis_live_kv_book *book);

#endif
