/*
 * slowest.h - the requests of a run that took longest.
 */
#ifndef BLIS_RESULTS_SLOWEST_H
#define BLIS_RESULTS_SLOWEST_H

#include "results/recorder.h"

/*
 * Fills indices[0 .. result) with the completed requests of the greatest E2E,
 * the slowest first and those listed first among equals; at most wanted of
 * them. O(records * log wanted) on average, and no memory.
 */
size_t blis_recorder_slowest(const blis_recorder *recorder, size_t *indices, size_t wanted);

#endif
