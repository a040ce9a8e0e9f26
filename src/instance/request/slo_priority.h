/*
 * slo_priority.h - the priority of an SLO class.
 *
 * Every class has a value; a higher value is more important. The values are: critical 4, standard
 * 3, batch -1, sheddable -2, background -3, and 3 for all other classes and the empty class (BLIS,
 * Go, inference-sim f90a1e3a). An experiment may replace and add values. A lookup compares several
 * names. On hot paths, store the result per class instead of looking it up per request.
 */
#ifndef BLIS_INSTANCE_REQUEST_SLO_PRIORITY_H
#define BLIS_INSTANCE_REQUEST_SLO_PRIORITY_H

#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"

enum { BLIS_SLO_VALUE_MIN = -100, BLIS_SLO_VALUE_MAX = 100 };

typedef struct blis_slo_override {
  const char *slo_class;
  int64_t value; /* BLIS_SLO_VALUE_MIN .. BLIS_SLO_VALUE_MAX */
} blis_slo_override;

typedef struct blis_slo_priority blis_slo_priority;

/*
 * Copies *alloc and the overrides; if a class is repeated, the last override applies.
 * BLIS_ERR_INVALID names the class, its value, and the allowed values. The caller owns *priorities.
 */
BLIS_MUSTUSE blis_status blis_slo_priority_new(const blis_alloc *alloc,
                                               const blis_slo_override *overrides, size_t count,
                                               blis_slo_priority **priorities, blis_error *error);

/* NULL is allowed. */
void blis_slo_priority_free(blis_slo_priority *priorities);

/* Returns the value of a class. Classes with values below 0 may be shed. */
int32_t blis_slo_priority_value(const blis_slo_priority *priorities, const char *slo_class);

/*
 * Returns the priority of a class as in BLIS (Go): the highest value of all classes
 * (at least 3) minus its own, so that 0 is the most urgent.
 */
int32_t blis_slo_priority_of(const blis_slo_priority *priorities, const char *slo_class);

#endif
