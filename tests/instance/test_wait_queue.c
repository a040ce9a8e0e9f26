/* The wait queue against an array that is sorted by insertion. */
#include "instance/parts/wait_queue.h"

#include "base/random.h"
#include "check.h"
#include "instance/request/instance_id.h"

enum { REQUESTS = 40 };

typedef struct world {
  blis__wait_queue queue;
  blis__waiting nodes[REQUESTS];
  blis_live_request requests[REQUESTS];
  bool is_in[REQUESTS];
  int model[REQUESTS]; /* which ones, head first */
  int count;
} world;

static bool model_before(blis_scheduler_kind scheduler, const blis_live_request *a,
                         const blis_live_request *b, bool orders_ids_as_text) {
  if (scheduler == BLIS_SCHEDULER_FCFS) {
    return false;
  }
  double keys[2];
  const blis_live_request *both[2] = {a, b};
  for (int i = 0; i < 2; i++) {
    keys[i] = scheduler == BLIS_SCHEDULER_SJF ? (double)both[i]->prompt_tokens : -both[i]->priority;
    if (scheduler == BLIS_SCHEDULER_REVERSE_PRIORITY) {
      keys[i] = -keys[i];
    }
  }
  if (keys[0] != keys[1]) {
    return keys[0] < keys[1];
  }
  if (scheduler == BLIS_SCHEDULER_SCRIPTED) {
    return false;
  }
  if (a->arrival_us != b->arrival_us) {
    return a->arrival_us < b->arrival_us;
  }
  if (!orders_ids_as_text) {
    return a->number < b->number;
  }
  char ids[2][40];
  for (int i = 0; i < 2; i++) {
    snprintf(ids[i], sizeof ids[i], "request_%" PRId64, both[i]->number);
  }
  return strcmp(ids[0], ids[1]) < 0;
}

static void model_sort(world *w) {
  for (int i = 1; i < w->count; i++) {
    int moved = w->model[i];
    int k = i;
    while (k > 0 && model_before(w->queue.config->scheduler, &w->requests[moved],
                                 &w->requests[w->model[k - 1]],
                                 w->queue.config->defects.orders_ids_as_text)) {
      w->model[k] = w->model[k - 1];
      k--;
    }
    w->model[k] = moved;
  }
}

static void model_remove(world *w, int removed) {
  int i = 0;
  while (w->model[i] != removed) {
    i++;
  }
  w->count--;
  memmove(&w->model[i], &w->model[i + 1], (size_t)(w->count - i) * sizeof *w->model);
}

static blis_status by_priority(void *ud, const blis_live_request *a, const blis_live_request *b,
                               bool *before, blis_error *error) {
  int *calls_left = ud;
  if (--*calls_left == 0) {
    return blis_fail(error, BLIS_ERR_POLICY, "cannot compare");
  }
  *before = a->priority > b->priority;
  return BLIS_OK;
}

static void check_same(const world *w) {
  CHECK(blis__wait_queue_check(&w->queue));
  CHECK_EQ_I64(w->queue.count, w->count);
  const blis__waiting *node = w->queue.head;
  for (int i = 0; i < w->count; i++) {
    CHECK(node == &w->nodes[w->model[i]]);
    node = node->after;
  }
}

static void change_both(world *w, blis_random *random) {
  int i = blis_random_intn(random, REQUESTS);
  if (w->is_in[i]) {
    blis__wait_queue_remove(&w->queue, &w->nodes[i]);
    model_remove(w, i);
  } else if (blis_random_intn(random, 4) == 0) {
    blis__wait_queue_push_front(&w->queue, &w->nodes[i]);
    memmove(&w->model[1], &w->model[0], (size_t)w->count * sizeof *w->model);
    w->model[0] = i;
    w->count++;
  } else {
    blis__wait_queue_push_back(&w->queue, &w->nodes[i]);
    w->model[w->count++] = i;
  }
  w->is_in[i] = !w->is_in[i];
}

static void init(world *w, const blis_instance_config *config, blis_random *random) {
  *w = (world){.count = 0};
  blis__wait_queue_init(&w->queue, config);
  for (int i = 0; i < REQUESTS; i++) {
    w->requests[i] = (blis_live_request){
        .number = i * 7,
        .arrival_us = blis_random_intn(random, 3),
        .prompt_tokens = blis_random_intn(random, 4),
        .priority = (double)blis_random_intn(random, 4) - 1.5,
    };
    w->nodes[i].request = &w->requests[i];
  }
}

static void test_every_scheduler(void) {
  for (int turn = 0; turn <= 2 * BLIS_SCHEDULER_SCRIPTED + 1; turn++) {
    const int scheduler = turn / 2;
    int endless = 0;
    blis_instance_config config = {.scheduler = (blis_scheduler_kind)scheduler,
                                   .defects.orders_ids_as_text = turn % 2 == 1,
                                   .goes_before = by_priority,
                                   .goes_before_ud = &endless};
    blis_random random;
    blis_random_init(&random, scheduler);
    world w;
    init(&w, &config, &random);
    for (int round = 0; round < 2500; round++) {
      change_both(&w, &random);
      if (blis_random_intn(&random, 3) == 0) {
        blis_error error;
        endless = 0; /* counts down: never reaches 0 */
        CHECK_OK(blis__wait_queue_order(&w.queue, &error), &error);
        model_sort(&w);
      }
      check_same(&w);
    }
  }
}

static void test_failing_script_loses_nobody(void) {
  int calls_left;
  blis_instance_config config = {.scheduler = BLIS_SCHEDULER_SCRIPTED,
                                 .goes_before = by_priority,
                                 .goes_before_ud = &calls_left};
  bool has_succeeded = false;
  for (int fail_at = 1; !has_succeeded; fail_at++) {
    blis_random random;
    blis_random_init(&random, 5);
    world w;
    init(&w, &config, &random);
    for (int i = 0; i < REQUESTS; i++) {
      blis__wait_queue_push_back(&w.queue, &w.nodes[i]);
    }
    blis_error error;
    calls_left = fail_at;
    has_succeeded = blis__wait_queue_order(&w.queue, &error) == BLIS_OK;
    CHECK(blis__wait_queue_check(&w.queue));
    CHECK_EQ_I64(w.queue.count, REQUESTS);
    int64_t numbers = 0;
    for (const blis__waiting *n = w.queue.head; n != NULL; n = n->after) {
      numbers += n->request->number;
    }
    CHECK_EQ_I64(numbers, 7 * REQUESTS * (REQUESTS - 1) / 2);
  }
}

static void test_an_ordered_queue_costs_one_look_each(void) {
  int calls_left = 0;
  blis_instance_config config = {.scheduler = BLIS_SCHEDULER_SCRIPTED,
                                 .goes_before = by_priority,
                                 .goes_before_ud = &calls_left};
  blis_random random;
  blis_random_init(&random, 9);
  world w;
  init(&w, &config, &random);
  for (int i = 0; i < REQUESTS; i++) {
    blis__wait_queue_push_back(&w.queue, &w.nodes[i]);
  }
  blis_error error;
  CHECK_OK(blis__wait_queue_order(&w.queue, &error), &error);
  calls_left = 0;
  CHECK_OK(blis__wait_queue_order(&w.queue, &error), &error);
  CHECK_EQ_I64(-calls_left, REQUESTS - 1);
}

static void test_order_of_ids(void) {
  static const struct {
    int64_t a;
    int64_t b;
    int order;
  } cases[] = {{0, 0, 0},    {1, 2, -1}, {10, 2, -1},   {2, 10, 1},       {1, 10, -1},
               {100, 10, 1}, {0, 1, -1}, {123, 45, -1}, {INT64_MAX, 9, 1}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_live_request a = {.number = cases[i].a};
    blis_live_request b = {.number = cases[i].b};
    CHECK_EQ_I64(blis_request_compare_ids(&a, &b), cases[i].order);
  }
}

static void test_order_of_numbers(void) {
  static const blis_live_request sorted[] = {
      {.number = 0},
      {.number = 2},
      {.number = 10},
      {.number = 10, .part = BLIS_PART_DECODE},
      {.number = 10, .part = BLIS_PART_PREFILL},
      {.number = INT64_MAX},
      {.session = "b", .number = -1},
      {.session = "a", .number = -2},
      {.session = "a", .number = -10},
  };
  enum { COUNT = sizeof sorted / sizeof *sorted };
  for (int i = 0; i < COUNT; i++) {
    for (int j = 0; j < COUNT; j++) {
      CHECK_EQ_I64(blis_request_compare_numbers(&sorted[i], &sorted[j]), (i > j) - (i < j));
    }
  }
}

static void test_ids_of_instances(void) {
  static const struct {
    uint32_t count;
    int digits;
  } cases[] = {{0, 1}, {1, 1}, {10, 1}, {11, 2}, {100, 2}, {101, 3}, {UINT32_MAX, 10}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_EQ_I64(blis_instance_id_digits(cases[i].count), cases[i].digits);
  }
  char id[BLIS_INSTANCE_ID_SIZE];
  CHECK_STR(blis_instance_id(7, 1, id), "instance_7");
  CHECK_STR(blis_instance_id(7, 3, id), "instance_007");
  CHECK_STR(blis_instance_id(12, 1, id), "instance_12");
  CHECK_STR(blis_instance_id(0, 2, id), "instance_00");
}

/* request_10_prefill, request_1_decode, ...: bytes, as of any text. */
static void test_order_of_ids_of_parts(void) {
  static const blis_live_request sorted[] = {
      {.number = 1},
      {.number = 10, .part = BLIS_PART_DECODE},
      {.number = 10, .part = BLIS_PART_PREFILL},
      {.number = 1, .part = BLIS_PART_DECODE},
      {.number = 1, .part = BLIS_PART_PREFILL},
      {.number = 2, .part = BLIS_PART_DECODE},
      {.session = "a", .round_index = 1, .number = -1},
      {.session = "a", .round_index = 1, .number = -10, .part = BLIS_PART_PREFILL},
      {.session = "a", .round_index = 1, .number = -1, .part = BLIS_PART_DECODE},
      {.session = "a", .round_index = 1, .number = -1, .part = BLIS_PART_PREFILL},
  };
  enum { COUNT = sizeof sorted / sizeof *sorted };
  for (int i = 0; i < COUNT; i++) {
    for (int j = 0; j < COUNT; j++) {
      CHECK_EQ_I64(blis_request_compare_ids(&sorted[i], &sorted[j]), (i > j) - (i < j));
    }
  }
}

static void test_order_of_follow_up_ids(void) {
  static const blis_live_request sorted[] = {
      {.number = 9999},
      {.session = "", .round_index = 1, .number = -1},
      {.session = "a_", .round_index = 1, .number = -3},
      {.session = "a", .round_index = 10, .number = -2},
      {.session = "a", .round_index = 1, .number = -10},
      {.session = "a", .round_index = 1, .number = -2},
      {.session = "a_round_1", .round_index = 1, .number = -3},
      {.session = "a", .round_index = 2, .number = -1},
      {.session = "b", .round_index = 1, .number = -4},
  };
  enum { COUNT = sizeof sorted / sizeof *sorted };
  for (int i = 0; i < COUNT; i++) {
    for (int j = 0; j < COUNT; j++) {
      CHECK_EQ_I64(blis_request_compare_ids(&sorted[i], &sorted[j]), (i > j) - (i < j));
    }
  }
}

int main(void) {
  RUN(test_every_scheduler);
  RUN(test_failing_script_loses_nobody);
  RUN(test_an_ordered_queue_costs_one_look_each);
  RUN(test_order_of_ids);
  RUN(test_order_of_numbers);
  RUN(test_ids_of_instances);
  RUN(test_order_of_ids_of_parts);
  RUN(test_order_of_follow_up_ids);
  return check_done();
}
