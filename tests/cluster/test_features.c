/* A cluster with a table of its own: what the core does for a feature that it does not name. */
#include <string.h>

#include "check.h"
#include "cluster/clock.h"
#include "cluster/construct/construct.h"
#include "cluster/feature.h"
#include "cluster/stages.h"
#include "cluster_fixture.h"

/* The feature holds each admitted request for 5 us, in the slot and with the events of the
   gateway queue, which is not in the table. */
#define SLOT BLIS_FEATURE_GATEWAY

enum { HOLD_US = 5 };

typedef struct holder {
  char calls[64]; /* a letter for each call of the descriptor's functions */
  size_t call_count;
  int64_t held;
  int64_t rooms;      /* hooks of BLIS__ROOM_MADE */
  int64_t after_all;  /* hooks of BLIS__EVENT_OVER */
  int64_t last_turns; /* and how many are to come */
  int64_t turns_left;
} holder;

static holder *the_holder;

static void note(char letter) {
  CHECK(the_holder->call_count + 1 < sizeof the_holder->calls);
  the_holder->calls[the_holder->call_count++] = letter;
}

static blis_status hold(void *ud, blis_cluster *cluster, const blis__news *news,
                        blis_error *error) {
  holder *h = ud;
  *news->is_taken = true;
  h->held++;
  blis__request_move(news->request, BLIS__HELD_ADMITTED);
  const blis_event event = {.time_us = cluster->now_us + HOLD_US,
                            .event_class = BLIS__CLUSTER_CYCLE,
                            .object = news->request};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event, NULL), error);
  return BLIS_OK;
}

static blis_status let_go(blis_cluster *cluster, const blis_event *event, blis_error *error) {
  ((holder *)blis__feature_state(cluster, SLOT))->held--;
  return blis__cluster_go_to_routing(cluster, event->object, error);
}

static blis_status count_room(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  (void)instance, (void)error;
  ((holder *)blis__feature_state(cluster, SLOT))->rooms++;
  return BLIS_OK;
}

static blis_status count_event(blis_cluster *cluster, uint32_t instance, blis_error *error) {
  (void)instance, (void)error;
  ((holder *)blis__feature_state(cluster, SLOT))->after_all++;
  return BLIS_OK;
}

static blis_status take_last_turn(blis_cluster *cluster, blis_error *error) {
  (void)error;
  holder *h = blis__feature_state(cluster, SLOT);
  h->last_turns++;
  cluster->hooks.last_turn_us = --h->turns_left > 0 ? cluster->now_us + 1000 : BLIS_TIME_NEVER_US;
  return BLIS_OK;
}

static blis_status prepare(blis_cluster *cluster, blis_error *error) {
  (void)error;
  note('p');
  CHECK(cluster->instances[0] == NULL && cluster->ids[0] != NULL);
  cluster->features[SLOT] = the_holder;
  return BLIS_OK;
}

static void watch(blis_cluster *cluster, blis_instance_events *events) {
  (void)cluster;
  note('w');
  CHECK(events->ended != NULL);
}

static void equip(blis_cluster *cluster, uint32_t instance, blis_instance_config *config) {
  (void)cluster, (void)instance, (void)config;
  note('e');
}

static blis_status start(blis_cluster *cluster, blis_error *error) {
  note('s');
  CHECK(cluster->instances[0] != NULL);
  blis__hooks_add(&cluster->hooks, BLIS__ROOM_MADE, count_room);
  blis__hooks_add(&cluster->hooks, BLIS__EVENT_OVER, count_event);
  cluster->hooks.last_turn = take_last_turn;
  cluster->hooks.last_turn_kind = "turn";
  cluster->hooks.last_turn_us = 1000;
  const blis__listener listener = {
      .ud = the_holder, .phase = BLIS__BOOKS, .on = {[BLIS__ADMITTED] = hold}};
  BLIS_TRY_MEM(blis__listeners_add(&cluster->listeners, &listener), error);
  return BLIS_OK;
}

static void free_holder(blis_cluster *cluster) {
  (void)cluster;
  note('f');
}

static int64_t waiting(const blis_cluster *cluster) {
  return ((const holder *)blis__feature_state(cluster, SLOT))->held;
}

static void list_pending(const blis_cluster *cluster, blis__pending_list *list) {
  const blis_pending_event event = {
      .time_us = cluster->now_us + 7, .kind = "planned", .instance = -1, .order = 30};
  blis__pending_list_add(list, &event);
}

static const blis__feature holding = {.slot = SLOT,
                                      .name = "holding",
                                      .prepare = prepare,
                                      .watch = watch,
                                      .equip = equip,
                                      .start = start,
                                      .free = free_holder,
                                      .event = let_go,
                                      .waiting = waiting,
                                      .list_pending = list_pending};
static const blis__feature *const all[] = {&holding};
static const blis__feature_table with_it = {all, 1};
static const blis__feature_table empty = {NULL, 0};

static void open_with(site *s, const blis__feature_table *table) {
  blis_error error;
  blis_policy_context context = site_context(s);
  blis_router router = {0};
  CHECK_OK(blis_router_create(&s->alloc, s->policy, s->params, &context, &router, &error), &error);
  CHECK_OK(site_prepare(s, &error), &error);
  CHECK_OK(blis__cluster_make(table, &s->alloc, &s->config, &router, &s->source.source,
                              blis_recorder_sink(s->recorder), &s->itl_us, &s->cluster, &error),
           &error);
}

static void a_feature_takes_part(void) {
  site s;
  holder h = {.turns_left = 3};
  the_holder = &h;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 3);
  open_with(&s, &with_it);
  CHECK_STR(h.calls, "pwees");
  CHECK_EQ_I64(blis__features_waiting(s.cluster), 0);
  site_run(&s);
  site_check_states_sum_up(&s, 3);
  CHECK(h.held == 0 && h.rooms > 0 && h.after_all > h.rooms);
  CHECK_EQ_I64(h.last_turns, 3);
  const blis_record *records = site_records(&s);
  for (size_t i = 0; i < 3; i++) {
    CHECK(records[i].scheduling_delay_us >= HOLD_US);
  }
  site_close(&s);
  CHECK_STR(h.calls, "pweesf");
  site_deinit(&s);
}

/* A cluster without features gives the results of a cluster with the usual table. */
static void without_features_a_cluster_runs(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 3);
  open_with(&s, &empty);
  site_run(&s);
  uint64_t hash = blis_recorder_hash(s.recorder);
  site_close(&s);
  CHECK(site_hash(&s) == hash);
  site_deinit(&s);
}

static void what_is_pending_is_listed(void) {
  site s;
  holder h = {.turns_left = 1};
  the_holder = &h;
  site_init(&s, blis_alloc_heap(), 1);
  site_add_slow_requests(&s, 1);
  open_with(&s, &with_it);
  blis_error error;
  bool done = false;
  while (h.held == 0) {
    CHECK_OK(blis_cluster_step(s.cluster, &done, &error), &error);
  }
  CHECK_EQ_I64(blis__features_waiting(s.cluster), 1);
  blis_pending_event events[8];
  size_t count = blis_cluster_pending_count(s.cluster);
  CHECK_EQ_I64((int64_t)count, 2);
  blis_cluster_pending_events(s.cluster, events);
  CHECK_STR(events[0].kind, "queue"); /* the class's own name, in 5 us */
  CHECK_STR(events[1].kind, "planned");
  site_run(&s);
  site_close(&s);
  site_deinit(&s);
}

static void every_class_has_an_owner(void) {
  for (int k = 0; k < BLIS__EVENT_CLASS_COUNT; k++) {
    const blis__event_class *its = blis__event_class_of(BLIS__EVENT_CLASS_FIRST + k);
    if (its->kind != NULL) {
      CHECK(its->owner == BLIS__OF_CORE || (its->owner >= 0 && its->owner < BLIS_FEATURE_COUNT));
      CHECK(strcmp(its->kind, "queue") != 0 || its->owner == BLIS_FEATURE_GATEWAY);
    }
  }
}

/* The least due time comes first; at equal times the lower class. */
static blis_status nothing(blis_cluster *cluster, blis_error *error) {
  (void)cluster, (void)error;
  return BLIS_OK;
}

static void sources_are_due_in_order(void) {
  blis__hooks hooks;
  blis__clock_source a = {.due_us = BLIS_TIME_NEVER_US, .event_class = 8, .run = nothing};
  blis__clock_source b = {.due_us = BLIS_TIME_NEVER_US, .event_class = 7, .run = nothing};
  blis__hooks_init(&hooks);
  blis__hooks_add_source(&hooks, &a);
  blis__hooks_add_source(&hooks, &b);
  CHECK_EQ_I64(blis__hooks_last_us(&hooks, NULL), -1);
  blis__hooks_set_due(&hooks, &a, 10);
  CHECK(hooks.sources_due_us == 10 && blis__hooks_first_due(&hooks) == &a);
  blis__hooks_set_due(&hooks, &b, 10);
  CHECK(blis__hooks_first_due(&hooks) == &b);
  blis__hooks_set_due(&hooks, &b, 11);
  CHECK(blis__hooks_first_due(&hooks) == &a && hooks.sources_due_us == 10);
  CHECK_EQ_I64(blis__hooks_last_us(&hooks, NULL), 11);
  blis__hooks_set_due(&hooks, &a, BLIS_TIME_NEVER_US);
  CHECK(blis__hooks_first_due(&hooks) == &b && hooks.sources_due_us == 11);
}

int main(void) {
  RUN(a_feature_takes_part);
  RUN(without_features_a_cluster_runs);
  RUN(what_is_pending_is_listed);
  RUN(every_class_has_an_owner);
  RUN(sources_are_due_in_order);
  return check_done();
}
