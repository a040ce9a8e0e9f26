/*
 * distribution.h - distributions of prompt and output lengths.
 *
 * A distribution has a name and named parameters:
 *
 *   gaussian          mean, std_dev, min, max
 *   exponential       mean [min] [max]
 *   lognormal         mu, sigma [min] [max]
 *   pareto_lognormal  alpha, xm, mu, sigma, mix_weight
 *   constant          value
 *   empirical         "<length>": weight, one or more
 *
 * Formulas, rounding, and the order of draws match BLIS (Go, inference-sim f90a1e3a), so equal
 * streams give equal lengths. Constant distributions, gaussian distributions with min = max, and
 * empirical distributions with a single weighted length draw no random numbers. A draw costs 2 to
 * 10 ns.
 */
#ifndef BLIS_WORKLOAD_DISTRIBUTION_H
#define BLIS_WORKLOAD_DISTRIBUTION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"

typedef struct blis_distribution_param {
  const char *name;
  double value;
} blis_distribution_param;

/* A user's specification; everything is borrowed. */
typedef struct blis_distribution_spec {
  const char *type; /* NULL or "" = missing */
  const blis_distribution_param *params;
  size_t param_count;
} blis_distribution_spec;

typedef enum blis_distribution_type {
  BLIS_DISTRIBUTION_GAUSSIAN,
  BLIS_DISTRIBUTION_EXPONENTIAL,
  BLIS_DISTRIBUTION_LOGNORMAL,
  BLIS_DISTRIBUTION_PARETO_LOGNORMAL,
  BLIS_DISTRIBUTION_CONSTANT,
  BLIS_DISTRIBUTION_EMPIRICAL
} blis_distribution_type;

/* One length of an empirical distribution. */
typedef struct blis_distribution_bin {
  int64_t length;
  double cumulative; /* cumulative probability of this length and all smaller ones */
} blis_distribution_bin;

/* A prepared distribution, from which lengths are drawn. The members are private; copies share
   the bins. */
typedef struct blis_distribution {
  blis_distribution_type type;
  double first;  /* mean, mu or value */
  double spread; /* std_dev or sigma */
  double alpha;
  double xm;
  double mix_weight;
  int64_t min;
  int64_t max;
  blis_distribution_bin *bins;
  size_t bin_count;
  size_t bin_capacity;
} blis_distribution;

/*
 * Checks and prepares a specification. `where` names its owner in messages ("clients[2] ('chat'):
 * input_distribution"). The caller frees it with blis_distribution_deinit. The message of
 * BLIS_ERR_INVALID contains the type or parameter, the value, and the allowed values.
 */
BLIS_MUSTUSE blis_status blis_distribution_init(blis_distribution *distribution,
                                                const blis_alloc *alloc,
                                                const blis_distribution_spec *spec,
                                                const char *where, blis_error *error);

/* alloc must be the allocator passed to init. A zeroed distribution is allowed. */
void blis_distribution_deinit(blis_distribution *distribution, const blis_alloc *alloc);

/* Returns false if the length is constant, so that a draw does not use the stream. */
bool blis_distribution_needs_random(const blis_distribution *distribution);

/*
 * Returns one length. It is at least 1, or at least 0 if an empirical length or a
 * gaussian's min = max is 0. INT64_MAX means this value or more.
 */
int64_t blis_distribution_draw(const blis_distribution *distribution, blis_random *random);

#endif
