/*
 * graph.h - the requests of one task and what they wait for.
 *
 * A graph has nodes, each of them a request that is sent when all those it waits
 * for have ended and its delay has passed. What a node waits for is above it in the
 * list, so that there are no circles. Nodes that wait for nothing are roots, and
 * begin with the graph. No node waits for a background node: it is load, but the
 * task is complete without it.
 *
 * Graphs are built node by node, and the prompts with them. A node that extends
 * another node begins with the prompt and answer of that node, and continues with
 * new tokens, as a conversation does. Any number of nodes may extend the same node.
 * Prefix caches therefore see the reuse of a real agent. A node of known content
 * (hash ids of a trace) brings it along.
 *
 * Content that only this graph uses is in streams BLIS_GRAPH_LOCAL + 0, 1, 2, ...;
 * the player of a graph replaces them by unique numbers. All other streams are
 * shared by all graphs.
 *
 * A node takes 250 bytes, and 16 for every piece of its prompt.
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

/* Extends nothing. */
#define BLIS_GRAPH_NO_NODE UINT32_MAX

/* Graphs larger than this are none that anybody has. */
enum { BLIS_GRAPH_MAX_NODES = 1000000 };

typedef struct blis_graph_node {
  /*
   * The request to send. The player sets arrival_us and number; deadline_us is
   * relative to the arrival.
   */
  blis_request request;
  /* From the last end of those it waits for, or from the graph's start. */
  int64_t delay_us;
  int64_t tool_us; /* how much of the delay is the work of tools */
  bool is_background;
  uint32_t parent_session; /* that the node's session was called by; 0 = none */
  uint32_t first_wait;     /* in the graph's waits */
  uint32_t wait_count;
  uint32_t extends; /* BLIS_GRAPH_NO_NODE: it extends no node */
} blis_graph_node;

/* Borrowed from who made it. */
typedef struct blis_graph {
  uint32_t name;    /* of the program: a number in the string table */
  int64_t start_us; /* from the first recorded start of its file on; -1 = whenever it is played */
  const blis_graph_node *nodes;
  uint32_t node_count; /* at least 1 */
  const uint32_t *waits;
  uint64_t local_streams; /* how many it has */
} blis_graph;

/* A source of graphs, in order. */
typedef struct blis_graph_feed {
  /*
   * The next graph, valid until the next call; *done = true at the end. Graphs with
   * a recorded start are in the order of their starts.
   */
  blis_status (*next)(void *state, blis_graph *graph, bool *done, blis_error *error);
  /* From the first one on again; NULL = that is not possible. */
  blis_status (*rewind)(void *state, blis_error *error);
  void *state;
  blis_intern *strings; /* the strings of the numbers in nodes; may grow */
} blis_graph_feed;

/* The nodes that a node waits for, for repeated queries; see lineage.c. */
typedef struct blis_graph_lineage {
  uint32_t jump;   /* an ancestor through first waits */
  uint32_t depth;  /* how many these are */
  uint32_t heir;   /* the last node found to begin after the end of this one */
  uint32_t search; /* the last search that visited it */
} blis_graph_lineage;

/* Builds graphs, one at a time. The members are private. */
typedef struct blis_graph_builder {
  blis_alloc alloc;
  BLIS_ARRAY(blis_graph_node) nodes;
  BLIS_ARRAY(uint32_t) waits;
  BLIS_ARRAY(blis_segment) segments;
  BLIS_ARRAY(size_t) first_segments;       /* by node */
  BLIS_ARRAY(bool) is_extended;            /* by node */
  BLIS_ARRAY(blis_graph_lineage) lineages; /* of the nodes when last asked */
  uint32_t searches;
  bool has_empty; /* segments, where a node may continue */
  uint64_t local_streams;
} blis_graph_builder;

/* Copies *alloc; allocates nothing yet. */
void blis_graph_builder_init(blis_graph_builder *builder, const blis_alloc *alloc);
void blis_graph_builder_deinit(blis_graph_builder *builder);

/* Begins another graph. */
void blis_graph_builder_clear(blis_graph_builder *builder);

/* Allocates streams for content of the caller; returns the first of them. */
uint64_t blis_graph_builder_streams(blis_graph_builder *builder, uint64_t count);

/*
 * Appends a node that waits for wait_count others, each of them below the number of
 * nodes so far. *node is copied with its segments.
 *
 * Content: with extends = BLIS_GRAPH_NO_NODE and chains = false, request.segments
 * are unchanged. Otherwise request.prompt_tokens > 0 is the number of new tokens.
 * They follow the context of extends, or the segments (for example a shared
 * prefix), and other nodes may extend them.
 *
 * BLIS_ERR_INVALID: too many nodes, or a prompt of more than
 * BLIS_WORKLOAD_MAX_TOKENS; the message does not name the node.
 */
BLIS_MUSTUSE blis_status blis_graph_builder_add(blis_graph_builder *builder,
                                                const blis_graph_node *node, bool chains,
                                                const uint32_t *waits, uint32_t wait_count,
                                                blis_error *error);

/*
 * Has a node ended when the next one, which waits for these, begins? Costs O(log
 * nodes) if first waits connect them, and otherwise up to O(waits of the nodes
 * after it).
 */
BLIS_MUSTUSE blis_status blis_graph_builder_has_ended(blis_graph_builder *builder, uint32_t node,
                                                      const uint32_t *waits, uint32_t wait_count,
                                                      bool *has_ended);

/* The graph built so far, borrowed until the next change. At least one node. */
blis_graph blis_graph_builder_get(blis_graph_builder *builder, uint32_t name, int64_t start_us);

#endif
