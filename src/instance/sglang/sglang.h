/*
 * sglang.h - SGLang as a serving engine: batches of prompts before batches of decodes, admission by
 * an estimate of the output, retraction, and KV in a radix tree.
 *
 * Follows scheduler.py (0003215), schedule_policy.py (00550cd), schedule_batch.py, and
 * radix_cache.py (006b0e3) of SGLang. A step is either a prefill batch, which runs alone unless the
 * configuration mixes, or one token of every running request. One prompt at a time may be split
 * into chunks; its next chunk comes before everything else. A prompt joins when its tokens and a
 * part of the output that all requests still may produce fit the KV cache. The part sinks while
 * decodes go well, and is set from what is known when a request must be retracted.
 *
 * Differences: a request whose prompt and largest output do not fit the KV cache is dropped as
 * unservable, where SGLang cuts its output. Mixed batches leave the decodes out when their pages do
 * not fit. A chunk never exceeds the pages that are free or evictable.
 *
 * Main invariant: free pages + pages of the tree + pages of single requests = kv_blocks.
 *
 * One module in several files: sglang.c forms batches, admission.c chooses prompts, queue.c orders
 * the wait queue, retraction.c takes requests back, pages.c counts pages. A step costs O(running
 * requests), a prefill batch also the sorting of the waiting ones.
 */
#ifndef BLIS_INSTANCE_SGLANG_SGLANG_H
#define BLIS_INSTANCE_SGLANG_SGLANG_H

#include "base/array.h"
#include "base/random.h"
#include "instance/stepwise/stepwise.h"
#include "kv/radix_tree.h"

/* The serving engine of an instance with config.sglang. */
extern const blis__serving_ops blis__serving_sglang;

/* Checks config.sglang and what it cannot be combined with. */
BLIS_MUSTUSE blis_status blis__sglang_check(const blis_instance_config *config, blis_error *error);

/* The maximum sequence length with which every request can run alone: that of config, or less. */
int64_t blis__sglang_longest(const blis_instance_config *config);

/* The rest is for the files of this module. */

enum {
  BLIS__SGLANG_CLIP = 4096,       /* tokens of output that an estimate counts at most */
  BLIS__SGLANG_RETRACT_STEPS = 20 /* decode steps that a retraction makes room for */
};

/* A row of a request that has ended, where the engine does not have the result yet. */
typedef struct blis__sglang_row {
  uint32_t node; /* locked */
  int64_t own_pages;
  int64_t kv_tokens;
  int64_t prompt_tokens;
  int64_t output_tokens;
  int64_t rest_tokens; /* see blis__sglang.ended_rest */
} blis__sglang_row;

/* A waiting request, for its order. */
typedef struct blis__sglang_place {
  blis__sequence *sequence;
  int64_t key;   /* the least goes first, */
  size_t index;  /* of equals the earlier one */
  uint32_t node; /* end of its cached prefix */
} blis__sglang_place;

/* A request of the prefill batch that is being formed. */
typedef struct blis__sglang_prompt {
  blis__sequence *sequence;
  int64_t start_tokens; /* computed or cached */
  int64_t tokens;       /* to compute now */
} blis__sglang_prompt;

typedef struct blis__sglang {
  const blis_sglang_config *config;
  blis_radix_tree *tree;    /* empty without a cache */
  blis_radix_tree *scratch; /* prompts of the queue, for queue.c; NULL until it is needed */
  int64_t page_tokens;
  int64_t own_pages;  /* of requests and rows, outside the tree */
  int64_t references; /* pages of all requests, each counted for each of its requests */
  double ratio;
  bool is_full;            /* no prompt is tried until a request leaves */
  bool was_prefill;        /* the last batch had prompts */
  bool has_shrunk;         /* a request of that batch has ended */
  blis__sequence *chunked; /* its prompt is computed in part; NULL = none */
  int64_t decodes_due;     /* before the next prefill batch */
  int64_t ended;           /* left the running batch, and still count for it, */
  int64_t ended_rest;      /* with the output they could have produced */
  BLIS_ARRAY(blis__sglang_row) rows;
  BLIS_ARRAY(blis__sglang_prompt) prompts;
  BLIS_ARRAY(blis__sglang_place) places;
  BLIS_ARRAY(blis__sglang_place) merged; /* buffer of the sort */
  BLIS_ARRAY(int64_t) weights;           /* waiting requests by node, with their descendants */
  BLIS_ARRAY(size_t) firsts;             /* the first of these */
  blis_random random;
} blis__sglang;

static inline blis__sglang *blis__sglang_of(const blis__stepwise *engine) {
  return engine->serving_state;
}

/* Largest number of output tokens: of the client, or what is left of the longest sequence. */
int64_t blis__sglang_max_new(const blis__stepwise *engine, const blis_live_request *request);
/* Output tokens that it has, also while it waits after a retraction. */
int64_t blis__sglang_outputs(const blis_live_request *request);
/* Output tokens that it still may produce, as estimates count them. */
int64_t blis__sglang_rest(const blis__stepwise *engine, const blis_live_request *request);

/* pages.c */

int64_t blis__sglang_free_pages(const blis__stepwise *engine);
/* Pages of this many tokens, the last one open. */
int64_t blis__sglang_pages_of(const blis__sglang *s, int64_t tokens);
/* Evicts pages of the tree if fewer than pages are free: as many again, and whole nodes. */
BLIS_MUSTUSE blis_status blis__sglang_make_room(blis__stepwise *engine, int64_t pages);
/* Sets the end of the sequence's locked part of the tree, and the pages after it. */
void blis__sglang_hold(blis__sglang *s, blis__sequence *sequence, const blis_radix_path *path,
                       int64_t own_pages);
/* Moves the whole pages of the computed tokens into the tree, where others find them. */
BLIS_MUSTUSE blis_status blis__sglang_publish(blis__stepwise *engine, blis__sequence *sequence);
/* Gives all pages back; those in the tree stay there. */
void blis__sglang_drop(blis__sglang *s, blis__sequence *sequence);

/* queue.c: brings the wait queue into the order of the policy. BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__sglang_order(blis__stepwise *engine);

/* admission.c: forms a prefill batch, if there is one; running requests count for its limits. */
BLIS_MUSTUSE blis_status blis__sglang_prefill(blis__stepwise *engine, int64_t running,
                                              bool *is_formed, blis_error *error);

/* retraction.c */

/* Whether all running requests and rows can compute one more token, after evictions. */
BLIS_MUSTUSE blis_status blis__sglang_can_decode(blis__stepwise *engine, bool *can);
/* They cannot: takes requests back, at least one unless there is only one. */
BLIS_MUSTUSE blis_status blis__sglang_retract(blis__stepwise *engine, blis_error *error);

#endif
