/*
 * player.h - plays session graphs: a source of requests. Each request is sent when
 * its predecessors have ended in simulated time.
 *
 * A node first waits, is then submitted at its time (the last end among the nodes that it waits
 * for, plus its delay), and is then over. If a request is abandoned (rejected, timed out, failed,
 * unservable), the nodes that wait for it, directly or indirectly, are never submitted. Other
 * branches continue. With `continues`, waiting nodes are submitted as if the request had completed.
 *
 * A graph starts at its recorded time or at a random time. With concurrency, it starts when another
 * graph is complete: as soon as all foreground nodes of that graph are over, or one second later if
 * none of them succeeded.
 *
 * A task is the record of a played graph (blis_task). Its critical path goes back from the last end
 * to the start, from each node to the node that it waited for last. The delay, queue, prefill, and
 * decode times on the path add up exactly to the duration of the task.
 *
 * With concurrency, graphs can be played like a benchmark plays a corpus: a warm-up that starts in
 * the middle of graphs, then a measurement that repeats the corpus and shortens waits while nothing
 * runs. Graphs that started in the warm-up add load but do not count as tasks.
 *
 * Memory: the graphs in progress, plus 120 bytes per task. Time: about 100 ns per request.
 */
#ifndef BLIS_WORKLOAD_GRAPH_PLAYER_H
#define BLIS_WORKLOAD_GRAPH_PLAYER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/alloc.h"
#include "base/error.h"
#include "workload/arrival.h"
#include "workload/graph/graph.h"
#include "workload/request.h"

typedef struct blis_graph_play {
  /* Starts of graphs. With rate > 0 (graphs per second), graphs start at random times. With
     concurrency > 0, this number of graphs runs at the same time, from time 0. Otherwise graphs
     start as recorded, or at 0. rate and concurrency are mutually exclusive. */
  double rate;
  const blis_arrival_spec *arrival; /* NULL = poisson */
  int64_t concurrency;
  /* Maximum number of graphs; 0 = each graph of the feed once. A shorter feed is rewound, if
     possible: recorded starts continue after the last one, and every replay has different
     content and sessions. */
  int64_t count;
  /*
   * Used only with concurrency. Duration of the measurement after the warm-up, in
   * which graphs are repeated without limit; 0 = until all graphs are over.
   * Unfinished requests are canceled grace_us later; -1 = never.
   */
  int64_t duration_us;
  int64_t grace_us;
  /*
   * Used only with concurrency. Number of warm-up requests per graph, sent one by one, each with
   * one output token and without delays. The measurement starts when the last of them has ended.
   * With has_primers, each of the first graphs starts at a random node, and the node before it is
   * sent first.
   */
  int64_t warm_up_requests;
  bool has_primers;
  /*
   * Used only with concurrency. While no request of a graph (or of any graph) is in
   * flight, its next request is sent after at most this time, and its later
   * requests are moved forward equally. 0 = no limit.
   */
  int64_t tree_idle_cap_us;
  int64_t idle_cap_us;
  int64_t horizon_us; /* no request arrives after this time; 0 = no limit */
  int64_t timeout_us; /* for requests without their own timeout; 0 = none */
  double speed;       /* divides recorded starts and all delays */
  bool continues;     /* continues after abandoned requests */
  bool tells_future;  /* programs report their remaining work and the future reuse of content */
  int64_t seed;       /* seed of random starts */
} blis_graph_play;

/* Outcome of a task. */
typedef enum blis_task_state {
  BLIS_TASK_COMPLETED, /* all foreground nodes have completed */
  BLIS_TASK_BROKEN,    /* a foreground node was abandoned or never submitted */
  BLIS_TASK_UNFINISHED /* unfinished at the end of the run */
} blis_task_state;

typedef struct blis_task {
  uint32_t program; /* a number in the string table */
  uint32_t play;    /* number of previous plays of its graph */
  blis_task_state state;
  uint32_t requests; /* nodes of its graph */
  uint32_t submitted;
  uint32_t completed;
  uint32_t path_requests; /* number of requests on the critical path */
  int64_t start_us;
  int64_t end_us; /* end of its last foreground node */
  /* Parts of the critical path; their sum is end_us - start_us. */
  int64_t delay_us; /* delay without tool execution */
  int64_t tool_us;
  int64_t queue_us;
  int64_t prefill_us;
  int64_t decode_us;
  /* Totals over all ended requests, including background requests. */
  int64_t request_us; /* from arrival to end */
  int64_t waited_us;  /* delays of submitted nodes, including tool execution */
  /* Totals over completed requests. */
  int64_t prompt_tokens;
  int64_t cached_tokens; /* prompt tokens that were cached at the first admission */
  int64_t output_tokens;
} blis_task;

/* The parts of a request id (blis_request_id_of). */
typedef struct blis_join_end {
  int64_t number;
  uint32_t session; /* a number in the string table */
  int32_t round_index;
} blis_join_end;

/* A dependency: a sent request, and a request that it had waited for. */
typedef struct blis_join {
  blis_join_end parent;
  blis_join_end child;
} blis_join;

typedef struct blis_graph_player blis_graph_player;

/*
 * Copies *alloc, *feed, and *play; borrows the state of the feed. The caller owns *player. Returns
 * BLIS_ERR_INVALID if speed is not above 0, if both rate and concurrency are set, or if the arrival
 * process is unknown.
 */
BLIS_MUSTUSE blis_status blis_graph_player_new(const blis_alloc *alloc, const blis_graph_feed *feed,
                                               const blis_graph_play *play,
                                               blis_graph_player **player, blis_error *error);

/* NULL is allowed. */
void blis_graph_player_free(blis_graph_player *player);

/* Returns the requests as a source that borrows the player. */
blis_request_source blis_graph_player_source(blis_graph_player *player);

/*
 * Returns the tasks so far, with unfinished tasks last, in an order that depends only on the run.
 * Borrowed until the next call of the source. Returns NULL and *count = 0 if memory runs out.
 */
const blis_task *blis_graph_player_tasks(blis_graph_player *player, size_t *count);

/* Records up to `most` dependencies from the start; without this call, none are recorded. */
void blis_graph_player_keep_joins(blis_graph_player *player, size_t most);

/* Returns the dependencies in the order in which requests were sent, and the number of
   dependencies that were not recorded. Borrowed until the next call of the source. */
const blis_join *blis_graph_player_joins(const blis_graph_player *player, size_t *count,
                                         int64_t *left_out);

/* Numbers of tasks that are in progress, have ended, and have completed. */
typedef struct blis_task_counts {
  int64_t running;
  int64_t ended;
  int64_t completed;
} blis_task_counts;

/* Returns the counts of tasks so far. O(tasks). */
blis_task_counts blis_graph_player_task_counts(const blis_graph_player *player);

/* Returns the start of the measurement, and the end of arrivals (BLIS_TIME_NEVER_US = open).
   Returns false and sets -1 if it has not started, or if neither a warm-up nor a duration is
   set. */
bool blis_graph_player_measured(const blis_graph_player *player, int64_t *from_us, int64_t *to_us);

#endif
