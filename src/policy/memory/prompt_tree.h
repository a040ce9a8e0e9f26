/*
 * prompt_tree.h - the prompts of the last minutes as a radix tree of blocks, with
 * the share of each instance in them: the data of Preble (8e7906a3) and of the
 * AIBrix policy that follows it.
 *
 * A node is a stretch of blocks in which no two prompts part. It counts the
 * requests of the window whose prompts contain it, their tokens, and how many of
 * these were in the tree before, and it has places: the instances that got such a
 * request. Its prefill is worth
 *
 *   (1 - known / prompt tokens) x requests x t(own tokens, context) / places
 *
 * to each of its places. A node is removed when no request of the window or in
 * flight contains it, so memory is proportional to these. One decision costs
 * O(nodes of the prompt x instances at them).
 */
#ifndef BLIS_POLICY_MEMORY_PROMPT_TREE_H
#define BLIS_POLICY_MEMORY_PROMPT_TREE_H

#include <stdbool.h>

#include "base/array.h"
#include "base/containers/map.h"
#include "policy/contract/view.h"
#include "policy/memory/recent.h"
#include "policy/memory/span_store.h"

#define BLIS__TREE_NONE UINT32_MAX

/* An instance at a node; linked in ascending order of instances. */
typedef struct blis__tree_place {
  uint32_t instance;
  uint32_t next;
  int64_t decode_tokens; /* expected of the requests in flight */
} blis__tree_place;

typedef struct blis__tree_node {
  blis_block_id first; /* identity of its first block */
  uint32_t parent;
  uint32_t children;
  uint32_t before; /* blocks up to here */
  uint32_t length; /* number of its own blocks; 0 = not in use */
  uint32_t shared; /* blocks among these that other requests may share */
  uint32_t ids;    /* span of the identities of these */
  blis_block_id private_base;
  uint32_t first_place;
  uint32_t place_count;
  uint32_t in_flight;
  int64_t requests; /* of the window */
  int64_t known_tokens;
  int64_t prompt_tokens;
  int64_t share_ns; /* what each place is charged for it */
} blis__tree_node;

/* Load of an instance in the tree. */
typedef struct blis__tree_load {
  int64_t prefill_ns;    /* sum of the shares of its nodes */
  int64_t nodes;         /* that it is a place of */
  int64_t decode_tokens; /* sum over its places */
  int64_t requests;      /* of the window */
} blis__tree_load;

/* Milliseconds of prefill of x own tokens in a context of c >= x. */
typedef double (*blis__prefill_ms)(double own_tokens, double context_tokens);

typedef struct blis__prompt_tree {
  blis_alloc alloc;
  uint32_t block_size_tokens;
  int64_t window_us;
  blis__prefill_ms prefill_ms;
  blis_map by_first; /* identity of a first block to its node */
  blis__span_store spans;
  BLIS_ARRAY(blis__tree_node) nodes;
  BLIS_ARRAY(uint32_t) free_nodes;
  BLIS_ARRAY(blis__tree_place) places;
  BLIS_ARRAY(uint32_t) free_places;
  BLIS_ARRAY(blis__tree_load) loads; /* by instance number */
  /* Requests: key is the instance, place the last node, amount the tokens of the prompt, part
     the tokens that were in the tree. */
  blis__recent window;
} blis__prompt_tree;

/* Where a prompt would be in the tree, in blocks. */
typedef struct blis__tree_match {
  uint32_t node;  /* the last node that it enters; NONE = none */
  uint32_t known; /* leading blocks that are in the tree */
  uint32_t total; /* full blocks of the prompt */
} blis__tree_match;

/* Copies *alloc; allocates nothing yet. */
void blis__prompt_tree_init(blis__prompt_tree *tree, const blis_alloc *alloc,
                            uint32_t block_size_tokens, int64_t window_us,
                            blis__prefill_ms prefill_ms);
void blis__prompt_tree_deinit(blis__prompt_tree *tree);

/*
 * Drops the entries before the window and finds the prompt; loads has a value per
 * candidate. BLIS_ERR_NOMEM or BLIS_OK.
 */
BLIS_MUSTUSE blis_status blis__prompt_tree_look_up(blis__prompt_tree *tree,
                                                   const blis_routing_request *request,
                                                   const blis_routing_view *view,
                                                   blis__tree_match *match);

/*
 * Assigns the request of the last lookup to an instance, with its expected number
 * of decode tokens. Writes the ticket. BLIS_ERR_NOMEM leaves the tree fit only to
 * be freed.
 */
BLIS_MUSTUSE blis_status blis__prompt_tree_take(blis__prompt_tree *tree,
                                                const blis_routing_request *request,
                                                const blis__tree_match *match, uint32_t instance,
                                                int64_t now_us, int64_t decode_tokens);

/* Ends a request that was taken: it is no longer in flight. */
void blis__prompt_tree_ended(blis__prompt_tree *tree, blis_ticket *ticket, uint32_t instance);

static inline const blis__tree_node *blis__prompt_tree_node(const blis__prompt_tree *tree,
                                                            uint32_t node) {
  return &tree->nodes.items[node];
}

/* Whether an instance is a place of a node. */
bool blis__prompt_tree_is_at(const blis__prompt_tree *tree, uint32_t node, uint32_t instance);

/* Walks everything; returns true if every invariant holds. For tests. */
bool blis__prompt_tree_check(const blis__prompt_tree *tree);

/* t in ms, without the terms that Preble handles separately: A6000 and V100. */
double blis__prefill_ms_a6000(double own_tokens, double context_tokens);
double blis__prefill_ms_v100(double own_tokens, double context_tokens);
/* As Preble has it, for an A6000. */
double blis__prefill_ms_preble(double own_tokens, double context_tokens);

#endif
