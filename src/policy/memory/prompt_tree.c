#include "policy/memory/prompt_tree.h"

#include <math.h>
#include <string.h>

#include "base/invariant.h"
#include "base/minmax.h"

#define NONE BLIS__TREE_NONE

/* Contents of a ticket. */
enum {
  LEAF, /* index of the last node of its prompt, + 1; 0 = none */
  DECODE_TOKENS
};

typedef blis__tree_node node;
typedef blis__tree_place place;

void blis__prompt_tree_init(blis__prompt_tree *tree, const blis_alloc *alloc,
                            uint32_t block_size_tokens, int64_t window_us,
                            blis__prefill_ms prefill_ms) {
  *tree = (blis__prompt_tree){.alloc = *alloc,
                              .block_size_tokens = block_size_tokens,
                              .window_us = window_us,
                              .prefill_ms = prefill_ms};
  blis_map_init(&tree->by_first, alloc);
  blis__span_store_init(&tree->spans, alloc);
}

void blis__prompt_tree_deinit(blis__prompt_tree *tree) {
  const blis_alloc *alloc = &tree->alloc;
  blis_map_deinit(&tree->by_first);
  blis__span_store_deinit(&tree->spans);
  blis_array_deinit(alloc, &tree->nodes);
  blis_array_deinit(alloc, &tree->free_nodes);
  blis_array_deinit(alloc, &tree->places);
  blis_array_deinit(alloc, &tree->free_places);
  blis_array_deinit(alloc, &tree->loads);
  blis__recent_deinit(alloc, &tree->window);
}

static node *node_at(const blis__prompt_tree *tree, uint32_t index) {
  return &tree->nodes.items[index];
}

/* Returns the id of block k of the node. */
static blis_block_id id_at(const blis__prompt_tree *tree, const node *n, uint32_t k) {
  return k < n->shared ? blis__span_words(&tree->spans, n->ids)[k]
                       : n->private_base + n->before + k;
}

/* Prices. */

static double tokens_of(const blis__prompt_tree *tree, uint32_t blocks) {
  return (double)blocks * (double)tree->block_size_tokens;
}

static int64_t share_of(const blis__prompt_tree *tree, const node *n) {
  double missed = n->prompt_tokens > 0 ? 1 - (double)n->known_tokens / (double)n->prompt_tokens : 1;
  double ms = tree->prefill_ms(tokens_of(tree, n->length), tokens_of(tree, n->before + n->length));
  double share = missed * (double)n->requests * ms / (double)n->place_count;
  return (int64_t)(share * 1e6);
}

static void charge(blis__prompt_tree *tree, const node *n, int64_t ns) {
  for (uint32_t p = n->first_place; p != NONE;) {
    const place *at = &tree->places.items[p];
    tree->loads.items[at->instance].prefill_ns += ns;
    p = at->next;
  }
}

/* Removes the price of a node from its places. The node may change until price() adds it again. */
static void unprice(blis__prompt_tree *tree, const node *n) {
  charge(tree, n, -n->share_ns);
}

static void price(blis__prompt_tree *tree, node *n) {
  n->share_ns = share_of(tree, n);
  charge(tree, n, n->share_ns);
}

/* Places. */

/* Returns the link to the place of an instance, or the link where it would be inserted. */
static uint32_t *find_link(blis__prompt_tree *tree, node *n, uint32_t instance) {
  uint32_t *link = &n->first_place;
  while (*link != NONE && tree->places.items[*link].instance < instance) {
    link = &tree->places.items[*link].next;
  }
  return link;
}

static bool is_of(const blis__prompt_tree *tree, uint32_t link, uint32_t instance) {
  return link != NONE && tree->places.items[link].instance == instance;
}

bool blis__prompt_tree_is_at(const blis__prompt_tree *tree, uint32_t node_index,
                             uint32_t instance) {
  uint32_t p = node_at(tree, node_index)->first_place;
  while (p != NONE && tree->places.items[p].instance < instance) {
    p = tree->places.items[p].next;
  }
  return is_of(tree, p, instance);
}

static blis_status new_place(blis__prompt_tree *tree, uint32_t instance, int64_t decode_tokens,
                             uint32_t *index) {
  if (tree->free_places.count > 0) {
    *index = tree->free_places.items[--tree->free_places.count];
  } else {
    const place empty = {0};
    *index = (uint32_t)tree->places.count;
    BLIS_TRY(blis_array_push(&tree->alloc, &tree->places, empty));
    /* Reserves capacity for returning a place. */
    BLIS_TRY(blis_array_reserve(&tree->alloc, &tree->free_places, tree->places.capacity));
  }
  tree->places.items[*index] = (place){instance, NONE, decode_tokens};
  tree->loads.items[instance].nodes++;
  tree->loads.items[instance].decode_tokens += decode_tokens;
  return BLIS_OK;
}

static blis_status add_place(blis__prompt_tree *tree, uint32_t node_index, uint32_t instance) {
  uint32_t *link = find_link(tree, node_at(tree, node_index), instance);
  if (is_of(tree, *link, instance)) {
    return BLIS_OK;
  }
  uint32_t added;
  BLIS_TRY(new_place(tree, instance, 0, &added));
  node *n = node_at(tree, node_index);
  link = find_link(tree, n, instance); /* places may have moved */
  tree->places.items[added].next = *link;
  *link = added;
  n->place_count++;
  return BLIS_OK;
}

static void add_decode(blis__prompt_tree *tree, node *n, uint32_t instance, int64_t tokens) {
  uint32_t p = *find_link(tree, n, instance);
  BLIS_ASSERT(is_of(tree, p, instance));
  tree->places.items[p].decode_tokens += tokens;
  tree->loads.items[instance].decode_tokens += tokens;
  BLIS_ASSERT(tree->places.items[p].decode_tokens >= 0);
  BLIS_ASSERT(tree->loads.items[instance].decode_tokens >= tree->places.items[p].decode_tokens);
}

/* Copies the places of a node to another node, which has none yet. */
static blis_status copy_places(blis__prompt_tree *tree, uint32_t from, uint32_t to) {
  uint32_t last = NONE;
  for (uint32_t p = node_at(tree, from)->first_place; p != NONE; p = tree->places.items[p].next) {
    const place copied = tree->places.items[p];
    uint32_t added;
    BLIS_TRY(new_place(tree, copied.instance, copied.decode_tokens, &added));
    if (last == NONE) {
      node_at(tree, to)->first_place = added;
    } else {
      tree->places.items[last].next = added;
    }
    last = added;
    node_at(tree, to)->place_count++;
  }
  return BLIS_OK;
}

/* Nodes. */

static blis_status new_node(blis__prompt_tree *tree, const node *begun, uint32_t *index) {
  if (tree->free_nodes.count > 0) {
    *index = tree->free_nodes.items[--tree->free_nodes.count];
  } else {
    const node empty = {0};
    *index = (uint32_t)tree->nodes.count;
    BLIS_TRY(blis_array_push(&tree->alloc, &tree->nodes, empty));
    BLIS_TRY(blis_array_reserve(&tree->alloc, &tree->free_nodes, tree->nodes.capacity));
  }
  *node_at(tree, *index) = *begun;
  return blis_map_put(&tree->by_first, begun->first, *index);
}

/* Takes a span with count ids, or NONE if count is 0. */
static blis_status take_ids(blis__prompt_tree *tree, uint32_t count, uint32_t *span) {
  *span = NONE;
  if (count == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__span_store_reserve(&tree->spans, blis__span_size(count)));
  *span = blis__span_take(&tree->spans, count);
  return BLIS_OK;
}

/* Adds the part of the chain after a match as a node below its last node. */
static blis_status add_leaf(blis__prompt_tree *tree, const blis_block_chain *chain, uint32_t parent,
                            uint32_t before, uint32_t *leaf) {
  uint32_t shared_end =
      chain->shared_count < chain->prompt_blocks ? chain->shared_count : chain->prompt_blocks;
  node added = {.first = blis_block_chain_at(chain, before),
                .parent = parent,
                .before = before,
                .length = chain->prompt_blocks - before,
                .shared = shared_end > before ? shared_end - before : 0,
                .private_base = chain->private_base,
                .first_place = NONE};
  BLIS_TRY(take_ids(tree, added.shared, &added.ids));
  if (added.shared > 0) {
    memcpy(blis__span_words(&tree->spans, added.ids), chain->shared + before,
           added.shared * sizeof *chain->shared);
  }
  if (parent != NONE) {
    node_at(tree, parent)->children++;
  }
  return new_node(tree, &added, leaf);
}

/*
 * Splits the first blocks of a node into a separate node above it, which has the
 * same requests. The node keeps its index.
 */
static blis_status split(blis__prompt_tree *tree, uint32_t lower, uint32_t blocks,
                         uint32_t *upper) {
  node above = *node_at(tree, lower);
  BLIS_ASSERT(blocks > 0 && blocks < above.length && blocks <= above.shared);
  above.length = blocks;
  above.shared = blocks;
  above.children = 1;
  above.first_place = NONE;
  above.place_count = 0;
  uint32_t old_ids = above.ids;
  uint32_t rest_ids;
  BLIS_TRY(take_ids(tree, blocks, &above.ids));
  BLIS_TRY(take_ids(tree, node_at(tree, lower)->shared - blocks, &rest_ids));
  node *below = node_at(tree, lower);
  const uint64_t *ids = blis__span_words(&tree->spans, old_ids);
  memcpy(blis__span_words(&tree->spans, above.ids), ids, blocks * sizeof *ids);
  if (rest_ids != NONE) {
    memcpy(blis__span_words(&tree->spans, rest_ids), ids + blocks,
           (below->shared - blocks) * sizeof *ids);
  }
  blis__span_give(&tree->spans, old_ids, below->shared);
  unprice(tree, below);
  below->ids = rest_ids;
  below->shared -= blocks;
  below->before += blocks;
  below->length -= blocks;
  below->first = id_at(tree, below, 0);
  price(tree, below);
  BLIS_TRY(new_node(tree, &above, upper));
  node_at(tree, lower)->parent = *upper;
  BLIS_TRY(blis_map_put(&tree->by_first, node_at(tree, lower)->first, lower));
  BLIS_TRY(copy_places(tree, lower, *upper));
  price(tree, node_at(tree, *upper));
  return BLIS_OK;
}

static void remove_node(blis__prompt_tree *tree, uint32_t index) {
  node *n = node_at(tree, index);
  unprice(tree, n);
  for (uint32_t p = n->first_place; p != NONE; p = tree->places.items[p].next) {
    tree->loads.items[tree->places.items[p].instance].nodes--;
    tree->free_places.items[tree->free_places.count++] = p;
  }
  if (n->shared > 0) {
    blis__span_give(&tree->spans, n->ids, n->shared);
  }
  if (n->parent != NONE) {
    node_at(tree, n->parent)->children--;
  }
  blis_map_remove(&tree->by_first, n->first);
  *n = (node){0};
  tree->free_nodes.items[tree->free_nodes.count++] = index;
}

static void remove_when_idle(blis__prompt_tree *tree, uint32_t index) {
  const node *n = node_at(tree, index);
  if (n->requests == 0 && n->in_flight == 0 && n->children == 0) {
    remove_node(tree, index);
  }
}

/* Lookup. */

static void expire(blis__prompt_tree *tree, int64_t now_us) {
  blis__recent_item item;
  while (blis__recent_expire(&tree->window, now_us - tree->window_us, &item)) {
    tree->loads.items[item.key].requests--;
    BLIS_ASSERT(tree->loads.items[item.key].requests >= 0);
    for (uint32_t at = item.place; at != NONE;) {
      node *n = node_at(tree, at);
      uint32_t parent = n->parent;
      unprice(tree, n);
      n->requests--;
      n->known_tokens -= item.part;
      n->prompt_tokens -= item.amount;
      BLIS_ASSERT(n->requests >= 0 && n->known_tokens >= 0 && n->known_tokens <= n->prompt_tokens);
      price(tree, n);
      remove_when_idle(tree, at);
      at = parent;
    }
  }
}

/*
 * Returns how many blocks of the node agree with the chain, starting at its first block, by which
 * the node was found. Equal ids imply that all previous blocks are also equal.
 */
static uint32_t agreement(const blis__prompt_tree *tree, const node *n,
                          const blis_block_chain *chain) {
  uint32_t left = chain->prompt_blocks - n->before;
  uint32_t low = 1;
  uint32_t high = (left < n->length ? left : n->length) + 1;
  while (high - low > 1) {
    uint32_t middle = low + (high - low) / 2;
    bool is_equal =
        id_at(tree, n, middle - 1) == blis_block_chain_at(chain, n->before + middle - 1);
    low = is_equal ? middle : low;
    high = is_equal ? high : middle;
  }
  return low;
}

static blis__tree_match find(const blis__prompt_tree *tree, const blis_block_chain *chain) {
  blis__tree_match match = {NONE, 0, chain->prompt_blocks};
  uint64_t found;
  while (match.known < match.total &&
         blis_map_get(&tree->by_first, blis_block_chain_at(chain, match.known), &found)) {
    const node *n = node_at(tree, (uint32_t)found);
    BLIS_ASSERT(n->before == match.known && n->parent == match.node);
    uint32_t blocks = agreement(tree, n, chain);
    match.node = (uint32_t)found;
    match.known += blocks;
    if (blocks < n->length) {
      break;
    }
  }
  return match;
}

blis_status blis__prompt_tree_look_up(blis__prompt_tree *tree, const blis_routing_request *request,
                                      const blis_routing_view *view, blis__tree_match *match) {
  const blis_block_chain *chain = request->chain(request->chain_ud, tree->block_size_tokens);
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(blis_array_reserve(&tree->alloc, &tree->loads, instances));
  while (tree->loads.count < instances) {
    tree->loads.items[tree->loads.count++] = (blis__tree_load){0};
  }
  expire(tree, view->now_us);
  *match = find(tree, chain);
  return BLIS_OK;
}

/* Assignment and end of requests. */

/* Finds the node at whose end the prompt ends; NONE if the prompt has no full block. */
static blis_status find_leaf(blis__prompt_tree *tree, const blis_block_chain *chain,
                             const blis__tree_match *match, uint32_t *leaf) {
  *leaf = match->node;
  if (match->node != NONE) {
    const node *n = node_at(tree, match->node);
    uint32_t blocks = match->known - n->before;
    if (blocks < n->length) {
      BLIS_TRY(split(tree, match->node, blocks, leaf));
    }
  }
  return match->known == match->total ? BLIS_OK : add_leaf(tree, chain, *leaf, match->known, leaf);
}

static blis_status count_at(blis__prompt_tree *tree, uint32_t index, const blis__recent_item *item,
                            int64_t decode_tokens) {
  unprice(tree, node_at(tree, index));
  node_at(tree, index)->share_ns = 0;
  BLIS_TRY(add_place(tree, index, item->key));
  node *n = node_at(tree, index);
  n->requests++;
  n->in_flight++;
  n->known_tokens += item->part;
  n->prompt_tokens += item->amount;
  add_decode(tree, n, item->key, decode_tokens);
  price(tree, n);
  return BLIS_OK;
}

blis_status blis__prompt_tree_take(blis__prompt_tree *tree, const blis_routing_request *request,
                                   const blis__tree_match *match, uint32_t instance, int64_t now_us,
                                   int64_t decode_tokens) {
  const blis_block_chain *chain = request->chain(request->chain_ud, tree->block_size_tokens);
  uint32_t leaf;
  if (chain == NULL) {
    return BLIS_ERR_NOMEM;
  }
  BLIS_TRY(find_leaf(tree, chain, match, &leaf));
  const blis__recent_item item = {.at_us = now_us,
                                  .amount = (int64_t)match->total * tree->block_size_tokens,
                                  .part = (int64_t)match->known * tree->block_size_tokens,
                                  .key = instance,
                                  .place = leaf};
  for (uint32_t at = leaf; at != NONE; at = node_at(tree, at)->parent) {
    BLIS_TRY(count_at(tree, at, &item, decode_tokens));
  }
  BLIS_ASSERT(blis_map_count(&tree->by_first) + tree->free_nodes.count == tree->nodes.count);
  tree->loads.items[instance].requests++;
  request->ticket->values[LEAF] = leaf == NONE ? 0 : (int64_t)leaf + 1;
  request->ticket->values[DECODE_TOKENS] = decode_tokens;
  return blis__recent_add(&tree->alloc, &tree->window, &item);
}

void blis__prompt_tree_ended(blis__prompt_tree *tree, blis_ticket *ticket, uint32_t instance) {
  uint32_t at = ticket->values[LEAF] == 0 ? NONE : (uint32_t)(ticket->values[LEAF] - 1);
  while (at != NONE) {
    node *n = node_at(tree, at);
    uint32_t parent = n->parent;
    BLIS_ASSERT(n->in_flight > 0);
    n->in_flight--;
    add_decode(tree, n, instance, -ticket->values[DECODE_TOKENS]);
    remove_when_idle(tree, at);
    at = parent;
  }
}

/* Checking. */

static bool check_node(const blis__prompt_tree *tree, uint32_t index, blis__tree_load *loads) {
  const node *n = node_at(tree, index);
  uint64_t found;
  bool is_sound = blis_map_get(&tree->by_first, n->first, &found) && found == index &&
                  n->first == id_at(tree, n, 0) && n->shared <= n->length &&
                  n->share_ns == share_of(tree, n) && n->requests + n->in_flight + n->children > 0;
  if (n->parent != NONE) {
    const node *above = node_at(tree, n->parent);
    is_sound &= above->before + above->length == n->before && above->requests >= n->requests &&
                above->in_flight >= n->in_flight && above->children > 0;
  }
  uint32_t count = 0;
  for (uint32_t p = n->first_place; p != NONE; p = tree->places.items[p].next) {
    const place *at = &tree->places.items[p];
    loads[at->instance].nodes++;
    loads[at->instance].prefill_ns += n->share_ns;
    loads[at->instance].decode_tokens += at->decode_tokens;
    count++;
  }
  return is_sound && count == n->place_count;
}

static bool check_loads(const blis__prompt_tree *tree, blis__tree_load *loads) {
  bool is_sound = true;
  for (size_t k = 0; k < blis__recent_count(&tree->window); k++) {
    loads[blis__recent_at(&tree->window, k)->key].requests++;
  }
  for (size_t i = 0; i < tree->loads.count; i++) {
    is_sound &= memcmp(&loads[i], &tree->loads.items[i], sizeof *loads) == 0;
  }
  return is_sound;
}

bool blis__prompt_tree_check(const blis__prompt_tree *tree) {
  size_t size = tree->loads.count * sizeof(blis__tree_load);
  blis__tree_load *loads = blis_alloc_zeroed(&tree->alloc, 1, size == 0 ? 1 : size);
  bool is_sound = loads != NULL;
  size_t count = 0;
  for (uint32_t i = 0; is_sound && i < tree->nodes.count; i++) {
    if (node_at(tree, i)->length > 0) {
      count++;
      is_sound = check_node(tree, i, loads);
    }
  }
  is_sound = is_sound && count == blis_map_count(&tree->by_first) &&
             count + tree->free_nodes.count == tree->nodes.count && check_loads(tree, loads);
  blis_alloc_free(&tree->alloc, loads, size == 0 ? 1 : size);
  return is_sound;
}

/* Times measured by Preble's authors. */

static double attention_ms(double own, double context, double per_token, double base,
                           double least) {
  if (context <= 1024) {
    return least;
  }
  double ms = per_token * context + base;
  return own <= 1024 ? ms / 2 : ms;
}

static double a6000_linear_ms(double own) {
  return own >= 384   ? 0.10842571 * own + 4.209777
         : own >= 192 ? -118 + 1.25 * own - 0.00256 * own * own
                      : 22;
}

static double a6000_attention_ms(double own, double context) {
  return attention_ms(own, context, 0.000186, 0.159, 0.32);
}

double blis__prefill_ms_a6000(double own, double context) {
  double quadratic = own >= 4096 ? -7.37 + 0.00386 * own + 2.16e-6 * own * own : 0;
  return (a6000_linear_ms(own) + a6000_attention_ms(own, context) + quadratic) / 0.9;
}

double blis__prefill_ms_v100(double own, double context) {
  double linear = own >= 384   ? 0.27106428 * own + 10.52444263
                  : own >= 192 ? -295 + 3.125 * own - 0.0064 * own * own
                               : 55;
  double quadratic = own >= 4096 ? -18.425 + 0.00965 * own + 5.4e-6 * own * own : 0;
  return (linear + attention_ms(own, context, 0.000465, 0.398, 0.80) + quadratic) / 0.9;
}

double blis__prefill_ms_preble(double own, double context) {
  double product = own * context;
  double both = product > 1048576 ? 0.00113 * own + 0.00175 * context + 2.19e-6 * product : 0;
  return (a6000_linear_ms(own) + a6000_attention_ms(own, context) + both) / 0.9;
}
