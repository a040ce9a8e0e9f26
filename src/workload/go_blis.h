/*
 * go_blis.h - the workload rules of BLIS (Go, inference-sim f90a1e3a).
 */
#ifndef BLIS_WORKLOAD_GO_BLIS_H
#define BLIS_WORKLOAD_GO_BLIS_H

#include "workload/rules.h"

extern const blis_workload_rules blis_workload_go_blis;

#endif
