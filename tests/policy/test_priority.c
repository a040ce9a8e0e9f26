/* Priority policies of the macro-level plan: the worked examples. */
#include "check.h"
#include "policy/priority/priority.h"
#include "policy/registry.h"

typedef struct asked {
  blis_intern *strings;
  blis_priority policy;
} asked;

static void make(asked *a, const char *name, const blis_param *items, size_t count) {
  blis_alloc heap = blis_alloc_heap();
  const blis_params params = {items, count};
  const blis_policy_context context = {.instance_count = 1};
  blis_error error;
  a->strings = blis_intern_new(&heap);
  CHECK_OK(blis_priority_create(&heap, name, &params, &context, &a->policy, &error), &error);
}

static void drop(asked *a) {
  blis_priority_free(&a->policy);
  blis_intern_free(a->strings);
}

static double priority_of(asked *a, const char *class, const char *tenant, int64_t arrival_us,
                          int64_t deadline_us) {
  blis_routing_request request = {
      .arrival_us = arrival_us, .deadline_us = deadline_us, .strings = a->strings};
  CHECK(blis_intern_add(a->strings, class, strlen(class), &request.slo_class) == BLIS_OK);
  CHECK(blis_intern_add(a->strings, tenant, strlen(tenant), &request.tenant) == BLIS_OK);
  double priority = 0;
  blis_error error;
  CHECK_OK(a->policy.ops->decide(a->policy.state, &request, arrival_us, &priority, &error), &error);
  return priority;
}

static void test_slo_based(void) {
  asked a;
  make(&a, "slo-based", NULL, 0);
  CHECK_EQ_DOUBLE(priority_of(&a, "realtime", "", 0, 0), 100);
  CHECK_EQ_DOUBLE(priority_of(&a, "critical", "", 0, 0), 100);
  CHECK_EQ_DOUBLE(priority_of(&a, "interactive", "", 0, 0), 50);
  CHECK_EQ_DOUBLE(priority_of(&a, "batch", "", 0, 0), 10);
  drop(&a);
  const blis_param given[] = {{.name = "batch_score", .number = 60.5},
                              {.name = "scores", .key = "realtime", .number = 1}};
  make(&a, "slo-based", given, 2);
  CHECK_EQ_DOUBLE(priority_of(&a, "batch", "", 0, 0), 60.5);
  CHECK_EQ_DOUBLE(priority_of(&a, "realtime", "", 0, 0), 1);
  drop(&a);
}

static void test_constant_and_tenants(void) {
  asked a;
  const blis_param score = {.name = "score", .number = 3};
  make(&a, "constant", &score, 1);
  CHECK_EQ_DOUBLE(priority_of(&a, "realtime", "x", 5, 9), 3);
  CHECK_EQ_DOUBLE(priority_of(&a, "batch", "", 0, 0), 3);
  drop(&a);
  const blis_param x = {.name = "scores", .key = "x", .number = -2};
  make(&a, "tenant-priority", &x, 1);
  CHECK_EQ_DOUBLE(priority_of(&a, "", "x", 0, 0), -2);
  CHECK_EQ_DOUBLE(priority_of(&a, "", "y", 0, 0), 50);
  drop(&a);
}

/* At any time, the one with the earlier deadline has less slack. */
static void test_deadline_aware(void) {
  asked a;
  const blis_param target = {.name = "targets_ms", .key = "fast", .number = 7};
  make(&a, "deadline-aware", &target, 1);
  CHECK(priority_of(&a, "", "", 2000000, 2500000) > priority_of(&a, "", "", 2000000, 4000000));
  CHECK_EQ_DOUBLE(priority_of(&a, "fast", "", 3000000, 0), -3.007);
  CHECK_EQ_DOUBLE(priority_of(&a, "fast", "", 3000000, 3500000), -3.5);
  CHECK(priority_of(&a, "slow", "", 0, 0) < priority_of(&a, "slow", "", 0, INT64_MAX));
  drop(&a);
}

static void test_inverted_slo(void) {
  asked a;
  make(&a, "inverted-slo", NULL, 0);
  double first = priority_of(&a, "", "", 10, 0);
  double second = priority_of(&a, "", "", 20, 0);
  double third = priority_of(&a, "", "", 20, 0);
  CHECK(second > first);
  CHECK_EQ_DOUBLE(third, second);
  drop(&a);
}

static void test_memory_runs_out(void) {
  const blis_param x = {.name = "scores", .key = "x", .number = -2};
  const blis_policy_context context = {.instance_count = 1};
  blis_status status = BLIS_ERR_NOMEM;
  for (long at = 1; status != BLIS_OK; at++) {
    blis_alloc_probe memory = {.fail_at = at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_priority policy = {0};
    blis_error error;
    status = blis_priority_create(&alloc, "tenant-priority", &(blis_params){&x, 1}, &context,
                                  &policy, &error);
    blis_priority_free(&policy);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

static void test_errors(void) {
  blis_alloc heap = blis_alloc_heap();
  const blis_policy_context context = {.instance_count = 1};
  blis_priority policy = {0};
  blis_error error;
  CHECK_STATUS(blis_priority_create(&heap, "slo-base", NULL, &context, &policy, &error),
               BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "did you mean 'slo-based'?");
  const blis_param score = {.name = "score", .number = 1e16};
  CHECK_STATUS(
      blis_priority_create(&heap, "constant", &(blis_params){&score, 1}, &context, &policy, &error),
      BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "score is 10000000000000000");
}

int main(void) {
  RUN(test_slo_based);
  RUN(test_constant_and_tenants);
  RUN(test_deadline_aware);
  RUN(test_inverted_slo);
  RUN(test_memory_runs_out);
  RUN(test_errors);
  return check_done();
}
