/*
 * preble.c - routing policies preble.e2 and aibrix.prefix-cache-preble: follow the
 * cache if most of a prompt is in the tree, otherwise balance the cost of the
 * prompts of the last minutes.
 */
#include "base/invariant.h"
#include "policy/gateways/gateway.h"
#include "policy/memory/prompt_tree.h"
#include "policy/memory/recent_values.h"

enum { TPOT_SAMPLES = 200 };

/* Parameters at the end of both lists. */
enum { WINDOW, BLOCK_SIZE, DECODE_LENGTH, FIRST_TPOT, BOOKS_PARAM_COUNT };

#define BOOKS_PARAMS                                                                               \
  BLIS__INTEGER("window_us", 1, 1e15, 180e6, "us", "in which a request counts"),                   \
      BLIS__INTEGER("block_size", 1, 1 << 20, 16, "tokens", "block size for comparing prompts"),   \
      BLIS__INTEGER("decode_length", 1, 1 << 30, 45, "tokens",                                     \
                    "assumed output length of a request without a maximum"),                       \
      BLIS__NUMBER("first_tpot_us", 0, 1e12, 150e3, "us",                                          \
                   "time per output token of an instance without completed "                       \
                   "requests; later the median of its last 200")

typedef struct books {
  blis__prompt_tree tree;
  BLIS_ARRAY(blis__recent_values) tpot_s; /* by instance number */
} books;

static void deinit_books(blis__gateway *self) {
  books *own = self->own;
  blis__prompt_tree_deinit(&own->tree);
  blis_array_deinit(&self->alloc, &own->tpot_s);
}

static blis_status look_up(blis__gateway *self, const blis_routing_request *request,
                           const blis_routing_view *view, blis__tree_match *match) {
  books *own = self->own;
  size_t instances = (size_t)view->instances[view->count - 1] + 1;
  BLIS_TRY(blis_array_reserve(&self->alloc, &own->tpot_s, instances));
  while (own->tpot_s.count < instances) {
    own->tpot_s.items[own->tpot_s.count++] = (blis__recent_values){0};
  }
  return blis__prompt_tree_look_up(&own->tree, request, view, match);
}

static void note_end(blis__gateway *self, blis_ticket *ticket, uint32_t instance,
                     const blis_request_times *times) {
  books *own = self->own;
  blis__prompt_tree_ended(&own->tree, ticket, instance);
  if (times->itl_count > 0) {
    double itl_us = (double)times->itl_sum_us / (double)times->itl_count;
    blis__recent_values_add(&own->tpot_s.items[instance], TPOT_SAMPLES, itl_us / 1e6);
  }
}

static double tpot_s(const blis__gateway *self, uint32_t instance, double first_us) {
  const books *own = self->own;
  const blis__recent_values *values = &own->tpot_s.items[instance];
  return values->count > 0 ? blis__recent_values_median(values) : first_us / 1e6;
}

/* Returns the seconds of work that are attributed to an instance. */
typedef double (*cost_at)(const blis__gateway *self, uint32_t instance);

/* Returns the first candidate with the lowest cost among self->order[0 .. count). Requires count
   > 0. */
static size_t least_cost(const blis__gateway *self, const blis_routing_view *view, size_t count,
                         cost_at cost) {
  size_t best = 0;
  double least = 0;
  for (size_t k = 0; k < count; k++) {
    size_t i = self->order.items[k];
    double here = cost(self, view->instances[i]);
    if (k == 0 || here < least) {
      least = here;
      best = i;
    }
  }
  return best;
}

static size_t collect_all(blis__gateway *self, const blis_routing_view *view) {
  for (size_t i = 0; i < view->count; i++) {
    self->order.items[i] = i;
  }
  return view->count;
}

/* Keeps only the instances in self->order that are places of the deepest node with any places. */
static size_t keep_nearest(blis__gateway *self, const blis_routing_view *view, uint32_t node,
                           size_t count) {
  const books *own = self->own;
  const blis__prompt_tree *tree = &own->tree;
  size_t kept = 0;
  for (; node != BLIS__TREE_NONE && kept == 0; node = blis__prompt_tree_node(tree, node)->parent) {
    for (size_t k = 0; k < count; k++) {
      size_t i = self->order.items[k];
      if (blis__prompt_tree_is_at(tree, node, view->instances[i])) {
        self->order.items[kept++] = i;
      }
    }
  }
  return kept > 0 ? kept : count;
}

/* preble.e2. */

static const blis_param_spec e2_params[] = {BOOKS_PARAMS};

static void init_e2(blis__gateway *self) {
  books *own = self->own;
  blis__prompt_tree_init(&own->tree, &self->alloc, (uint32_t)self->values[BLOCK_SIZE],
                         (int64_t)self->values[WINDOW], blis__prefill_ms_preble);
}

static double e2_cost_s(const blis__gateway *self, uint32_t instance) {
  const books *own = self->own;
  const blis__tree_load *load = &own->tree.loads.items[instance];
  return (double)load->prefill_ns / 1e9 +
         (double)load->decode_tokens * tpot_s(self, instance, self->values[FIRST_TPOT]);
}

/* Returns whether the last node of the prompt has fewer blocks than the nodes above it. */
static bool is_mostly_known(const blis__gateway *self, const blis__tree_match *match) {
  const books *own = self->own;
  uint32_t before = match->known;
  if (match->node != BLIS__TREE_NONE && match->known == match->total) {
    before = blis__prompt_tree_node(&own->tree, match->node)->before;
  }
  BLIS_ASSERT(before <= match->known && match->known <= match->total);
  return match->total - before < before;
}

static blis_status choose_e2(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  books *own = self->own;
  blis__tree_match match;
  BLIS_TRY_MEM(look_up(self, request, view, &match), q->error);
  size_t count = collect_all(self, view);
  if (is_mostly_known(self, &match)) {
    count = keep_nearest(self, view, match.node, count);
  }
  *chosen = least_cost(self, view, count, e2_cost_s);
  int64_t decode_tokens = request->max_output_tokens > 0 ? request->max_output_tokens
                                                         : (int64_t)self->values[DECODE_LENGTH];
  BLIS_TRY_MEM(blis__prompt_tree_take(&own->tree, request, &match, view->instances[*chosen],
                                      view->now_us, decode_tokens),
               q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_preble_e2 = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "preble.e2",
    .summary = "least load cost among the instances that have the prompt if "
               "more of it is known than new, else among all; does not move "
               "prefixes to balance",
    .source = "Preble 8e7906a3; prompts that left its window are unknown",
    BLIS__PARAMS(e2_params),
    BLIS__GATEWAY(0, .choose = choose_e2, .own_size = sizeof(books), .init_own = init_e2,
                  .deinit_own = deinit_books, .ended = note_end),
};

/* aibrix.prefix-cache-preble. */

enum { IMBALANCE = BOOKS_PARAM_COUNT, MATCH_RATIO, GPU };

static const blis_param_spec aibrix_params[] = {
    BOOKS_PARAMS,
    BLIS__NUMBER("imbalance", 0, 1e12, 8, "requests",
                 "if the loads differ by more, only the least busy count"),
    BLIS__NUMBER("match_ratio", 0, 1, 0.5, "0 to 1",
                 "minimum known share of the prompt to follow it"),
    BLIS__CHOICE("gpu", "V100|A6000", "whose prefill times count"),
};

static void init_aibrix(blis__gateway *self) {
  books *own = self->own;
  blis__prompt_tree_init(&own->tree, &self->alloc, (uint32_t)self->values[BLOCK_SIZE],
                         (int64_t)self->values[WINDOW],
                         self->values[GPU] == 0 ? blis__prefill_ms_v100 : blis__prefill_ms_a6000);
}

static double aibrix_cost_s(const blis__gateway *self, uint32_t instance) {
  const books *own = self->own;
  const blis__tree_load *load = &own->tree.loads.items[instance];
  double decode_s = self->values[DECODE_LENGTH] * tpot_s(self, instance, self->values[FIRST_TPOT]);
  return (double)load->prefill_ns / 1e9 + (double)load->nodes * decode_s;
}

static double recent_requests(const blis__gateway *self, uint32_t instance) {
  const books *own = self->own;
  return (double)own->tree.loads.items[instance].requests;
}

static size_t collect_balanced(blis__gateway *self, const blis_routing_view *view) {
  const double *running = view->columns[BLIS_SIGNAL_IN_FLIGHT];
  blis__range range = blis__range_of(running, view->count);
  if (range.high - range.low <= self->values[IMBALANCE]) {
    return collect_all(self, view);
  }
  size_t count = 0;
  for (size_t i = 0; i < view->count; i++) {
    if (running[i] == range.low) {
      self->order.items[count++] = i;
    }
  }
  return count;
}

static blis_status choose_aibrix(const blis_question *q, size_t *chosen) {
  blis__gateway *self = q->state;
  const blis_routing_view *view = q->view;
  const blis_routing_request *request = q->request;
  books *own = self->own;
  blis__tree_match match;
  BLIS_TRY_MEM(look_up(self, request, view, &match), q->error);
  size_t count = collect_balanced(self, view);
  double known = (double)match.known * self->values[BLOCK_SIZE];
  if (known > self->values[MATCH_RATIO] * (double)request->prompt_tokens) {
    size_t kept = keep_nearest(self, view, match.node, count);
    *chosen = least_cost(self, view, kept, recent_requests);
  } else {
    *chosen = least_cost(self, view, count, aibrix_cost_s);
  }
  BLIS_TRY_MEM(blis__prompt_tree_take(&own->tree, request, &match, view->instances[*chosen],
                                      view->now_us, (int64_t)self->values[DECODE_LENGTH]),
               q->error);
  return BLIS_OK;
}

const blis_policy_entry blis__router_aibrix_prefix_cache_preble = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "aibrix.prefix-cache-preble",
    .summary = "fewest recent requests among those that have most of the "
               "prompt; if none, least cost of recent prompts",
    .source = "AIBrix e3e10f9e; blocks in place of characters",
    BLIS__PARAMS(aibrix_params),
    BLIS__GATEWAY(BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT), .choose = choose_aibrix,
                  .own_size = sizeof(books), .init_own = init_aibrix, .deinit_own = deinit_books,
                  .ended = note_end),
};
