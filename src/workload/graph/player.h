/*
 * player.h - plays session graphs: a source of requests. Each request is sent when
 * its predecessors have ended in simulated time.
 *
 * A node is first waiting, then submitted at its time (the last end among the nodes
 * it waits for, plus its delay), then over. If a request is abandoned (rejected,
 * timed out, failed, unservable), all nodes that wait for it, directly or not, are
 * never submitted; other branches continue. With continues, waiting nodes are
 * submitted as if the request had been answered.
 *
 * A graph starts at its recorded time or at a random time. With concurrency, it
 * starts when another graph is complete: as soon as all nodes of that graph that
 * are not in the background are over, or one second later if none of them
 * succeeded.
 *
 * A task is the record of a played graph (blis_task). Its critical path leads from
 * its last end back to its start, from each node to the last node that it waited
 * for. The times of delays, queues, prefill, and decode on the path add up exactly
 * to the time of the task.
 *
 * With concurrency, graphs may be played as benchmarks play a corpus: a warm-up
 * that begins inside graphs, and then a measurement that repeats the corpus and
 * shortens waits while nothing runs. Graphs that began in the warm-up are load and
 * not tasks.
 *
 * Memory: the graphs that are being played, and 120 bytes per task. Costs about 100
 * ns per request.
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
  /* Starts of graphs. With rate > 0 (graphs per second), they start at random times of arrival.
     With concurrency > 0, this number of graphs runs at once, from time 0. Otherwise they start
     as recorded, or at 0. rate and concurrency exclude each other. */
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
   * Used only with concurrency. Number of warm-up requests per graph, sent one by
   * one, each with one output token and without delays. The measurement begins when
   * the last of them has ended. With has_primers the first graphs begin at a random
   * node, and the node before it is sent first.
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
  int64_t horizon_us; /* nothing arrives after it; 0 = none */
  int64_t timeout_us; /* of requests without their own timeout; 0 = none */
  double speed;       /* divides recorded starts and all delays */
  bool continues;     /* after abandoned requests */
  bool tells_future;  /* programs report their remaining work, and the reuse of content */
  int64_t seed;       /* of drawn starts */
} blis_graph_play;

/* Outcome of a task. */
typedef enum blis_task_state {
  BLIS_TASK_COMPLETED, /* every node that is not in the background */
  BLIS_TASK_BROKEN,    /* one of these was abandoned or never submitted */
  BLIS_TASK_UNFINISHED /* at the end of the run */
} blis_task_state;

typedef struct blis_task {
  uint32_t program; /* a number in the string table */
  uint32_t play;    /* how often its graph had been played before */
  blis_task_state state;
  uint32_t requests; /* nodes of its graph */
  uint32_t submitted;
  uint32_t completed;
  uint32_t path_requests; /* on the critical path */
  int64_t start_us;
  int64_t end_us; /* of its last node that is not in the background */
  /* Parts of the critical path; their sum is end_us - start_us. */
  int64_t delay_us; /* without delays of tools */
  int64_t tool_us;
  int64_t queue_us;
  int64_t prefill_us;
  int64_t decode_us;
  /* Total of all ended requests, including the background. */
  int64_t request_us; /* from arrival to end */
  int64_t waited_us;  /* delays of submitted nodes, including tools */
  /* Totals of completed requests. */
  int64_t prompt_tokens;
  int64_t cached_tokens; /* of these, in caches at the first admission */
  int64_t output_tokens;
} blis_task;

/* A request as its id names it (blis_request_id_of). */
typedef struct blis_join_end {
  int64_t number;
  uint32_t session; /* a number in the string table */
  int32_t round_index;
} blis_join_end;

/* A request was sent that had waited for another request. */
typedef struct blis_join {
  blis_join_end parent;
  blis_join_end child;
} blis_join;

typedef struct blis_graph_player blis_graph_player;

/*
 * Copies *alloc, *feed and *play; the feed's state is borrowed. The caller owns
 * *player. BLIS_ERR_INVALID: a speed that is not above 0, both rate and
 * concurrency, or an arrival process that is none.
 */
BLIS_MUSTUSE blis_status blis_graph_player_new(const blis_alloc *alloc, const blis_graph_feed *feed,
                                               const blis_graph_play *play,
                                               blis_graph_player **player, blis_error *error);

/* NULL is allowed. */
void blis_graph_player_free(blis_graph_player *player);

/* The requests as a source that borrows the player. */
blis_request_source blis_graph_player_source(blis_graph_player *player);

/*
 * The tasks so far, the unfinished ones last, in an order that depends only on the
 * run; borrowed until the next call of the source. NULL and *count = 0 if memory
 * runs out.
 */
const blis_task *blis_graph_player_tasks(blis_graph_player *player, size_t *count);

/* Records up to `most` joins from the start; without this call none are recorded. */
void blis_graph_player_keep_joins(blis_graph_player *player, size_t most);

/* Returns the dependencies in the order in which requests were sent; excess ones are counted.
   Borrowed until the next call of the source. */
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
   false and -1: it has not started, or neither a warm-up nor a duration is set. */
bool blis_graph_player_measured(const blis_graph_player *player, int64_t *from_us, int64_t *to_us);

#endif
