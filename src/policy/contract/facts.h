/*
 * facts.h - the constant facts about an instance: its model, hardware, and cost. The simulation
 * itself needs only the model. Policies read the numbers as signals of the same names.
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

/* KV of a sequence that does not grow with every token, such as windows. */
typedef struct blis_fixed_kv {
  double state_bytes;
  double window_bytes;   /* size once the windows and chunks of all layers are full */
  int64_t window_tokens; /* length of the longest window or chunk; 0 = none */
} blis_fixed_kv;

/* Returns the bytes for a sequence of tokens. Windows fill in proportion to the longest one. */
static inline double blis_fixed_kv_bytes(const blis_fixed_kv *fixed, int64_t tokens) {
  bool is_full = tokens >= fixed->window_tokens;
  double share = is_full ? 1.0 : (double)tokens / (double)fixed->window_tokens;
  return fixed->state_bytes + share * fixed->window_bytes;
}

typedef struct blis_instance_facts {
  uint32_t group;       /* index of its group in the cluster, from 0 */
  const char *model;    /* model that it serves, case-insensitive; NULL or "" = any */
  const char *gpu;      /* GPU type; NULL or "" = unknown */
  int64_t tp;           /* number of GPUs; 0 = unknown */
  int64_t gpus;         /* number of GPUs if dp > 1; 0 = tp */
  double cost_per_hour; /* in any currency, >= 0 */
  double watts;         /* power draw, >= 0 */
  double idle_watts;    /* power draw without requests, >= 0 */
  /*
   * Set of BLIS_ROLE_*. If all instances have 0, there are no pools and each instance does both
   * stages. If any instance has a role, instances without a role get no requests.
   */
  uint32_t roles;
  double kv_bytes_per_token; /* bytes transferred per token of KV; 0 = unknown */
  blis_fixed_kv fixed_kv;    /* transferred in addition */
  double nic_bytes_per_us;   /* bandwidth in and out of the instance; 0 = the bandwidth of the
                                cluster */
  double capacity;           /* relative speed among its kind, 0 to 1 */
} blis_instance_facts;

/* Facts of an instance without any stated facts. */
#define BLIS_INSTANCE_FACTS_UNKNOWN ((blis_instance_facts){.capacity = 1})

/* Returns whether two model names are equal, ignoring case. */
bool blis__is_same_model(const char *a, const char *b);

/*
 * Searches for a model among names; the caller offers each name with a number. The search finds the
 * same name, or else the only name that is equal if one of the two omits the owner: qwen3-14b finds
 * qwen/qwen3-14b. The match identifies the model that the user meant. It does not make two names
 * equal: x can match both a/x and b/x, which differ.
 */
typedef struct blis__model_search {
  const char *wanted;
  const char *found; /* NULL = no match */
  const char *other; /* a second match; NULL = the match is unambiguous */
  bool is_exact;
  uint32_t number; /* number of the match */
} blis__model_search;

void blis__model_search_offer(blis__model_search *search, const char *name, uint32_t number);

/* Returns whether exactly one name matches. */
static inline bool blis__model_search_is_clear(const blis__model_search *s) {
  return s->found != NULL && s->other == NULL;
}

/* Reports an ambiguous name: names the caller and the spellings to use. */
blis_status blis__model_search_fail(const blis__model_search *search, const char *where,
                                    blis_error *error);

#endif
