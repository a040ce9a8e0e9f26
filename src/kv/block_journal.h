/*
 * block_journal.h - the changes to a prefix table since a mark.
 *
 * With the journal, a router with a delayed view of a cache needs no copy of its table. For an
 * identity outside the journal, membership in the table is the same now as at the mark. For an
 * identity in the journal, membership has changed. The journal is the symmetric difference of the
 * two tables, so an identity that was added and removed again takes no memory.
 *
 * Cost: one table access per 64 adjacent identities that change. Setting a mark costs at most as
 * much as the changes since the last mark. Memory is bounded by the number of changes and by the
 * sizes of both tables.
 */
#ifndef BLIS_KV_BLOCK_JOURNAL_H
#define BLIS_KV_BLOCK_JOURNAL_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/block_chain.h"
#include "base/containers/sparse_bits.h"

/* The members are private. */
typedef struct blis_block_journal {
  blis_sparse_bits differences; /* by identity */
  /* Indexes of words with differences. Some of these words may be empty again; see mark. */
  BLIS_ARRAY(uint64_t) noted;
  bool has_unnoted; /* noted is incomplete */
  bool is_broken;
} blis_block_journal;

/* Copies *alloc; allocates nothing yet. The mark is at the current state. */
void blis_block_journal_init(blis_block_journal *journal, const blis_alloc *alloc);
void blis_block_journal_deinit(blis_block_journal *journal);

/*
 * Records that count consecutive identities, beginning with first, entered or left the prefix
 * table. The function cannot fail. If memory is exhausted, the journal is broken until the next
 * mark.
 */
void blis_block_journal_toggle(blis_block_journal *journal, blis_block_id first, uint64_t count);

/* Sets the mark at the current state. */
void blis_block_journal_mark(blis_block_journal *journal);

/* Returns true if memory ran out after the mark, so that results would be wrong. */
static inline bool blis_block_journal_is_broken(const blis_block_journal *journal) {
  return journal->is_broken;
}

/* Returns whether id was in the table at the mark. is_there is whether it is in the table now. */
static inline bool blis_block_journal_had(const blis_block_journal *journal, blis_block_id id,
                                          bool is_there) {
  return is_there != blis_sparse_bits_get(&journal->differences, id);
}

/* Returns how many of count consecutive identities, beginning with first, precede the first that
   differs. */
static inline uint64_t blis_block_journal_equal(const blis_block_journal *journal,
                                                blis_block_id first, uint64_t count) {
  return blis_sparse_bits_zeros(&journal->differences, first, count);
}

/* Returns how many identities differ. */
static inline size_t blis_block_journal_count(const blis_block_journal *journal) {
  return journal->differences.count;
}

#endif
