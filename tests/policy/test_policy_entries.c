/*
 * Every policy of every kind with its parameters, their limits and defaults,
 * against tests/golden/policy_parameters.txt; and what is made of an entry.
 */
#include <stdarg.h>

#include "golden.h"
#include "policy/gateways/gateway.h"
#include "policy/registry.h"
#include "routing_fixture.h"

static char text[GOLDEN_SIZE];
static size_t length;

static void put(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  length += (size_t)vsnprintf(text + length, sizeof text - length, format, arguments);
  va_end(arguments);
  CHECK(length < sizeof text);
}

static void put_param(const blis_param_spec *spec) {
  static const char *const kinds[] = {"integer", "number", "boolean",   "choice",
                                      "table",   "texts",  "text lists"};
  put("  %-32s %s", spec->name, kinds[spec->kind]);
  switch (spec->kind) {
  case BLIS_PARAM_CHOICE:
    put(" %s", spec->choices);
    break;
  case BLIS_PARAM_INTEGER:
  case BLIS_PARAM_NUMBER:
    put(" %.17g, %.17g to %.17g", spec->fallback, spec->minimum, spec->maximum);
    break;
  case BLIS_PARAM_TABLE:
    put(" %.17g to %.17g", spec->minimum, spec->maximum);
    break;
  case BLIS_PARAM_BOOLEAN:
    put(" %s", spec->fallback != 0 ? "true" : "false");
    break;
  case BLIS_PARAM_TEXTS:
  case BLIS_PARAM_TEXT_LISTS:
    break;
  }
  put("%s%s%s\n", spec->unit[0] == '\0' ? "" : " ", spec->unit, spec->is_live ? ", live" : "");
}

static void parameters_are_those_of_the_file(void) {
  for (int kind = 0; kind < BLIS_POLICY_KIND_COUNT; kind++) {
    for (size_t i = 0; i < blis_policy_count((blis_policy_kind)kind); i++) {
      const blis_policy_entry *entry = blis_policy_at((blis_policy_kind)kind, i);
      CHECK(entry->kind == (blis_policy_kind)kind);
      put("%s %s%s%s\n", blis_policy_kind_text(entry->kind), entry->name,
          entry->aliases == NULL ? "" : " = ", entry->aliases == NULL ? "" : entry->aliases);
      for (size_t k = 0; k < entry->param_count; k++) {
        put_param(&entry->params[k]);
      }
    }
  }
  check_golden("tests/golden/policy_parameters.txt", text);
}

/* A state with a member of every kind. */
typedef struct members {
  double number;
  int64_t integer;
  int32_t low;
  uint32_t word; /* index of a choice */
  bool flag;
  double untouched;
} members;

static const blis_param_spec member_params[] = {
    BLIS__NUMBER("number", 0, 1, 0.25, "", "a number", BLIS__INTO(members, number)),
    BLIS__INTEGER("integer", 0, 1e15, 1e12, "", "an integer", BLIS__INTO(members, integer)),
    BLIS__INTEGER("low", -9, 9, -7, "", "below 0", BLIS__INTO(members, low)),
    BLIS__CHOICE("word", "a|b|c", "a word", BLIS__INTO(members, word)),
    BLIS__BOOLEAN("flag", 1, "a flag", BLIS__INTO(members, flag)),
    BLIS__NUMBER("untouched", 0, 9, 5, "", "goes nowhere"),
};

static blis_status refuse(void *state, blis_policy_setup *setup, blis_error *error) {
  (void)state;
  return blis_setup_number(setup, "untouched") == 9
             ? blis_fail(error, BLIS_ERR_INVALID, "9 is too many")
             : BLIS_OK;
}

static const blis_policy_entry members_entry = {.kind = BLIS_POLICY_SCORER,
                                                .name = "members",
                                                BLIS__PARAMS(member_params),
                                                .state_size = sizeof(members),
                                                .init = refuse};

static void parameters_go_into_the_state(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_param items[] = {{.name = "word", .text = "c"},
                              {.name = "flag", .number = 0},
                              {.name = "untouched", .number = 6}};
  const blis_params given = {items, 3};
  blis_policy_context context = fixture_context();
  blis_policy_setup setup;
  blis_error error;
  CHECK_OK(blis_policy_make(&setup, &members_entry, &alloc, &given, &context, &error), &error);
  const members *made = setup.state;
  CHECK(made->number == 0.25 && made->untouched == 0);
  CHECK_EQ_I64(made->integer, 1000000000000);
  CHECK_EQ_I64(made->low, -7);
  CHECK_EQ_I64(made->word, 2);
  CHECK(!made->flag);
  CHECK(blis_setup_has(&setup, "word") && !blis_setup_has(&setup, "low"));
  CHECK(blis_setup_number_or(&setup, "untouched", true, 1) == 6);
  CHECK(blis_setup_number_or(&setup, "low", true, 1) == 1);
  CHECK(blis_setup_choice_or(&setup, "word", true, 0) == 2);
  blis_alloc_free(&alloc, setup.state, sizeof(members));
}

static void what_init_refuses_is_the_reason(void) {
  blis_alloc alloc = blis_alloc_heap();
  const blis_param nine = {.name = "untouched", .number = 9};
  const blis_params given = {&nine, 1};
  blis_policy_context context = fixture_context();
  blis_policy_setup setup;
  blis_error error;
  CHECK_STATUS(blis_policy_make(&setup, &members_entry, &alloc, &given, &context, &error),
               BLIS_ERR_INVALID);
  CHECK_STR(error.message, "9 is too many");
  blis_alloc_free(&alloc, setup.state, sizeof(members));
}

static blis_status choose_nothing(const blis_question *q, size_t *chosen) {
  (void)chosen;
  return blis_fail(q->error, BLIS_ERR_POLICY, "the moon is full");
}

static const blis_policy_entry moody = {
    .kind = BLIS_POLICY_ROUTER,
    .name = "moody",
    BLIS__GATEWAY(0, .choose = choose_nothing),
};

static void a_rule_says_why_it_fails(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_policy_context context = fixture_context();
  blis_policy_setup setup;
  blis_error error;
  CHECK_OK(blis_policy_make(&setup, &moody, &alloc, NULL, &context, &error), &error);
  blis_router router = {
      .ops = setup.ops, .state = setup.state, .state_size = moody.state_size, .alloc = alloc};
  fixture f;
  fixture_init(&f, 2);
  blis_block_chain none = {0};
  blis_ticket ticket;
  blis_routing_request request = fixture_request(1, 0, &none, &ticket);
  blis_decision decision;
  CHECK_STATUS(
      router.ops->route(&(blis_question){router.state, &request, &f.view, &error}, &decision),
      BLIS_ERR_POLICY);
  CHECK_STR(error.message, "the moon is full");
  blis_router_free(&router);
}

int main(void) {
  RUN(parameters_are_those_of_the_file);
  RUN(parameters_go_into_the_state);
  RUN(what_init_refuses_is_the_reason);
  RUN(a_rule_says_why_it_fails);
  return check_done();
}
