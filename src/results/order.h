/*
 * order.h - the keys of a list at some of its ranks, or all of them in order.
 *
 * Keys are distributed in place by their highest differing bits, and again
 * within the parts that hold a wanted rank; parts of a few keys are sorted by
 * insertion. O(count) for keys that are spread out, and a few times that at
 * worst. Needs no memory.
 */
#ifndef BLIS_RESULTS_ORDER_H
#define BLIS_RESULTS_ORDER_H

#include <stddef.h>
#include <stdint.h>

/*
 * Puts those keys in their places that an ascending list has at the wanted
 * ranks, which ascend; the others end up somewhere between them. count fits 32
 * bits.
 */
void blis__order_at(uint64_t *keys, size_t count, const size_t *ranks, size_t rank_count);

/* All in ascending order. */
void blis__order_all(uint64_t *keys, size_t count);

#endif
