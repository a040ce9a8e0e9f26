/*
 * sglang.h - SGLang as a serving engine: prefill batches before decode batches, admission by an
 * estimate of the output, retraction, and KV in a radix tree.
 *
 * Follows scheduler.py (0003215), schedule_policy.py (00550cd), schedule_batch.py, and
 * radix_cache.py (006b0e3) of SGLang. A step is either a prefill batch or one decoded token of
 * every running request. A prefill batch contains decodes only if the configuration says so. One
 * prompt at a time may be split into chunks; its next chunk takes precedence over everything else.
 * A prompt is admitted when its tokens and a fraction of the output that all requests may still
 * produce fit in the KV cache. The fraction falls as long as decodes fit. When a request must be
 * retracted, the fraction is recalculated from the remaining requests.
 *
 * Differences: a request whose prompt and maximum output do not fit in the KV cache is dropped as
 * unservable, whereas SGLang shortens its output. Mixed batches omit the decodes when their pages
 * do not fit. A chunk never exceeds the pages that are free or evictable.
 *
 * Main invariant: free pages + pages of the tree + pages of single requests = kv_blocks.
 *
 * One module in several files: sglang.c forms batches, admission.c chooses prompts, queue.c orders
 * the wait queue, retraction.c retracts requests, and pages.c counts pages. A step costs O(running
 * requests). A prefill batch also sorts the waiting requests.
 */
#ifndef BLIS_INSTANCE_SGLANG_SGLANG_H
#define BLIS_INSTANCE_SGLANG_SGLANG_H

#include "base/array.h"
#include "base/random.h"
#include "instance/stepwise/stepwise.h"
#include "kv/radix_tree.h"

/* The serving engine of an instance with config.sglang. */
extern const blis__serving_ops blis__serving_sglang;

/* Checks config.sglang, and rejects options that it cannot be combined with. */
BLIS_MUSTUSE blis_status blis__sglang_check(const blis_instance_config *config, blis_error *error);

/*
 * Returns the maximum sequence length at which every request can run alone. It does not exceed that
 * of the configuration.
 */
int64_t blis__sglang_longest(const blis_instance_config *config);

/* The rest is internal to this module. */

enum {
  BLIS__SGLANG_CLIP = 4096,       /* maximum number of output tokens that an estimate counts */
  BLIS__SGLANG_RETRACT_STEPS = 20 /* decode steps for which a retraction makes room */
};

/* A batch row of an ended request whose result the engine does not have yet. */
typedef struct blis__sglang_row {
  uint32_t node; /* locked */
  int64_t own_pages;
  int64_t kv_tokens;
  int64_t prompt_tokens;
  int64_t output_tokens;
  int64_t rest_tokens; /* see blis__sglang.ended_rest */
} blis__sglang_row;

/* A waiting request with its sort key. */
typedef struct blis__sglang_place {
  blis__sequence *sequence;
  int64_t key;   /* the smallest key goes first */
  size_t index;  /* breaks ties: the smaller index goes first */
  uint32_t node; /* end of its cached prefix */
} blis__sglang_place;

/* A request of the prefill batch that is being formed. */
typedef struct blis__sglang_prompt {
  blis__sequence *sequence;
  int64_t start_tokens; /* tokens already computed or cached */
  int64_t tokens;       /* tokens to compute now */
} blis__sglang_prompt;

typedef struct blis__sglang {
  const blis_sglang_config *config;
  blis_radix_tree *tree;    /* empty without a cache */
  blis_radix_tree *scratch; /* prompts of the queue, for queue.c; NULL until first needed */
  int64_t page_tokens;
  int64_t own_pages;  /* pages of requests and rows outside the tree */
  int64_t references; /* sum of the pages of all requests; shared pages count several times */
  double ratio;
  bool is_full;            /* no prompt is admitted until a request leaves */
  bool was_prefill;        /* the last batch had prompts */
  bool has_shrunk;         /* a request of that batch has ended */
  blis__sequence *chunked; /* its prompt is partly computed; NULL = none */
  int64_t decodes_due;     /* decode steps before the next prefill batch */
  int64_t ended;           /* requests that left the running batch but still count */
  int64_t ended_rest;      /* the output that they could still have produced */
  BLIS_ARRAY(blis__sglang_row) rows;
  BLIS_ARRAY(blis__sglang_prompt) prompts;
  BLIS_ARRAY(blis__sglang_place) places;
  BLIS_ARRAY(blis__sglang_place) merged; /* sort buffer */
  BLIS_ARRAY(int64_t) weights;           /* waiting requests per node, including its descendants */
  BLIS_ARRAY(size_t) firsts;             /* first waiting request per node */
  blis_random random;
} blis__sglang;

static inline blis__sglang *blis__sglang_of(const blis__stepwise *engine) {
  return engine->serving_state;
}

/*
 * Returns the maximum number of output tokens: the client's limit, or what the maximum sequence
 * length leaves.
 */
int64_t blis__sglang_max_new(const blis__stepwise *engine, const blis_live_request *request);
/* Returns the output tokens produced so far, including those from before a retraction. */
int64_t blis__sglang_outputs(const blis_live_request *request);
/* Returns the output tokens that it may still produce, as counted by estimates. */
int64_t blis__sglang_rest(const blis__stepwise *engine, const blis_live_request *request);

/* pages.c */

int64_t blis__sglang_free_pages(const blis__stepwise *engine);
/* Returns the pages of this number of tokens; the last page may be partly filled. */
int64_t blis__sglang_pages_of(const blis__sglang *s, int64_t tokens);
/* If fewer than pages pages are free, evicts at least as many from the tree, as whole nodes. */
BLIS_MUSTUSE blis_status blis__sglang_make_room(blis__stepwise *engine, int64_t pages);
/*
 * Sets the end of the path that the sequence locks in the tree, and its own pages after the path.
 */
void blis__sglang_hold(blis__sglang *s, blis__sequence *sequence, const blis_radix_path *path,
                       int64_t own_pages);
/* Moves the full pages of the computed tokens into the tree, where other requests find them. */
BLIS_MUSTUSE blis_status blis__sglang_publish(blis__stepwise *engine, blis__sequence *sequence);
/* Releases all pages; those in the tree remain cached. */
void blis__sglang_drop(blis__sglang *s, blis__sequence *sequence);

/* queue.c: sorts the wait queue according to the policy. Returns BLIS_OK or BLIS_ERR_NOMEM. */
BLIS_MUSTUSE blis_status blis__sglang_order(blis__stepwise *engine);

/* admission.c: forms a prefill batch, if possible. Running requests count toward its limits. */
BLIS_MUSTUSE blis_status blis__sglang_prefill(blis__stepwise *engine, int64_t running,
                                              bool *is_formed, blis_error *error);

/* retraction.c */

/*
 * Sets *can to whether all running requests and rows can compute one more token, after evictions.
 */
BLIS_MUSTUSE blis_status blis__sglang_can_decode(blis__stepwise *engine, bool *can);
/* Called if they cannot: retracts at least one request, unless only one is running. */
BLIS_MUSTUSE blis_status blis__sglang_retract(blis__stepwise *engine, blis_error *error);

#endif
