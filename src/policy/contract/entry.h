/*
 * entry.h - the description of a built-in policy, and its constructor.
 *
 * To add a policy: write its file with a constant entry, and add a line to the list
 * of its kind (policy/pipeline/pieces.c or policy/registry.c). Lookup, parameter
 * checks, error messages, and the policy table follow from the entry.
 */
#ifndef BLIS_POLICY_CONTRACT_ENTRY_H
#define BLIS_POLICY_CONTRACT_ENTRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "base/random.h"
#include "policy/contract/filter.h"
#include "policy/contract/params.h"
#include "policy/contract/picker.h"
#include "policy/contract/profile.h"
#include "policy/contract/router.h"
#include "policy/contract/scorer.h"
#include "policy/contract/tie.h"

typedef enum blis_policy_kind {
  BLIS_POLICY_FILTER,
  BLIS_POLICY_SCORER,
  BLIS_POLICY_PICKER,
  BLIS_POLICY_ROUTER,
  BLIS_POLICY_ADMISSION,
  BLIS_POLICY_PRIORITY,
  BLIS_POLICY_CASCADE,
  BLIS_POLICY_AUTOSCALER,
  BLIS_POLICY_SATURATION,
  BLIS_POLICY_USAGE_LIMIT,
  BLIS_POLICY_DECIDER,
  BLIS_POLICY_KIND_COUNT
} blis_policy_kind;

/* The cluster in which a policy runs. */
typedef struct blis_policy_context {
  uint32_t instance_count;
  int64_t kv_block_size_tokens;
  int64_t kv_blocks;   /* KV blocks of one instance */
  int64_t seed;        /* seed of the experiment */
  int64_t script_seed; /* the seed that policies in Lua see */
  /* For routers with replicas: the number of this replica, from 0, and the number of replicas;
     otherwise 0 and 0. */
  uint32_t replica;
  uint32_t replicas;
  uint32_t incarnation; /* number of previous crashes of that replica */
  /* For routers: name of the random stream for ties; NULL = "router". */
  const char *ties;
  const blis_policy_profile *profile; /* NULL = the default profile */
} blis_policy_context;

typedef struct blis_policy_entry blis_policy_entry;

/* A policy under construction from its entry. */
typedef struct blis_policy_setup {
  const blis_policy_entry *entry;
  const blis_alloc *alloc;
  const blis_params *params; /* checked; read them with the functions below */
  const blis_policy_context *context;
  void *state;
  /* Initially the values of the entry; init may change them. */
  const void *ops;
  blis_signal_set needs;
  blis_signal_set needs_extremes; /* used by routers and deciders; see router.h */
  bool is_blind;
  /* Used only by cascades. */
  const struct blis_cascade_chain *chains;
  size_t chain_count;
} blis_policy_setup;

struct blis_policy_entry {
  blis_policy_kind kind;
  const char *name;
  const char *aliases; /* "a|b"; NULL = none */
  const char *summary;
  const char *source; /* design document, paper or system and version */
  const blis_param_spec *params;
  size_t param_count;

  /* How a policy is created. */
  const void *ops;   /* blis_<kind>_ops */
  size_t state_size; /* size of the state, which is zeroed; 0 = init allocates it */
  /* Columns that the policy reads; view->column can add others. For autoscalers: its metrics. */
  blis_signal_set needs;
  bool needs_least_load; /* used by routers; see router.h */
  bool is_blind;         /* used by routers; see router.h */
  const void *rule;      /* distinguishes policies with the same init */
  /*
   * Fills the state, which already contains the parameters that have BLIS__INTO. NULL if nothing
   * else is needed. After a failure, ops->free frees the partial state.
   */
  blis_status (*init)(void *state, blis_policy_setup *setup, blis_error *error);
};

/* Initializers of the members params and param_count of an entry. */
#define BLIS__PARAMS(specs) .params = (specs), .param_count = sizeof(specs) / sizeof *(specs)

/*
 * Checks that every set parameter is in the entry and allowed there;
 * BLIS_ERR_INVALID describes the error.
 */
BLIS_MUSTUSE blis_status blis_policy_check(const blis_policy_entry *entry,
                                           const blis_params *params, blis_error *error);

/*
 * Checks the parameters (params NULL = all defaults) and creates the policy from the entry. *setup
 * is filled even on failure; the caller frees its contents.
 */
BLIS_MUSTUSE blis_status blis_policy_make(blis_policy_setup *setup, const blis_policy_entry *entry,
                                          const blis_alloc *alloc, const blis_params *params,
                                          const blis_policy_context *context, blis_error *error);

/* For init: returns whether a parameter is set, or its value. The value is the default if the
   parameter is not set; the profile may replace the default. */
bool blis_setup_has(const blis_policy_setup *setup, const char *name);
double blis_setup_number(const blis_policy_setup *setup, const char *name);
/* Returns the index of the chosen word. */
int blis_setup_choice(const blis_policy_setup *setup, const char *name);

/* Like blis_setup_number, with a different default, for policies with profiles of their own. */
double blis_setup_number_or(const blis_policy_setup *setup, const char *name, bool is_profile,
                            double profile_default);
int blis_setup_choice_or(const blis_policy_setup *setup, const char *name, bool is_profile,
                         int profile_default);

/*
 * Initializes a tie rule from parameter "tie", with the policy's own stream. A word that is not a
 * rule (stable-hash) results in BLIS_TIE_RULE_COUNT.
 */
void blis_setup_tie(const blis_policy_setup *setup, blis_tie *tie);

/*
 * Initializes a tie rule from parameter "tie", with the stream "router". The default is random if
 * the profile has random ties.
 */
void blis_setup_router_tie(const blis_policy_setup *setup, blis_tie *tie);

/* Starts a policy's own stream, "policy/<its name>". */
void blis_setup_random(const blis_policy_setup *setup, blis_random *random);

/* A list of entries of one kind, in catalog order. */
typedef struct blis_policy_list {
  const blis_policy_entry *const *entries;
  size_t count;
} blis_policy_list;

/* For lists of XX(kind, name): the entry is blis__<kind>_<name>. */
#define BLIS__DECLARE_ENTRY(kind, name) extern const blis_policy_entry blis__##kind##_##name;
#define BLIS__ENTRY_ADDRESS(kind, name) &blis__##kind##_##name,
#define BLIS__POLICY_LIST(array)                                                                   \
  { (array), sizeof(array) / sizeof *(array) }

/* "routing policy"; static storage. */
const char *blis_policy_kind_text(blis_policy_kind kind);

/*
 * Finds an entry by name or alias. If the name is unknown, returns NULL and sets *error to
 * BLIS_ERR_INVALID; the message lists the nearest name or all names.
 */
const blis_policy_entry *blis_policy_list_find(const blis_policy_list *list, const char *name,
                                               blis_error *error);

/* Defines blis_<kind>_free for a struct with these members. */
#define BLIS__POLICY_FREE(kind)                                                                    \
  void blis_##kind##_free(blis_##kind *policy) {                                                   \
    if (policy->ops != NULL && policy->ops->free != NULL && policy->state != NULL) {               \
      policy->ops->free(&policy->alloc, policy->state);                                            \
    }                                                                                              \
    if (policy->state_size > 0) {                                                                  \
      blis_alloc_free(&policy->alloc, policy->state, policy->state_size);                          \
    }                                                                                              \
    *policy = (blis_##kind){0};                                                                    \
  }

/*
 * Declares blis_<kind>_create: finds an entry by name or alias, checks the parameters (params NULL
 * = all defaults) and creates the policy, which the caller owns. BLIS_ERR_INVALID describes the
 * error; for an unknown name, the message lists the nearest name or all names.
 */
#define BLIS__DECLARE_POLICY_CREATE(kind)                                                          \
  BLIS_MUSTUSE blis_status blis_##kind##_create(                                                   \
      const blis_alloc *alloc, const char *name, const blis_params *params,                        \
      const blis_policy_context *context, blis_##kind *made, blis_error *error);

/* Defines blis_<kind>_create for a list. The variable arguments initialize the remaining members
   of the kind. */
#define BLIS__POLICY_CREATE(kind, list, ...)                                                       \
  blis_status blis_##kind##_create(const blis_alloc *alloc, const char *name,                      \
                                   const blis_params *params, const blis_policy_context *context,  \
                                   blis_##kind *made, blis_error *error) {                         \
    const blis_policy_entry *entry = blis_policy_list_find(list, name, error);                     \
    if (entry == NULL) {                                                                           \
      return BLIS_ERR_INVALID;                                                                     \
    }                                                                                              \
    blis_policy_setup setup;                                                                       \
    blis_status status = blis_policy_make(&setup, entry, alloc, params, context, error);           \
    *made = (blis_##kind){.ops = setup.ops,                                                        \
                          .state = setup.state,                                                    \
                          .state_size = entry->state_size,                                         \
                          .alloc = *alloc,                                                         \
                          __VA_ARGS__};                                                            \
    if (status != BLIS_OK) {                                                                       \
      blis_##kind##_free(made);                                                                    \
    }                                                                                              \
    return status;                                                                                 \
  }

#endif
