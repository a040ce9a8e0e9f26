/*
 * player_state.h - the state of a player of session graphs; for the player only.
 *
 * One module in several files. player.c contains the graphs and their requests,
 * player_copy.c their layout, player_tasks.c their outcomes, and player_lanes.c the
 * warm-up, the measurement, and idle times.
 */
#ifndef BLIS_WORKLOAD_GRAPH_PLAYER_STATE_H
#define BLIS_WORKLOAD_GRAPH_PLAYER_STATE_H

#include "base/array.h"
#include "base/containers/event_queue.h"
#include "base/containers/map.h"
#include "base/random.h"
#include "workload/graph/player.h"

typedef enum blis__node_state {
  BLIS__WAITING,
  BLIS__SUBMITTED,
  BLIS__COMPLETED,
  BLIS__GIVEN_UP
} blis__node_state;

/* Where a submitted node is. */
typedef enum blis__node_place {
  BLIS__NOWHERE,
  BLIS__AMONG_ROOTS,
  BLIS__READY, /* after the last end */
  BLIS__LATE,  /* it would arrive after the end: as if not submitted */
  BLIS__SENT,
  BLIS__THERE /* it has arrived; recorded only if idle times are capped */
} blis__node_place;

/* The lifecycle of a node. */
typedef struct blis__node {
  blis_call call;
  struct blis__live *live;
  int64_t number;   /* of its request, once it was sent */
  int64_t ready_us; /* the last end among its predecessors */
  int64_t arrival_us;
  int64_t end_us;
  int64_t queue_us; /* from its arrival */
  int64_t prefill_us;
  uint32_t waits_left;
  uint32_t waited_for; /* ended last; NO_NODE: a root */
  uint32_t first_dependant;
  uint32_t dependant_count;
  blis__node_state state;
  blis__node_place place;
  bool was_sent;
} blis__node;

/* A graph that is being played, in one piece of memory with all it has. */
typedef struct blis__live {
  blis_program program;
  blis_graph graph; /* a copy */
  blis__node *nodes;
  uint32_t *dependants;
  size_t size;
  int64_t start_us;
  int64_t busy_until_us; /* the last end of its requests, or its start */
  uint32_t play;
  uint32_t open;       /* nodes that are not over */
  uint32_t foreground; /* of these, those not in the background */
  uint32_t completed;
  int64_t cached_tokens; /* of the prompts of these */
  uint32_t lent;         /* roots that wait, or were sent and not yet released */
  uint32_t there;        /* requests that have arrived and are not over; see THERE */
  uint32_t lane;         /* of the warm-up */
  bool is_finished;      /* the only remaining nodes are roots that are not released */
  bool is_partial;       /* began in the warm-up: no task */
  bool is_broken;        /* a node outside the background was abandoned */
  bool has_foreground;
  bool holds_room;         /* of the concurrency */
  struct blis__live *next; /* in order of start */
  struct blis__live *previous;
} blis__live;

/* A place for one graph at a time, in the warm-up. */
typedef struct blis__lane {
  blis__live *live; /* NULL: there are no more graphs */
  uint32_t next;    /* node that it sends */
  int64_t left;     /* requests of the warm-up */
} blis__lane;

typedef struct blis__ready {
  blis__live *live;
  uint32_t node;
} blis__ready;

struct blis_graph_player {
  blis_alloc alloc;
  blis_graph_feed feed;
  blis_graph_play play;
  blis_arrival arrival;
  blis_random random;

  blis__live *first; /* graphs being played */
  blis__live *last;
  blis_map nodes;                /* nodes in flight, by number of the request */
  blis_event_queue *roots;       /* that wait for their time */
  BLIS_ARRAY(blis__ready) ready; /* after the last end, with their times */
  size_t next_ready;
  BLIS_ARRAY(uint32_t)
  over; /* nodes of a graph whose dependants are not notified yet */

  BLIS_ARRAY(blis__lane) lanes; /* of the warm-up */
  size_t warming;               /* of these */
  int64_t there;                /* requests that have arrived and are not over; see THERE */
  int64_t busy_until_us;        /* the last end or start of all */
  int64_t measured_us;          /* when the measurement began; -1 = not yet */
  bool has_begun;

  blis_graph next; /* of the feed, not yet played */
  bool has_next;
  bool is_over; /* the feed has no more */
  int64_t next_start_us;
  int64_t last_start_us;
  int64_t lap_start_us; /* of recorded starts, when played again */
  uint32_t play_number;
  int64_t started;
  int64_t taken;
  int64_t followed;
  uint64_t streams; /* assigned to graphs so far */
  BLIS_ARRAY(blis_join) joins;
  size_t joins_most;
  int64_t joins_left_out;
  BLIS_ARRAY(blis_task) tasks;
  size_t finished; /* of these; unfinished ones are shown in their current state */
};

/* Of player.c. */

/* A recorded time at the speed of this play. */
int64_t blis__player_scaled(const blis_graph_player *p, int64_t time_us);

/* Finds the next graph to play, unless one is already waiting. */
BLIS_MUSTUSE blis_status blis__player_need_next(blis_graph_player *p, blis_error *error);

/* Starts the next graph; none of its nodes is submitted. */
BLIS_MUSTUSE blis_status blis__player_start(blis_graph_player *p, int64_t start_us,
                                            blis__live **started, blis_error *error);

/* Submits a node without remaining waits: it arrives at after_us plus its delay. */
BLIS_MUSTUSE blis_status blis__player_submit(blis_graph_player *p, blis__live *l, uint32_t index,
                                             int64_t after_us);

/* Submits all nodes without waits; they idle no longer than allowed. */
BLIS_MUSTUSE blis_status blis__player_submit_free(blis_graph_player *p, blis__live *l,
                                                  int64_t at_us);

/* Whether a graph releases its place in the concurrency limit now. */
bool blis__player_gives_room(blis__live *l);

/* Starts another graph in a place that was released. */
BLIS_MUSTUSE blis_status blis__player_use_room(blis_graph_player *p, int64_t at_us,
                                               blis_error *error);

void blis__player_count_over(blis__live *l, uint32_t index);

/* All nodes of the graph are over: only its task remains. */
BLIS_MUSTUSE blis_status blis__player_finish(blis_graph_player *p, blis__live *l,
                                             blis_error *error);

/* Of player_copy.c. */

/* Allocates a copy of the graph for this play; NULL = out of memory. */
blis__live *blis__player_new_live(blis_graph_player *p, const blis_graph *graph);

/* Gives the sessions of a repeated graph new names. */
BLIS_MUSTUSE blis_status blis__player_rename_sessions(const blis_graph_player *p, blis__live *l);

/* Requires that none of its nodes was submitted and start_us is set. */
void blis__player_fill_live(const blis_graph_player *p, blis__live *l);

/* Of player_tasks.c. */

/* Was it sent, and has it ended? */
bool blis__player_has_ended(const blis__node *n);

/* The task in its current state. */
blis_task blis__player_task_of(const blis_graph_player *p, const blis__live *l);

/* Of player_lanes.c. */

/* With concurrency: the first graphs start, all at time 0. */
BLIS_MUSTUSE blis_status blis__player_begin(blis_graph_player *p, blis_error *error);

/* Nothing arrives after it; BLIS_TIME_NEVER_US = no end. */
int64_t blis__player_end_us(const blis_graph_player *p);

/* Requests are canceled at and after this time; BLIS_TIME_NEVER_US = never. */
int64_t blis__player_cancel_us(const blis_graph_player *p);

/* Handles the end of a warm-up request: its lane continues. */
BLIS_MUSTUSE blis_status blis__player_warmed(blis_graph_player *p, blis__node *n, int64_t end_us,
                                             blis_error *error);

/* Shortens waits if no request of the graph is in flight, ... */
BLIS_MUSTUSE blis_status blis__player_cap_tree(blis_graph_player *p, blis__live *l);
/* ... or nothing at all. */
BLIS_MUSTUSE blis_status blis__player_cap_all(blis_graph_player *p);

#endif
