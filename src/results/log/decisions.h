/*
 * decisions.h - a trace of every decision of a run: the admission verdict, the candidates, the
 * chosen instance, and the reasons.
 *
 * The trace is a sink of the cluster's decisions. Candidates are recorded with the signals that the
 * policy read, before the decision changed anything. Regret is the best score of all candidates
 * minus the score of the chosen one, and at least 0. For a policy without scores, the score is
 * -effective_load. Regret measures a decision by the policy's own score, not by what would have
 * happened otherwise. Formulas match BLIS (Go).
 *
 * Memory: about 120 bytes per decision, 56 per candidate, 8 per candidate and
 * scorer, 16 per fact.
 */
#ifndef BLIS_RESULTS_LOG_DECISIONS_H
#define BLIS_RESULTS_LOG_DECISIONS_H

#include "cluster/cluster.h"
#include "cluster/watch/decision_sink.h"

/* Keeps all candidates. */
enum { BLIS_DECISIONS_ALL = -1 };

typedef enum blis_decision_kind {
  BLIS_DECISION_ADMISSION,
  BLIS_DECISION_ROUTING,
  BLIS_DECISION_CASCADE, /* decision about an attempt that has ended */
  BLIS_DECISION_SCALING, /* an evaluation of the autoscaler; facts: from, to, ... */
  BLIS_DECISION_SPLIT    /* whether a request is split into prefill and decode */
} blis_decision_kind;

typedef struct blis_decision_record {
  int64_t time_us;
  int64_t number; /* number of the request, if any; identifies it together with session and round */
  uint32_t session;
  int32_t round_index;
  int32_t chosen;  /* instance (for a split: the decode instance); -1 = none */
  int32_t prefill; /* prefill instance of a split; -1 = none */
  uint32_t reason; /* name of the policy, or reason for a rejection; see below */
  double score;    /* score of the chosen instance; for a cascade: mean log-probability */
  double regret;
  size_t first_candidate;
  size_t first_score;       /* index of the first score of the scorers for the candidates */
  size_t first_fact;        /* index of the first fact of the policy about the decision */
  uint32_t candidate_count; /* recorded candidates */
  uint32_t scorer_count;    /* 0 = the policy does not add up scores */
  uint32_t fact_count;
  uint8_t kind;    /* blis_decision_kind */
  uint8_t stage;   /* for routing with pools: a role of instances; otherwise 0 */
  uint8_t verdict; /* blis_admission_verdict. Routing uses ADMIT and REJECT, scaling uses ADMIT.
                      A cascade stores blis_cascade_verdict. A split stores 1 if it
                      disaggregates. */
  bool has_scores; /* the policy itself computed the scores */
  uint16_t step;   /* for a cascade: number of the attempt, from 1 */
  uint32_t model;  /* for a cascade: model of the attempt; number in the workload's string table */
} blis_decision_record;

typedef struct blis_decision_candidate {
  uint32_t instance;
  double score; /* -INFINITY = excluded */
  double queue_depth;
  double batch_size;
  double in_flight;
  double kv_utilization;
  double free_kv_blocks;
} blis_decision_candidate;

typedef struct blis_decisions_summary {
  int64_t total; /* number of admission decisions, without delays */
  int64_t admitted;
  int64_t rejected;
  int64_t routed;    /* number of routing decisions */
  int64_t escalated; /* number of times that a cascade tried another model */
  uint32_t unique_targets;
  double mean_regret; /* mean over routing decisions */
  double max_regret;
} blis_decisions_summary;

typedef struct blis_decisions blis_decisions;

/*
 * kept_candidates is the number of best candidates that are kept, by score, then id. 0 keeps none
 * and computes no regret; BLIS_DECISIONS_ALL keeps all, in the order of the view. NULL = out of
 * memory.
 */
blis_decisions *blis_decisions_new(const blis_alloc *alloc, int64_t kept_candidates);
void blis_decisions_free(blis_decisions *decisions);

/* Returns the sink for a cluster; it lives as long as the trace. */
const blis_decision_sink *blis_decisions_sink(blis_decisions *decisions);

size_t blis_decisions_count(const blis_decisions *decisions);

/* Returns a decision. The result, like those of the next functions, is borrowed until a decision
   is added. */
const blis_decision_record *blis_decisions_at(const blis_decisions *decisions, size_t index);
const char *blis_decisions_reason(const blis_decisions *decisions,
                                  const blis_decision_record *record);

/* Returns the record->candidate_count candidates of a record. */
const blis_decision_candidate *blis_decisions_candidates(const blis_decisions *decisions,
                                                         const blis_decision_record *record);

/*
 * The scorers of a policy that adds up scores: their names and normalized weights, and the score of
 * each scorer for a candidate of a record. The policy that routes prefills (stage = its role) has
 * separate scorers.
 */
size_t blis_decisions_scorer_count(const blis_decisions *decisions, uint32_t stage);
const char *blis_decisions_scorer_name(const blis_decisions *decisions, uint32_t stage,
                                       size_t scorer);
double blis_decisions_scorer_weight(const blis_decisions *decisions, uint32_t stage, size_t scorer);
double blis_decisions_scorer_score(const blis_decisions *decisions,
                                   const blis_decision_record *record, size_t candidate,
                                   size_t scorer);

/* Returns a fact that the policy reported with its decision. */
blis_decision_fact blis_decisions_fact(const blis_decisions *decisions,
                                       const blis_decision_record *record, size_t fact);

blis_decisions_summary blis_decisions_sum_up(const blis_decisions *decisions);

/* Returns the number of requests that were sent to an instance. */
int64_t blis_decisions_of_instance(const blis_decisions *decisions, uint32_t instance);

#endif
