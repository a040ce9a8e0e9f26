/*
 * lineage.c - determines which nodes have ended when another node starts.
 *
 * The first waits of nodes form trees. Each node has a jump pointer to an ancestor, at a distance
 * that makes every ancestor reachable in O(log depth) (Myers, "An applicative random-access stack",
 * 1983). If the trees do not connect two nodes, all waits are searched. Each node stores the
 * successor that was found last, because later queries mostly concern nodes after it.
 */
#include "workload/graph/graph.h"

static uint32_t first_wait(const blis_graph_builder *b, uint32_t node) {
  return b->waits.items[b->nodes.items[node].first_wait];
}

static blis_graph_lineage lineage_of(const blis_graph_builder *b, uint32_t node) {
  blis_graph_lineage made = {.jump = node, .heir = node};
  if (b->nodes.items[node].wait_count == 0) {
    return made;
  }
  const blis_graph_lineage *all = b->lineages.items;
  uint32_t parent = first_wait(b, node);
  uint32_t jump = all[parent].jump;
  bool are_equal =
      all[parent].depth - all[jump].depth == all[jump].depth - all[all[jump].jump].depth;
  made.jump = are_equal ? all[jump].jump : parent;
  made.depth = all[parent].depth + 1;
  return made;
}

static blis_status catch_up(blis_graph_builder *b) {
  while (b->lineages.count < b->nodes.count) {
    const blis_graph_lineage made = lineage_of(b, (uint32_t)b->lineages.count);
    BLIS_TRY(blis_array_push(&b->alloc, &b->lineages, made));
  }
  return BLIS_OK;
}

/* Returns whether first waits lead from a node to an ancestor, or the two are the same node. */
static bool leads_to(const blis_graph_builder *b, uint32_t node, uint32_t above) {
  while (node > above && b->nodes.items[node].wait_count > 0) {
    uint32_t jump = b->lineages.items[node].jump;
    node = jump >= above ? jump : first_wait(b, node);
  }
  return node == above;
}

/* Marks the successors of the node among the waits; returns the last of them. */
static uint32_t mark(blis_graph_builder *b, uint32_t node, const uint32_t *waits, uint32_t count) {
  uint32_t last = node;
  for (uint32_t i = 0; i < count; i++) {
    if (waits[i] > node) {
      b->lineages.items[waits[i]].search = b->searches;
      last = waits[i] > last ? waits[i] : last;
    }
  }
  return last;
}

static bool is_among(const blis_graph_builder *b, uint32_t node, const uint32_t *waits,
                     uint32_t count) {
  uint32_t heir = b->lineages.items[node].heir;
  for (uint32_t i = 0; i < count; i++) {
    if (leads_to(b, waits[i], node) || leads_to(b, waits[i], heir)) {
      return true;
    }
  }
  return false;
}

/* Searches all waits. A marked node waits only for lower nodes. */
static bool search(blis_graph_builder *b, uint32_t node, const uint32_t *waits, uint32_t count) {
  if (is_among(b, node, waits, count)) {
    return true;
  }
  b->searches++;
  for (uint32_t i = mark(b, node, waits, count); i > node; i--) {
    if (b->lineages.items[i].search != b->searches) {
      continue;
    }
    const blis_graph_node *one = &b->nodes.items[i];
    const uint32_t *others = b->waits.items + one->first_wait;
    if (is_among(b, node, others, one->wait_count)) {
      return true;
    }
    (void)mark(b, node, others, one->wait_count);
  }
  return false;
}

blis_status blis_graph_builder_has_ended(blis_graph_builder *builder, uint32_t node,
                                         const uint32_t *waits, uint32_t wait_count,
                                         bool *has_ended) {
  BLIS_TRY(catch_up(builder));
  *has_ended = search(builder, node, waits, wait_count);
  if (*has_ended) {
    builder->lineages.items[node].heir = (uint32_t)builder->nodes.count;
  }
  return BLIS_OK;
}
