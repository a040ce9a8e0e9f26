/*
 * facts.h - the constant facts about an instance: its model, its hardware, its
 * cost. The simulation needs only the model; numbers are shown to policies as
 * the signals of the same names.
 */
#ifndef BLIS_POLICY_CONTRACT_FACTS_H
#define BLIS_POLICY_CONTRACT_FACTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

/* Roles of an instance with prefill/decode disaggregation; a set. */
enum {
  BLIS_ROLE_PREFILL = 1,
  BLIS_ROLE_DECODE = 2,
  BLIS_ROLE_ENCODE = 4,
  BLIS_ROLES_ALL = 7,
  BLIS_ROLE_COUNT = 3
};

/* What moves once with the KV of a sequence, whatever its growing part takes. */
typedef struct blis_fixed_kv {
  double state_bytes;
  double window_bytes;   /* once the windows and chunks of all layers are full */
  int64_t window_tokens; /* of the longest window or chunk; 0 = none */
} blis_fixed_kv;

/* Bytes of a sequence of tokens; windows fill in proportion to the longest one. */
static inline double blis_fixed_kv_bytes(const blis_fixed_kv *fixed, int64_t tokens) {
  bool is_full = tokens >= fixed->window_tokens;
  double share = is_full ? 1.0 : (double)tokens / (double)fixed->window_tokens;
  return fixed->state_bytes + share * fixed->window_bytes;
}

typedef struct blis_instance_facts {
  uint32_t group;       /* index of its group in the cluster, from 0 */
  const char *model;    /* it serves, in whatever case; NULL or "" = any */
  const char *gpu;      /* type of its GPUs; NULL or "" = unknown */
  int64_t tp;           /* its GPUs; 0 = unknown */
  int64_t gpus;         /* where these are more, with dp > 1; 0 = tp */
  double cost_per_hour; /* in whatever money, >= 0 */
  double watts;         /* that it draws, >= 0 */
  double idle_watts;    /* of these without requests, >= 0 */
  /*
   * BLIS_ROLE_*. 0 for all instances: there are no pools, each does everything. If
   * any instance has a role, instances without one get no requests.
   */
  uint32_t roles;
  double kv_bytes_per_token; /* that move with a token's KV; 0 = unknown */
  blis_fixed_kv fixed_kv;    /* transferred in addition */
  double nic_bytes_per_us;   /* in and out of it; 0 = as of all */
  double capacity;           /* how strong it is among its kind, 0 to 1 */
} blis_instance_facts;

/* Facts of an instance about which nothing is stated. */
#define BLIS_INSTANCE_FACTS_UNKNOWN ((blis_instance_facts){.capacity = 1})

/* Are two names of models the same, in whatever case? */
bool blis__is_same_model(const char *a, const char *b);

/*
 * Searches a model among names, each offered with a number of the caller's. It
 * finds the same name, or else the only name that is equal if one of both omits the
 * owner, as qwen3-14b is qwen/qwen3-14b. This identifies the intended model, but
 * not names of one model: x may be a/x and b/x, and these differ.
 */
typedef struct blis__model_search {
  const char *wanted;
  const char *found; /* NULL = none of them */
  const char *other; /* it may be this one just as well; NULL = it is clear */
  bool is_exact;
  uint32_t number; /* of found */
} blis__model_search;

void blis__model_search_offer(blis__model_search *search, const char *name, uint32_t number);

/* A name was found, and it is unambiguous. */
static inline bool blis__model_search_is_clear(const blis__model_search *s) {
  return s->found != NULL && s->other == NULL;
}

/* Where there is another: who asked, and what to write. */
blis_status blis__model_search_fail(const blis__model_search *search, const char *where,
                                    blis_error *error);

#endif
