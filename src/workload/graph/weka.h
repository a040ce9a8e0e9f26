/*
 * weka.h - conversations of Weka corpora, as an intermediate form between a line of the file and a
 * graph; for graph files only.
 *
 * A conversation has agents, each with calls in order of time: the root, its subagents (markers in
 * its list), and the chains into which a flat list is split (chains.h). An agent is spawned by a
 * call of its parent and joined by a later call. An agent without a joining call runs in the
 * background.
 *
 * The dialects interpret this as follows (tools of August and September 2026, described in our own
 * words).
 *
 *   dialect         subagents                       content      delays
 *   design          spawned and joined; chains      hash ids     completion
 *   aiperf          spawned and joined; chains      hash ids     starts
 *   inference-perf  calls wait for the latest call  hash ids     completion
 *                   that ended before their start
 *   guidellm        topology only by the order of   hash ids     completion
 *                   the list, at every level
 *   go-blis         omitted                         growing      think time
 *                                                   context
 *   llm-d-router    separate sessions from their    hash ids     completion
 *                   start, which share nothing      per session
 *   aisimulate      spawned and joined              hash ids     completion;
 *                                                                joins immediately
 */
#ifndef BLIS_WORKLOAD_GRAPH_WEKA_H
#define BLIS_WORKLOAD_GRAPH_WEKA_H

#include "workload/graph/blocks.h"
#include "workload/graph/format.h"

#define BLIS__WEKA_NONE UINT32_MAX

typedef struct blis__weka_call {
  int64_t start_us; /* start, relative to the start of the conversation */
  int64_t end_us;
  int64_t think_us; /* -1 = not recorded */
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t first_id; /* index of the first id in the blocks */
  uint32_t id_count;
  uint32_t model;  /* a number of strings */
  uint32_t served; /* number of the served name; 0 = any */
  bool is_streamed;
  bool calls_tool; /* the response ended with a tool call */
} blis__weka_call;

typedef struct blis__weka_agent {
  uint32_t session;           /* a number of strings */
  uint32_t parent;            /* an agent; BLIS__WEKA_NONE = the root */
  uint32_t spawned;           /* number of calls of the parent up to the spawning call */
  uint32_t joined;            /* index of the parent's call that waits for it; the number of the
                                 parent's calls = none */
  bool is_chain;              /* found by splitting, not marked in the file */
  bool is_background;         /* no foreground call waits for it */
  uint32_t last_node;         /* last node in the graph, while the graph is built */
  BLIS_ARRAY(uint32_t) calls; /* indices in the conversation, in order */
} blis__weka_agent;

typedef struct blis__weka {
  blis_alloc alloc;
  uint32_t id; /* name of the conversation; number in strings */
  int64_t line;
  uint32_t block_tokens;
  bool is_global; /* hash ids are shared by all conversations */
  blis__blocks blocks;
  BLIS_ARRAY(blis__weka_call) calls;
  BLIS_ARRAY(blis__weka_agent) agents; /* parents precede children */
  size_t agent_count;                  /* agents in use; unused agents keep their memory */
} blis__weka;

/* Adds an agent without calls; its index is agent_count - 1. */
BLIS_MUSTUSE blis_status blis__weka_add_agent(blis__weka *w, const blis__weka_agent *agent);

/*
 * Splits the calls of an agent into chains with separate contexts. A call continues the chain whose
 * last prompt it contains. It also continues a chain if it contains only the start of that prompt
 * and no later call uses the rest (a compaction). Otherwise it starts a new chain, which is spawned
 * by the call with the longest common prefix.
 */
BLIS_MUSTUSE blis_status blis__weka_split(blis__weka *w, uint32_t agent, blis__graph_rows *rows);

/* Builds the graph according to a dialect. */
BLIS_MUSTUSE blis_status blis__weka_build(blis__weka *w, blis__graph_rows *rows, blis_graph *graph,
                                          bool *is_empty, blis_error *error);

#endif
