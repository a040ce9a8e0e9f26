/*
 * go_blis.h - hand-offs as BLIS (Go) has them.
 *
 * The duration of a transfer is fixed at its start, with contention by the
 * number of transfers at that moment. The source holds nothing, a hand-off
 * without room is dropped, and the destination decodes at once. The rules of
 * the instances must be those of BLIS (Go), too.
 */
#ifndef BLIS_CLUSTER_HANDOFF_GO_BLIS_H
#define BLIS_CLUSTER_HANDOFF_GO_BLIS_H

#include "cluster/handoff/handoff.h"

extern const blis_handoff_ops blis_handoff_go_blis;

#endif
