#include "kv/block_journal.h"
#include "base/invariant.h"

/*
 * Clearing the whole map takes time proportional to its slots, so a small number of differences is
 * removed one by one. Differences are listed as long as there is at most one per SLOTS_PER_NOTE
 * slots.
 */
enum { SLOTS_PER_NOTE = 8 };

void blis_block_journal_init(blis_block_journal *journal, const blis_alloc *alloc) {
  *journal = (blis_block_journal){.is_broken = false};
  blis_sparse_bits_init(&journal->differences, alloc);
}

void blis_block_journal_deinit(blis_block_journal *journal) {
  blis_array_deinit(&journal->differences.words.alloc, &journal->noted);
  blis_sparse_bits_deinit(&journal->differences);
}

static void note(blis_block_journal *journal, uint64_t word) {
  const blis_map *words = &journal->differences.words;
  size_t limit = words->mask / SLOTS_PER_NOTE + 1;
  if (journal->has_unnoted) {
    return;
  }
  if (journal->noted.count >= limit ||
      blis_array_push(&words->alloc, &journal->noted, word) != BLIS_OK) {
    journal->has_unnoted = true;
  }
}

void blis_block_journal_toggle(blis_block_journal *journal, blis_block_id first, uint64_t count) {
  while (count > 0 && !journal->is_broken) {
    unsigned shift = (unsigned)(first % BLIS_WORD_BITS);
    uint64_t n = BLIS_WORD_BITS - shift;
    n = count < n ? count : n;
    bool is_new = false;
    uint64_t bits = UINT64_MAX >> (BLIS_WORD_BITS - n) << shift;
    if (blis_sparse_bits_flip(&journal->differences, first / BLIS_WORD_BITS, bits, &is_new) !=
        BLIS_OK) {
      journal->is_broken = true;
    } else if (is_new) {
      note(journal, first / BLIS_WORD_BITS);
    }
    first += n;
    count -= n;
  }
}

void blis_block_journal_mark(blis_block_journal *journal) {
  blis_map *words = &journal->differences.words;
  if (journal->has_unnoted) {
    blis_map_clear(words);
  } else {
    for (size_t i = 0; i < journal->noted.count; i++) {
      blis_map_remove(words, journal->noted.items[i]);
    }
  }
  BLIS_ASSERT(blis_map_count(words) == 0);
  journal->differences.count = 0;
  journal->noted.count = 0;
  journal->has_unnoted = false;
  journal->is_broken = false;
}
