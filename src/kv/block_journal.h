/*
 * block_journal.h - the changes of a prefix table since a mark.
 *
 * A router with a delayed view of caches needs no copy of them. An identity was in
 * the table at the mark if it is in the table now, inverted if it is in the
 * journal. The journal is the symmetric difference of the two tables, so an
 * identity that was added and removed again takes no memory.
 *
 * Cost: one table access per 64 neighbours that change; a mark costs no more than
 * the changes since the last one. Memory is bounded by the changes, and by the
 * sizes of both tables.
 */
#ifndef BLIS_KV_BLOCK_JOURNAL_H
#define BLIS_KV_BLOCK_JOURNAL_H

#include <stdbool.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/containers/block_chain.h"
#include "base/containers/sparse_bits.h"

/* Private, except to the functions below. */
typedef struct blis_block_journal {
  blis_sparse_bits differences; /* by identity */
  /* Words of differences, and some that are none any more; see mark. */
  BLIS_ARRAY(uint64_t) noted;
  bool has_unnoted; /* noted is not complete */
  bool is_broken;
} blis_block_journal;

/* Copies *alloc; allocates nothing yet. The mark is now. */
void blis_block_journal_init(blis_block_journal *journal, const blis_alloc *alloc);
void blis_block_journal_deinit(blis_block_journal *journal);

/*
 * Records that count consecutive identities, beginning with first, entered or left
 * the prefix table. Cannot fail: out of memory, the journal breaks and stays broken
 * until the next mark.
 */
void blis_block_journal_toggle(blis_block_journal *journal, blis_block_id first, uint64_t count);

/* The mark is now. */
void blis_block_journal_mark(blis_block_journal *journal);

/* True when memory has run out since the mark: answers would be wrong. */
static inline bool blis_block_journal_is_broken(const blis_block_journal *journal) {
  return journal->is_broken;
}

/* Whether id, which is_there now or not, was there at the mark. */
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

/* How many identities differ. */
static inline size_t blis_block_journal_count(const blis_block_journal *journal) {
  return journal->differences.count;
}

#endif
