/*
 * rank_barrier.h - the barrier of a group of data-parallel ranks.
 *
 * A pass of the group begins when a rank has work, and takes as long as the
 * slowest of its ranks; one without work runs a dummy pass. Who gets work in
 * the meantime waits for the end, and every rank that has some begins its next
 * step there. After every sync_every passes the ranks find out whether all of
 * them are without work; until then such a group runs dummy passes, which are
 * counted when the next request comes.
 *
 * The steps of the ranks stop at their gate (blis_step_gate) when their own
 * times are known; once no rank has an event left at that time, all go on
 * together. So instances run in order of time: the barriers need that of the
 * clock. A pass costs O(ranks).
 */
#ifndef BLIS_CLUSTER_RANK_BARRIER_H
#define BLIS_CLUSTER_RANK_BARRIER_H

#include "cluster/state.h"

/* The group of ranks that is about to be made from first on gets one like that
   of another group. */
void blis__barriers_join(const blis_cluster *cluster, uint32_t first, uint32_t other);

/* Of the barrier of an instance's group; NULL = it has none. */
const blis_step_gate *blis__barrier_gate(const blis_cluster *cluster, uint32_t number);

/* The group of an instance has stopped: it begins anew, whenever. */
void blis__barrier_reset(blis_cluster *cluster, uint32_t number);

#endif
