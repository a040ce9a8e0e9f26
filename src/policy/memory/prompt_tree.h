/*
 * prompt_tree.h - the prompts of the last minutes as a radix tree of blocks, with the load that
 * they place on each instance. Preble (8e7906a3) and the AIBrix policy based on it use this data.
 *
 * A node is a run of blocks within which no two prompts diverge. It counts the requests in the
 * window whose prompts contain it, the tokens of these prompts, and how many of the tokens were
 * already in the tree. Its places are the instances that got such a request. The cost of its
 * prefill is
 *
 *   (1 - known / prompt tokens) x requests x t(own tokens, context) / places
 *
 * for each of its places. A node is removed when no request in the window or in flight contains it,
 * so memory is proportional to the number of these requests. One decision costs O(nodes of the
 * prompt x instances at them).
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
  int64_t decode_tokens; /* expected decode tokens of the requests in flight */
} blis__tree_place;

typedef struct blis__tree_node {
  blis_block_id first; /* id of its first block */
  uint32_t parent;
  uint32_t children;
  uint32_t before; /* blocks before this node */
  uint32_t length; /* number of its own blocks; 0 = not in use */
  uint32_t shared; /* number of its blocks that other requests can share */
  uint32_t ids;    /* span with the ids of the shared blocks */
  blis_block_id private_base;
  uint32_t first_place;
  uint32_t place_count;
  uint32_t in_flight;
  int64_t requests; /* requests in the window */
  int64_t known_tokens;
  int64_t prompt_tokens;
  int64_t share_ns; /* prefill cost for each place */
} blis__tree_node;

/* Load of an instance in the tree. */
typedef struct blis__tree_load {
  int64_t prefill_ns;    /* sum of the shares of its nodes */
  int64_t nodes;         /* number of nodes that have the instance as a place */
  int64_t decode_tokens; /* sum of the decode tokens over its nodes */
  int64_t requests;      /* requests in the window */
} blis__tree_load;

/* Returns the milliseconds to prefill x tokens of a node in a context of c >= x tokens. */
typedef double (*blis__prefill_ms)(double own_tokens, double context_tokens);

typedef struct blis__prompt_tree {
  blis_alloc alloc;
  uint32_t block_size_tokens;
  int64_t window_us;
  blis__prefill_ms prefill_ms;
  blis_map by_first; /* from the id of a first block to its node */
  blis__span_store spans;
  BLIS_ARRAY(blis__tree_node) nodes;
  BLIS_ARRAY(uint32_t) free_nodes;
  BLIS_ARRAY(blis__tree_place) places;
  BLIS_ARRAY(uint32_t) free_places;
  BLIS_ARRAY(blis__tree_load) loads; /* by instance number */
  /* Requests: key is the instance, place is the last node, amount is the prompt tokens, and part
     is the tokens that were already in the tree. */
  blis__recent window;
} blis__prompt_tree;

/* Position of a prompt in the tree, in blocks. */
typedef struct blis__tree_match {
  uint32_t node;  /* last node that contains blocks of the prompt; NONE = none */
  uint32_t known; /* leading blocks that are in the tree */
  uint32_t total; /* full blocks of the prompt */
} blis__tree_match;

/* Copies *alloc; allocates nothing yet. */
void blis__prompt_tree_init(blis__prompt_tree *tree, const blis_alloc *alloc,
                            uint32_t block_size_tokens, int64_t window_us,
                            blis__prefill_ms prefill_ms);
void blis__prompt_tree_deinit(blis__prompt_tree *tree);

/*
 * Removes entries from before the window and looks up the prompt; loads has one value per
 * candidate. Returns BLIS_OK or BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis__prompt_tree_look_up(blis__prompt_tree *tree,
                                                   const blis_routing_request *request,
                                                   const blis_routing_view *view,
                                                   blis__tree_match *match);

/*
 * Assigns the request of the last lookup to an instance, with its expected number of decode tokens.
 * Writes the ticket. After BLIS_ERR_NOMEM the tree can only be freed.
 */
BLIS_MUSTUSE blis_status blis__prompt_tree_take(blis__prompt_tree *tree,
                                                const blis_routing_request *request,
                                                const blis__tree_match *match, uint32_t instance,
                                                int64_t now_us, int64_t decode_tokens);

/* Ends a request that was assigned with blis__prompt_tree_take: it is no longer in flight. */
void blis__prompt_tree_ended(blis__prompt_tree *tree, blis_ticket *ticket, uint32_t instance);

static inline const blis__tree_node *blis__prompt_tree_node(const blis__prompt_tree *tree,
                                                            uint32_t node) {
  return &tree->nodes.items[node];
}

/* Returns whether an instance is a place of a node. */
bool blis__prompt_tree_is_at(const blis__prompt_tree *tree, uint32_t node, uint32_t instance);

/* Checks the whole tree; returns true if every invariant holds. For tests. */
bool blis__prompt_tree_check(const blis__prompt_tree *tree);

/* t in ms for A6000 and V100, without the terms that Preble handles separately. */
double blis__prefill_ms_a6000(double own_tokens, double context_tokens);
double blis__prefill_ms_v100(double own_tokens, double context_tokens);
/* t in ms for an A6000, including all of Preble's terms. */
double blis__prefill_ms_preble(double own_tokens, double context_tokens);

#endif
