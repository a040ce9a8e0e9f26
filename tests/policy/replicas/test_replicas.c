/* Replicas of a routing policy: what each knows when, by worked examples and on random schedules.
 */
#include "policy/replicas/replicas.h"

#include "base/random.h"
#include "base/time.h"
#include "policy/replicas/timetable.h"
#include "routing_fixture.h"

enum { MS = 1000, SECOND = 1000000, INSTANCES = 4 };

/* A policy that sends each request where the test says, and notes what it sees. */
typedef struct probe {
  int decisions;
  int learned;
  int64_t last_learned; /* number of the request */
  size_t learned_at;    /* candidate */
  int ended;
  double seen[INSTANCES]; /* requests in flight, at its last decision */
} probe;

static size_t where;

static blis_status probe_route(const blis_question *q, blis_decision *decision) {
  probe *self = q->state;
  self->decisions++;
  for (size_t k = 0; k < q->view->count; k++) {
    self->seen[k] = q->view->columns[BLIS_SIGNAL_IN_FLIGHT][k];
  }
  (void)q->request->chain(q->request->chain_ud, 16);
  q->request->ticket->values[1] = q->request->number;
  *decision = (blis_decision){.chosen = where};
  return BLIS_OK;
}

static blis_status probe_learn(const blis_question *q, size_t chosen) {
  probe *self = q->state;
  const blis_block_chain *chain = q->request->chain(q->request->chain_ud, 16);
  CHECK_EQ_I64(chain->prompt_blocks, 2);
  CHECK_EQ_I64(chain->shared[1], 8);
  CHECK_EQ_I64(chain->shared[0], 7);
  self->learned++;
  self->last_learned = q->request->number;
  self->learned_at = chosen;
  return BLIS_OK;
}

static void probe_ended(void *state, blis_ticket *ticket, uint32_t instance,
                        const blis_request_times *times) {
  (void)instance, (void)times;
  probe *self = state;
  CHECK(ticket->values[1] > 0);
  self->ended++;
}

static const blis_router_ops probe_ops = {
    .route = probe_route, .learn = probe_learn, .ended = probe_ended};

/* Replicas of a probe, and the requests that they have. */
typedef struct bench {
  fixture f;
  probe probes[BLIS_REPLICAS_MAX];
  blis_router router;
  blis_ticket tickets[16];
  uint32_t chosen[16];
} bench;

static blis_replica_options usual_options(uint32_t count) {
  return (blis_replica_options){.count = count,
                                .instance_count = INSTANCES,
                                .seed = 5,
                                .vnodes = 16,
                                .every_us = 200 * MS,
                                .bytes_per_entry = 24};
}

static blis_status try_init(bench *b, const blis_replica_options *options,
                            const blis_router_ops *ops, blis_error *error) {
  blis_alloc alloc = blis_alloc_heap();
  blis_router policies[BLIS_REPLICAS_MAX] = {0};
  memset(b, 0, sizeof *b);
  fixture_init(&b->f, INSTANCES);
  for (size_t i = 0; i < blis_replicas_policy_count(options); i++) {
    policies[i] =
        (blis_router){.ops = ops, .state = &b->probes[i], .alloc = alloc, .name = "probe"};
  }
  return blis_replicas_new(&alloc, options, policies, &b->router, error);
}

/* A state on the stack is not freed. */
static void probe_free(const blis_alloc *alloc, void *state) {
  (void)alloc, (void)state;
}

static void bench_init(bench *b, const blis_replica_options *options) {
  static blis_router_ops with_free;
  blis_error error;
  with_free = probe_ops;
  with_free.free = probe_free;
  CHECK_OK(try_init(b, options, &with_free, &error), &error);
}

static blis_decision send(bench *b, int number, size_t instance, int64_t now_us) {
  static const blis_block_id shared[] = {7, 8};
  blis_block_chain chain = {.shared = shared, .shared_count = 2, .prompt_blocks = 2};
  blis_routing_request request = fixture_request(number, 32, &chain, &b->tickets[number]);
  where = instance;
  b->f.view.now_us = now_us;
  blis_decision decision = fixture_route(&b->router, &request, &b->f.view);
  b->chosen[number] = (uint32_t)decision.chosen;
  return decision;
}

static void end(bench *b, int number, int64_t now_us) {
  const blis_request_times times = {.now_us = now_us, .ttft_us = -1};
  b->router.ops->ended(b->router.state, &b->tickets[number], b->chosen[number], &times);
}

static blis_replica_report report_of(const bench *b, uint32_t replica) {
  blis_replica_report report;
  blis_replicas_report(b->router.state, replica, &report);
  return report;
}

/* Round-robin over two replicas: requests 1, 3, ... go to the first one. */
static double second_sees(bench *b, int number, int64_t now_us) {
  (void)send(b, number, 0, now_us);
  CHECK_EQ_I64(b->probes[1].decisions > 0, 1);
  return b->probes[1].seen[3];
}

/* Example 1: gauges every 200 ms that need 5 ms. */
static void gauges_show_what_is_in_flight_at_a_tick(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  options.mode = BLIS_SYNC_PERIODIC;
  options.shares_in_flight = true;
  options.delay_us = 5 * MS;
  bench_init(&b, &options);
  (void)send(&b, 1, 3, 37 * MS); /* by replica 0 */
  end(&b, 1, 150 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 2, 210 * MS), 0);
  blis_router_free(&b.router);

  bench_init(&b, &options);
  (void)send(&b, 1, 3, 37 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 2, 204 * MS), 0);
  end(&b, 2, 204 * MS);
  (void)send(&b, 3, 0, 204 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 4, 205 * MS), 1);
  end(&b, 1, 250 * MS);
  (void)send(&b, 5, 0, 251 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 6, 404 * MS), 1);
  (void)send(&b, 7, 0, 404 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 8, 405 * MS), 0);
  blis_router_free(&b.router);
}

/* Examples 2 and 3: an event each, and what becomes of lost ones. */
static void events_count_from_their_arrival(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  options.mode = BLIS_SYNC_EVENTS;
  options.shares_in_flight = true;
  options.delay_us = 5 * MS;
  bench_init(&b, &options);
  (void)send(&b, 1, 3, 37 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 2, 41 * MS), 0);
  (void)send(&b, 3, 0, 41 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 4, 42 * MS), 1);
  end(&b, 1, 150 * MS);
  (void)send(&b, 5, 0, 150 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 6, 154 * MS), 1);
  (void)send(&b, 7, 0, 154 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 8, 155 * MS), 0);
  CHECK_EQ_I64(report_of(&b, 1).ghosts, 0);
  blis_router_free(&b.router);

  options.loss = 1;
  bench_init(&b, &options);
  (void)send(&b, 1, 3, 37 * MS);
  end(&b, 1, 150 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 2, SECOND), 0);
  CHECK_EQ_I64(report_of(&b, 1).messages_lost, 2);
  CHECK_EQ_I64(report_of(&b, 0).messages_sent, 2);
  blis_router_free(&b.router);
}

/* A partition begins between the two events: the end is lost. */
static void a_ghost_lives_until_its_ttl(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  const blis_replica_fault cut = {.from_us = 100 * MS, .until_us = 160 * MS, .replicas = 1};
  options.mode = BLIS_SYNC_EVENTS;
  options.shares_in_flight = true;
  options.delay_us = 5 * MS;
  options.ttl_us = 300LL * SECOND;
  options.faults = &cut;
  options.fault_count = 1;
  bench_init(&b, &options);
  (void)send(&b, 1, 3, 37 * MS);
  end(&b, 1, 150 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 2, 200 * MS), 1);
  CHECK_EQ_I64(report_of(&b, 1).ghosts, 1);
  (void)send(&b, 3, 0, 201 * MS);
  CHECK_EQ_DOUBLE(second_sees(&b, 4, 37 * MS + 5 * MS + 300LL * SECOND - 1), 1);
  (void)send(&b, 5, 0, 37 * MS + 5 * MS + 300LL * SECOND - 1);
  CHECK_EQ_DOUBLE(second_sees(&b, 6, 37 * MS + 5 * MS + 300LL * SECOND), 0);
  CHECK_EQ_I64(report_of(&b, 1).ghosts, 0);
  blis_router_free(&b.router);
}

/* Example 4: a store that replicas push to and pull from every 10 s. */
static void pulls_come_before_pushes(void) {
  blis__timetable table;
  blis_replica_options options = usual_options(2);
  const int64_t phases_us[] = {0, 4 * SECOND};
  options.every_us = 10 * SECOND;
  blis__timetable_init(&table, &options);
  CHECK_EQ_I64(blis__timetable_arrival(&table, BLIS_SYNC_PULL_PUSH, 0, 1, 3 * SECOND), 20 * SECOND);
  options.phases_us = phases_us;
  blis__timetable_init(&table, &options);
  CHECK_EQ_I64(blis__timetable_arrival(&table, BLIS_SYNC_PULL_PUSH, 0, 1, 3 * SECOND), 14 * SECOND);
  CHECK_EQ_I64(blis__timetable_arrival(&table, BLIS_SYNC_PERIODIC, 0, 1, 3 * SECOND), 10 * SECOND);
  CHECK_EQ_I64(blis__timetable_arrival(&table, BLIS_SYNC_PERIODIC, 0, 1, 10 * SECOND), 20 * SECOND);
}

static void ticks_with_jitter_stay_in_order(void) {
  blis__timetable table;
  blis_replica_options options = usual_options(2);
  options.jitter = 0.45;
  blis__timetable_init(&table, &options);
  for (uint64_t k = 1; k < 2000; k++) {
    int64_t tick = blis__timetable_tick(&table, 1, k);
    CHECK(tick > blis__timetable_tick(&table, 1, k - 1));
    CHECK_EQ_I64(blis__timetable_next(&table, 1, tick - 1), k);
    CHECK_EQ_I64(blis__timetable_next(&table, 1, tick), k + 1);
  }
}

/* A replica observes the decisions of the others, also when these requests have ended. */
static void decisions_arrive_once(void) {
  bench b;
  blis_replica_options options = usual_options(3);
  options.mode = BLIS_SYNC_EVENTS;
  options.shares_decisions = true;
  options.delay_us = 10 * MS;
  bench_init(&b, &options);
  (void)send(&b, 1, 2, 0);
  end(&b, 1, 1 * MS);
  (void)send(&b, 2, 0, 9 * MS);
  CHECK_EQ_I64(b.probes[1].learned, 0);
  (void)send(&b, 3, 0, 10 * MS);
  CHECK_EQ_I64(b.probes[2].learned, 1);
  CHECK_EQ_I64(b.probes[2].last_learned, 1);
  CHECK_EQ_I64(b.probes[2].learned_at, 2);
  for (int i = 4; i < 10; i++) {
    (void)send(&b, i, 0, SECOND);
  }
  CHECK_EQ_I64(b.probes[0].learned, 2);
  CHECK_EQ_I64(b.probes[1].learned, 2);
  CHECK_EQ_I64(b.probes[2].learned, 2);
  blis_replica_report sums = report_of(&b, 0);
  CHECK_EQ_I64(sums.messages_received, 2);
  CHECK_EQ_I64(sums.bytes_sent, 3 * 2 * 2 * 24); /* 3 decisions, 2 receivers, 2 blocks */
  blis_router_free(&b.router);
}

/* The second of two replicas crashes: its requests go on, and nobody hears of their ends. */
static void a_crash_forgets_everything(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  const blis_replica_fault crash = {
      .from_us = 50 * MS, .until_us = 80 * MS, .is_crash = true, .replicas = 2};
  options.mode = BLIS_SYNC_EVENTS;
  options.shares_in_flight = true;
  options.faults = &crash;
  options.fault_count = 1;
  bench_init(&b, &options);
  (void)send(&b, 1, 1, 10 * MS);
  (void)send(&b, 2, 2, 10 * MS);
  (void)send(&b, 3, 0, 60 * MS);
  (void)send(&b, 4, 0, 60 * MS);
  CHECK_EQ_I64(b.probes[0].decisions, 3);
  CHECK_EQ_DOUBLE(b.probes[0].seen[2], 1);
  end(&b, 2, 70 * MS);
  CHECK_EQ_I64(b.probes[1].ended, 0);
  (void)send(&b, 5, 0, 90 * MS); /* in turn: by the second one again, with a new state */
  CHECK_EQ_I64(b.probes[2].decisions, 1);
  for (int k = 0; k < INSTANCES; k++) {
    CHECK_EQ_DOUBLE(b.probes[2].seen[k], 0);
  }
  CHECK_EQ_I64(report_of(&b, 1).in_flight, 1);
  CHECK_EQ_I64(report_of(&b, 0).ghosts, 1);
  blis_router_free(&b.router);
}

/* Example 10: nobody decides by policy until the lease has ended. */
static void a_lease_leaves_a_gap(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  const blis_replica_fault crash = {
      .from_us = 50 * SECOND, .until_us = BLIS_TIME_NEVER_US, .is_crash = true, .replicas = 1};
  options.is_active_passive = true;
  options.lease_us = 15 * SECOND;
  options.fail_open = BLIS_FAIL_OPEN_ROUND_ROBIN;
  options.faults = &crash;
  options.fault_count = 1;
  bench_init(&b, &options);
  (void)send(&b, 1, 1, 50 * SECOND - 1);
  CHECK_EQ_I64(b.probes[0].decisions, 1);
  CHECK_EQ_I64(send(&b, 2, 3, 50 * SECOND).chosen, 0);
  CHECK_EQ_I64(send(&b, 3, 3, 65 * SECOND - 1).chosen, 1);
  CHECK_EQ_I64(send(&b, 4, 3, 65 * SECOND).chosen, 3);
  CHECK_EQ_I64(b.probes[1].decisions, 1);
  CHECK_EQ_I64(blis_replicas_fail_open_count(b.router.state), 2);
  end(&b, 2, 70 * SECOND);
  blis_router_free(&b.router);
}

static void replicas_may_see_a_share_of_the_instances(void) {
  bench b;
  blis_replica_options options = usual_options(2);
  options.shards_instances = true;
  bench_init(&b, &options);
  CHECK_EQ_I64(send(&b, 1, 1, 0).chosen, 2); /* its second one */
  CHECK_EQ_I64(send(&b, 2, 1, 0).chosen, 3);
  CHECK_EQ_DOUBLE(b.probes[0].seen[1], 0);
  CHECK_EQ_I64(send(&b, 3, 0, 1).chosen, 0);
  CHECK_EQ_DOUBLE(b.probes[0].seen[1], 1);
  blis_router_free(&b.router);
}

static void a_policy_that_cannot_learn_is_named(void) {
  bench b;
  blis_error error;
  blis_replica_options options = usual_options(2);
  blis_router_ops ops = probe_ops;
  ops.learn = NULL;
  ops.free = probe_free;
  options.mode = BLIS_SYNC_EVENTS;
  options.shares_decisions = true;
  CHECK_STATUS(try_init(&b, &options, &ops, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "routing policy probe cannot observe");
}

static blis_replica_options random_options(blis_random *random, blis_replica_fault *faults) {
  blis_replica_options options = usual_options((uint32_t)blis_random_intn(random, 5) + 1);
  options.seed = blis_random_intn(random, 1000);
  options.balancer = (blis_balancer)blis_random_intn(random, 3);
  options.mode = (blis_sync_mode)blis_random_intn(random, 5);
  options.shares_in_flight = blis_random_intn(random, 2) != 0;
  options.shares_decisions = blis_random_intn(random, 2) != 0;
  options.own_is_published = options.mode == BLIS_SYNC_PERIODIC && options.shares_in_flight &&
                             blis_random_intn(random, 2) != 0;
  options.every_us = 1000 + blis_random_intn(random, 100000);
  options.jitter = blis_random_intn(random, 2) * 0.3;
  options.delay_us = blis_random_intn(random, 50000);
  options.loss = blis_random_intn(random, 2) * 0.2;
  options.ttl_us = blis_random_intn(random, 2) * 200000;
  options.is_active_passive = blis_random_intn(random, 4) == 0;
  options.lease_us = blis_random_intn(random, 100000);
  int64_t free_us = 0;
  options.fault_count = (size_t)blis_random_intn(random, 4);
  for (size_t i = 0; i < options.fault_count; i++) {
    int64_t from_us = free_us + blis_random_intn(random, 300000);
    free_us = from_us + 1 + blis_random_intn(random, 200000);
    faults[i] = (blis_replica_fault){
        .from_us = from_us,
        .until_us = free_us,
        .is_crash = blis_random_intn(random, 2) != 0,
        .replicas = UINT64_C(1) << blis_random_intn(random, (int32_t)options.count)};
  }
  options.faults = faults;
  return options;
}

/* Every request is counted once by its owner; counts never fall below 0 and end at 0. */
static void random_schedules_keep_the_books(void) {
  blis_random random;
  blis_random_init(&random, 11);
  for (int c = 0; c < CASES(3000); c++) {
    bench b;
    blis_replica_fault faults[4];
    blis_replica_options options = random_options(&random, faults);
    bench_init(&b, &options);
    bool is_live[16] = {false};
    int64_t now_us = 0, routed = 0;
    for (int step = 0; step < 60; step++) {
      int number = 1 + blis_random_intn(&random, 15);
      now_us += blis_random_intn(&random, 30000);
      if (is_live[number]) {
        end(&b, number, now_us);
      } else {
        (void)send(&b, number, (size_t)blis_random_intn(&random, INSTANCES), now_us);
        routed++;
      }
      is_live[number] = !is_live[number];
      for (size_t p = 0; p < blis_replicas_policy_count(&options); p++) {
        for (int k = 0; k < INSTANCES; k++) {
          CHECK(b.probes[p].seen[k] >= 0 && b.probes[p].seen[k] <= 15);
        }
      }
    }
    int64_t requests = blis_replicas_fail_open_count(b.router.state);
    int64_t in_flight = 0, sent = 0, settled = 0;
    for (int number = 1; number < 16; number++) {
      if (is_live[number]) {
        end(&b, number, now_us + 1);
      }
    }
    for (uint32_t r = 0; r < options.count; r++) {
      blis_replica_report report = report_of(&b, r);
      requests += report.requests;
      in_flight += report.in_flight;
      sent += report.messages_sent;
      settled += report.messages_received + report.messages_lost;
    }
    CHECK_EQ_I64(requests, routed);
    CHECK_EQ_I64(in_flight, 0);
    CHECK(options.mode != BLIS_SYNC_EVENTS || settled <= sent);
    CHECK(options.mode != BLIS_SYNC_EVENTS || options.loss > 0 || options.fault_count > 0 ||
          report_of(&b, 0).messages_lost == 0);
    blis_router_free(&b.router);
  }
}

int main(void) {
  RUN(gauges_show_what_is_in_flight_at_a_tick);
  RUN(events_count_from_their_arrival);
  RUN(a_ghost_lives_until_its_ttl);
  RUN(pulls_come_before_pushes);
  RUN(ticks_with_jitter_stay_in_order);
  RUN(decisions_arrive_once);
  RUN(a_crash_forgets_everything);
  RUN(a_lease_leaves_a_gap);
  RUN(replicas_may_see_a_share_of_the_instances);
  RUN(a_policy_that_cannot_learn_is_named);
  RUN(random_schedules_keep_the_books);
  return check_done();
}
