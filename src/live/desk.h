/*
 * desk.h - serves a simulated cluster to clients while its clock runs.
 *
 * The desk is the source of the cluster's requests and the receiver of its tokens. A caller (an
 * HTTP server, or a test) submits asks at a time on its own clock, and advances the desk to a later
 * time. The desk runs the cluster up to that time and reports the tokens that are due. A request
 * that is submitted at t arrives at t + 1 us, so it follows everything that has happened. Equal
 * submissions at equal times therefore produce equal runs, and replaying a trace of the arrivals
 * reproduces every time exactly.
 *
 * A choice is one response to one prompt: one request of the simulation. Its text is determined by
 * its seed, so an open choice needs no memory for its text. Cost: O(1) per token, or O(log n) for
 * tokens that are computed before they are due.
 */
#ifndef BLIS_LIVE_DESK_H
#define BLIS_LIVE_DESK_H

#include <stdbool.h>
#include <stdint.h>

#include "base/alloc.h"
#include "cluster/cluster.h"
#include "cluster/rules/pulls.h"
#include "cluster/watch/announcements.h"
#include "cluster/watch/tokens.h"
#include "live/ask.h"
#include "live/kv_events.h"
#include "live/meter.h"

typedef struct blis_live_desk blis_live_desk;

/* A response in progress. The desk owns it until blis_live_desk_close_choice. Read-only for
   callers. */
typedef struct blis_live_choice {
  void *call; /* set by the caller; NULL = no caller waits for the choice */
  int64_t number;
  int64_t arrival_us;
  int64_t first_us; /* time when its first token was due; -1 = not yet */
  int64_t last_us;  /* time when its last token so far was due; after its end, the time of its
                       end */
  uint64_t seed;    /* seed of its text (text.h) */
  uint32_t index;   /* index among the choices of its call */
  uint32_t prompt_tokens;
  uint32_t cached_tokens; /* valid at the end */
  uint32_t planned_tokens;
  uint32_t due_tokens; /* number of tokens that are due */
  uint32_t text_bytes; /* bytes of the whole text, which a stop string can truncate within the
                          last token */
  uint32_t max_tokens;
  uint32_t n;
  int32_t instance; /* instance that computes it; -1 = not routed yet */
  int32_t stop;     /* index of the ask's stop string that ends it; -1 = none */
  bool is_over;
  blis_live_finish finish;
  const char *failure; /* reason for a failure; static; NULL = not failed */
} blis_live_choice;

/* Callbacks of a desk, called inside blis_live_desk_advance. */
typedef struct blis_live_caller {
  void *ud;
  /* Called if more tokens of the choice are due or it is over; at most once per choice and
     advance. */
  void (*changed)(void *ud, blis_live_choice *choice);
  blis_live_kv_publisher publisher; /* publisher of KV events, if enabled */
} blis_live_caller;

/* Whether and how changes of prefix caches are published (kv_events.h). */
typedef enum blis_live_kv_format {
  BLIS_LIVE_NO_KV_EVENTS,
  BLIS_LIVE_KV_ARRAYS,
  BLIS_LIVE_KV_MAPS
} blis_live_kv_format;

typedef struct blis_live_desk_config {
  blis_live_limits limits; /* copied; the models are borrowed */
  uint32_t block_tokens;
  uint64_t seed;
  /* Lengths of responses that end by themselves; a hash of prompt and seed selects one. Copied. */
  const uint32_t *lengths;
  size_t length_count; /* >= 1 */
  uint32_t instance_count;
  blis_live_flavor flavor; /* flavor of the metrics */
  /* Names of the LoRA adapters of the cluster, which are served from the start; borrowed. */
  const char *const *adapters;
  size_t adapter_count;
  blis_live_kv_format kv_format;
  /* KV transfers between instances on behalf of an external router (kv_transfer_params). */
  double pull_bytes_per_us; /* bandwidth; 0 = no transfers */
  int64_t pull_latency_us;
} blis_live_desk_config;

/* Creates a desk, which the caller owns. Returns BLIS_ERR_NOMEM on failure. */
BLIS_MUSTUSE blis_status blis_live_desk_new(const blis_alloc *alloc,
                                            const blis_live_desk_config *config,
                                            blis_live_desk **desk, blis_error *error);
/* Frees a desk. Free the cluster first. NULL is allowed. */
void blis_live_desk_free(blis_live_desk *desk);

/* Return the source and the token sink with which the cluster is created; both borrow the desk. */
blis_request_source blis_live_desk_source(blis_live_desk *desk);
const blis_token_sink *blis_live_desk_sink(blis_live_desk *desk);
/* Returns NULL if instances never load KV from each other. */
const blis_pulls *blis_live_desk_pulls(blis_live_desk *desk);
/* Returns NULL without KV events. */
const blis_block_sink *blis_live_desk_blocks(blis_live_desk *desk);
/* Returns the step sink for the cluster. It forwards steps to other, which is borrowed and may
   be NULL. */
const blis_step_sink *blis_live_desk_steps(blis_live_desk *desk, const blis_step_sink *other);

/* Connects the desk to the cluster, before the first submission. Both arguments are borrowed. */
void blis_live_desk_open(blis_live_desk *desk, blis_cluster *cluster,
                         const blis_live_caller *caller);

/* Ends submissions, so that the cluster can end. */
void blis_live_desk_end(blis_live_desk *desk);

const blis_live_limits *blis_live_desk_limits(const blis_live_desk *desk);

/*
 * Loads or unloads an adapter under a name. A new name is assigned to an adapter of the cluster
 * that is not served. On failure, returns false and fills the refusal with the wording of vLLM.
 */
bool blis_live_desk_load_adapter(blis_live_desk *desk, blis_slice name, blis_live_refusal *refusal);
bool blis_live_desk_unload_adapter(blis_live_desk *desk, blis_slice name,
                                   blis_live_refusal *refusal);

/*
 * Puts an instance to sleep with level 1 or 2: its requests fail, its cache is emptied, and it gets
 * no requests until level 0 wakes it. Returns BLIS_ERR_INVALID in the same cases as
 * blis_cluster_instance_restore.
 */
BLIS_MUSTUSE blis_status blis_live_desk_sleep(blis_live_desk *desk, uint32_t instance, int level,
                                              blis_error *error);
int blis_live_desk_sleep_level(const blis_live_desk *desk, uint32_t instance);

/* The call and the target of a submitted ask. */
typedef struct blis_live_submission {
  const blis_live_ask *ask;
  void *call;
  int64_t instance;      /* instance that serves the ask; -1 = the routing policy decides */
  int64_t output_tokens; /* exact length of each response; 0 = determined by the ask */
  blis_pull pull;        /* KV of the prompt that another engine holds; 0 tokens = none */
  blis_slice tenant;
  blis_slice slo_class;
  blis_slice session;
} blis_live_submission;

/*
 * Submits every choice of an ask: prompts in order, and n choices for each. Stores the choices in
 * choices, which must have space for all (BLIS_LIVE_CHOICES_MAX suffices), and sets *count.
 */
BLIS_MUSTUSE blis_status blis_live_desk_submit(blis_live_desk *desk,
                                               const blis_live_submission *submission,
                                               blis_live_choice **choices, size_t *count,
                                               blis_error *error);

/*
 * Closes a choice whose client has disconnected or has received everything. If the choice is not
 * over, it times out directly after the current time of the desk. The desk frees the choice; do not
 * use it again.
 */
BLIS_MUSTUSE blis_status blis_live_desk_close_choice(blis_live_desk *desk, blis_live_choice *choice,
                                                     blis_error *error);

/* Runs the cluster up to now_us, which must not decrease, and reports changes. */
BLIS_MUSTUSE blis_status blis_live_desk_advance(blis_live_desk *desk, int64_t now_us,
                                                blis_error *error);

/* Returns the time of the next event without further submissions; BLIS_TIME_NEVER_US = never. */
int64_t blis_live_desk_next_us(const blis_live_desk *desk);

int64_t blis_live_desk_now_us(const blis_live_desk *desk);

/* Returns the number of choices that are not over. */
int64_t blis_live_desk_open_choices(const blis_live_desk *desk);

/* Returns the number of choices of an instance that are not over; of all instances if instance <
   0. */
int64_t blis_live_desk_load(const blis_live_desk *desk, int64_t instance);

blis_cluster *blis_live_desk_cluster(const blis_live_desk *desk);
const blis_live_meter *blis_live_desk_meter(const blis_live_desk *desk, uint32_t instance);
blis_live_flavor blis_live_desk_flavor(const blis_live_desk *desk);

/*
 * Returns the pins of requests that were submitted to a specific instance, as alternating request
 * numbers and instances. Valid until the next submission.
 */
const int64_t *blis_live_desk_pins(const blis_live_desk *desk, size_t *count);

#endif
