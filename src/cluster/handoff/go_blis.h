/*
 * go_blis.h - hand-offs as in BLIS (Go).
 *
 * The duration of a transfer is fixed at its start, with contention by the number
 * of transfers at that moment. The source holds nothing, a hand-off that does not
 * fit is dropped, and the destination decodes at once. The instances must also have
 * the rules of BLIS (Go).
 */
#ifndef BLIS_CLUSTER_HANDOFF_GO_BLIS_H
#define BLIS_CLUSTER_HANDOFF_GO_BLIS_H

#include "cluster/handoff/handoff.h"

extern const blis_handoff_ops blis_handoff_go_blis;

#endif
