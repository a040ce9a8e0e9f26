/*
 * sessions.h - conversations that wait for responses; for sources of requests.
 *
 * A source returns the first request of each session at its arrival time. When a request ends, the
 * session determines whether another round follows, draws the lengths and content of the round, and
 * returns it as a follow-up. Rules and the order of draws match BLIS (Go, inference-sim f90a1e3a).
 *
 * In a growing conversation, the next prompt consists of the prefix, all earlier rounds, and the
 * new input. The last token of each response is not included, because the KV cache never contains
 * it.
 *
 * A session takes 100 bytes, plus 5 KB for its random stream between its first follow-up and its
 * end. A follow-up costs about 100 ns plus the cost of drawing its tokens.
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

/* Properties shared by many sessions; borrowed. */
typedef struct blis__session_rule {
  const blis_distribution *input;     /* NULL = rounds are recorded */
  const blis__modalities *modalities; /* replaces input; NULL = only text */
  const blis_distribution *output;
  int64_t max_rounds; /* INT64_MAX = unlimited */
  int64_t think_us;
  const blis_distribution *think; /* us; replaces think_us; NULL = none */
  int64_t timeout_us;             /* 0 = no deadline */
  int64_t horizon_us;             /* no request arrives after this time */
  bool accumulates;               /* prompts grow */
  /* An abandoned round is followed by the next round at least one second later, like a user who
     comes back. */
  bool persists;
  bool keeps_labels; /* follow-ups keep the prefix group and streaming */
} blis__session_rule;

/* A recorded round. */
typedef struct blis__recorded_round {
  uint32_t input_tokens;
  uint32_t output_tokens;
  uint32_t cascade; /* same form as in requests */
  uint32_t mean_logprob;
  int64_t think_us; /* think time before the round; -1 = determined by the rule */
  /* Prompt and labels if the trace contains the content, otherwise NULL. */
  const blis_request *content;
} blis__recorded_round;

/* Start of a session; borrowed. */
typedef struct blis__session_start {
  uint32_t name; /* name of the session of its requests; number in the string table */
  const blis__session_rule *rule;
  int64_t seed;                       /* seed of its random stream */
  uint64_t skipped_draws;             /* number of token ids that round 0 drew from the stream */
  uint64_t stream;                    /* stream of its content */
  blis_segment prefix;                /* length 0 = none */
  const blis__recorded_round *rounds; /* rounds after round 0; NULL = drawn */
  size_t round_count;
  /* Tokens of the prefix, and of the input and output of round 0, if tokens are stored. */
  const int32_t *prefix_tokens;
  const int32_t *first_tokens;
  /* Used only by the source that creates the sessions. */
  const char *text; /* name of the session */
  uint32_t client;
  uint64_t first_sequence; /* sequence number of round 0 */
} blis__session_start;

/* Numbers of sessions by outcome. */
typedef struct blis_session_counts {
  int64_t sessions;
  int64_t completed;   /* completed all rounds */
  int64_t cancelled;   /* ended because a request was abandoned */
  int64_t ended_early; /* ended by the horizon or the number of requests */
  int64_t follow_ups;
} blis_session_counts;

typedef struct blis__sessions_config {
  const blis__session_start *starts; /* borrowed */
  size_t count;
  uint32_t string_count; /* size of the string table that contains the names */
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
 * Handles the end of a request; see blis_request_source.ended. Requests without a session, and
 * sessions that are over, have no follow-up. Returns BLIS_ERR_INVALID if a prompt grows beyond
 * BLIS_WORKLOAD_MAX_TOKENS.
 */
BLIS_MUSTUSE blis_status blis__sessions_ended(blis__sessions *sessions, const blis_request *request,
                                              const blis_request_outcome *outcome,
                                              blis_request *follow_up, bool *has_follow_up,
                                              blis_error *error);

void blis__sessions_get_counts(const blis__sessions *sessions, blis_session_counts *counts);

/*
 * Writes the token ids of the latest follow-up: prompt_tokens ids of the prompt and output_tokens
 * ids of the output. Returns false if there is no follow-up or tokens are not stored.
 */
bool blis__sessions_tokens(const blis__sessions *sessions, int32_t *prompt, int32_t *output);

#endif
