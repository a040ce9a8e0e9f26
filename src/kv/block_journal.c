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

static void note(blis_block_journal *journal, blis_block_id id) {
  size_t limit = journal->differences.mask / SLOTS_PER_NOTE + 1;
  if (journal->has_unnoted) {
    return;
  }
  if (journal->noted.count >= limit ||
      blis_array_push(&journal->differences.alloc, &journal->noted, id) !=
          BLIS_OK) {
    journal->has_unnoted = true;
  }
}

void blis_block_journal_toggle(blis_block_journal *journal, blis_block_id id) {
  if (journal->is_broken || blis_map_remove(&journal->differences, id)) {
    return;
  }
  if (blis_map_put(&journal->differences, id, 1) != BLIS_OK) {
    journal->is_broken = true;
    return;
  }
  note(journal, id);
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
  journal->noted.count = 0;
  journal->has_unnoted = false;
  journal->is_broken = false;
}
