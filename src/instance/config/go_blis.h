/*
 * go_blis.h - the defects of instances of BLIS (Go, inference-sim f90a1e3a).
 */
#ifndef BLIS_INSTANCE_CONFIG_GO_BLIS_H
#define BLIS_INSTANCE_CONFIG_GO_BLIS_H

#include "instance/config/defects.h"

extern const blis_instance_defects blis_instance_go_blis;

#endif
