/*
 * cascade.h - sends a request to a chain of models, small ones first, until an
 * answer is good enough (Cognitora, KV-aware scoring deep dive).
 *
 *   START -> RUN(0) -> EVALUATE -> ACCEPT        the answer is good enough.
 *                               -> RUN(k + 1)    Otherwise, with a next model.
 *                               -> ACCEPT_LAST   Otherwise, at the end of the chain.
 *
 * Every attempt is admitted and routed like a separate request for that model, after the previous
 * attempt has ended. The client sees nothing before an answer is accepted: the times of a request
 * come from its last attempt, measured from the request's arrival. An attempt that is rejected,
 * lost, or impossible to serve has failed. It has no tokens, and the next model is tried. A timeout
 * ends the request, because the client has disconnected.
 *
 * Answer quality is an input: the request contains it (blis_request.mean_logprob), or the policy
 * computes it.
 */
#ifndef BLIS_POLICY_CASCADE_CASCADE_H
#define BLIS_POLICY_CASCADE_CASCADE_H

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "instance/request/live_request.h"
#include "policy/contract/view.h"

/* The models of a chain, in the order of attempts. */
typedef struct blis_cascade_chain {
  const char *model; /* model of the requests that use this chain; NULL = all other requests */
  const char *const *models;
  uint32_t count; /* 0: these requests do not use the cascade */
} blis_cascade_chain;

/* The answer of a model to a request. */
typedef struct blis_cascade_answer {
  double mean_logprob;   /* mean log-probability of the answer's tokens; NAN = unknown */
  int64_t output_tokens; /* -1 = the length stated in the request */
} blis_cascade_answer;

/* An attempt that has ended. */
typedef struct blis_cascade_attempt {
  const char *model; /* name of the model model_id */
  uint32_t model_id; /* number in the source's string table */
  uint32_t step;     /* number of the attempt, from 1 */
  uint32_t stage;    /* index in the chain, from 0 */
  uint32_t stage_count;
  const uint32_t *chain; /* stage_count models: numbers like model_id */
  blis_request_state state;
  const char *reason;    /* reason for a rejection or failure, or NULL */
  int32_t instance;      /* -1 = none */
  int64_t arrival_us;    /* arrival of the request */
  int64_t start_us;      /* start of this attempt */
  int64_t ttft_us;       /* time since the arrival; -1 = no token */
  int64_t end_us;        /* end of the attempt's last step */
  int64_t prompt_tokens; /* 0 if the attempt never reached a wait queue */
  int64_t output_tokens; /* tokens sent; 0 if the attempt failed */
  double mean_logprob;   /* NAN if unknown */
} blis_cascade_attempt;

/* The decision about an attempt. */
typedef enum blis_cascade_verdict {
  BLIS_CASCADE_ACCEPT,
  BLIS_CASCADE_ESCALATE,
  BLIS_CASCADE_ACCEPT_LAST, /* accept the last answer although it is not good enough */
  BLIS_CASCADE_FAIL,        /* the last attempt failed, so the request fails */
  BLIS_CASCADE_UNFINISHED,  /* the run ended before the decision */
  BLIS_CASCADE_VERDICT_COUNT
} blis_cascade_verdict;

/* "accept", "escalate", ...; static storage. */
const char *blis_cascade_verdict_name(blis_cascade_verdict verdict);

/* Requests are passed without prompt and ticket, and with the model of the attempt. */
typedef struct blis_cascade_ops {
  /*
   * Returns the answer of request->model; called when the attempt begins. output_tokens is the
   * planned length of the answer. The answer is part of the simulated environment, not a decision.
   * NULL: answers are unknown.
   */
  blis_status (*answer)(void *state, const blis_routing_request *request, int64_t output_tokens,
                        int64_t now_us, blis_cascade_answer *answer, blis_error *error);
  /*
   * Decides whether another model is tried. *next is its stage and must be above attempt->stage. On
   * entry, *next is the following stage. It is not called at the end of the chain.
   */
  blis_status (*escalates)(void *state, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us, bool *escalates,
                           uint32_t *next, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_cascade_ops;

typedef struct blis_cascade {
  const blis_cascade_ops *ops; /* NULL: no cascade */
  void *state;
  size_t state_size; /* bytes, freed after ops->free; 0 = ops->free frees the state */
  blis_alloc alloc;
  const char *name;                 /* static or owned by state, like chains */
  const blis_cascade_chain *chains; /* at most one for each model */
  size_t chain_count;
} blis_cascade;

/* Idempotent; an all-zero cascade is allowed. */
void blis_cascade_free(blis_cascade *cascade);

/*
 * Seeds *random with the stream for the answer of a model to a request. The stream is separate, so
 * other requests and other models do not change it.
 */
void blis_cascade_random(blis_random *random, int64_t seed, const blis_routing_request *request);

/*
 * Returns a substitute mean log-probability for an answer of which only the length is known: -1 /
 * max(ln(max(n, 1)), 0.5), as in Cognitora's program.
 */
double blis_cascade_substitute_logprob(int64_t output_tokens);

#endif
