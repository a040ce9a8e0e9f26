/*
 * run_pool.h - the KV block pool of the fast engine: the results are the same as with a pool of
 * single blocks (kv/block_pool.h), but costs are per run of blocks instead of per block.
 *
 * Blocks that are always treated alike form one item. Most blocks are anonymous: no other request
 * can use their content. Blocks leave the free list at the head and enter it at the tail, and
 * adjacent anonymous blocks are indistinguishable. A run of adjacent anonymous blocks on the free
 * list is therefore one item with a length, and a request stores only the number of its anonymous
 * blocks.
 *
 * A block whose content another request may use is named: it has an identity and an entry in the
 * prefix table. The blocks of a new prompt get consecutive identities. They are held and returned
 * together, so they also form an item. If a request needs only the first of these blocks, the item
 * is split. Split items are never joined again.
 *
 * Precondition: a request's named blocks precede its anonymous ones. This holds because each
 * identity depends on all earlier blocks. Blocks that only one request can use are also named after
 * that request was preempted, because the request may find its own blocks again.
 *
 * Cost: O(1) per item, and O(1) per 128 blocks that enter or leave the table. Memory is allocated
 * only while the tables grow.
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

/* A sequence of named blocks: an item of the pool, and the items that were split off from it. */
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

/* Creates a pool in which all blocks are free. block_count >= 1. NULL = out of memory. */
blis_run_pool *blis_run_pool_new(const blis_alloc *alloc, int64_t block_count);
void blis_run_pool_free(blis_run_pool *pool);

/* Frees the memory of a holder without blocks. */
void blis_run_pool_drop_holder(blis_run_pool *pool, blis_run_holder *holder);

int64_t blis_run_pool_free_blocks(const blis_run_pool *pool);

/*
 * Returns how many of the first `limit` blocks of chain are in the prefix table, up to the first
 * missing block. *unused (may be NULL) is set to the number of these blocks without a holder.
 */
uint32_t blis_run_pool_match(const blis_run_pool *pool, const blis_block_chain *chain,
                             uint32_t limit, int64_t *unused);

/*
 * Records all later changes to the prefix table in journal, which is borrowed. Call this while the
 * table is in the state of the journal's mark.
 */
void blis_run_pool_set_journal(blis_run_pool *pool, blis_block_journal *journal);

/* Returns how many leading blocks of a prompt were in the table at the journal's mark. */
uint32_t blis_run_pool_match_at_mark(const blis_run_pool *pool, const blis_block_chain *chain);

/*
 * Adds the first count blocks of chain, which were just matched, to holder. holder must be empty.
 */
BLIS_MUSTUSE blis_status blis_run_pool_claim(blis_run_pool *pool, blis_run_holder *holder,
                                             const blis_block_chain *chain, uint32_t count);

/*
 * Moves count blocks from the head of the free list to holder as anonymous blocks, and removes
 * their cached content from the table. count <= free blocks.
 */
void blis_run_pool_take(blis_run_pool *pool, blis_run_holder *holder, int64_t count);

/* Like blis_run_pool_take, for blocks that the caller counts itself. */
void blis_run_pool_take_uncounted(blis_run_pool *pool, int64_t count);

/*
 * Returns whether the next count free blocks are all anonymous. If so, the order in which several
 * requests take them does not matter.
 */
bool blis_run_pool_next_are_anonymous(const blis_run_pool *pool, int64_t count);

/*
 * Returns whether none of the next count free blocks has a name between first and last. If so, it
 * does not matter whether other blocks get these names before or after the free blocks are taken.
 * count <= free blocks.
 */
bool blis_run_pool_next_avoid(const blis_run_pool *pool, int64_t count, blis_block_id first,
                              blis_block_id last);

/*
 * Gives the next name of chain to the holder's first anonymous block, and adds it to the prefix
 * table. The caller must also assign the following shared names of chain in this way.
 */
BLIS_MUSTUSE blis_status blis_run_pool_name(blis_run_pool *pool, blis_run_holder *holder,
                                            const blis_block_chain *chain);

/*
 * Names the holder's blocks up to block `count` of chain. Missing blocks are taken as if each block
 * were named before the next one is taken. *taken is the number of blocks taken, at most the number
 * of free blocks.
 */
BLIS_MUSTUSE blis_status blis_run_pool_name_up_to(blis_run_pool *pool, blis_run_holder *holder,
                                                  const blis_block_chain *chain, int64_t count,
                                                  int64_t *taken);

/*
 * Returns all blocks to the pool, the last block first, so that the deepest blocks are reused
 * first. The holder is empty afterwards and keeps its memory.
 */
BLIS_MUSTUSE blis_status blis_run_pool_release(blis_run_pool *pool, blis_run_holder *holder);

/* Removes free cached blocks from the prefix table. Blocks that requests hold keep their names. */
BLIS_MUSTUSE blis_status blis_run_pool_forget(blis_run_pool *pool);

/*
 * Returns a number that increases with every change to the prefix table. While it is unchanged,
 * matches return the same results.
 */
uint64_t blis_run_pool_table_version(const blis_run_pool *pool);

/* Returns the number of named blocks that at least one request holds. O(items); for checks. */
int64_t blis_run_pool_held_named(const blis_run_pool *pool);

/* Walks all items. Returns whether lengths, links, holders, the table, and the free count agree. */
bool blis_run_pool_check(const blis_run_pool *pool);

#endif
