/*
 * weka.h - conversations of Weka corpora, between a line of the file and a graph;
 * for graph files only.
 *
 * A conversation has agents, each with calls in order of time: the root, its
 * subagents (markers in its list), and the chains that one flat list turns out to
 * be (chains.h). An agent is spawned by a call of its parent and joined by a later
 * one, or by none: then it is in the background.
 *
 * The readings interpret this as follows (tools of August and September 2026, their
 * choices in our words).
 *
 *   reading         subagents                       content      delays
 *   design          spawned and joined; chains      hash ids     completion
 *   aiperf          spawned and joined; chains      hash ids     starts
 *   inference-perf  calls wait for the latest one   hash ids     completion
 *                   that had ended before they began
 *   guidellm        topology by the order of the    hash ids     completion
 *                   list alone, every level
 *   go-blis         left out                        growing      think time
 *                                                   context
 *   llm-d-router    sessions of their own from the  hash ids     completion
 *                   start, which share nothing      per session
 *   aisimulate      spawned and joined              hash ids     completion;
 *                                                                joins at once
 */
#ifndef BLIS_WORKLOAD_GRAPH_WEKA_H
#define BLIS_WORKLOAD_GRAPH_WEKA_H

#include "workload/graph/blocks.h"
#include "workload/graph/format.h"

#define BLIS__WEKA_NONE UINT32_MAX

typedef struct blis__weka_call {
  int64_t start_us; /* from the start of the conversation */
  int64_t end_us;
  int64_t think_us; /* -1 = not recorded */
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t first_id; /* in the blocks */
  uint32_t id_count;
  uint32_t model;  /* a number of strings */
  uint32_t served; /* number of the served name; 0 = any */
  bool is_streamed;
  bool calls_tool; /* it stopped to use one */
} blis__weka_call;

typedef struct blis__weka_agent {
  uint32_t session;           /* a number of strings */
  uint32_t parent;            /* an agent; BLIS__WEKA_NONE = the root */
  uint32_t spawned;           /* number of calls of the parent up to the spawning call */
  uint32_t joined;            /* the call of the parent that waits for it; the count of
                                 its calls = none */
  bool is_chain;              /* not marked in the file */
  bool is_background;         /* nothing in the foreground waits for it */
  uint32_t last_node;         /* of the graph, while that is built */
  BLIS_ARRAY(uint32_t) calls; /* in the conversation, in order */
} blis__weka_agent;

typedef struct blis__weka {
  blis_alloc alloc;
  uint32_t id; /* its name, a number of strings */
  int64_t line;
  uint32_t block_tokens;
  bool is_global; /* hash ids mean the same in all conversations */
  blis__blocks blocks;
  BLIS_ARRAY(blis__weka_call) calls;
  BLIS_ARRAY(blis__weka_agent) agents; /* parents precede children */
  size_t agent_count;                  /* in use; unused ones keep their memory */
} blis__weka;

/* A new agent without calls; its index is agent_count - 1. */
BLIS_MUSTUSE blis_status blis__weka_add_agent(blis__weka *w, const blis__weka_agent *agent);

/*
 * Splits the calls of an agent that belong to several contexts. A call continues
 * the chain whose last prompt it contains. It also continues a chain if it keeps
 * only the beginning of that prompt and no call uses the rest again (a compaction).
 * Otherwise it begins a new chain, which is spawned by the call with the longest
 * common beginning.
 */
BLIS_MUSTUSE blis_status blis__weka_split(blis__weka *w, uint32_t agent, blis__graph_rows *rows);

/* Builds the graph of a reading. */
BLIS_MUSTUSE blis_status blis__weka_build(blis__weka *w, blis__graph_rows *rows, blis_graph *graph,
                                          bool *is_empty, blis_error *error);

#endif
