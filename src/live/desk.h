/*
 * desk.h - serves a simulated cluster to clients while its clock runs.
 *
 * The desk is the source of the cluster's requests and the receiver of its tokens. A caller (an
 * HTTP server, or a test) submits asks at a time of its own clock and advances the desk to a later
 * time; the desk runs the cluster up to that time and reports the tokens that are due. A request
 * that is submitted at t arrives at t + 1 us, so it follows everything that has happened. Equal
 * submissions at equal times therefore give equal runs, and a trace of the arrivals replays to the
 * same microsecond.
 *
 * A choice is one answer to one prompt: one request of the simulation. Its text follows from its
 * seed, so an open choice takes no memory for its text. O(1) per token, O(log n) for tokens that
 * are computed before they are due.
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

/* An answer while it is computed; the desk owns it until blis_live_desk_close_choice. Read only. */
typedef struct blis_live_choice {
  void *call; /* of the caller; NULL = nobody waits for it */
  int64_t number;
  int64_t arrival_us;
  int64_t first_us; /* when its first token was due; -1 = not yet */
  int64_t last_us;  /* when its last token so far was due, then its end */
  uint64_t seed;    /* of its text (text.h) */
  uint32_t index;   /* among the choices of its call */
  uint32_t prompt_tokens;
  uint32_t cached_tokens; /* known at the end */
  uint32_t planned_tokens;
  uint32_t due_tokens; /* that the client may have by now */
  uint32_t text_bytes; /* of the whole text; less than its tokens have before a stop text */
  uint32_t max_tokens;
  uint32_t n;
  int32_t instance; /* that computes it; -1 = not routed yet */
  int32_t stop;     /* which stop text of the ask ends it; -1 = none */
  bool is_over;
  blis_live_finish finish;
  const char *failure; /* why it failed; static, NULL = it did not */
} blis_live_choice;

/* What the caller of a desk is called for, inside blis_live_desk_advance. */
typedef struct blis_live_caller {
  void *ud;
  /* More tokens of the choice are due, or it is over; at most once per choice and advance. */
  void (*changed)(void *ud, blis_live_choice *choice);
  blis_live_kv_publisher publisher; /* of KV events, if the desk has them */
} blis_live_caller;

/* Whether the changes of prefix caches are published (kv_events.h), and how. */
typedef enum blis_live_kv_format {
  BLIS_LIVE_NO_KV_EVENTS,
  BLIS_LIVE_KV_ARRAYS,
  BLIS_LIVE_KV_MAPS
} blis_live_kv_format;

typedef struct blis_live_desk_config {
  blis_live_limits limits; /* copied; the models are borrowed */
  uint32_t block_tokens;
  uint64_t seed;
  /* Lengths of answers that end by themselves: one is drawn by a hash of prompt and seed. Copied.
   */
  const uint32_t *lengths;
  size_t length_count; /* >= 1 */
  uint32_t instance_count;
  blis_live_flavor flavor; /* of the metrics */
  /* Names of the LoRA adapters of the cluster, which are served from the start; borrowed. */
  const char *const *adapters;
  size_t adapter_count;
  blis_live_kv_format kv_format;
  /* Of KV that instances load from each other for an outside router (kv_transfer_params). */
  double pull_bytes_per_us; /* 0 = they never do */
  int64_t pull_latency_us;
} blis_live_desk_config;

/* The caller owns the desk. BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis_live_desk_new(const blis_alloc *alloc,
                                            const blis_live_desk_config *config,
                                            blis_live_desk **desk, blis_error *error);
/* After the cluster. NULL is allowed. */
void blis_live_desk_free(blis_live_desk *desk);

/* What the cluster is made with; both borrow the desk. */
blis_request_source blis_live_desk_source(blis_live_desk *desk);
const blis_token_sink *blis_live_desk_sink(blis_live_desk *desk);
/* NULL if instances never load KV from each other. */
const blis_pulls *blis_live_desk_pulls(blis_live_desk *desk);
/* NULL without KV events. */
const blis_block_sink *blis_live_desk_blocks(blis_live_desk *desk);
/* The same for steps; passes them on to other, which is borrowed and may be NULL. */
const blis_step_sink *blis_live_desk_steps(blis_live_desk *desk, const blis_step_sink *other);

/* Before the first submission; both are borrowed. */
void blis_live_desk_open(blis_live_desk *desk, blis_cluster *cluster,
                         const blis_live_caller *caller);

/* No more submissions come: the cluster may end. */
void blis_live_desk_end(blis_live_desk *desk);

const blis_live_limits *blis_live_desk_limits(const blis_live_desk *desk);

/*
 * Serves an adapter under a name, or no longer. A new name takes an adapter of the cluster that is
 * not served. False: refusal says why, in the words of vLLM.
 */
bool blis_live_desk_load_adapter(blis_live_desk *desk, blis_slice name, blis_live_refusal *refusal);
bool blis_live_desk_unload_adapter(blis_live_desk *desk, blis_slice name,
                                   blis_live_refusal *refusal);

/*
 * Lets an instance sleep with level 1 or 2: its requests fail, its cache is empty, and it gets no
 * requests until level 0 wakes it. BLIS_ERR_INVALID as blis_cluster_instance_restore.
 */
BLIS_MUSTUSE blis_status blis_live_desk_sleep(blis_live_desk *desk, uint32_t instance, int level,
                                              blis_error *error);
int blis_live_desk_sleep_level(const blis_live_desk *desk, uint32_t instance);

/* Where and for which call an ask is submitted. */
typedef struct blis_live_submission {
  const blis_live_ask *ask;
  void *call;
  int64_t instance;      /* that is to serve it; -1 = the routing policy decides */
  int64_t output_tokens; /* exact length of each answer; 0 = by the rules of the ask */
  blis_pull pull;        /* the KV that another engine has of the prompt; 0 tokens = none */
  blis_slice tenant;
  blis_slice slo_class;
  blis_slice session;
} blis_live_submission;

/*
 * Enters every choice of an ask: prompts in order, and n choices for each. Stores them in choices,
 * which has room for all (BLIS_LIVE_CHOICES_MAX is enough), and sets *count.
 */
BLIS_MUSTUSE blis_status blis_live_desk_submit(blis_live_desk *desk,
                                               const blis_live_submission *submission,
                                               blis_live_choice **choices, size_t *count,
                                               blis_error *error);

/*
 * The client of a choice gives up, or has everything. A choice that is not over times out right
 * after the time of the desk. The desk then frees it; do not use it again.
 */
BLIS_MUSTUSE blis_status blis_live_desk_close_choice(blis_live_desk *desk, blis_live_choice *choice,
                                                     blis_error *error);

/* Runs up to now_us (not before the last one) and reports what has changed. */
BLIS_MUSTUSE blis_status blis_live_desk_advance(blis_live_desk *desk, int64_t now_us,
                                                blis_error *error);

/* When something happens next if nobody submits anything; BLIS_TIME_NEVER_US = never. */
int64_t blis_live_desk_next_us(const blis_live_desk *desk);

int64_t blis_live_desk_now_us(const blis_live_desk *desk);

/* Choices that are not over. */
int64_t blis_live_desk_open_choices(const blis_live_desk *desk);

/* Choices of an instance that are not over; of all with instance < 0. */
int64_t blis_live_desk_load(const blis_live_desk *desk, int64_t instance);

blis_cluster *blis_live_desk_cluster(const blis_live_desk *desk);
const blis_live_meter *blis_live_desk_meter(const blis_live_desk *desk, uint32_t instance);
blis_live_flavor blis_live_desk_flavor(const blis_live_desk *desk);

/*
 * The pins of requests that were submitted to an instance: request number and instance in turn.
 * Valid until the next submission.
 */
const int64_t *blis_live_desk_pins(const blis_live_desk *desk, size_t *count);

#endif
