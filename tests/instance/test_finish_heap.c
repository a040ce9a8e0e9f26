#include "instance/fast/finish_heap.h"

#include "base/random.h"
#include "check.h"

enum { ENTRIES = 200, OPERATIONS = 20000 };

/* The first entry by (step, order) of those that are in, or NULL. */
static const finish_entry *first_of(const finish_entry *entries, const bool *is_in) {
  const finish_entry *first = NULL;
  for (int i = 0; i < ENTRIES; i++) {
    const finish_entry *e = &entries[i];
    if (is_in[i] && (first == NULL || e->step < first->step ||
                     (e->step == first->step && e->order < first->order))) {
      first = e;
    }
  }
  return first;
}

static void entries_leave_by_step_and_order(void) {
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  blis_random random;
  blis_random_init(&random, 1);
  finish_heap heap = {0};
  finish_entry entries[ENTRIES];
  bool is_in[ENTRIES] = {false};
  for (int i = 0; i < OPERATIONS; i++) {
    int k = blis_random_intn(&random, ENTRIES);
    if (!is_in[k]) {
      entries[k].step = blis_random_intn(&random, 50);
      entries[k].order = (uint64_t)i;
      CHECK(blis__finish_heap_add(&alloc, &heap, &entries[k]) == BLIS_OK);
      is_in[k] = true;
    } else if (blis_random_intn(&random, 2) == 0) {
      entries[k].step += blis_random_intn(&random, 5);
      blis__finish_heap_postpone(&heap, &entries[k]);
    } else {
      blis__finish_heap_remove(&heap, &entries[k]);
      is_in[k] = false;
    }
    CHECK(blis__finish_heap_check(&heap));
    CHECK(blis__finish_heap_first(&heap) == first_of(entries, is_in));
  }
  blis_array_deinit(&alloc, &heap.slots);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

int main(void) {
  RUN(entries_leave_by_step_and_order);
  return check_done();
}
