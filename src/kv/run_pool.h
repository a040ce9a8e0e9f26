/*
 * run_pool.h - the KV block pool of the fast engine: the same results as a pool of
 * single blocks (kv/block_pool.h), at a cost per run instead of per block.
 *
 * Blocks that have the same possible futures are one item. Most are anonymous: no
 * other request can hold their content. Blocks leave the free list at the head and
 * enter it at the tail, and an anonymous block is indistinguishable from its
 * neighbor. A run of anonymous neighbors on the free list is therefore an item with
 * a length, and a request holds a number of them.
 *
 * A block whose content another request may hold is named: it has an identity and
 * an entry in the prefix table. Blocks of a prompt that was first seen at once have
 * consecutive identities. They are held and returned together, so they are also an
 * item. If a request needs only the first of them, the item is cut in two.
 * Neighbors are never joined again.
 *
 * Condition: a request's named blocks precede its anonymous ones, which holds
 * because identities chain. Blocks that only one request can have are also named
 * once the request was preempted, since it may find its own blocks again.
 *
 * Costs: O(1) per item, and per 128 blocks that enter or leave the table. No
 * allocation once the tables have grown.
 */
#ifndef BLIS_KV_RUN_POOL_H
#define BLIS_KV_RUN_POOL_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/block_chain.h"
#include "base/error.h"
#include "kv/block_journal.h"

/* A number of named blocks: an item of the pool, and the items that were cut off it. */
typedef struct blis_run_part {
  uint32_t item;
  int64_t blocks;
} blis_run_part;

/* The blocks of one request; zero it before the first use. */
typedef struct blis_run_holder {
  BLIS_ARRAY(blis_run_part) parts; /* its named blocks, in chain order */
  int64_t named_blocks;
  int64_t anonymous; /* blocks after the named ones */
} blis_run_holder;

typedef struct blis_run_pool blis_run_pool;

/* All blocks free. block_count >= 1. NULL when out of memory. */
blis_run_pool *blis_run_pool_new(const blis_alloc *alloc, int64_t block_count);
void blis_run_pool_free(blis_run_pool *pool);

/* Frees the memory of a holder without blocks. */
void blis_run_pool_drop_holder(blis_run_pool *pool, blis_run_holder *holder);

int64_t blis_run_pool_free_blocks(const blis_run_pool *pool);

/*
 * How many of the first `limit` blocks of chain are in the prefix table, up to the
 * first missing one. *unused (may be NULL) = the number of these without a holder.
 */
uint32_t blis_run_pool_match(const blis_run_pool *pool, const blis_block_chain *chain,
                             uint32_t limit, int64_t *unused);

/*
 * Records every later change of the prefix table in journal; borrowed. Set it while
 * the table is in the state of the journal's mark.
 */
void blis_run_pool_set_journal(blis_run_pool *pool, blis_block_journal *journal);

/* How many leading blocks of a prompt were in the table at that mark. */
uint32_t blis_run_pool_match_at_mark(const blis_run_pool *pool, const blis_block_chain *chain);

/*
 * Gives holder (which holds nothing) the first count blocks of chain, which were
 * just matched.
 */
BLIS_MUSTUSE blis_status blis_run_pool_claim(blis_run_pool *pool, blis_run_holder *holder,
                                             const blis_block_chain *chain, uint32_t count);

/*
 * Gives holder count blocks from the head of the free list, anonymous, and removes
 * their cached content from the table. count <= free blocks.
 */
void blis_run_pool_take(blis_run_pool *pool, blis_run_holder *holder, int64_t count);

/* The same for blocks that are counted elsewhere. */
void blis_run_pool_take_uncounted(blis_run_pool *pool, int64_t count);

/*
 * True when the next count blocks to be taken are all anonymous, so that the
 * order in which several requests take them cannot matter.
 */
bool blis_run_pool_next_are_anonymous(const blis_run_pool *pool, int64_t count);

/*
 * True when none of the next count blocks to be taken (at most the free ones)
 * has a name between first and last, so that it does not matter whether blocks
 * get such names before these are taken, or later.
 */
bool blis_run_pool_next_avoid(const blis_run_pool *pool, int64_t count, blis_block_id first,
                              blis_block_id last);

/*
 * Gives the holder's first anonymous block the next name of chain, and adds it to
 * the prefix table. The caller gives the following shared names of chain in the
 * same way.
 */
BLIS_MUSTUSE blis_status blis_run_pool_name(blis_run_pool *pool, blis_run_holder *holder,
                                            const blis_block_chain *chain);

/*
 * Names the holder's blocks up to the count-th of chain, as if each that it
 * does not have yet were taken and named before the next one is taken; *taken
 * is how many those are, at most the free blocks.
 */
BLIS_MUSTUSE blis_status blis_run_pool_name_up_to(blis_run_pool *pool, blis_run_holder *holder,
                                                  const blis_block_chain *chain, int64_t count,
                                                  int64_t *taken);

/*
 * Returns all blocks, last block first, so that the deepest blocks are reused
 * first. The holder holds nothing afterwards and keeps its memory.
 */
BLIS_MUSTUSE blis_status blis_run_pool_release(blis_run_pool *pool, blis_run_holder *holder);

/*
 * Removes free cached blocks from the prefix table; requests that hold blocks keep
 * them with their names.
 */
BLIS_MUSTUSE blis_status blis_run_pool_forget(blis_run_pool *pool);

/*
 * Grows with every change of the prefix table: matches are equal while it is equal.
 */
uint64_t blis_run_pool_table_version(const blis_run_pool *pool);

/* Named blocks that at least one request holds. O(items); for checks. */
int64_t blis_run_pool_held_named(const blis_run_pool *pool);

/* Walks every block: lengths, links, holders, table and free count agree. */
bool blis_run_pool_check(const blis_run_pool *pool);

#endif
