#include "workload/graph/player.h"

#include <math.h>

#include "base/invariant.h"
#include "base/time.h"
#include "workload/graph/player_state.h"
#include "workload/workload.h"

#define NO_NODE BLIS_GRAPH_NO_NODE

typedef blis__node node;
typedef blis__live live;

/* Times. */

int64_t blis__player_scaled(const blis_graph_player *p, int64_t time_us) {
  if (p->play.speed == 1) {
    return time_us;
  }
  double scaled_us = round((double)time_us / p->play.speed);
  return scaled_us < (double)BLIS_TIME_SPAN_MAX_US ? (int64_t)scaled_us : BLIS_TIME_SPAN_MAX_US;
}

static bool is_in_time(const blis_graph_player *p, int64_t time_us) {
  return time_us != BLIS_TIME_NEVER_US && time_us <= blis__player_end_us(p);
}

/* The feed. */

static blis_status play_again(blis_graph_player *p, bool *done, blis_error *error) {
  p->lap_start_us = p->last_start_us;
  p->play_number++;
  BLIS_TRY(p->feed.rewind(p->feed.state, error));
  return p->feed.next(p->feed.state, &p->next, done, error);
}

static int64_t start_of(blis_graph_player *p, const blis_graph *graph) {
  if (p->play.rate > 0) {
    return blis_time_after_us(p->last_start_us, blis_arrival_draw(&p->arrival, &p->random));
  }
  int64_t recorded_us = graph->start_us < 0 ? 0 : blis__player_scaled(p, graph->start_us);
  return blis_time_after_us(p->lap_start_us, recorded_us);
}

blis_status blis__player_need_next(blis_graph_player *p, blis_error *error) {
  bool may_wrap = p->play.count > 0 || p->play.duration_us > 0;
  bool wants_more = p->play.count == 0 || p->started < p->play.count;
  if (p->has_next || p->is_over || !wants_more) {
    return BLIS_OK;
  }
  bool done = false;
  BLIS_TRY(p->feed.next(p->feed.state, &p->next, &done, error));
  if (done && may_wrap && p->started > 0 && p->feed.rewind != NULL) {
    BLIS_TRY(play_again(p, &done, error));
  }
  p->is_over = done;
  p->has_next = !done;
  if (p->has_next && p->play.concurrency == 0) {
    p->next_start_us = start_of(p, &p->next);
    if (p->next_start_us < p->last_start_us) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "graph '%.100s' starts before the one in front of it",
                       blis_intern_text(p->feed.strings, p->next.name));
    }
  }
  return BLIS_OK;
}

/* Graphs in progress. */

static void append(blis_graph_player *p, live *l) {
  l->previous = p->last;
  if (p->last != NULL) {
    p->last->next = l;
  } else {
    p->first = l;
  }
  p->last = l;
}

static void free_live(blis_graph_player *p, live *l) {
  if (l->previous != NULL) {
    l->previous->next = l->next;
  } else {
    p->first = l->next;
  }
  if (l->next != NULL) {
    l->next->previous = l->previous;
  } else {
    p->last = l->previous;
  }
  blis_alloc_free(&p->alloc, l, l->size);
}

blis_status blis__player_finish(blis_graph_player *p, live *l, blis_error *error) {
  if (!l->is_partial) {
    BLIS_ASSERT(p->tasks.count == p->finished);
    BLIS_TRY_MEM(blis_array_push(&p->alloc, &p->tasks, blis__player_task_of(p, l)), error);
    p->finished++;
  }
  l->is_finished = true;
  if (l->lent == 0) {
    free_live(p, l);
  }
  return BLIS_OK;
}

/* Submission. */

static blis_join_end end_of_join(const live *l, uint32_t index) {
  const blis_request *request = &l->graph.nodes[index].request;
  return (blis_join_end){l->nodes[index].number, request->session, request->round_index};
}

/* Records the dependencies of a node that is being sent for the first time. */
static blis_status keep_joins(blis_graph_player *p, const live *l, uint32_t index) {
  const blis_graph_node *waiting = &l->graph.nodes[index];
  for (uint32_t i = 0; i < waiting->wait_count; i++) {
    uint32_t parent = l->graph.waits[waiting->first_wait + i];
    const node *n = &l->nodes[parent];
    if (!n->was_sent || n->state < BLIS__COMPLETED) {
      continue;
    }
    if (p->joins.count == p->joins_most) {
      p->joins_left_out++;
      continue;
    }
    const blis_join join = {end_of_join(l, parent), end_of_join(l, index)};
    BLIS_TRY(blis_array_push(&p->alloc, &p->joins, join));
  }
  return BLIS_OK;
}

static blis_status make_request(blis_graph_player *p, live *l, uint32_t index, int64_t number,
                                blis_request *request, blis_error *error) {
  node *n = &l->nodes[index];
  *request = l->graph.nodes[index].request;
  int64_t allowed_us = request->deadline_us > 0 ? request->deadline_us : p->play.timeout_us;
  int64_t cancel_us = blis__player_cancel_us(p);
  int64_t deadline_us =
      allowed_us > 0 ? blis_time_after_us(n->arrival_us, allowed_us) : BLIS_TIME_NEVER_US;
  deadline_us = cancel_us < deadline_us ? cancel_us : deadline_us;
  request->number = number;
  request->arrival_us = n->arrival_us;
  request->deadline_us = deadline_us != BLIS_TIME_NEVER_US ? deadline_us : 0;
  request->call = &n->call;
  if (p->warming > 0) {
    request->output_tokens = request->output_tokens > 0;
    request->max_output_tokens = 1;
  }
  n->number = number;
  n->place = BLIS__SENT;
  if (p->joins_most > 0 && !n->was_sent) {
    BLIS_TRY_MEM(keep_joins(p, l, index), error);
  }
  n->was_sent = true;
  BLIS_TRY_MEM(blis_map_put(&p->nodes, (uint64_t)number, (uintptr_t)n), error);
  return BLIS_OK;
}

blis_status blis__player_submit(blis_graph_player *p, live *l, uint32_t index, int64_t after_us) {
  node *n = &l->nodes[index];
  n->state = BLIS__SUBMITTED;
  n->place = BLIS__READY;
  n->arrival_us =
      blis_time_after_us(after_us, blis__player_scaled(p, l->graph.nodes[index].delay_us));
  const blis__ready one = {l, index};
  return blis_array_push(&p->alloc, &p->ready, one);
}

static void was_busy(int64_t *until_us, int64_t at_us) {
  *until_us = at_us > *until_us ? at_us : *until_us;
}

blis_status blis__player_submit_free(blis_graph_player *p, live *l, int64_t at_us) {
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    const node *n = &l->nodes[i];
    if (n->state == BLIS__WAITING && n->waits_left == 0) {
      BLIS_TRY(blis__player_submit(p, l, i, at_us));
    }
  }
  was_busy(&l->busy_until_us, at_us);
  return blis__player_cap_tree(p, l);
}

void blis__player_count_over(live *l, uint32_t index) {
  const node *n = &l->nodes[index];
  bool is_background = l->graph.nodes[index].is_background;
  l->open--;
  l->foreground -= !is_background;
  l->completed += n->state == BLIS__COMPLETED;
  l->is_broken = l->is_broken || (n->state == BLIS__GIVEN_UP && !is_background);
}

/* Handles the end of a predecessor of a node. The last end submits the node. */
static blis_status let_go(blis_graph_player *p, live *l, uint32_t index, uint32_t ended) {
  node *n = &l->nodes[index];
  const node *other = &l->nodes[ended];
  if (n->waited_for == NO_NODE || other->end_us > n->ready_us) {
    n->ready_us = other->end_us;
    n->waited_for = ended;
  }
  if (other->call.path_service_us > n->call.path_service_us) {
    n->call.path_service_us = other->call.path_service_us;
  }
  if (--n->waits_left > 0) {
    return BLIS_OK;
  }
  return blis__player_submit(p, l, index, n->ready_us);
}

/* Notifies the dependents of a node that it has ended. */
static blis_status tell_dependants(blis_graph_player *p, live *l, uint32_t index) {
  const node *n = &l->nodes[index];
  bool goes_on = n->state == BLIS__COMPLETED || (p->play.continues && blis__player_has_ended(n));
  for (uint32_t i = 0; i < n->dependant_count; i++) {
    uint32_t other = l->dependants[n->first_dependant + i];
    node *waiting = &l->nodes[other];
    if (goes_on) {
      BLIS_TRY(let_go(p, l, other, index));
    } else if (waiting->state == BLIS__WAITING) {
      waiting->state = BLIS__GIVEN_UP;
      waiting->end_us = -1;
      BLIS_TRY(blis_array_push(&p->alloc, &p->over, other));
    }
  }
  return BLIS_OK;
}

/* Ends a node, and its dependents that will never be submitted. */
static blis_status settle(blis_graph_player *p, live *l, uint32_t index) {
  p->over.count = 0;
  BLIS_TRY(blis_array_push(&p->alloc, &p->over, index));
  while (p->over.count > 0) {
    uint32_t next = p->over.items[--p->over.count];
    blis__player_count_over(l, next);
    BLIS_TRY(tell_dependants(p, l, next));
  }
  return BLIS_OK;
}

blis_status blis__player_start(blis_graph_player *p, int64_t start_us, live **started,
                               blis_error *error) {
  BLIS_ASSERT(p->has_next);
  live *l = blis__player_new_live(p, &p->next);
  BLIS_TRY_NEW(l, error);
  p->has_next = false;
  p->last_start_us = start_us;
  p->started++;
  append(p, l);
  BLIS_TRY_MEM(blis__player_rename_sessions(p, l), error);
  l->start_us = start_us;
  l->busy_until_us = start_us;
  was_busy(&p->busy_until_us, start_us);
  l->holds_room = true;
  blis__player_fill_live(p, l);
  *started = l;
  return BLIS_OK;
}

/* The source. */

/* Queues ready roots, which arrive with the requests of next(). */
static blis_status queue_roots(blis_graph_player *p) {
  for (size_t i = 0; i < p->ready.count; i++) {
    live *l = p->ready.items[i].live;
    uint32_t index = p->ready.items[i].node;
    const blis_event root = {.time_us = l->nodes[index].arrival_us, .number = index, .object = l};
    BLIS_TRY(blis_event_queue_push(p->roots, &root, NULL));
    l->nodes[index].place = BLIS__AMONG_ROOTS;
    l->lent++;
  }
  p->ready.count = 0;
  return BLIS_OK;
}

/* Starts graphs that are due before the first waiting root. */
static blis_status start_timed(blis_graph_player *p, blis_error *error) {
  for (;;) {
    BLIS_TRY(blis__player_need_next(p, error));
    bool is_due = p->has_next && p->next_start_us <= blis_event_queue_next_us(p->roots) &&
                  is_in_time(p, p->next_start_us);
    if (!is_due) {
      return BLIS_OK;
    }
    live *l;
    BLIS_TRY(blis__player_start(p, p->next_start_us, &l, error));
    BLIS_TRY_MEM(blis__player_submit_free(p, l, p->next_start_us), error);
    BLIS_TRY_MEM(queue_roots(p), error);
  }
}

/* Frees the memory of a graph that no request uses any longer. */
static void take_back(blis_graph_player *p, live *l) {
  if (--l->lent == 0 && l->is_finished) {
    free_live(p, l);
  }
}

/* Returns the next root that was not moved earlier. */
static bool pop_root(blis_graph_player *p, blis_event *root) {
  while (blis_event_queue_pop(p->roots, root)) {
    live *l = root->object;
    if (l->nodes[root->number].place == BLIS__AMONG_ROOTS) {
      return true;
    }
    take_back(p, l);
  }
  return false;
}

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  blis_graph_player *p = state;
  if (p->play.concurrency == 0) {
    BLIS_TRY(start_timed(p, error));
  } else if (!p->has_begun) { /* all other graphs start when these end */
    p->has_begun = true;
    BLIS_TRY(blis__player_begin(p, error));
    BLIS_TRY_MEM(queue_roots(p), error);
  }
  blis_event root;
  *done = !pop_root(p, &root) || !is_in_time(p, root.time_us);
  if (*done) {
    return BLIS_OK;
  }
  return make_request(p, root.object, (uint32_t)root.number, p->taken++, request, error);
}

/* Handles the arrival of a request. Returns false if the request was moved forward after it had
   been sent. */
static bool is_due(void *state, const blis_request *request) {
  blis_graph_player *p = state;
  uint64_t found;
  if (request->call == NULL) {
    return true; /* a request from a script */
  }
  if (!blis_map_get(&p->nodes, (uint64_t)request->number, &found)) {
    return false;
  }
  node *n = (node *)(uintptr_t)found;
  live *l = n->live;
  if (n->place != BLIS__SENT || n->number != request->number ||
      n->arrival_us != request->arrival_us) {
    if (request->number >= 0) {
      blis_map_remove(&p->nodes, (uint64_t)request->number);
      take_back(p, l);
    }
    return false;
  }
  n->place = BLIS__THERE;
  l->there++;
  p->there++;
  return true;
}

static void note_service(node *n, const blis_request *request) {
  blis_program *program = &n->live->program;
  int64_t service_us = n->end_us - n->arrival_us - n->queue_us;
  program->prompt_tokens += request->prompt_tokens;
  program->output_tokens += request->output_tokens;
  program->service_us += service_us;
  n->call.path_service_us += service_us;
}

static void note_end(node *n, const blis_request *request, const blis_request_outcome *outcome) {
  blis_program *program = &n->live->program;
  int64_t e2e_us = outcome->end_us - n->arrival_us;
  int64_t queue_us = outcome->scheduling_delay_us;
  int64_t ttft_us = outcome->ttft_us;
  n->end_us = outcome->end_us;
  was_busy(&n->live->busy_until_us, n->end_us);
  n->queue_us = queue_us < 0 || queue_us > e2e_us ? e2e_us : queue_us;
  n->prefill_us = ttft_us < 0 || ttft_us > e2e_us ? e2e_us - n->queue_us
                  : ttft_us > n->queue_us         ? ttft_us - n->queue_us
                                                  : 0;
  n->state = outcome->is_completed ? BLIS__COMPLETED : BLIS__GIVEN_UP;
  program->ended_requests++;
  program->requests_left -= program->requests_left > 0;
  if (outcome->is_completed) {
    n->live->cached_tokens += outcome->cached_tokens;
    note_service(n, request);
  }
}

/* A graph without foreground nodes releases its slot at its end. */
bool blis__player_gives_room(live *l) {
  bool is_over = l->foreground == 0 && (l->has_foreground || l->open == 0);
  bool gives = l->holds_room && is_over;
  l->holds_room = l->holds_room && !is_over;
  return gives;
}

/* Returns when a slot is free: immediately, or one second after a graph without any completed
   request, like a returning user. Without this delay, an endless sequence of graphs could be
   rejected at the same time. */
static int64_t room_us(const live *l, int64_t end_us) {
  return l->completed > 0 ? end_us : blis_time_after_us(end_us, 1000000);
}

blis_status blis__player_use_room(blis_graph_player *p, int64_t at_us, blis_error *error) {
  if (p->play.concurrency == 0) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__player_need_next(p, error));
  if (!p->has_next || !is_in_time(p, at_us)) {
    return BLIS_OK;
  }
  live *l;
  BLIS_TRY(blis__player_start(p, at_us, &l, error));
  BLIS_TRY_MEM(blis__player_submit_free(p, l, at_us), error);
  return BLIS_OK;
}

/* Returns the next request that has become ready and arrives before the end. */
static blis_status next_ready(void *state, blis_request *follow_up, bool *has_follow_up,
                              blis_error *error) {
  blis_graph_player *p = state;
  *has_follow_up = false;
  while (p->next_ready < p->ready.count) {
    const blis__ready *one = &p->ready.items[p->next_ready++];
    node *n = &one->live->nodes[one->node];
    if (is_in_time(p, n->arrival_us)) {
      /* A request that is moved forward keeps its number, unless it was a root. */
      int64_t number = n->number < 0 ? n->number : -++p->followed;
      *has_follow_up = true;
      return make_request(p, one->live, one->node, number, follow_up, error);
    }
    n->state = BLIS__WAITING; /* indefinitely, unless moved earlier */
    n->place = BLIS__LATE;
  }
  p->ready.count = 0;
  p->next_ready = 0;
  return BLIS_OK;
}

/* Handles the end of a request: its dependents become ready. */
static blis_status go_on(blis_graph_player *p, live *l, uint32_t index, int64_t end_us,
                         blis_error *error) {
  BLIS_TRY_MEM(settle(p, l, index), error);
  BLIS_TRY_MEM(blis__player_cap_tree(p, l), error);
  bool has_room = blis__player_gives_room(l);
  int64_t at_us = room_us(l, end_us);
  if (l->open == 0) {
    BLIS_TRY(blis__player_finish(p, l, error));
  }
  return has_room ? blis__player_use_room(p, at_us, error) : BLIS_OK;
}

static blis_status request_ended(void *state, const blis_request *request,
                                 const blis_request_outcome *outcome, blis_request *follow_up,
                                 bool *has_follow_up, blis_error *error) {
  blis_graph_player *p = state;
  uint64_t found;
  *has_follow_up = false;
  p->tasks.count = p->finished; /* removes unfinished tasks that were reported in between */
  bool is_ours =
      request->call != NULL && blis_map_get(&p->nodes, (uint64_t)request->number, &found);
  if (!is_ours) {
    return BLIS_OK; /* a request from a script */
  }
  node *n = (node *)(uintptr_t)found;
  live *l = n->live;
  if (request->number < 0) {
    blis_map_remove(&p->nodes, (uint64_t)request->number);
  }
  l->there -= n->place == BLIS__THERE;
  p->there -= n->place == BLIS__THERE;
  n->place = BLIS__NOWHERE;
  note_end(n, request, outcome);
  was_busy(&p->busy_until_us, outcome->end_us);
  if (p->warming > 0) {
    BLIS_TRY(blis__player_warmed(p, n, outcome->end_us, error));
  } else {
    BLIS_TRY(go_on(p, l, (uint32_t)(n - l->nodes), outcome->end_us, error));
  }
  BLIS_TRY_MEM(blis__player_cap_all(p), error);
  return next_ready(p, follow_up, has_follow_up, error);
}

static void release(void *state, const blis_request *request) {
  blis_graph_player *p = state;
  uint64_t found;
  if (request->number < 0 || request->call == NULL ||
      !blis_map_get(&p->nodes, (uint64_t)request->number, &found)) {
    return;
  }
  live *l = ((node *)(uintptr_t)found)->live;
  blis_map_remove(&p->nodes, (uint64_t)request->number);
  take_back(p, l);
}

blis_request_source blis_graph_player_source(blis_graph_player *player) {
  const blis_graph_play *play = &player->play;
  bool caps_idle = play->tree_idle_cap_us > 0 || play->idle_cap_us > 0;
  return (blis_request_source){.next = next_request,
                               .ended = request_ended,
                               .also = next_ready,
                               .release = release,
                               .is_due = caps_idle ? is_due : NULL,
                               .state = player,
                               .strings = player->feed.strings,
                               .count = -1};
}

/* Returns whether a graph is reported as unfinished. A graph that is over only waits for the
   release of its requests. */
static bool is_shown(const live *l) {
  return l->open > 0 && !l->is_partial;
}

const blis_task *blis_graph_player_tasks(blis_graph_player *player, size_t *count) {
  *count = 0;
  player->tasks.count = player->finished;
  for (const live *l = player->first; l != NULL; l = l->next) {
    if (is_shown(l) && blis_array_push(&player->alloc, &player->tasks,
                                       blis__player_task_of(player, l)) != BLIS_OK) {
      return NULL;
    }
  }
  *count = player->tasks.count;
  return player->tasks.items;
}

void blis_graph_player_keep_joins(blis_graph_player *player, size_t most) {
  player->joins_most = most;
}

const blis_join *blis_graph_player_joins(const blis_graph_player *player, size_t *count,
                                         int64_t *left_out) {
  *count = player->joins.count;
  *left_out = player->joins_left_out;
  return player->joins.items;
}

blis_task_counts blis_graph_player_task_counts(const blis_graph_player *player) {
  blis_task_counts counts = {.ended = (int64_t)player->finished};
  for (size_t i = 0; i < player->finished; i++) {
    counts.completed += player->tasks.items[i].state == BLIS_TASK_COMPLETED;
  }
  for (const live *l = player->first; l != NULL; l = l->next) {
    counts.running += is_shown(l);
  }
  return counts;
}

bool blis_graph_player_measured(const blis_graph_player *player, int64_t *from_us, int64_t *to_us) {
  *from_us = player->measured_us;
  *to_us = blis__player_end_us(player);
  return player->measured_us >= 0;
}

/* Construction. */

static blis_status check_play(const blis_graph_play *play, blis_error *error) {
  if (!(play->speed > 0)) {
    return blis_fail(error, BLIS_ERR_INVALID, "the speed of graphs is %g; it must be above 0",
                     play->speed);
  }
  if (play->rate > 0 && play->concurrency > 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "graphs start at a rate or with a concurrency, not both");
  }
  bool has_lanes = play->warm_up_requests > 0 || play->has_primers || play->duration_us > 0 ||
                   play->tree_idle_cap_us > 0 || play->idle_cap_us > 0;
  if (has_lanes && play->concurrency == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a warm-up, a duration and caps of idle times are for "
                     "graphs with a concurrency");
  }
  return play->rate > 0 && play->arrival != NULL
             ? blis_arrival_check(play->arrival, "arrival", error)
             : BLIS_OK;
}

blis_status blis_graph_player_new(const blis_alloc *alloc, const blis_graph_feed *feed,
                                  const blis_graph_play *play, blis_graph_player **player,
                                  blis_error *error) {
  static const blis_arrival_spec poisson = {.process = "poisson"};
  BLIS_TRY(check_play(play, error));
  blis_graph_player *p = blis_alloc_zeroed(alloc, 1, sizeof *p);
  BLIS_TRY_NEW(p, error);
  p->alloc = *alloc;
  p->feed = *feed;
  p->play = *play;
  p->play.arrival = NULL; /* not stored */
  p->measured_us = -1;
  blis_map_init(&p->nodes, alloc);
  blis_random_init_named(&p->random, play->seed, "workload-graphs");
  if (play->rate > 0) {
    blis_arrival_init(&p->arrival, play->arrival != NULL ? play->arrival : &poisson,
                      play->rate / 1e6);
  }
  p->roots = blis_event_queue_new(alloc);
  if (p->roots == NULL || blis_map_reserve(&p->nodes, 64) != BLIS_OK) {
    blis_graph_player_free(p);
    return blis_fail_nomem(error);
  }
  *player = p;
  return BLIS_OK;
}

void blis_graph_player_free(blis_graph_player *player) {
  if (player == NULL) {
    return;
  }
  blis_alloc alloc = player->alloc;
  while (player->first != NULL) {
    free_live(player, player->first);
  }
  blis_event_queue_free(player->roots);
  blis_map_deinit(&player->nodes);
  blis_array_deinit(&alloc, &player->ready);
  blis_array_deinit(&alloc, &player->lanes);
  blis_array_deinit(&alloc, &player->over);
  blis_array_deinit(&alloc, &player->joins);
  blis_array_deinit(&alloc, &player->tasks);
  blis_alloc_free(&alloc, player, sizeof *player);
}
