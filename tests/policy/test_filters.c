/* Filters: what they leave, and what the pipeline makes of it. */
#include <math.h>

#include "policy/contract/narrowed.h"
#include "policy/pipeline/weighted.h"
#include "routing_fixture.h"

static blis_routing_request any_request(void) {
  static blis_ticket ticket;
  static blis_block_chain chain;
  return fixture_request(1, 64, &chain, &ticket);
}

static void narrowing_keeps_order_and_columns(void) {
  fixture f;
  fixture_init(&f, 12);
  for (size_t i = 0; i < 12; i++) {
    f.columns[BLIS_SIGNAL_BATCH_SIZE][i] = (double)(100 + i);
  }
  f.view.columns[BLIS_SIGNAL_TP] = NULL;
  blis__narrowed narrowed = {.alloc = blis_alloc_heap()};
  for (int round = 0; round < 2; round++) {
    blis__narrowed_begin(&narrowed, &f.view);
    CHECK(blis__narrowed_view(&narrowed) == &f.view);
    const bool first[12] = {0, 1, 1, 0, 1, 1, 0, 0, 0, 0, 1, 1};
    CHECK(blis__narrowed_keep(&narrowed, first) == BLIS_OK);
    const bool second[6] = {0, 1, 1, 0, 1, 0};
    CHECK(blis__narrowed_keep(&narrowed, second) == BLIS_OK);
    const blis_routing_view *view = blis__narrowed_view(&narrowed);
    static const uint32_t left[] = {2, 4, 10};
    CHECK_EQ_I64(view->count, 3);
    for (size_t k = 0; k < 3; k++) {
      CHECK_EQ_I64(view->instances[k], left[k]);
      CHECK_EQ_I64(blis__narrowed_place(&narrowed, k), left[k]);
      CHECK_STR(view->ids[k], f.ids[left[k]]);
      CHECK_EQ_I64(view->id_ranks[k], f.id_ranks[left[k]]);
      CHECK_EQ_DOUBLE(view->columns[BLIS_SIGNAL_BATCH_SIZE][k], 100 + left[k]);
      CHECK_EQ_I64(blis_routing_view_find(view, left[k]), k);
    }
    CHECK(view->columns[BLIS_SIGNAL_TP] == NULL);
    CHECK_EQ_I64(blis_routing_view_find(view, 3), 3);
  }
  blis__narrowed_deinit(&narrowed);
}

/* A view whose columns are all to be asked for. */
static const double *late_column(void *column_ud, blis_signal signal) {
  fixture *f = column_ud;
  f->view.columns[signal] = f->columns[signal];
  return f->columns[signal];
}

static void columns_can_be_had_late(void) {
  fixture f;
  fixture_init(&f, 4);
  fixture_set(&f, BLIS_SIGNAL_WATTS, (double[]){1, 2, 3, 4});
  memset(f.view.columns, 0, sizeof f.view.columns);
  f.view.column = late_column;
  f.view.column_ud = &f;
  blis__narrowed narrowed = {.alloc = blis_alloc_heap()};
  blis__narrowed_begin(&narrowed, &f.view);
  CHECK(blis__narrowed_keep(&narrowed, (bool[]){0, 1, 1, 1}) == BLIS_OK);
  const blis_routing_view *view = blis__narrowed_view(&narrowed);
  CHECK(view->columns[BLIS_SIGNAL_WATTS] == NULL);
  const double *watts = view->column(view->column_ud, BLIS_SIGNAL_WATTS);
  CHECK_EQ_DOUBLE(watts[0], 2);
  CHECK_EQ_DOUBLE(watts[2], 4);
  CHECK(view->columns[BLIS_SIGNAL_WATTS] == watts);
  CHECK(blis__narrowed_keep(&narrowed, (bool[]){0, 0, 1}) == BLIS_OK);
  view = blis__narrowed_view(&narrowed);
  CHECK_EQ_DOUBLE(view->columns[BLIS_SIGNAL_WATTS][0], 4);
  blis__narrowed_deinit(&narrowed);
}

/* A filter that keeps what a text of 0 and 1 says, and counts its calls. */
typedef struct given_filter {
  const char *keeps;
  int filtered;
  int observed;
  uint32_t last_observed; /* instance */
} given_filter;

static blis_status keep_given(const blis_question *q, bool *keep) {
  const blis_routing_view *view = q->view;
  given_filter *given = q->state;
  given->filtered++;
  for (size_t i = 0; i < view->count; i++) {
    CHECK(keep[i]);
    keep[i] = given->keeps[view->instances[i]] == '1';
  }
  return BLIS_OK;
}

static blis_status observe_given(const blis_question *q, size_t chosen) {
  given_filter *given = q->state;
  given->observed++;
  given->last_observed = q->view->instances[chosen];
  return BLIS_OK;
}

static const blis_filter_ops given_ops = {.filter = keep_given, .observe = observe_given};

/* load-balance behind two filters. */
static blis_router router_of(const blis_alloc *alloc, given_filter *first, given_filter *second) {
  blis_policy_context context = fixture_context();
  blis_error error;
  blis_filter filters[] = {{.ops = &given_ops, .state = first, .name = "first"},
                           {.ops = &given_ops, .state = second, .name = "second"}};
  blis_weighted_item item = {.weight = 1};
  CHECK_OK(blis_scorer_create(alloc, "load-balance", NULL, &context, &item.scorer, &error), &error);
  const blis_weighted_parts parts = {
      .filters = filters, .filter_count = 2, .items = &item, .count = 1};
  blis_router router = {0};
  CHECK_OK(blis_weighted_new(alloc, &parts, NULL, &context, &router, &error), &error);
  return router;
}

static void only_those_left_are_chosen(void) {
  blis_alloc alloc = blis_alloc_heap();
  given_filter first = {.keeps = "01111"};
  given_filter second = {.keeps = "11011"};
  blis_router router = router_of(&alloc, &first, &second);
  fixture f;
  fixture_init(&f, 5);
  fixture_set(&f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){0, 3, 1, 1, 4});
  blis_routing_request request = any_request();
  blis_decision d = fixture_route(&router, &request, &f.view);
  CHECK_EQ_I64(d.chosen, 3);
  CHECK_EQ_DOUBLE(d.score, 0.5);
  CHECK(isinf(d.scores[0]) && d.scores[0] < 0);
  CHECK_EQ_DOUBLE(d.scores[1], 0.25);
  CHECK(isinf(d.scores[2]));
  CHECK_EQ_DOUBLE(d.scores[3], 0.5);
  CHECK_EQ_DOUBLE(d.scores[4], 0.2);
  CHECK_EQ_I64(first.last_observed, 3);
  CHECK_EQ_I64(second.observed, 1);
  first.keeps = "11111";
  second.keeps = "11111";
  d = fixture_route(&router, &request, &f.view);
  CHECK_EQ_I64(d.chosen, 0);
  CHECK_EQ_DOUBLE(d.scores[0], 1);
  blis_router_free(&router);
}

static void nobody_left_is_a_rejection(void) {
  blis_alloc alloc = blis_alloc_heap();
  given_filter first = {.keeps = "000"};
  given_filter second = {.keeps = "111"};
  blis_router router = router_of(&alloc, &first, &second);
  fixture f;
  fixture_init(&f, 3);
  blis_routing_request request = any_request();
  blis_decision d = {0};
  blis_error error;
  CHECK_OK(router.ops->route(&(blis_question){router.state, &request, &f.view, &error}, &d),
           &error);
  CHECK_STR(d.rejected, "no-candidate");
  CHECK_EQ_I64(first.filtered, 1);
  CHECK_EQ_I64(second.filtered, 0);
  CHECK_EQ_I64(first.observed, 0);
  blis_router_free(&router);
}

/* One pipeline made and used with memory that ends at request fail_at. */
static blis_status build_and_route(blis_alloc *alloc, blis_alloc_probe *memory, long fail_at) {
  blis_policy_context context = fixture_context();
  blis_error error;
  given_filter first = {.keeps = "011"};
  blis_filter filter = {.ops = &given_ops, .state = &first, .name = "first"};
  blis_weighted_item item = {.weight = 1};
  blis_picker picker = {0};
  CHECK_OK(blis_scorer_create(alloc, "load-balance", NULL, &context, &item.scorer, &error), &error);
  CHECK_OK(blis_picker_create(alloc, "softmax", NULL, &context, &picker, &error), &error);
  const blis_weighted_parts parts = {&filter, 1, &item, 1, &picker};
  memory->fail_at = memory->requests + fail_at;
  blis_router router = {0};
  blis_status status = blis_weighted_new(alloc, &parts, NULL, &context, &router, &error);
  if (status == BLIS_OK) {
    fixture f;
    fixture_init(&f, 3);
    blis_routing_request request = any_request();
    blis_decision d;
    status = router.ops->route(&(blis_question){router.state, &request, &f.view, &error}, &d);
  }
  blis_router_free(&router);
  return status;
}

static void memory_that_runs_out_leaves_nothing(void) {
  blis_status status = BLIS_ERR_NOMEM;
  for (long fail_at = 1; status != BLIS_OK; fail_at++) {
    blis_alloc_probe memory = {0};
    blis_alloc alloc = blis_alloc_probed(&memory);
    status = build_and_route(&alloc, &memory, fail_at);
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    CHECK(status == BLIS_ERR_NOMEM || fail_at > 8);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void utilization_keeps_those_within_the_limits(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_error error;
  blis_filter filter = {0};
  CHECK_STATUS(
      blis_filter_create(&alloc, "llm-d.utilization-filter", NULL, &context, &filter, &error),
      BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "max_waiting_queue");
  const blis_param given[] = {{.name = "max_waiting_queue", .number = 3},
                              {.name = "max_kv_cache_utilization", .number = 0.5},
                              {.name = "fallback_on_empty", .number = 1}};
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){3, 4, 0});
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.1, 0.51});
  blis_routing_request request = any_request();
  for (size_t count = 2; count <= 3; count++) {
    blis_params params = {given, count};
    CHECK_OK(
        blis_filter_create(&alloc, "llm-d.utilization-filter", &params, &context, &filter, &error),
        &error);
    bool keep[] = {true, true, true};
    CHECK_OK(filter.ops->filter(&(blis_question){filter.state, &request, &f.view, &error}, keep),
             &error);
    CHECK(keep[0] && !keep[1] && !keep[2]);
    bool none[] = {false, true, true}; /* the fallback when nobody is left */
    CHECK_OK(filter.ops->filter(&(blis_question){filter.state, &request, &f.view, &error}, none),
             &error);
    CHECK(none[0] == (count == 3) && none[1] == (count == 3));
    blis_filter_free(&filter);
  }
}

static blis_filter filter_of(const blis_alloc *alloc, const char *name, const blis_param *params,
                             size_t param_count) {
  blis_policy_context context = fixture_context();
  blis_error error;
  blis_filter filter = {0};
  const blis_params given = {params, param_count};
  CHECK_OK(blis_filter_create(alloc, name, &given, &context, &filter, &error), &error);
  return filter;
}

/* "101": which of the candidates are kept. */
static const char *kept_by(const blis_filter *filter, const fixture *f,
                           const blis_routing_request *request) {
  static char text[FIXTURE_MAX + 1];
  bool keep[FIXTURE_MAX];
  for (size_t i = 0; i < f->view.count; i++) {
    keep[i] = true;
  }
  blis_error error;
  CHECK_OK(filter->ops->filter(&(blis_question){filter->state, request, &f->view, &error}, keep),
           &error);
  for (size_t i = 0; i < f->view.count; i++) {
    text[i] = keep[i] ? '1' : '0';
  }
  text[f->view.count] = '\0';
  return text;
}

static void detectors_keep_those_with_room(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_routing_request request = any_request();
  fixture f;
  fixture_init(&f, 3);
  fixture_set(&f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){2, 6, 5});
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.1, 0.1});
  blis_filter filter = filter_of(&alloc, "llm-d.utilization-detector", NULL, 0);
  CHECK_STR(kept_by(&filter, &f, &request), "100");
  fixture_set(&f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.8, 0.1, 0.1});
  CHECK_STR(kept_by(&filter, &f, &request), "111");
  blis_filter_free(&filter);
  const blis_param headroom = {.name = "headroom", .number = 0.1};
  filter = filter_of(&alloc, "llm-d.utilization-detector", &headroom, 1);
  CHECK_STR(kept_by(&filter, &f, &request), "101");
  blis_filter_free(&filter);
  filter = filter_of(&alloc, "llm-d.concurrency-detector", NULL, 0);
  fixture_set(&f, BLIS_SIGNAL_IN_FLIGHT, (double[]){99, 100, 120});
  CHECK_STR(kept_by(&filter, &f, &request), "100");
  fixture_set(&f, BLIS_SIGNAL_IN_FLIGHT, (double[]){100, 100, 120});
  CHECK_STR(kept_by(&filter, &f, &request), "000");
  blis_filter_free(&filter);
}

static void a_session_keeps_its_instance(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_routing_request request = any_request();
  request.session = 4;
  fixture f;
  fixture_init(&f, 3);
  blis_error error;
  blis_filter filter = filter_of(&alloc, "llm-d.session-affinity-filter", NULL, 0);
  CHECK_STR(kept_by(&filter, &f, &request), "111");
  CHECK_OK(filter.ops->observe(&(blis_question){filter.state, &request, &f.view, &error}, 1),
           &error);
  CHECK_STR(kept_by(&filter, &f, &request), "010");
  f.view.count = 1; /* it is away */
  CHECK_STR(kept_by(&filter, &f, &request), "1");
  f.view.count = 3;
  f.view.now_us = 300000001;
  CHECK_STR(kept_by(&filter, &f, &request), "111");
  request.session = 0;
  f.view.now_us = 0;
  CHECK_STR(kept_by(&filter, &f, &request), "111");
  blis_filter_free(&filter);
}

/* 400,000 tokens ahead are 25,113 ms, 50,000 are 3,139 ms. */
static void a_known_prefix_is_worth_some_waiting(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_block_id ids[] = {1, 2, 3, 4};
  blis_block_chain chain = {ids, 4, 5, BLIS_BLOCK_PRIVATE};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 320, &chain, &ticket);
  fixture f;
  fixture_init(&f, 2);
  blis_error error;
  blis_filter filter = filter_of(&alloc, "llm-d.prefix-cache-affinity-filter", NULL, 0);
  CHECK_STR(kept_by(&filter, &f, &request), "11");
  CHECK_OK(filter.ops->observe(&(blis_question){filter.state, &request, &f.view, &error}, 0),
           &error);
  chain.private_base += 100;
  fixture_set(&f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){4e5, 5e4});
  CHECK_STR(kept_by(&filter, &f, &request), "11"); /* 21,974 ms more */
  fixture_set(&f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){3e5, 5e4});
  CHECK_STR(kept_by(&filter, &f, &request), "10"); /* 15,696 ms more */
  chain.shared_count = 3;                          /* 60 % of the prompt are too little */
  CHECK_STR(kept_by(&filter, &f, &request), "11");
  blis_filter_free(&filter);
}

/* 300,000 tokens against 50,000 are 15,696 ms more. */
static void how_long_to_wait_is_a_parameter(void) {
  static const struct {
    double penalty_ms;
    const char *kept;
  } cases[] = {{0, "10"}, {15600, "11"}, {15700, "10"}, {1e12, "10"}};
  blis_alloc alloc = blis_alloc_heap();
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_block_id ids[] = {1, 2, 3, 4};
    blis_block_chain chain = {ids, 4, 4, BLIS_BLOCK_PRIVATE};
    blis_ticket ticket;
    blis_routing_request request = fixture_request(1, 256, &chain, &ticket);
    fixture f;
    fixture_init(&f, 2);
    const blis_param penalty = {.name = "max_ttft_penalty_ms", .number = cases[i].penalty_ms};
    blis_filter filter = filter_of(&alloc, "llm-d.prefix-cache-affinity-filter", &penalty, 1);
    blis_error error;
    CHECK_OK(filter.ops->observe(&(blis_question){filter.state, &request, &f.view, &error}, 0),
             &error);
    fixture_set(&f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){3e5, 5e4});
    CHECK_STR(kept_by(&filter, &f, &request), cases[i].kept);
    blis_filter_free(&filter);
  }
}

int main(void) {
  RUN(narrowing_keeps_order_and_columns);
  RUN(columns_can_be_had_late);
  RUN(only_those_left_are_chosen);
  RUN(nobody_left_is_a_rejection);
  RUN(memory_that_runs_out_leaves_nothing);
  RUN(utilization_keeps_those_within_the_limits);
  RUN(detectors_keep_those_with_room);
  RUN(a_session_keeps_its_instance);
  RUN(a_known_prefix_is_worth_some_waiting);
  RUN(how_long_to_wait_is_a_parameter);
  return check_done();
}
