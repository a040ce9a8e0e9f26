/*
 * sessions.h - conversations that wait for answers; for sources of requests.
 *
 * A source returns the first request of each session at its time. When a request
 * ends, the session decides whether a round follows, draws its lengths and its
 * content, and returns it as a follow-up. Rules and the order of draws match BLIS
 * (Go, inference-sim f90a1e3a).
 *
 * In a growing conversation the next prompt is the prefix, all earlier rounds, and
 * the new input. The last token of an answer is not part of it, as the KV cache
 * never holds it.
 *
 * A session takes 100 bytes, and 5 KB for its random stream between its first
 * follow-up and its end. A follow-up costs about 100 ns and the tokens it draws.
 */
#ifndef BLIS_WORKLOAD_GENERATE_SESSIONS_H
#define BLIS_WORKLOAD_GENERATE_SESSIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/containers/intern.h"
#include "base/error.h"
#include "workload/distribution.h"
#include "workload/generate/modalities.h"
#include "workload/request.h"

/* What many sessions have in common; borrowed. */
typedef struct blis__session_rule {
  const blis_distribution *input;     /* NULL: rounds are recorded */
  const blis__modalities *modalities; /* replaces input; NULL = only text */
  const blis_distribution *output;
  int64_t max_rounds; /* INT64_MAX = unlimited */
  int64_t think_us;
  const blis_distribution *think; /* us; replaces think_us; NULL = none */
  int64_t timeout_us;             /* 0 = no deadline */
  int64_t horizon_us;             /* nothing arrives after it */
  bool accumulates;               /* prompts grow */
  /* A round that was abandoned is followed by the next round at least one second later, as a
     user would come back. */
  bool persists;
  bool keeps_labels; /* follow-ups also have prefix group and streaming */
} blis__session_rule;

/* A recorded round. */
typedef struct blis__recorded_round {
  uint32_t input_tokens;
  uint32_t output_tokens;
  uint32_t cascade; /* as requests have them */
  uint32_t mean_logprob;
  int64_t think_us; /* before it; -1 = by the rule */
  /* Contains the prompt and labels if the trace has the content; else NULL. */
  const blis_request *content;
} blis__recorded_round;

/* How a session begins; borrowed. */
typedef struct blis__session_start {
  uint32_t name; /* number in the string table: the session of its requests */
  const blis__session_rule *rule;
  int64_t seed;                       /* of its random stream */
  uint64_t skipped_draws;             /* token ids that round 0 took from it */
  uint64_t stream;                    /* of its content */
  blis_segment prefix;                /* length 0 = none */
  const blis__recorded_round *rounds; /* rounds after round 0; NULL = drawn */
  size_t round_count;
  /* With tokens: of the prefix, and of input and output of round 0. */
  const int32_t *prefix_tokens;
  const int32_t *first_tokens;
  /* Only for the source, which makes the sessions: */
  const char *text; /* the name */
  uint32_t client;
  uint64_t first_sequence; /* when round 0 was drawn */
} blis__session_start;

/* How sessions ended. */
typedef struct blis_session_counts {
  int64_t sessions;
  int64_t completed;   /* had all their rounds */
  int64_t cancelled;   /* a request was abandoned, which ended the session */
  int64_t ended_early; /* by the horizon or the number of requests */
  int64_t follow_ups;
} blis_session_counts;

typedef struct blis__sessions_config {
  const blis__session_start *starts; /* borrowed */
  size_t count;
  uint32_t string_count; /* of the string table with the names */
  int64_t follow_ups;    /* maximum number; INT64_MAX = unlimited */
  bool is_lazy;          /* no token ids are drawn */
  bool keeps_tokens;
} blis__sessions_config;

typedef struct blis__sessions blis__sessions;

/* Copies *config. The caller owns the result; NULL = out of memory. */
blis__sessions *blis__sessions_new(const blis_alloc *alloc, const blis__sessions_config *config);

/* NULL is allowed. */
void blis__sessions_free(blis__sessions *sessions);

/*
 * A request ended: blis_request_source.ended. Requests of no session and
 * sessions that are over have no follow-up. BLIS_ERR_INVALID when a prompt
 * grows beyond BLIS_WORKLOAD_MAX_TOKENS.
 */
BLIS_MUSTUSE blis_status blis__sessions_ended(blis__sessions *sessions, const blis_request *request,
                                              const blis_request_outcome *outcome,
                                              blis_request *follow_up, bool *has_follow_up,
                                              blis_error *error);

void blis__sessions_get_counts(const blis__sessions *sessions, blis_session_counts *counts);

/*
 * Writes the token ids of the latest follow-up: prompt_tokens and output_tokens of
 * them. Returns false if there is no follow-up or tokens are not stored.
 */
bool blis__sessions_tokens(const blis__sessions *sessions, int32_t *prompt, int32_t *output);

#endif
