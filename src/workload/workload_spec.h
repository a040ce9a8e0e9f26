/*
 * workload_spec.h - what a user says about the requests to generate.
 *
 * Clients share an aggregate rate by weight. Keys, defaults and meaning are
 * those of the workload specification, version 2, of BLIS (Go, inference-sim
 * f90a1e3a).
 */
#ifndef BLIS_WORKLOAD_WORKLOAD_SPEC_H
#define BLIS_WORKLOAD_WORKLOAD_SPEC_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"
#include "workload/arrival.h"
#include "workload/distribution.h"

/* Length of a shared prefix that gives none. */
#define BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS 50

/* One client; texts and parameters are borrowed, NULL is the empty text. */
typedef struct blis_client_spec {
  const char *id;
  const char *tenant;
  const char *slo_class; /* critical, standard, sheddable, batch, background */
  const char *model;     /* empty = the run's model */
  double rate_fraction;  /* weight, > 0 */
  blis_arrival_spec arrival;
  blis_distribution_spec input; /* own tokens, behind the prefix */
  blis_distribution_spec output;
  /*
   * Clients of a group start every prompt with the same tokens, as many as the
   * first of them says (0 = BLIS_WORKLOAD_DEFAULT_PREFIX_TOKENS). Without a
   * group prefix_tokens has no effect.
   */
  const char *prefix_group;
  int64_t prefix_tokens;
  int64_t timeout_us; /* from arrival to deadline; 0 = no deadline */
} blis_client_spec;

typedef struct blis_workload_spec {
  int64_t seed;
  double aggregate_rate; /* requests per second of all clients together */
  int64_t num_requests;  /* 0 = unlimited; then there is a horizon */
  int64_t horizon_us;    /* no arrival from here on; 0 = none */
  /*
   * Arrivals and lengths come from random streams of their own, and no token
   * ids are drawn: other numbers than the usual ones, for less time.
   */
  bool lazy_tokens;
  const blis_client_spec *clients; /* borrowed */
  size_t client_count;
} blis_workload_spec;

enum { BLIS_CLIENT_LABEL_SIZE = 96 };

/*
 * How messages name a client: client 2 ("chat"), counted from 1. Returns label.
 */
const char *blis_client_label(const blis_workload_spec *spec, size_t index,
                              char label[BLIS_CLIENT_LABEL_SIZE]);

/*
 * Checks everything but the parameters of distributions, which
 * blis_distribution_init checks. BLIS_ERR_INVALID names client, key, value and
 * what is allowed.
 */
BLIS_MUSTUSE blis_status
blis_workload_spec_check(const blis_workload_spec *spec, blis_error *error);

/* The sum of all weights, the whole of which each client gets its share. */
double blis_workload_spec_total_fraction(const blis_workload_spec *spec);

#endif
