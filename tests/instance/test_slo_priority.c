/* Values and priorities of SLO classes. */
#include "instance/request/slo_priority.h"

#include "check.h"

static blis_slo_priority *table(const blis_alloc *alloc, const blis_slo_override *overrides,
                                size_t count) {
  blis_slo_priority *priorities = NULL;
  blis_error error;
  CHECK_OK(blis_slo_priority_new(alloc, overrides, count, &priorities, &error), &error);
  return priorities;
}

static void test_defaults(void) {
  static const struct {
    const char *slo_class;
    int32_t value;
    int32_t priority;
  } cases[] = {{"critical", 4, 0},     {"standard", 3, 1},    {"batch", -1, 5},
               {"sheddable", -2, 6},   {"background", -3, 7}, {"", 3, 1},
               {"no such class", 3, 1}};
  blis_alloc alloc = blis_alloc_heap();
  blis_slo_priority *p = table(&alloc, NULL, 0);
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    CHECK_EQ_I64(blis_slo_priority_value(p, cases[i].slo_class), cases[i].value);
    CHECK_EQ_I64(blis_slo_priority_of(p, cases[i].slo_class), cases[i].priority);
  }
  blis_slo_priority_free(p);
}

static void test_overrides(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_slo_override higher[] = {{"vip", 100}, {"batch", 1}, {"vip", 10}};
  blis_slo_priority *p = table(&alloc, higher, 3);
  CHECK_EQ_I64(blis_slo_priority_of(p, "vip"), 0);
  CHECK_EQ_I64(blis_slo_priority_of(p, "critical"), 6);
  CHECK_EQ_I64(blis_slo_priority_of(p, "batch"), 9);
  blis_slo_priority_free(p);
  /* The highest value is never below that of unknown classes. */
  const blis_slo_override lower[] = {{"critical", -100}, {"standard", 0}};
  p = table(&alloc, lower, 2);
  CHECK_EQ_I64(blis_slo_priority_of(p, "critical"), 103);
  CHECK_EQ_I64(blis_slo_priority_of(p, "unknown"), 0);
  blis_slo_priority_free(p);
}

static void test_out_of_range(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_slo_override wrong = {"vip", 101};
  blis_slo_priority *p;
  blis_error error;
  CHECK_STATUS(blis_slo_priority_new(&alloc, &wrong, 1, &p, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "priority of SLO class 'vip' is 101; expected -100 to 100");
}

static void test_out_of_memory(void) {
  const blis_slo_override added[] = {{"a", 1}, {"b", 2}, {"c", 3}, {"d", 4}};
  int failures = 0;
  blis_status status = BLIS_ERR_NOMEM;
  for (long fail_at = 1; status != BLIS_OK; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_slo_priority *p = NULL;
    status = blis_slo_priority_new(&alloc, added, 4, &p, NULL);
    CHECK(status == BLIS_OK || status == BLIS_ERR_NOMEM);
    failures += status != BLIS_OK;
    blis_slo_priority_free(p);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
  CHECK(failures >= 9);
}

int main(void) {
  RUN(test_defaults);
  RUN(test_overrides);
  RUN(test_out_of_range);
  RUN(test_out_of_memory);
  return check_done();
}
