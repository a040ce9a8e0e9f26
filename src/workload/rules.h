/*
 * rules.h - variants of workload specifications, generation, and replay.
 *
 * All false is the default behavior. Each profile has a constant in a separate module.
 * Specifications and options point to the rules; NULL means all false.
 */
#ifndef BLIS_WORKLOAD_RULES_H
#define BLIS_WORKLOAD_RULES_H

#include <stdbool.h>
#include <stddef.h>

typedef struct blis_workload_rules {
  /* Specifications: allowed contents and their meaning. */
  bool takes_any_growth;        /* context_growth may be any word */
  bool takes_empty_multimodal;  /* multimodal may have no modality */
  bool needs_input;             /* multimodal clients also need input_distribution */
  bool takes_multimodal_turns;  /* multimodal and multi_turn may both be set */
  bool separates_prefix_groups; /* each prefix group of a short form has its own arrival process */
  bool truncates_percents;      /* ServeGen: 0.29 counts as 28 percent */
  bool has_default_prefix;      /* inference-perf: a prefix without a length has the default
                                   length */
  /* Generation. */
  bool drops_at_window_end;   /* requests at the end of a window are lost */
  bool loses_labels;          /* rounds lose prefix group, streaming, and targets */
  bool loses_modalities;      /* users, sessions, and varying rates have text only */
  bool cuts_prefixes;         /* later rounds start with the client's own prefix length */
  bool counts_users_only;     /* num_requests limits the rounds of users, not of sessions */
  bool ends_users;            /* users end with their session */
  bool draws_zero_ratios;     /* a constant reason ratio below 1 is drawn like any other */
  bool limits_open_rounds;    /* rounds that do not wait for responses also have a deadline */
  bool has_one_day;           /* diurnal rates end after the first day */
  bool divides_weights_first; /* rounding: rate * (weight / total) */
  bool needs_windows;         /* if rates vary, clients without windows send nothing */
  /* Replay. */
  bool ignores_zero_think_times; /* recorded think times of 0 count as none */
} blis_workload_rules;

/* Returns the rules, or all false for NULL. */
static inline blis_workload_rules blis_workload_rules_of(const blis_workload_rules *rules) {
  return rules != NULL ? *rules : (blis_workload_rules){.takes_any_growth = false};
}

#endif
