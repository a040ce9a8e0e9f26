/*
 * short_form.h - simple workloads described by a few numbers.
 *
 *   { rate = 40, requests = 4000, prompt = ..., output = ...,
 *     prefixes = { groups = 8, tokens = 1024, zipf = 1.1 },
 *     sessions = { max_rounds = 5, think_time_us = 1000000 } }
 *
 * A short form is converted to a workload specification (workload_spec.h) with one client per
 * prefix group, and generates the same requests. A single client is called "distribution" and its
 * group "shared", as on the command line of BLIS (Go). If there are several clients, client k, from
 * 0, and its group are both called "prefix_<k>". The weight of a client is 1, or 1 / (k + 1)^zipf.
 * All groups share one arrival process, so that the total arrivals follow the specified process.
 * The group of each request (or of each session) is drawn by weight. With
 * rules.separates_prefix_groups, each group has its own process. Omitted fields have the defaults
 * of the command line, except that arrivals are poisson.
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
  double prefix_zipf; /* 0 = all groups have equal weights */
  int64_t max_rounds; /* maximum rounds of a conversation; 0 = single requests */
  int64_t think_time_us;
  bool rounds_grow;  /* prompts start with all previous rounds */
  bool is_open_loop; /* rounds do not wait for responses */
  const char *tenant;
  const char *slo_class;
  const char *model;
  int64_t timeout_us;
  bool lazy_tokens;
  const blis_workload_rules *rules; /* NULL = all false */
} blis_short_form;

/*
 * Returns the default form: 1 request per second, 100 requests, poisson arrivals, and a deadline
 * after 300 s. Prompts and outputs are gaussian with mean 512, standard deviation 256, and range 2
 * to 7000.
 */
blis_short_form blis_short_form_default(void);

/*
 * Converts a form to a specification, which lives in arena and borrows from the form. A missing
 * distribution of prompts or outputs, or a missing arrival process, is replaced by the default.
 * Returns BLIS_ERR_INVALID for an invalid number of groups, number of tokens, or zipf. Everything
 * else is checked when the specification is used.
 */
BLIS_MUSTUSE blis_status blis_short_form_expand(const blis_short_form *form, blis_arena *arena,
                                                blis_workload_spec *spec, blis_error *error);

#endif
