/*
 * player_state.h - the state of a player of session graphs; for player files only.
 *
 * The module has several files. player.c contains the graphs and their requests, player_copy.c
 * their layout, player_tasks.c their outcomes, and player_lanes.c the warm-up, the measurement, and
 * idle times.
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

/* State of a submitted node. */
typedef enum blis__node_place {
  BLIS__NOWHERE,
  BLIS__AMONG_ROOTS,
  BLIS__READY, /* ready since the last end of a request */
  BLIS__LATE,  /* would arrive after the end; treated as not submitted */
  BLIS__SENT,
  BLIS__THERE /* arrived; recorded only if idle times are capped */
} blis__node_place;

/* The lifecycle of a node. */
typedef struct blis__node {
  blis_call call;
  struct blis__live *live;
  int64_t number;   /* number of its request, once it was sent */
  int64_t ready_us; /* the last end among its predecessors */
  int64_t arrival_us;
  int64_t end_us;
  int64_t queue_us; /* time from its arrival to its admission */
  int64_t prefill_us;
  uint32_t waits_left;
  uint32_t waited_for; /* predecessor that ended last; NO_NODE for roots */
  uint32_t first_dependant;
  uint32_t dependant_count;
  blis__node_state state;
  blis__node_place place;
  bool was_sent;
} blis__node;

/* A graph in progress, in one block of memory with all its data. */
typedef struct blis__live {
  blis_program program;
  blis_graph graph; /* copy of the graph */
  blis__node *nodes;
  uint32_t *dependants;
  size_t size;
  int64_t start_us;
  int64_t busy_until_us; /* last end of any of its requests, or its start */
  uint32_t play;
  uint32_t open;       /* nodes that are not over */
  uint32_t foreground; /* foreground nodes that are not over */
  uint32_t completed;
  int64_t cached_tokens; /* cached tokens of completed prompts */
  uint32_t lent;         /* roots that are waiting, or were sent and not yet released */
  uint32_t there;        /* requests that have arrived and are not over; see THERE */
  uint32_t lane;         /* lane in the warm-up */
  bool is_finished;      /* the only remaining nodes are roots that are not released */
  bool is_partial;       /* started in the warm-up, so it is not a task */
  bool is_broken;        /* a node outside the background was abandoned */
  bool has_foreground;
  bool holds_room;         /* occupies a slot of the concurrency limit */
  struct blis__live *next; /* next graph in order of start */
  struct blis__live *previous;
} blis__live;

/* A concurrency slot in the warm-up, for one graph at a time. */
typedef struct blis__lane {
  blis__live *live; /* NULL = no more graphs */
  uint32_t next;    /* next node to send */
  int64_t left;     /* remaining warm-up requests */
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
  blis_map nodes;                /* nodes in flight, by request number */
  blis_event_queue *roots;       /* roots that wait for their arrival time */
  BLIS_ARRAY(blis__ready) ready; /* nodes that became ready at the last end, with their times */
  size_t next_ready;
  BLIS_ARRAY(uint32_t)
  over; /* nodes that are over, but whose dependents have not been notified yet */

  BLIS_ARRAY(blis__lane) lanes; /* lanes of the warm-up */
  size_t warming;               /* number of lanes that are still warming up */
  int64_t there;                /* requests that have arrived and are not over; see THERE */
  int64_t busy_until_us;        /* last end or start over all graphs */
  int64_t measured_us;          /* start of the measurement; -1 = not started */
  bool has_begun;

  blis_graph next; /* next graph of the feed */
  bool has_next;
  bool is_over; /* the feed has no more graphs */
  int64_t next_start_us;
  int64_t last_start_us;
  int64_t lap_start_us; /* offset of recorded starts when the feed is repeated */
  uint32_t play_number;
  int64_t started;
  int64_t taken;
  int64_t followed;
  uint64_t streams; /* number of streams assigned to graphs so far */
  BLIS_ARRAY(blis_join) joins;
  size_t joins_most;
  int64_t joins_left_out;
  BLIS_ARRAY(blis_task) tasks;
  size_t finished; /* number of finished tasks; unfinished tasks are reported in their current
                      state */
};

/* Functions of player.c. */

/* Returns a recorded time, scaled to the speed of the player. */
int64_t blis__player_scaled(const blis_graph_player *p, int64_t time_us);

/* Finds the next graph to play, unless one is already waiting. */
BLIS_MUSTUSE blis_status blis__player_need_next(blis_graph_player *p, blis_error *error);

/* Starts the next graph; none of its nodes is submitted. */
BLIS_MUSTUSE blis_status blis__player_start(blis_graph_player *p, int64_t start_us,
                                            blis__live **started, blis_error *error);

/* Submits a node that waits for nothing more: it arrives at after_us plus its delay. */
BLIS_MUSTUSE blis_status blis__player_submit(blis_graph_player *p, blis__live *l, uint32_t index,
                                             int64_t after_us);

/* Submits all nodes without waits, and applies the caps on idle times. */
BLIS_MUSTUSE blis_status blis__player_submit_free(blis_graph_player *p, blis__live *l,
                                                  int64_t at_us);

/* Returns whether a graph releases its concurrency slot now. */
bool blis__player_gives_room(blis__live *l);

/* Starts another graph in a released slot. */
BLIS_MUSTUSE blis_status blis__player_use_room(blis_graph_player *p, int64_t at_us,
                                               blis_error *error);

void blis__player_count_over(blis__live *l, uint32_t index);

/* Finishes a graph whose nodes are all over: only its task remains. */
BLIS_MUSTUSE blis_status blis__player_finish(blis_graph_player *p, blis__live *l,
                                             blis_error *error);

/* Functions of player_copy.c. */

/* Allocates a copy of the graph for this play; NULL = out of memory. */
blis__live *blis__player_new_live(blis_graph_player *p, const blis_graph *graph);

/* Assigns new names to the sessions of a repeated graph. */
BLIS_MUSTUSE blis_status blis__player_rename_sessions(const blis_graph_player *p, blis__live *l);

/* Fills the data of a graph. Requires that none of its nodes was submitted and that start_us is
   set. */
void blis__player_fill_live(const blis_graph_player *p, blis__live *l);

/* Functions of player_tasks.c. */

/* Returns whether the node was sent and has ended. */
bool blis__player_has_ended(const blis__node *n);

/* Returns the task in its current state. */
blis_task blis__player_task_of(const blis_graph_player *p, const blis__live *l);

/* Functions of player_lanes.c. */

/* With concurrency: starts the first graphs, all at time 0. */
BLIS_MUSTUSE blis_status blis__player_begin(blis_graph_player *p, blis_error *error);

/* Returns the time after which no request arrives; BLIS_TIME_NEVER_US = no end. */
int64_t blis__player_end_us(const blis_graph_player *p);

/* Returns the time from which requests are canceled; BLIS_TIME_NEVER_US = never. */
int64_t blis__player_cancel_us(const blis_graph_player *p);

/* Handles the end of a warm-up request: its lane continues. */
BLIS_MUSTUSE blis_status blis__player_warmed(blis_graph_player *p, blis__node *n, int64_t end_us,
                                             blis_error *error);

/* Shortens waits of the graph if none of its requests is in flight. */
BLIS_MUSTUSE blis_status blis__player_cap_tree(blis_graph_player *p, blis__live *l);
/* Shortens waits of all graphs if no request is in flight. */
BLIS_MUSTUSE blis_status blis__player_cap_all(blis_graph_player *p);

#endif
