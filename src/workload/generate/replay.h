/*
 * replay.h - replays recorded requests at their recorded times, or with sessions that wait for
 * responses. Also generates the token ids of the requests.
 *
 * When sessions wait, only the first round of each arrives at its recorded time. A later round
 * follows the end of the previous round after a think time. The think time is drawn, recorded, or
 * equal to the recorded gap between the arrivals, which includes the service time. Rounds with
 * recorded content keep their content. Other rounds consist of the prefix of the first round and
 * new tokens or, in traces whose sessions grow, of all earlier rounds and the new tokens.
 *
 * Rules, random draws, and token ids match BLIS (Go, inference-sim f90a1e3a). BLIS (Go) reads rows
 * in file order; this module uses arrival order, which is the order of all files that BLIS (Go)
 * writes. A session takes 250 bytes, and a round 16 bytes.
 */
#ifndef BLIS_WORKLOAD_GENERATE_REPLAY_H
#define BLIS_WORKLOAD_GENERATE_REPLAY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/distribution.h"
#include "workload/generate/sessions.h"
#include "workload/rules.h"
#include "workload/workload.h"

typedef struct blis_replay_options {
  bool sessions_wait; /* sessions wait for responses; otherwise all requests arrive as recorded */
  int64_t seed;       /* seed of think times and token ids */
  /* Think times in us that replace the recorded ones; NULL = recorded think times. */
  const blis_distribution_spec *think;
  int64_t horizon_us;               /* no later round arrives after this time; 0 = no limit */
  bool keep_tokens;                 /* required by blis_replay_tokens; 4 bytes per token */
  const blis_workload_rules *rules; /* NULL = all false */
} blis_replay_options;

typedef struct blis_replay blis_replay;

/*
 * Borrows the workload, and the data of the options during the call. The caller owns the replay.
 * Returns BLIS_ERR_INVALID, with the session in the message, if the rounds of a session are not 0,
 * 1, 2, ...
 */
BLIS_MUSTUSE blis_status blis_replay_new(const blis_alloc *alloc, const blis_workload *workload,
                                         const blis_replay_options *options, blis_replay **replay,
                                         blis_error *error);

/* NULL is allowed. */
void blis_replay_free(blis_replay *replay);

/* Returns the remaining requests as a source that borrows the replay. */
blis_request_source blis_replay_source(blis_replay *replay);

/* Gets the outcomes of sessions so far; all 0 if no session waits. */
void blis_replay_get_session_counts(const blis_replay *replay, blis_session_counts *counts);

/*
 * Writes the token ids of the source's last request to prompt (prompt_tokens of
 * them) and output (output_tokens). Returns false if no request was taken yet,
 * tokens are not stored, or the trace contains the prompts' content.
 */
bool blis_replay_tokens(const blis_replay *replay, int32_t *prompt, int32_t *output);

#endif
