#include "kv/block_journal.h"
#include "base/invariant.h"

/*
 * Emptying the map as a whole costs its slots, so few differences are removed
 * one by one: up to this share of the slots they are noted in a list.
 */
enum { SLOTS_PER_NOTE = 8 };

void blis_block_journal_init(blis_block_journal *journal,
                             const blis_alloc *alloc) {
  *journal = (blis_block_journal){.is_broken = false};
  blis_map_init(&journal->differences, alloc);
}

void blis_block_journal_deinit(blis_block_journal *journal) {
  blis_array_deinit(&journal->differences.alloc, &journal->noted);
  blis_map_deinit(&journal->differences);
}

static void note(blis_block_journal *journal, uint64_t word) {
  size_t limit = journal->differences.mask / SLOTS_PER_NOTE + 1;
  if (journal->has_unnoted) {
    return;
  }
  if (journal->noted.count >= limit ||
      blis_array_push(&journal->differences.alloc, &journal->noted, word) !=
          BLIS_OK) {
    journal->has_unnoted = true;
  }
}

static size_t count_bits(uint64_t bits) {
  size_t count = 0;
  for (; bits != 0; bits &= bits - 1) {
    count++;
  }
  return count;
}

/* How many of count identities from id on share its word. */
static unsigned in_word(blis_block_id id, uint64_t count) {
  unsigned room = 64 - (unsigned)(id % 64);
  return count < room ? (unsigned)count : room;
}

static void toggle_bits(blis_block_journal *journal, uint64_t word,
                        uint64_t bits) {
  uint64_t *place;
  bool is_new;
  if (blis_map_add(&journal->differences, word, 0, &place, &is_new) !=
      BLIS_OK) {
    journal->is_broken = true;
    return;
  }
  journal->count += count_bits(bits & ~*place);
  journal->count -= count_bits(bits & *place);
  *place ^= bits;
  if (*place == 0) {
    blis_map_remove(&journal->differences, word);
  } else if (is_new) {
    note(journal, word);
  }
}

void blis_block_journal_toggle(blis_block_journal *journal, blis_block_id first,
                               uint64_t count) {
  while (count > 0 && !journal->is_broken) {
    unsigned n = in_word(first, count);
    toggle_bits(journal, first / 64, UINT64_MAX >> (64 - n) << first % 64);
    first += n;
    count -= n;
  }
}

uint64_t blis_block_journal_equal(const blis_block_journal *journal,
                                  blis_block_id first, uint64_t count) {
  uint64_t equal = 0;
  while (equal < count) {
    blis_block_id id = first + equal;
    unsigned n = in_word(id, count - equal);
    uint64_t bits = 0;
    blis_map_get(&journal->differences, id / 64, &bits);
    bits >>= id % 64;
    for (unsigned i = 0; bits != 0 && i < n; i++, bits >>= 1) {
      if ((bits & 1) != 0) {
        return equal + i;
      }
    }
    equal += n;
  }
  return count;
}

void blis_block_journal_mark(blis_block_journal *journal) {
  if (journal->has_unnoted) {
    blis_map_clear(&journal->differences);
  } else {
    for (size_t i = 0; i < journal->noted.count; i++) {
      blis_map_remove(&journal->differences, journal->noted.items[i]);
    }
  }
  BLIS_ASSERT(blis_map_count(&journal->differences) == 0);
  journal->count = 0;
  journal->noted.count = 0;
  journal->has_unnoted = false;
  journal->is_broken = false;
}
