/*
 * go_blis.h - hand-offs as in BLIS (Go).
 *
 * The duration of a transfer is fixed at its start; contention depends on the number of transfers
 * at that time. The source holds no blocks, a hand-off that does not fit is dropped, and the
 * destination decodes immediately. The instances must also use the rules of BLIS (Go).
 */
#ifndef BLIS_CLUSTER_HANDOFF_GO_BLIS_H
#define BLIS_CLUSTER_HANDOFF_GO_BLIS_H

#include "cluster/handoff/handoff.h"

extern const blis_handoff_ops blis_handoff_go_blis;

#endif
