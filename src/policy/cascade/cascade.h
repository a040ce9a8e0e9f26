/*
 * cascade.h - sends a request to a chain of models, small ones first, until an
 * answer is good enough (Cognitora, KV-aware scoring deep dive).
 *
 *   START -> RUN(0) -> EVALUATE -> ACCEPT        the answer is good enough.
 *                               -> RUN(k + 1)    Otherwise, with a next model.
 *                               -> ACCEPT_LAST   Otherwise, at the end of the chain.
 *
 * Every attempt is admitted and routed like a separate request for that model, when
 * the attempt before has ended. The client sees nothing before an answer is
 * accepted: the times of a request come from its last attempt, measured from the
 * request's arrival. An attempt that is rejected, lost, or can never be served has
 * failed: it has no tokens, and the next model is tried. A timeout ends the
 * request, because the client is gone.
 *
 * Answer quality is not simulated: a request contains it
 * (blis_request.mean_logprob), or the policy computes it.
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
  const char *model; /* of its requests; NULL = of all other requests */
  const char *const *models;
  uint32_t count; /* 0: these requests take no part */
} blis_cascade_chain;

/* The answer of a model to a request. */
typedef struct blis_cascade_answer {
  double mean_logprob;   /* of its tokens; NAN = unknown */
  int64_t output_tokens; /* -1 = as many as the request says */
} blis_cascade_answer;

/* An attempt that has ended. */
typedef struct blis_cascade_attempt {
  const char *model; /* model of the attempt; the name of model_id */
  uint32_t model_id; /* in the source's string table */
  uint32_t step;     /* which attempt of the request it is, from 1 */
  uint32_t stage;    /* place in the chain, from 0 */
  uint32_t stage_count;
  const uint32_t *chain; /* stage_count models: ids like model_id */
  blis_request_state state;
  const char *reason;    /* of a rejection or failure; or NULL */
  int32_t instance;      /* -1 = none */
  int64_t arrival_us;    /* of the request */
  int64_t start_us;      /* when this attempt began */
  int64_t ttft_us;       /* since the arrival; -1 = never */
  int64_t end_us;        /* of its last step */
  int64_t prompt_tokens; /* 0 if it never reached a wait queue */
  int64_t output_tokens; /* tokens sent; 0 if it failed */
  double mean_logprob;   /* NAN if unknown */
} blis_cascade_attempt;

/* The decision about an attempt. */
typedef enum blis_cascade_verdict {
  BLIS_CASCADE_ACCEPT,
  BLIS_CASCADE_ESCALATE,
  BLIS_CASCADE_ACCEPT_LAST, /* though not good enough */
  BLIS_CASCADE_FAIL,        /* the last attempt failed, so the request fails */
  BLIS_CASCADE_UNFINISHED,  /* the run ended before */
  BLIS_CASCADE_VERDICT_COUNT
} blis_cascade_verdict;

/* "accept", "escalate", ...; static storage. */
const char *blis_cascade_verdict_name(blis_cascade_verdict verdict);

/* Every request is shown without prompt and ticket, with the model asked. */
typedef struct blis_cascade_ops {
  /*
   * The answer of request->model, called when the attempt begins; output_tokens is
   * the planned length of the answer. This is part of the simulated world, not a
   * decision. NULL = unknown.
   */
  blis_status (*answer)(void *state, const blis_routing_request *request, int64_t output_tokens,
                        int64_t now_us, blis_cascade_answer *answer, blis_error *error);
  /*
   * Whether another model is tried. *next is its stage, above attempt->stage. The
   * default of *next is the following stage; at the end of the chain, no stage
   * follows.
   */
  blis_status (*escalates)(void *state, const blis_routing_request *request,
                           const blis_cascade_attempt *attempt, int64_t now_us, bool *escalates,
                           uint32_t *next, blis_error *error);
  void (*free)(const blis_alloc *alloc, void *state);
} blis_cascade_ops;

typedef struct blis_cascade {
  const blis_cascade_ops *ops; /* NULL: there is no cascade */
  void *state;
  size_t state_size; /* freed after ops->free; 0 = that does it */
  blis_alloc alloc;
  const char *name;                 /* static, or owned by state, as chains */
  const blis_cascade_chain *chains; /* at most one for each model */
  size_t chain_count;
} blis_cascade;

/* Idempotent; an all-zero cascade is allowed. */
void blis_cascade_free(blis_cascade *cascade);

/*
 * The random stream for the answer of a model to a request: separate, so that
 * neither other requests nor other models change it. Seeds *random.
 */
void blis_cascade_random(blis_random *random, int64_t seed, const blis_routing_request *request);

/*
 * A mean log-probability for an answer with only a known length: -1 / max(ln(max(n,
 * 1)), 0.5), as in Cognitora's program.
 */
double blis_cascade_substitute_logprob(int64_t output_tokens);

#endif
