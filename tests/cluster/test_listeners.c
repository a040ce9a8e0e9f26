/* Who hears of which moment, in which order, and what follows for the clock. */
#include "cluster/rules/pins.h"
#include "cluster/rules/tenant_budgets.h"
#include "cluster/state.h"
#include "cluster/watch/decision_sink.h"
#include "cluster_fixture.h"

enum { HEARD_MAX = 64 };

/* What was told, one letter a time. */
typedef struct log {
  char heard[HEARD_MAX + 1];
  size_t count;
} log;

typedef struct witness {
  log *log;
  char letter;
  bool fails;
} witness;

static blis_status hear(void *ud, blis_cluster *cluster, const blis__news *news,
                        blis_error *error) {
  (void)cluster, (void)news;
  witness *w = ud;
  CHECK(w->log->count < HEARD_MAX);
  w->log->heard[w->log->count++] = w->letter;
  return w->fails ? blis_fail(error, BLIS_ERR_POLICY, "%c fails", w->letter) : BLIS_OK;
}

static void add_witness(blis__listeners *listeners, witness *w, blis__phase phase) {
  const blis__listener listener = {.ud = w, .phase = phase, .on = {[BLIS__LEFT] = hear}};
  CHECK(blis__listeners_add(listeners, &listener) == BLIS_OK);
}

static void phases_are_called_in_order(void) {
  blis_alloc heap = blis_alloc_heap();
  blis__listeners listeners;
  blis__listeners_init(&listeners, &heap);
  log l = {.count = 0};
  witness all[] = {{&l, 'e', false}, {&l, 'c', false}, {&l, 'a', false},
                   {&l, 'd', false}, {&l, 'f', false}, {&l, 'b', false}};
  const blis__phase phases[] = {BLIS__SEQUELS,  BLIS__WATCHERS, BLIS__BOOKS,
                                BLIS__WATCHERS, BLIS__SEQUELS,  BLIS__POLICIES};
  for (size_t i = 0; i < 6; i++) {
    add_witness(&listeners, &all[i], phases[i]);
  }
  blis_error error;
  const blis__news news = {.instance = 0};
  CHECK_OK(blis__tell(&listeners, BLIS__LEFT, NULL, &news, &error), &error);
  CHECK_STR(l.heard, "abcdef");
  CHECK_OK(blis__tell(&listeners, BLIS__JOINED, NULL, &news, &error), &error);
  CHECK_STR(l.heard, "abcdef");
  all[1].fails = true;
  CHECK_STATUS(blis__tell(&listeners, BLIS__LEFT, NULL, &news, &error), BLIS_ERR_POLICY);
  CHECK_STR(error.message, "c fails");
  CHECK_STR(l.heard, "abcdefabc");
  blis__listeners_deinit(&listeners);
}

static void needs_add_up(void) {
  blis_alloc heap = blis_alloc_heap();
  blis__listeners listeners;
  blis__listeners_init(&listeners, &heap);
  CHECK(blis__listeners_let_lag(&listeners));
  CHECK(blis__listeners_let_run_ahead(&listeners));
  blis__listeners_need(&listeners, BLIS__NEEDS_STATE);
  blis__listeners_need(&listeners, BLIS__NEEDS_STATE);
  blis__listeners_need_no_more(&listeners, BLIS__NEEDS_STATE);
  CHECK(!blis__listeners_let_lag(&listeners));
  CHECK(blis__listeners_let_run_ahead(&listeners));
  blis__listeners_need_no_more(&listeners, BLIS__NEEDS_STATE);
  CHECK(blis__listeners_let_lag(&listeners));
  blis__listeners_need(&listeners, BLIS__NEEDS_ORDER);
  CHECK(!blis__listeners_let_lag(&listeners));
  CHECK(!blis__listeners_let_run_ahead(&listeners));
  blis__listeners_deinit(&listeners);
}

/* The moments of a life, a letter each. */
static const char moment_letters[BLIS__MOMENT_COUNT] = {
    [BLIS__ARRIVED] = 'a',    [BLIS__ADMITTING] = 'b',
    [BLIS__ROUTING] = 'd',    [BLIS__ADMISSION_DECIDED] = 'c',
    [BLIS__BELIEVED] = 'f',   [BLIS__ROUTING_DECIDED] = 'e',
    [BLIS__ROUTED] = 'g',     [BLIS__JOINED] = 'h',
    [BLIS__COMPLETED] = 'j',  [BLIS__FIRST_TOKEN] = 'i',
    [BLIS__LEFT] = 'k',       [BLIS__OVER] = 'l',
    [BLIS__JUDGED] = 'm',     [BLIS__REPORTING] = 'n',
    [BLIS__ENDED] = 'o',      [BLIS__PREFILLED] = 'p',
    [BLIS__ADMITTED] = 'q',   [BLIS__TO_BE_ROUTED] = 'r',
    [BLIS__CHOSEN] = 's',     [BLIS__TO_BE_ASKED] = 't',
    [BLIS__TO_BE_SENT] = 'u', [BLIS__FINISHING] = 'v',
};

static blis_status refuse(void *ud, blis_cluster *cluster, const blis__news *news,
                          blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  *news->refusal = "not today";
  return BLIS_OK;
}

static blis_status see_refusal(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error) {
  (void)cluster, (void)error;
  int *seen = ud;
  CHECK(news->end->state == BLIS_REQUEST_REJECTED);
  CHECK_STR(news->end->reason, "not today");
  ++*seen;
  return BLIS_OK;
}

static void add_to(site *s, const blis__listener *listener) {
  CHECK(blis__listeners_add(&s->cluster->listeners, listener) == BLIS_OK);
}

static void a_life_is_told(const char *policy, bool is_refused, const char *expected) {
  site s;
  log l = {.count = 0};
  int refusals = 0;
  witness all[BLIS__MOMENT_COUNT];
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  s.policy = policy;
  site_must_open(&s);
  for (int m = 0; m < BLIS__MOMENT_COUNT; m++) {
    all[m] = (witness){&l, moment_letters[m], false};
    blis__listener listener = {.ud = &all[m]};
    listener.on[m] = hear;
    add_to(&s, &listener);
  }
  if (is_refused) {
    add_to(&s, &(blis__listener){.ud = &refusals,
                                 .on = {[BLIS__ADMITTING] = refuse, [BLIS__ENDED] = see_refusal}});
  }
  site_run(&s);
  CHECK_STR(l.heard, expected);
  CHECK_EQ_I64(refusals, is_refused);
  site_deinit(&s);
}

static void moments_come_in_order(void) {
  a_life_is_told("round-robin", false, "abcqrtdsueghpijklnov");
  a_life_is_told("weighted", false, "abcqrtdsuefghpijklnov");
  a_life_is_told("round-robin", true, "abclnov");
}

static blis_status take_second(void *ud, blis_cluster *cluster, const blis__news *news,
                               blis_error *error) {
  (void)cluster, (void)error;
  int *offers = ud;
  *news->is_taken = ++*offers == 2;
  return BLIS_OK;
}

/* An offer ends with the listener that takes the request, or refuses it. */
static void offers_end_when_taken(void) {
  blis__listeners listeners;
  int offers = 0;
  const blis_alloc alloc = blis_alloc_heap();
  blis__listeners_init(&listeners, &alloc);
  const blis__listener listener = {.ud = &offers, .on = {[BLIS__TO_BE_ROUTED] = take_second}};
  for (int i = 0; i < 3; i++) {
    CHECK(blis__listeners_add(&listeners, &listener) == BLIS_OK);
  }
  bool is_taken = false;
  const char *refusal = NULL;
  const blis__news news = {.is_taken = &is_taken, .refusal = &refusal};
  CHECK(blis__offer(&listeners, BLIS__TO_BE_ROUTED, NULL, &news, NULL) == BLIS_OK);
  CHECK(is_taken && offers == 2);
  is_taken = false;
  refusal = "no";
  CHECK(blis__offer(&listeners, BLIS__TO_BE_ROUTED, NULL, &news, NULL) == BLIS_OK);
  CHECK(!is_taken && offers == 2);
  blis__listeners_deinit(&listeners);
}

/* Belief apart, which is told only by policies that have one. */
static void nobody_listens_where_nothing_is_configured(void) {
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  site_must_open(&s);
  for (int m = 0; m < BLIS__MOMENT_COUNT; m++) {
    CHECK(m == BLIS__BELIEVED || !blis__listeners_hear(&s.cluster->listeners, (blis__moment)m));
  }
  site_deinit(&s);
}

/* Each is configured alone; afterwards the clock has that much freedom. */

static blis_status see_request(void *ud, const blis_routing_request *request, int64_t now_us,
                               blis_error *error) {
  (void)ud, (void)request, (void)now_us, (void)error;
  return BLIS_OK;
}

static blis_status see_token(void *ud, const blis_routing_request *request, uint32_t instance,
                             int64_t ttft_us, int64_t now_us, blis_error *error) {
  (void)ud, (void)request, (void)instance, (void)ttft_us, (void)now_us;
  (void)error;
  return BLIS_OK;
}

static blis_status see_end(void *state, const blis_request *request,
                           const blis_request_outcome *outcome, blis_request *follow_up,
                           bool *has_follow_up, blis_error *error) {
  (void)state, (void)request, (void)outcome, (void)follow_up, (void)error;
  *has_follow_up = false;
  return BLIS_OK;
}

static const blis_observer early_observer = {.arrived = see_request};
static const blis_observer late_observer = {.first_token = see_token};
static const blis_decision_sink no_decisions;
static const blis_tenant_budget budget = {"batch", 0.5};
static const blis_tenant_budgets budgets = {&budget, 1};

static void with_nothing(site *s) {
  (void)s;
}

static void with_least_loaded(site *s) {
  s->policy = "least-loaded";
}

static void with_early_observer(site *s) {
  s->config.observer = &early_observer;
}

static void with_late_observer(site *s) {
  s->config.observer = &late_observer;
}

static void with_decisions(site *s) {
  s->config.decisions = &no_decisions;
}

static void with_budgets(site *s) {
  s->config.options[BLIS_FEATURE_TENANTS] = &budgets;
}

static void with_limit(site *s) {
  s->config.max_requests_in_memory = 10;
}

static void with_late_signals(site *s) {
  s->config.snapshot_refresh_us = 1000;
}

static blis_status goes_first(void *ud, const blis_live_request *a, const blis_live_request *b,
                              bool *before, blis_error *error) {
  (void)ud, (void)error;
  *before = a->number < b->number;
  return BLIS_OK;
}

static void with_script(site *s) {
  s->instances[1].scheduler = BLIS_SCHEDULER_SCRIPTED;
  s->instances[1].goes_before = goes_first;
}

static void with_follow_ups(site *s) {
  s->source.source.ended = see_end;
}

static void lag_follows_from_who_listens(void) {
  const struct {
    void (*configure)(site *s);
    bool may_lag;
    bool may_run_ahead;
  } cases[] = {
      {with_nothing, true, true},         {with_late_signals, true, true},
      {with_least_loaded, false, true},   {with_limit, false, true},
      {with_early_observer, false, true}, {with_decisions, false, true},
      {with_budgets, false, true},        {with_late_observer, false, false},
      {with_follow_ups, false, false},    {with_script, false, true},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    site s;
    site_init(&s, blis_alloc_heap(), 2);
    site_add_slow_requests(&s, 1);
    cases[i].configure(&s);
    site_must_open(&s);
    const blis__listeners *listeners = &s.cluster->listeners;
    CHECK_EQ_I64(blis__listeners_let_lag(listeners), cases[i].may_lag);
    CHECK_EQ_I64(blis__listeners_let_run_ahead(listeners), cases[i].may_run_ahead);
    site_deinit(&s);
  }
}

/* An admission policy is given to a cluster that is there already. */
static void admission_looks_at_instances(void) {
  site s;
  blis_error error;
  blis_admission admission = {0};
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 1);
  site_must_open(&s);
  blis_policy_context context = site_context(&s);
  CHECK_OK(blis_admission_create(&s.alloc, "token-bucket", NULL, &context, &admission, &error),
           &error);
  site_set_admission(&s, &admission);
  CHECK(!blis__listeners_let_lag(&s.cluster->listeners));
  CHECK(blis__listeners_let_run_ahead(&s.cluster->listeners));
  site_deinit(&s);
}

static blis_status look(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud, (void)cluster, (void)error;
  return BLIS_OK;
}

/* What is asked for during a run. */
static void calls_pins_and_drains(void) {
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 3);
  site_must_open(&s);
  const blis__listeners *listeners = &s.cluster->listeners;
  CHECK_OK(blis_cluster_pin(s.cluster, 1, 0, 0, &error), &error);
  CHECK_OK(blis_cluster_instance_drain(s.cluster, 1, false, &error), &error);
  CHECK(blis__listeners_let_lag(listeners));
  CHECK(blis__listeners_hear(listeners, BLIS__ROUTING));
  CHECK(blis__listeners_hear(listeners, BLIS__LEFT));
  CHECK_OK(blis_cluster_call_at(s.cluster, 30000, look, NULL, &error), &error);
  CHECK(!blis__listeners_let_lag(listeners));
  site_run(&s);
  CHECK(blis__listeners_let_lag(listeners));
  site_deinit(&s);
}

int main(void) {
  RUN(phases_are_called_in_order);
  RUN(needs_add_up);
  RUN(moments_come_in_order);
  RUN(offers_end_when_taken);
  RUN(nobody_listens_where_nothing_is_configured);
  RUN(lag_follows_from_who_listens);
  RUN(admission_looks_at_instances);
  RUN(calls_pins_and_drains);
  return check_done();
}
