#include "policy/replicas/replicas.h"

#include <stdlib.h>
#include <string.h>

#include "base/time.h"
#include "policy/contract/narrowed.h"
#include "policy/replicas/chooser.h"
#include "policy/replicas/replica.h"
#include "policy/replicas/timetable.h"

enum { FACTS_MAX = 16 };

static const blis_signal_set counts_in_flight =
    BLIS_SIGNAL_BIT(BLIS_SIGNAL_IN_FLIGHT) | BLIS_SIGNAL_BIT(BLIS_SIGNAL_REQUESTS);

/* The start or end of a fault. */
typedef struct turning_point {
  int64_t at_us;
  uint32_t fault;
  bool is_end;
} turning_point;

/* A view with a replica's own counts of requests in flight. */
typedef struct overlay {
  const blis_routing_view *base;
  blis_routing_view view;
  const double *seen;
  BLIS_ARRAY(double) column;
} overlay;

typedef struct replicas {
  blis__replica_world world;
  blis__replica *all;  /* options.count */
  blis_router *spares; /* policies of replicas that crash, in order; later, their former policies */
  size_t spare_count;
  size_t spares_used;
  blis__timetable timetable;
  blis__chooser chooser;
  blis_replica_fault *faults;
  turning_point *turning_points; /* two per fault, in order */
  size_t turning_count;
  size_t turned;
  uint64_t up;         /* a bit each */
  uint64_t partitions; /* active partitions, one bit each */
  uint32_t leader;     /* BLIS__NO_REPLICA = none holds the lease */
  int64_t lease_from_us;
  uint64_t fail_open_turn;
  int64_t fail_open_count;
  blis_random fail_open_random;
  blis__narrowed narrowed;
  overlay overlay;
  BLIS_ARRAY(bool) keep;
  int64_t connections[BLIS_REPLICAS_MAX];
  blis_decision_fact facts[FACTS_MAX];
} replicas;

static const blis_replica_options *options_of(const replicas *self) {
  return &self->world.options;
}

/* Returns the replica whose policy decides for a replica. With shared state, the first replica
   decides for all. */
static blis__replica *decider_of(const replicas *self, uint32_t replica) {
  return &self->all[options_of(self)->mode == BLIS_SYNC_SHARED ? 0 : replica];
}

static bool has_bit(uint64_t bits, uint32_t bit) {
  return (bits >> bit & 1) != 0;
}

/* Messages. */

static bool is_cut(const replicas *self, uint32_t sender, uint32_t receiver) {
  for (uint32_t f = 0; f < options_of(self)->fault_count && self->partitions != 0; f++) {
    uint64_t group = self->faults[f].replicas;
    if (has_bit(self->partitions, f) && has_bit(group, sender) != has_bit(group, receiver)) {
      return true;
    }
  }
  return false;
}

/* Returns NULL if the message is lost (sets *lost) or if out of memory (does not set *lost). */
static blis__mail *send(replicas *self, blis__replica *sender, uint32_t receiver, int64_t at_us,
                        int64_t arrival_us, uint32_t entries, bool *lost) {
  blis__replica *to = &self->all[receiver];
  uint64_t sequence = sender->sequence++;
  *lost = is_cut(self, sender->number, receiver) || !has_bit(self->up, receiver) ||
          blis__timetable_loses(&self->timetable, sender->number, receiver, sequence);
  if (*lost) {
    to->report.messages_lost++;
    return NULL;
  }
  blis__mail *mail = blis__mailbox_add(&to->mail, &self->world.alloc, arrival_us, sender->number,
                                       sequence, entries);
  if (mail != NULL) {
    mail->sent_us = at_us;
  }
  return mail;
}

static void count_message(const replicas *self, blis__replica *sender, int64_t entries) {
  sender->report.messages_sent++;
  sender->report.bytes_sent += entries * options_of(self)->bytes_per_entry;
}

/* Sends a decision of sender to all other replicas. */
static blis_status send_decision(replicas *self, blis__replica *sender, blis__note *note,
                                 int64_t now_us) {
  int64_t entries = blis__note_entries(note);
  for (uint32_t r = 0; r < options_of(self)->count; r++) {
    if (r == sender->number) {
      continue;
    }
    bool lost;
    int64_t arrival_us = blis__timetable_arrival(&self->timetable, options_of(self)->mode,
                                                 sender->number, r, now_us);
    count_message(self, sender, entries);
    blis__mail *mail = send(self, sender, r, now_us, arrival_us, 0, &lost);
    if (mail != NULL) {
      mail->kind = BLIS__MAIL_DECISION;
      mail->note = note;
      blis__note_keep(note);
    } else if (!lost) {
      return BLIS_ERR_NOMEM;
    }
  }
  return BLIS_OK;
}

/* Reports to the other replicas that a request of sender began or ended. */
static blis_status send_flight(replicas *self, blis__replica *sender, uint32_t number,
                               blis__mail_kind kind, int64_t now_us) {
  blis__flight *flight = blis_pool_item(&self->world.flights, number);
  for (uint32_t r = 0; r < options_of(self)->count; r++) {
    if (r == sender->number) {
      continue;
    }
    bool lost;
    count_message(self, sender, 1);
    blis__mail *mail = send(self, sender, r, now_us, now_us + options_of(self)->delay_us, 0, &lost);
    if (mail != NULL) {
      mail->kind = kind;
      mail->flight = number;
      flight->references++;
    } else if (!lost) {
      return BLIS_ERR_NOMEM;
    }
  }
  return BLIS_OK;
}

/* Publishes the counts of sender at a tick; also to sender itself, if it reads only published
   counts. */
static blis_status publish(replicas *self, blis__replica *sender, int64_t tick_us) {
  const blis_replica_options *options = options_of(self);
  uint32_t instances = options->instance_count;
  sender->has_news = false;
  for (uint32_t r = 0; r < options->count; r++) {
    if (r == sender->number && !options->own_is_published) {
      continue;
    }
    bool lost;
    int64_t arrival_us = tick_us + options->delay_us;
    if (options->mode == BLIS_SYNC_PULL_PUSH) {
      uint64_t pull = blis__timetable_next(&self->timetable, r, arrival_us);
      arrival_us = blis__timetable_tick(&self->timetable, r, pull);
    }
    blis__mail *mail = send(self, sender, r, tick_us, arrival_us, instances, &lost);
    if (mail != NULL) {
      mail->kind = BLIS__MAIL_COUNTS;
      memcpy(mail->counts, sender->own, instances * sizeof *mail->counts);
    } else if (!lost) {
      return BLIS_ERR_NOMEM;
    }
    sender->has_news |= lost;
  }
  return BLIS_OK;
}

static bool has_ticks(const blis_replica_options *options) {
  return options->shares_in_flight &&
         (options->mode == BLIS_SYNC_PERIODIC || options->mode == BLIS_SYNC_PULL_PUSH);
}

/* Runs the ticks of all replicas up to until_us. A tick without changes is only counted. */
static blis_status run_ticks(replicas *self, int64_t until_us) {
  const blis_replica_options *options = options_of(self);
  for (uint32_t r = 0; r < options->count && has_ticks(options); r++) {
    blis__replica *replica = &self->all[r];
    for (;; replica->next_tick++) {
      int64_t tick_us = blis__timetable_tick(&self->timetable, r, replica->next_tick);
      if (tick_us > until_us) {
        break;
      }
      if (!has_bit(self->up, r)) {
        continue;
      }
      replica->report.messages_sent += options->instance_count;
      replica->report.bytes_sent += (int64_t)options->instance_count * options->bytes_per_entry;
      if (replica->has_news) {
        BLIS_TRY(publish(self, replica, tick_us));
      }
    }
  }
  return BLIS_OK;
}

/* Faults. */

static void crash(replicas *self, uint32_t number, int64_t at_us) {
  bool is_shared = options_of(self)->mode == BLIS_SYNC_SHARED;
  blis__replica_crash(&self->all[number], &self->world,
                      is_shared ? NULL : &self->spares[self->spares_used]);
  self->spares_used++;
  self->up &= ~(UINT64_C(1) << number);
  if (self->leader == number) {
    self->leader = BLIS__NO_REPLICA;
    self->lease_from_us = at_us + options_of(self)->lease_us;
  }
}

static uint32_t number_of(uint64_t bits) {
  uint32_t number = 0;
  while (!has_bit(bits, number)) {
    number++;
  }
  return number;
}

static void turn(replicas *self, const turning_point *point) {
  const blis_replica_fault *fault = &self->faults[point->fault];
  if (!fault->is_crash) {
    self->partitions ^= UINT64_C(1) << point->fault;
  } else if (!point->is_end) {
    crash(self, number_of(fault->replicas), point->at_us);
  } else {
    uint32_t number = number_of(fault->replicas);
    self->up |= UINT64_C(1) << number;
    blis__replica_lose_mail(&self->all[number], &self->world, point->at_us);
  }
}

/* Runs everything between decisions and ends, up to until_us. */
static blis_status advance(replicas *self, int64_t until_us) {
  while (self->turned < self->turning_count &&
         self->turning_points[self->turned].at_us <= until_us) {
    const turning_point *point = &self->turning_points[self->turned++];
    BLIS_TRY(run_ticks(self, point->at_us - 1));
    turn(self, point);
  }
  return run_ticks(self, until_us);
}

/* The decision. */

static const double *overlay_column(void *ud, blis_signal signal) {
  overlay *over = ud;
  const blis_routing_view *base = over->base;
  if ((BLIS_SIGNAL_BIT(signal) & counts_in_flight) == 0) {
    return base->column(base->column_ud, signal);
  }
  for (size_t k = 0; k < base->count; k++) {
    double count = over->seen[base->instances[k]];
    over->column.items[k] = count > 0 ? count : 0;
  }
  return over->column.items;
}

/* Replaces the cluster's counts in the whole view with those of a replica. */
static blis_status lay_over(replicas *self, const blis__replica *replica,
                            const blis_routing_view **view) {
  overlay *over = &self->overlay;
  BLIS_TRY(blis_array_reserve(&self->world.alloc, &over->column, (*view)->count));
  over->base = *view;
  over->view = **view;
  over->seen = replica->seen;
  over->view.column = (*view)->column == NULL ? NULL : overlay_column;
  over->view.column_ud = over;
  bool is_read = false;
  static const blis_signal signals[] = {BLIS_SIGNAL_IN_FLIGHT, BLIS_SIGNAL_REQUESTS};
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    if ((*view)->columns[signals[i]] != NULL) {
      over->view.columns[signals[i]] = overlay_column(over, signals[i]);
      is_read = true;
    }
  }
  if (is_read) { /* extremes describe the cluster's column */
    over->view.extremes = NULL;
    over->view.rank_extremes = NULL;
  }
  *view = &over->view;
  return BLIS_OK;
}

static blis_status take_shard(replicas *self, uint32_t replica, const blis_routing_view **view) {
  size_t count = (*view)->count;
  BLIS_TRY(blis_array_reserve(&self->world.alloc, &self->keep, count));
  for (size_t k = 0; k < count; k++) {
    self->keep.items[k] = (*view)->instances[k] % options_of(self)->count == replica;
  }
  blis__narrowed_begin(&self->narrowed, *view);
  BLIS_TRY(blis__narrowed_keep(&self->narrowed, self->keep.items));
  *view = blis__narrowed_view(&self->narrowed);
  return BLIS_OK;
}

/* Converts a decision to indices of the whole view. */
static void widen(replicas *self, blis_decision *decision) {
  if (decision->rejected == NULL) {
    decision->chosen = blis__narrowed_place(&self->narrowed, decision->chosen);
  }
  decision->scores = NULL;
  decision->parts = NULL;
  decision->part_count = 0;
}

static void add_fact(replicas *self, uint32_t replica, blis_decision *decision) {
  size_t count = decision->fact_count < FACTS_MAX ? decision->fact_count : FACTS_MAX - 1;
  if (count > 0) {
    memmove(self->facts, decision->facts, count * sizeof *self->facts);
  }
  self->facts[count] = (blis_decision_fact){"router_replica", replica + 1.0};
  decision->facts = self->facts;
  decision->fact_count = count + 1;
}

/* Creates a flight without an owner. */
static blis_status begin_flight(replicas *self, uint32_t *number) {
  BLIS_TRY(blis_pool_take(&self->world.flights, number));
  blis__flight *flight = blis_pool_item(&self->world.flights, *number);
  memset(flight, 0, sizeof *flight + options_of(self)->count);
  flight->references = 1;
  return BLIS_OK;
}

static blis_status book(replicas *self, blis__replica *owner, uint32_t number, uint32_t instance,
                        int64_t now_us) {
  blis__flight *flight = blis_pool_item(&self->world.flights, number);
  flight->replica = owner->number;
  flight->incarnation = owner->incarnation;
  flight->instance = instance;
  owner->connections++;
  owner->report.requests++;
  blis__replica_count(owner, &self->world, instance, 1);
  return options_of(self)->shares_in_flight && options_of(self)->mode == BLIS_SYNC_EVENTS
             ? send_flight(self, owner, number, BLIS__MAIL_BEGAN, now_us)
             : BLIS_OK;
}

/* Lets the policy of the replica decide about shown. */
static blis_status ask_policy(replicas *self, uint32_t number, const blis_question *q,
                              const blis_routing_request *shown, blis_decision *decision) {
  blis__replica *replica = decider_of(self, number);
  const blis_routing_view *view = q->view;
  if (options_of(self)->shards_instances) {
    BLIS_TRY_MEM(take_shard(self, number, &view), q->error);
    if (view->count == 0) {
      *decision = (blis_decision){.rejected = "no-instance"};
      return BLIS_OK;
    }
  }
  if (options_of(self)->mode != BLIS_SYNC_SHARED) {
    BLIS_TRY_MEM(lay_over(self, replica, &view), q->error);
  }
  BLIS_TRY(replica->policy.ops->route(
      &(blis_question){replica->policy.state, shown, view, q->error}, decision));
  if (options_of(self)->shards_instances) {
    widen(self, decision);
  }
  return BLIS_OK;
}

static bool sends_decisions(const blis_replica_options *options) {
  return options->shares_decisions && options->mode != BLIS_SYNC_NONE &&
         options->mode != BLIS_SYNC_SHARED;
}

static blis_status note_decision(replicas *self, blis__replica *owner, const blis__chain_spy *spy,
                                 uint32_t instance, int64_t now_us) {
  if (!sends_decisions(options_of(self))) {
    return BLIS_OK;
  }
  blis__note *note = blis__note_new(&self->world.alloc, spy, instance);
  if (note == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis_status status = send_decision(self, owner, note, now_us);
  blis__note_release(&self->world.alloc, note);
  return status;
}

static blis_status route_at(replicas *self, uint32_t number, const blis_question *q,
                            blis_decision *decision) {
  blis__replica *owner = &self->all[number];
  uint32_t flight;
  BLIS_TRY(blis__replica_receive(owner, &self->world, q));
  BLIS_TRY_MEM(begin_flight(self, &flight), q->error);
  blis_routing_request shown;
  blis__chain_spy spy;
  blis__chain_spy_init(&spy, q->request, &shown);
  shown.ticket = &((blis__flight *)blis_pool_item(&self->world.flights, flight))->ticket;
  BLIS_TRY(ask_policy(self, number, q, &shown, decision));
  if (decision->rejected != NULL) {
    blis__flight_release(&self->world.flights, flight);
    return BLIS_OK;
  }
  uint32_t instance = q->view->instances[decision->chosen];
  q->request->ticket->values[0] = (int64_t)flight + 1;
  BLIS_TRY_MEM(book(self, owner, flight, instance, q->view->now_us), q->error);
  BLIS_TRY_MEM(note_decision(self, owner, &spy, instance, q->view->now_us), q->error);
  if (q->request->wants_parts) {
    add_fact(self, number, decision);
  }
  return BLIS_OK;
}

/* Handles a request that no replica can take. */
static void route_without(replicas *self, const blis_question *q, blis_decision *decision) {
  *decision = (blis_decision){.chosen = 0};
  q->request->ticket->values[0] = 0;
  self->fail_open_count++;
  switch (options_of(self)->fail_open) {
  case BLIS_FAIL_OPEN_RANDOM:
    decision->chosen = (size_t)blis_random_intn(&self->fail_open_random, (int32_t)q->view->count);
    break;
  case BLIS_FAIL_OPEN_ROUND_ROBIN:
    decision->chosen = (size_t)(self->fail_open_turn++ % q->view->count);
    break;
  case BLIS_FAIL_OPEN_REJECT:
    decision->rejected = "router-failed";
    break;
  }
}

/* Returns the replicas that may decide now. */
static uint64_t at_work(replicas *self, int64_t now_us) {
  if (!options_of(self)->is_active_passive) {
    return self->up;
  }
  if (self->leader == BLIS__NO_REPLICA && now_us >= self->lease_from_us && self->up != 0) {
    self->leader = number_of(self->up);
  }
  return self->leader == BLIS__NO_REPLICA ? 0 : UINT64_C(1) << self->leader;
}

static blis_status route(const blis_question *q, blis_decision *decision) {
  replicas *self = q->state;
  int64_t now_us = q->view->now_us;
  BLIS_TRY_MEM(advance(self, now_us), q->error);
  uint64_t up = at_work(self, now_us);
  if (up == 0) {
    route_without(self, q, decision);
    return BLIS_OK;
  }
  for (uint32_t r = 0; r < options_of(self)->count; r++) {
    self->connections[r] = self->all[r].connections;
  }
  uint32_t number = blis__chooser_pick(&self->chooser, q->request, up, self->connections);
  return route_at(self, number, q, decision);
}

static void first_token(void *state, blis_ticket *ticket, uint32_t instance,
                        const blis_request_times *times) {
  replicas *self = state;
  if (ticket->values[0] == 0) {
    return;
  }
  blis__flight *flight = blis_pool_item(&self->world.flights, (uint32_t)(ticket->values[0] - 1));
  const blis__replica *owner = &self->all[flight->replica];
  const blis_router *policy = &decider_of(self, flight->replica)->policy;
  if (owner->incarnation == flight->incarnation && policy->ops->first_token != NULL) {
    policy->ops->first_token(policy->state, &flight->ticket, instance, times);
  }
}

/* Handles the end of a request whose replica is still the one that routed it. */
static void end_flight(replicas *self, blis__replica *owner, uint32_t number, uint32_t instance,
                       const blis_request_times *times) {
  blis__flight *flight = blis_pool_item(&self->world.flights, number);
  const blis_router *policy = &decider_of(self, owner->number)->policy;
  owner->connections--;
  blis__replica_count(owner, &self->world, flight->instance, -1);
  if (policy->ops->ended != NULL) {
    policy->ops->ended(policy->state, &flight->ticket, instance, times);
  }
  if (options_of(self)->shares_in_flight && options_of(self)->mode == BLIS_SYNC_EVENTS) {
    /* If out of memory, the other replicas keep counting the request. */
    (void)send_flight(self, owner, number, BLIS__MAIL_ENDED, times->now_us);
  }
}

static void ended(void *state, blis_ticket *ticket, uint32_t instance,
                  const blis_request_times *times) {
  replicas *self = state;
  (void)advance(self, times->now_us - 1);
  if (ticket->values[0] == 0) {
    return;
  }
  uint32_t number = (uint32_t)(ticket->values[0] - 1);
  ticket->values[0] = 0;
  blis__flight *flight = blis_pool_item(&self->world.flights, number);
  blis__replica *owner = &self->all[flight->replica];
  if (owner->incarnation == flight->incarnation) {
    end_flight(self, owner, number, instance, times);
  }
  flight->has_ended = true;
  blis__flight_release(&self->world.flights, number);
}

/* Construction. */

static void free_spares(const blis_alloc *alloc, replicas *self) {
  for (size_t i = 0; self->spares != NULL && i < self->spare_count; i++) {
    blis_router_free(&self->spares[i]);
  }
  blis_alloc_free(alloc, self->spares, self->spare_count * sizeof *self->spares);
}

static void free_state(const blis_alloc *given, void *state) {
  replicas *self = state;
  (void)given;
  const blis_alloc *alloc = &self->world.alloc;
  const blis_replica_options *options = options_of(self);
  for (uint32_t r = 0; self->all != NULL && r < options->count; r++) {
    blis__replica_deinit(&self->all[r], &self->world);
  }
  blis_alloc_free(alloc, self->all, options->count * sizeof *self->all);
  free_spares(alloc, self);
  blis__chooser_deinit(&self->chooser, alloc);
  blis_alloc_free(alloc, self->faults, options->fault_count * sizeof *self->faults);
  blis_alloc_free(alloc, self->turning_points,
                  2 * options->fault_count * sizeof *self->turning_points);
  blis__narrowed_deinit(&self->narrowed);
  blis_array_deinit(alloc, &self->overlay.column);
  blis_array_deinit(alloc, &self->keep);
  blis_pool_deinit(&self->world.flights);
}

static const blis_router_ops ops = {
    .route = route, .first_token = first_token, .ended = ended, .free = free_state};

size_t blis_replicas_policy_count(const blis_replica_options *options) {
  size_t count = options->count;
  for (size_t i = 0; i < options->fault_count; i++) {
    count += options->faults[i].is_crash;
  }
  return count;
}

/* Ends come before starts at the same time. */
static int compare_points(const void *a, const void *b) {
  const turning_point *left = a;
  const turning_point *right = b;
  if (left->at_us != right->at_us) {
    return left->at_us < right->at_us ? -1 : 1;
  }
  if (left->is_end != right->is_end) {
    return left->is_end ? -1 : 1;
  }
  return (left->fault > right->fault) - (left->fault < right->fault);
}

static blis_status copy_faults(replicas *self, const blis_replica_options *options) {
  size_t count = options->fault_count;
  if (count == 0) {
    return BLIS_OK;
  }
  const blis_alloc *alloc = &self->world.alloc;
  self->faults = blis_alloc_new(alloc, count * sizeof *self->faults);
  self->turning_points = blis_alloc_new(alloc, 2 * count * sizeof *self->turning_points);
  if (self->faults == NULL || self->turning_points == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(self->faults, options->faults, count * sizeof *self->faults);
  for (uint32_t i = 0; i < count; i++) {
    const blis_replica_fault *fault = &self->faults[i];
    self->turning_points[2 * i] = (turning_point){fault->from_us, i, false};
    self->turning_points[2 * i + 1] = (turning_point){fault->until_us, i, true};
  }
  self->turning_count = 2 * count;
  qsort(self->turning_points, self->turning_count, sizeof *self->turning_points, compare_points);
  return BLIS_OK;
}

/* Moves the policies out of the list; the caller keeps the rest of the list. */
static blis_status take_policies(replicas *self, blis_router *policies) {
  const blis_alloc *alloc = &self->world.alloc;
  const blis_replica_options *options = options_of(self);
  self->spare_count = blis_replicas_policy_count(options) - options->count;
  self->all = blis_alloc_zeroed(alloc, options->count, sizeof *self->all);
  if (self->spare_count > 0) {
    self->spares = blis_alloc_zeroed(alloc, self->spare_count, sizeof *self->spares);
  }
  if (self->all == NULL || (self->spares == NULL && self->spare_count > 0)) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < self->spare_count; i++) {
    self->spares[i] = policies[options->count + i];
    policies[options->count + i] = (blis_router){0};
  }
  for (uint32_t r = 0; r < options->count; r++) {
    BLIS_TRY(blis__replica_init(&self->all[r], &self->world, r, &policies[r]));
  }
  return BLIS_OK;
}

static blis_status init(replicas *self, const blis_replica_options *options,
                        blis_router *policies) {
  const blis_alloc *alloc = &self->world.alloc;
  self->up = options->count == BLIS_REPLICAS_MAX ? UINT64_MAX : (UINT64_C(1) << options->count) - 1;
  self->leader = 0;
  /* Rounded up to a whole number of tickets, so that items are aligned. */
  size_t knowledge = (options->count + sizeof(blis_ticket) - 1) / sizeof(blis_ticket);
  blis_pool_init(&self->world.flights, alloc,
                 sizeof(blis__flight) + knowledge * sizeof(blis_ticket));
  blis_random_init_named(&self->fail_open_random, options->seed, "router-fail-open");
  blis__timetable_init(&self->timetable, options);
  self->narrowed.alloc = *alloc;
  BLIS_TRY(copy_faults(self, options));
  BLIS_TRY(blis__chooser_init(&self->chooser, alloc, options));
  return take_policies(self, policies);
}

static blis_status check_learning(const blis_replica_options *options, const blis_router *policy,
                                  blis_error *error) {
  if (!sends_decisions(options) || policy->ops->learn != NULL) {
    return BLIS_OK;
  }
  return blis_fail(error, BLIS_ERR_INVALID,
                   "routers.share: routing policy %s cannot observe the decisions of other "
                   "replicas; expected weighted, or a policy in Lua with a function observe",
                   policy->name);
}

/* Creates the router, with the needs of its policies. */
static blis_router router_of(replicas *self, const blis_alloc *alloc) {
  const blis_replica_options *options = options_of(self);
  const blis_router *first = &self->all[0].policy;
  return (blis_router){.ops = &ops,
                       .state = self,
                       .state_size = sizeof *self,
                       .alloc = *alloc,
                       .needs = first->needs,
                       .needs_extremes = first->needs_extremes,
                       .needs_least_load = first->needs_least_load,
                       /* Its decisions must not depend on when requests end. */
                       .is_blind = first->is_blind && !options->shares_in_flight &&
                                   options->balancer != BLIS_BALANCER_LEAST_CONNECTIONS &&
                                   options->fault_count == 0,
                       .name = first->name,
                       .entry = first->entry};
}

blis_status blis_replicas_new(const blis_alloc *alloc, const blis_replica_options *options,
                              blis_router *policies, blis_router *router, blis_error *error) {
  size_t count = blis_replicas_policy_count(options);
  blis_status status = check_learning(options, &policies[0], error);
  replicas *self = status == BLIS_OK ? blis_alloc_zeroed(alloc, 1, sizeof *self) : NULL;
  if (status == BLIS_OK && self == NULL) {
    status = blis_fail_nomem(error);
  }
  if (self != NULL) {
    self->world.alloc = *alloc;
    self->world.options = *options;
    if (init(self, options, policies) == BLIS_OK) {
      *router = router_of(self, alloc);
      return BLIS_OK;
    }
    status = blis_fail_nomem(error);
    free_state(alloc, self);
    blis_alloc_free(alloc, self, sizeof *self);
  }
  for (size_t i = 0; i < count; i++) {
    blis_router_free(&policies[i]);
  }
  return status;
}

/* Reports. */

uint32_t blis_replicas_count(const void *state) {
  const replicas *self = state;
  return options_of(self)->count;
}

static int64_t ghosts_of(const replicas *self, uint32_t replica) {
  int64_t ghosts = 0;
  for (uint32_t i = 0; i < self->world.flights.links.count; i++) {
    if (blis_pool_is_live(&self->world.flights, i)) {
      const blis__flight *flight = blis_pool_item(&self->world.flights, i);
      ghosts += flight->has_ended && flight->known[replica] == BLIS__COUNTED;
    }
  }
  return ghosts;
}

void blis_replicas_report(const void *state, uint32_t replica, blis_replica_report *report) {
  const replicas *self = state;
  *report = self->all[replica].report;
  report->in_flight = self->all[replica].connections;
  report->ghosts = ghosts_of(self, replica);
}

int64_t blis_replicas_fail_open_count(const void *state) {
  const replicas *self = state;
  return self->fail_open_count;
}
