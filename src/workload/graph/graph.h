/*
 * graph.h - the requests of one task and their dependencies.
 *
 * Each node of a graph is a request. It is sent when all nodes that it waits for have ended and its
 * delay has passed. A node waits only for earlier nodes in the list, so there are no cycles. Nodes
 * that wait for nothing are roots and start with the graph. No node waits for a background node: it
 * adds load, but the task can complete without it.
 *
 * Graphs and their prompts are built node by node. A node that extends another node starts with the
 * prompt and response of that node, and continues with new tokens, like a conversation. Any number
 * of nodes may extend the same node. Prefix caches therefore see the reuse of a real agent. A node
 * can also have explicit content (hash ids of a trace).
 *
 * Content that only this graph uses is in streams BLIS_GRAPH_LOCAL + 0, 1, 2, ... The player of a
 * graph replaces these with unique numbers. All other streams are shared by all graphs.
 *
 * A node takes 250 bytes, plus 16 bytes per segment of its prompt.
 */
#ifndef BLIS_WORKLOAD_GRAPH_GRAPH_H
#define BLIS_WORKLOAD_GRAPH_GRAPH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/array.h"
#include "base/error.h"
#include "workload/request.h"

#define BLIS_GRAPH_LOCAL (UINT64_C(1) << 63)

/* No node. */
#define BLIS_GRAPH_NO_NODE UINT32_MAX

/* Maximum number of nodes, far above real graphs. */
enum { BLIS_GRAPH_MAX_NODES = 1000000 };

typedef struct blis_graph_node {
  /*
   * The request to send. The player sets arrival_us and number; deadline_us is
   * relative to the arrival.
   */
  blis_request request;
  /* Delay from the last end of the nodes that it waits for, or from the start of the graph. */
  int64_t delay_us;
  int64_t tool_us; /* part of the delay that is tool execution */
  bool is_background;
  uint32_t parent_session; /* session that called the node's session; 0 = none */
  uint32_t first_wait;     /* index in the graph's waits */
  uint32_t wait_count;
  uint32_t extends; /* BLIS_GRAPH_NO_NODE = extends no node */
} blis_graph_node;

/* A graph; borrowed from its creator. */
typedef struct blis_graph {
  uint32_t name;    /* name of the program; number in the string table */
  int64_t start_us; /* start relative to the first recorded start of its file; -1 = not recorded */
  const blis_graph_node *nodes;
  uint32_t node_count; /* at least 1 */
  const uint32_t *waits;
  uint64_t local_streams; /* number of local streams */
} blis_graph;

/* A source of graphs, in order. */
typedef struct blis_graph_feed {
  /*
   * Returns the next graph, valid until the next call; *done = true at the end. Graphs with
   * recorded starts are in order of their starts.
   */
  blis_status (*next)(void *state, blis_graph *graph, bool *done, blis_error *error);
  /* Restarts from the first graph; NULL = unsupported. */
  blis_status (*rewind)(void *state, blis_error *error);
  void *state;
  blis_intern *strings; /* the strings of the numbers in nodes; may grow */
} blis_graph_feed;

/* Data for repeated queries about the ancestors of a node; see lineage.c. */
typedef struct blis_graph_lineage {
  uint32_t jump;   /* an ancestor, following first waits */
  uint32_t depth;  /* number of ancestors along first waits */
  uint32_t heir;   /* last node that was found to start after the end of this one */
  uint32_t search; /* last search that visited the node */
} blis_graph_lineage;

/* Builds graphs, one at a time. The members are private. */
typedef struct blis_graph_builder {
  blis_alloc alloc;
  BLIS_ARRAY(blis_graph_node) nodes;
  BLIS_ARRAY(uint32_t) waits;
  BLIS_ARRAY(blis_segment) segments;
  BLIS_ARRAY(size_t) first_segments;       /* by node */
  BLIS_ARRAY(bool) is_extended;            /* by node */
  BLIS_ARRAY(blis_graph_lineage) lineages; /* lineages of the nodes at the last query */
  uint32_t searches;
  bool has_empty; /* some segment is empty, so that a node can continue it */
  uint64_t local_streams;
} blis_graph_builder;

/* Copies *alloc; allocates nothing yet. */
void blis_graph_builder_init(blis_graph_builder *builder, const blis_alloc *alloc);
void blis_graph_builder_deinit(blis_graph_builder *builder);

/* Starts another graph. */
void blis_graph_builder_clear(blis_graph_builder *builder);

/* Allocates streams for content of the caller; returns the first stream. */
uint64_t blis_graph_builder_streams(blis_graph_builder *builder, uint64_t count);

/*
 * Appends a node that waits for wait_count earlier nodes. *node is copied with its segments.
 *
 * Content: with extends = BLIS_GRAPH_NO_NODE and chains = false, request.segments are unchanged.
 * Otherwise request.prompt_tokens > 0 is the number of new tokens. New tokens follow the context of
 * the node extends, or the segments (for example a shared prefix). Other nodes may extend them.
 *
 * Returns BLIS_ERR_INVALID if there are too many nodes or a prompt has more than
 * BLIS_WORKLOAD_MAX_TOKENS tokens; the message does not identify the node.
 */
BLIS_MUSTUSE blis_status blis_graph_builder_add(blis_graph_builder *builder,
                                                const blis_graph_node *node, bool chains,
                                                const uint32_t *waits, uint32_t wait_count,
                                                blis_error *error);

/*
 * Determines whether a node has ended when the next node, which waits for the given nodes, starts.
 * Costs O(log nodes) if first waits connect the two, otherwise up to O(waits of the nodes after
 * it).
 */
BLIS_MUSTUSE blis_status blis_graph_builder_has_ended(blis_graph_builder *builder, uint32_t node,
                                                      const uint32_t *waits, uint32_t wait_count,
                                                      bool *has_ended);

/* Returns the graph built so far, borrowed until the next change. Requires at least one node. */
blis_graph blis_graph_builder_get(blis_graph_builder *builder, uint32_t name, int64_t start_us);

#endif
