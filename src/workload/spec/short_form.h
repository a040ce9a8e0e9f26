/*
 * short_form.h - simple workloads described by a few numbers.
 *
 *   { rate = 40, requests = 4000, prompt = ..., output = ...,
 *     prefixes = { groups = 8, tokens = 1024, zipf = 1.1 },
 *     sessions = { max_rounds = 5, think_time_us = 1000000 } }
 *
 * The result is a workload specification (workload_spec.h) with one client per
 * prefix group, and generates the same requests as that specification. A single
 * client is called "distribution", and its group "shared", as on the command line
 * of BLIS (Go). Of several, client k, from 0, is called "prefix_<k>", as is its
 * group; its weight is 1, or 1 / (k + 1)^zipf. All groups share one arrival
 * process, and the group of each request (with sessions: of each session) is drawn
 * by weight, so that the process is the specified one. With
 * rules.separates_prefix_groups, each group has its own process. Omitted fields
 * have the defaults of the command line, except that arrivals are poisson.
 */
#ifndef BLIS_WORKLOAD_SPEC_SHORT_FORM_H
#define BLIS_WORKLOAD_SPEC_SHORT_FORM_H

#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "workload/spec/workload_spec.h"

enum { BLIS_SHORT_FORM_MAX_GROUPS = 100000 };

/* Everything is borrowed; strings may be NULL. */
typedef struct blis_short_form {
  int64_t seed;
  double rate; /* requests per second */
  int64_t num_requests;
  int64_t horizon_us;
  blis_arrival_spec arrival;
  blis_distribution_spec prompt; /* own tokens, after the prefix */
  blis_distribution_spec output;
  int64_t prefix_groups; /* 0 = no prefixes */
  int64_t prefix_tokens;
  double prefix_zipf; /* 0 = all groups alike */
  int64_t max_rounds; /* of conversations; 0 = single requests */
  int64_t think_time_us;
  bool rounds_grow;  /* prompts begin with the rounds before */
  bool is_open_loop; /* rounds do not wait for answers */
  const char *tenant;
  const char *slo_class;
  const char *model;
  int64_t timeout_us;
  bool lazy_tokens;
  const blis_workload_rules *rules; /* NULL = all false */
} blis_short_form;

/*
 * 1 request per second, 100 requests, poisson, prompts and outputs gaussian
 * with mean 512, standard deviation 256, from 2 to 7000, a deadline after 300
 * s.
 */
blis_short_form blis_short_form_default(void);

/*
 * Writes a form as a specification, which lives in arena and borrows from the
 * form. A missing type of prompt or output and a missing process are the
 * default ones. BLIS_ERR_INVALID for a wrong number of groups, tokens or zipf;
 * the rest is checked where the specification is used.
 */
BLIS_MUSTUSE blis_status blis_short_form_expand(const blis_short_form *form, blis_arena *arena,
                                                blis_workload_spec *spec, blis_error *error);

#endif
