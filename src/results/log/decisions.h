/*
 * decisions.h - a trace of every decision of a run: the admission verdict, the
 * candidates, the chosen instance, and why.
 *
 * A sink of the cluster's decisions. Candidates are described as the policy saw
 * them, before the decision itself changed anything. Regret is the best score
 * of all candidates minus the score of the chosen one, never below 0; the score
 * of a policy without scores is -effective_load. That is hindsight on the
 * policy's own terms, not on what would have happened. Formulas of BLIS (Go).
 *
 * Memory: about 120 bytes per decision, 56 per candidate, 8 per candidate and
 * scorer, 16 per fact.
 */
#ifndef BLIS_RESULTS_LOG_DECISIONS_H
#define BLIS_RESULTS_LOG_DECISIONS_H

#include "cluster/cluster.h"
#include "cluster/watch/decision_sink.h"

/* Keep all candidates. */
enum { BLIS_DECISIONS_ALL = -1 };

typedef enum blis_decision_kind {
  BLIS_DECISION_ADMISSION,
  BLIS_DECISION_ROUTING,
  BLIS_DECISION_CASCADE, /* about an attempt that has ended */
  BLIS_DECISION_SCALING, /* an evaluation of the autoscaler; facts: from, to, ... */
  BLIS_DECISION_SPLIT    /* whether a request is split into prefill and decode */
} blis_decision_kind;

typedef struct blis_decision_record {
  int64_t time_us;
  int64_t number; /* with session and round: of the request, if it has one */
  uint32_t session;
  int32_t round_index;
  int32_t chosen;  /* instance (a split: the decoding instance); -1: none */
  int32_t prefill; /* instance that a split names for prefill; -1: none */
  uint32_t reason; /* the policy's name, or why it refused: see below */
  double score;    /* score of the chosen instance; a cascade: mean log-probability */
  double regret;
  size_t first_candidate;
  size_t first_score;       /* of the scorers for the candidates */
  size_t first_fact;        /* of the policy about the decision */
  uint32_t candidate_count; /* recorded candidates */
  uint32_t scorer_count;    /* 0 = the policy does not add up scores */
  uint32_t fact_count;
  uint8_t kind;    /* blis_decision_kind */
  uint8_t stage;   /* of routing with pools: a role of instances; else 0 */
  uint8_t verdict; /* blis_admission_verdict. Routing uses ADMIT and REJECT, scaling uses ADMIT.
                      A cascade stores blis_cascade_verdict. A split stores 1 if it
                      disaggregates. */
  bool has_scores; /* of the policy itself */
  uint16_t step;   /* of a cascade: which attempt, from 1 */
  uint32_t model;  /* and with which model: in the workload's string table */
} blis_decision_record;

typedef struct blis_decision_candidate {
  uint32_t instance;
  double score; /* -INFINITY: ruled out */
  double queue_depth;
  double batch_size;
  double in_flight;
  double kv_utilization;
  double free_kv_blocks;
} blis_decision_candidate;

typedef struct blis_decisions_summary {
  int64_t total; /* admission decisions, delays not counted */
  int64_t admitted;
  int64_t rejected;
  int64_t routed;    /* routing decisions */
  int64_t escalated; /* times that a cascade asked another model */
  uint32_t unique_targets;
  double mean_regret; /* over routing decisions */
  double max_regret;
} blis_decisions_summary;

typedef struct blis_decisions blis_decisions;

/*
 * kept_candidates: how many of the best ones, by score, then id; 0 keeps none
 * and has no regrets, BLIS_DECISIONS_ALL keeps all, in the order of the view.
 * NULL = out of memory.
 */
blis_decisions *blis_decisions_new(const blis_alloc *alloc, int64_t kept_candidates);
void blis_decisions_free(blis_decisions *decisions);

/* For a cluster; lives as long as the trace. */
const blis_decision_sink *blis_decisions_sink(blis_decisions *decisions);

size_t blis_decisions_count(const blis_decisions *decisions);

/* Borrowed, as what the next functions return, until one is added. */
const blis_decision_record *blis_decisions_at(const blis_decisions *decisions, size_t index);
const char *blis_decisions_reason(const blis_decisions *decisions,
                                  const blis_decision_record *record);

/* record->candidate_count of them. */
const blis_decision_candidate *blis_decisions_candidates(const blis_decisions *decisions,
                                                         const blis_decision_record *record);

/*
 * The scorers of a policy that adds up their scores: names and normalized weights, and the score of
 * each for a candidate of a record. The policy that routes prefills (stage = its role) has separate
 * scorers.
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

/* Requests that were sent to an instance. */
int64_t blis_decisions_of_instance(const blis_decisions *decisions, uint32_t instance);

#endif
