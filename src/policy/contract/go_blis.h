/*
 * go_blis.h - defaults and rules of the policies of BLIS (Go, inference-sim
 * f90a1e3a).
 */
#ifndef BLIS_POLICY_CONTRACT_GO_BLIS_H
#define BLIS_POLICY_CONTRACT_GO_BLIS_H

#include "policy/contract/profile.h"

extern const blis_policy_profile blis_policy_go_blis;

#endif
