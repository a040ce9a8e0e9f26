/*
 * player_lanes.c - plays graphs like benchmarks of agents do: the first graphs, the warm-up in
 * lanes, the measurement, and shortened waits.
 *
 * Source: the AgentX profile of AISimulate, mid 2026. Our additions: the node at which a lane
 * starts is drawn uniformly, and waits after a shortened wait are moved forward by the same amount.
 */
#include "base/time.h"
#include "workload/graph/player_state.h"

typedef blis__node node;
typedef blis__live live;

/* Times. */

int64_t blis__player_end_us(const blis_graph_player *p) {
  int64_t end_us = p->play.horizon_us > 0 ? p->play.horizon_us : BLIS_TIME_NEVER_US;
  if (p->play.duration_us > 0 && p->measured_us >= 0) {
    int64_t over_us = blis_time_after_us(p->measured_us, p->play.duration_us);
    end_us = over_us < end_us ? over_us : end_us;
  }
  return end_us;
}

int64_t blis__player_cancel_us(const blis_graph_player *p) {
  bool cancels = p->play.duration_us > 0 && p->play.grace_us >= 0 && p->measured_us >= 0;
  return cancels ? blis_time_after_us(blis_time_after_us(p->measured_us, p->play.duration_us),
                                      p->play.grace_us)
                 : BLIS_TIME_NEVER_US;
}

/*
 * Idle times start at the last end so far. Ends are not reported in order: while an engine plans
 * one step ahead, a completed request may end later than a request that is canceled in the
 * meantime.
 */

static bool is_timer(const node *n) {
  bool waits = n->state == BLIS__SUBMITTED && n->place != BLIS__THERE;
  return waits || n->place == BLIS__LATE;
}

static int64_t first_timer_us(const live *l, int64_t first_us) {
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    const node *n = &l->nodes[i];
    if (is_timer(n) && n->arrival_us < first_us) {
      first_us = n->arrival_us;
    }
  }
  return first_us;
}

/* Moves all waiting nodes of a graph forward; submitted requests are sent again. */
static blis_status bring_forward(blis_graph_player *p, live *l, int64_t earlier_us) {
  for (uint32_t i = 0; i < l->graph.node_count; i++) {
    node *n = &l->nodes[i];
    if (!is_timer(n)) {
      continue;
    }
    n->arrival_us -= earlier_us;
    if (n->place != BLIS__READY) {
      const blis__ready one = {l, i};
      BLIS_TRY(blis_array_push(&p->alloc, &p->ready, one));
      n->state = BLIS__SUBMITTED;
      n->place = BLIS__READY;
    }
  }
  return BLIS_OK;
}

static int64_t excess_us(int64_t first_us, int64_t since_us, int64_t cap_us) {
  bool is_long = first_us != BLIS_TIME_NEVER_US && first_us - since_us > cap_us;
  return is_long ? first_us - since_us - cap_us : 0;
}

blis_status blis__player_cap_tree(blis_graph_player *p, live *l) {
  if (p->play.tree_idle_cap_us == 0 || l->there > 0) {
    return BLIS_OK;
  }
  int64_t first_us = first_timer_us(l, BLIS_TIME_NEVER_US);
  int64_t earlier_us = excess_us(first_us, l->busy_until_us, p->play.tree_idle_cap_us);
  return earlier_us > 0 ? bring_forward(p, l, earlier_us) : BLIS_OK;
}

blis_status blis__player_cap_all(blis_graph_player *p) {
  if (p->play.idle_cap_us == 0 || p->there > 0) {
    return BLIS_OK;
  }
  int64_t first_us = BLIS_TIME_NEVER_US;
  for (const live *l = p->first; l != NULL; l = l->next) {
    first_us = first_timer_us(l, first_us);
  }
  int64_t earlier_us = excess_us(first_us, p->busy_until_us, p->play.idle_cap_us);
  for (live *l = p->first; earlier_us > 0 && l != NULL; l = l->next) {
    BLIS_TRY(bring_forward(p, l, earlier_us));
  }
  return BLIS_OK;
}

/* The warm-up. */

/* Ends a node without measuring it. */
static void pass(live *l, uint32_t index) {
  node *n = &l->nodes[index];
  n->state = BLIS__COMPLETED;
  blis__player_count_over(l, index);
  for (uint32_t i = 0; i < n->dependant_count; i++) {
    l->nodes[l->dependants[n->first_dependant + i]].waits_left--;
  }
}

/* Returns the next graph of a lane; NULL = no more graphs. */
static blis_status next_play(blis_graph_player *p, size_t lane, int64_t at_us, blis_error *error) {
  blis__lane *one = &p->lanes.items[lane];
  one->live = NULL;
  one->next = 0;
  BLIS_TRY(blis__player_need_next(p, error));
  if (p->has_next) {
    BLIS_TRY(blis__player_start(p, at_us, &one->live, error));
    one->live->is_partial = true;
    one->live->lane = (uint32_t)lane;
  }
  return BLIS_OK;
}

/*
 * Starts a graph at a random node: the nodes before it count as played, except the last of them,
 * the primer.
 */
static void begin_inside(blis_graph_player *p, blis__lane *one) {
  int32_t count = (int32_t)one->live->graph.node_count;
  uint32_t drawn = (uint32_t)blis_random_intn(&p->random, count);
  for (; one->next + 1 < drawn; one->next++) {
    pass(one->live, one->next);
  }
  one->left += drawn > 0;
}

static blis_status measure_lane(blis_graph_player *p, live *l, int64_t at_us, blis_error *error) {
  bool has_room = blis__player_gives_room(l);
  if (l->open == 0) {
    BLIS_TRY(blis__player_finish(p, l, error));
  } else {
    BLIS_TRY_MEM(blis__player_submit_free(p, l, at_us), error);
  }
  return has_room ? blis__player_use_room(p, at_us, error) : BLIS_OK;
}

/* Starts the measurement. The warm-up is over and nothing is in flight; all lanes continue
   unchanged. */
static blis_status measure(blis_graph_player *p, int64_t at_us, blis_error *error) {
  p->measured_us = at_us;
  for (size_t i = 0; i < p->lanes.count; i++) {
    live *l = p->lanes.items[i].live;
    if (l != NULL) {
      BLIS_TRY(measure_lane(p, l, at_us, error));
    }
  }
  return BLIS_OK;
}

/* Sends the lane's next request, or ends its warm-up. */
static blis_status step(blis_graph_player *p, size_t lane, int64_t at_us, blis_error *error) {
  blis__lane *one = &p->lanes.items[lane];
  while (one->live != NULL && one->left > 0) {
    live *l = one->live;
    if (one->next < l->graph.node_count) {
      uint32_t index = one->next++;
      one->left--;
      BLIS_TRY_MEM(blis__player_submit(p, l, index, at_us), error);
      l->nodes[index].arrival_us = at_us;
      return BLIS_OK;
    }
    BLIS_TRY(blis__player_finish(p, l, error));
    BLIS_TRY(next_play(p, lane, at_us, error));
  }
  return --p->warming == 0 ? measure(p, p->busy_until_us, error) : BLIS_OK;
}

blis_status blis__player_warmed(blis_graph_player *p, node *n, int64_t end_us, blis_error *error) {
  live *l = n->live;
  pass(l, (uint32_t)(n - l->nodes));
  return step(p, l->lane, end_us, error);
}

/* Creates as many lanes as there are graphs, up to the concurrency. */
static blis_status make_lanes(blis_graph_player *p, blis_error *error) {
  for (size_t i = 0; i < (size_t)p->play.concurrency; i++) {
    const blis__lane one = {.left = p->play.warm_up_requests};
    BLIS_TRY_MEM(blis_array_push(&p->alloc, &p->lanes, one), error);
    BLIS_TRY(next_play(p, i, 0, error));
    if (p->lanes.items[i].live == NULL) {
      p->lanes.count--;
      break;
    }
    if (p->play.has_primers) {
      begin_inside(p, &p->lanes.items[i]);
    }
  }
  return BLIS_OK;
}

static blis_status warm_up(blis_graph_player *p, blis_error *error) {
  BLIS_TRY(make_lanes(p, error));
  p->warming = p->lanes.count;
  for (size_t i = 0; i < p->lanes.count; i++) {
    BLIS_TRY(step(p, i, 0, error));
  }
  return BLIS_OK;
}

blis_status blis__player_begin(blis_graph_player *p, blis_error *error) {
  if (p->play.warm_up_requests > 0 || p->play.has_primers) {
    return warm_up(p, error);
  }
  p->measured_us = p->play.duration_us > 0 ? 0 : -1;
  for (int64_t i = 0; i < p->play.concurrency; i++) {
    BLIS_TRY(blis__player_need_next(p, error));
    live *l;
    if (!p->has_next) {
      break;
    }
    BLIS_TRY(blis__player_start(p, 0, &l, error));
    BLIS_TRY_MEM(blis__player_submit_free(p, l, 0), error);
  }
  return blis__player_cap_all(p) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}
