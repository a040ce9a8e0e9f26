/* The built-in admission policies: worked examples, parameters, counters. */
#include "cluster/rules/tenant_budgets.h"
#include "cluster_fixture.h"
#include "policy/contract/go_blis.h"
#include "routing_fixture.h"

/* A policy, and the requests it is asked about. */
typedef struct desk {
  blis_alloc alloc;
  blis_admission admission;
  fixture f;
  blis_intern *strings;
  blis_ticket tickets[64];
  int64_t asked;
} desk;

static void desk_open(desk *d, const char *name, const blis_param *items, size_t count,
                      bool go_blis) {
  blis_error error;
  *d = (desk){.alloc = blis_alloc_heap()};
  blis_policy_context context = fixture_context();
  context.profile = go_blis ? &blis_policy_go_blis : NULL;
  const blis_params params = {items, count};
  CHECK_OK(blis_admission_create(&d->alloc, name, &params, &context, &d->admission, &error),
           &error);
  d->strings = blis_intern_new(&d->alloc);
  fixture_init(&d->f, 2);
}

static void desk_close(desk *d) {
  blis_admission_free(&d->admission);
  blis_intern_free(d->strings);
}

static uint32_t number_of(desk *d, const char *text) {
  uint32_t number;
  CHECK(blis_intern_add(d->strings, text, strlen(text), &number) == BLIS_OK);
  return number;
}

static blis_admission_decision ask_again(desk *d, blis_routing_request request, int64_t now_us) {
  blis_admission_decision decision = {0};
  blis_error error;
  request.strings = d->strings;
  d->f.view.now_us = now_us;
  CHECK_OK(d->admission.ops->decide(
               &(blis_question){d->admission.state, &request, &d->f.view, &error}, &decision),
           &error);
  return decision;
}

static blis_admission_decision ask(desk *d, blis_routing_request request, int64_t now_us) {
  request.ticket = &d->tickets[d->asked++];
  return ask_again(d, request, now_us);
}

static void check_rejected(blis_admission_decision decision, const char *part) {
  CHECK_EQ_I64(decision.verdict, BLIS_REJECT);
  CHECK_CONTAINS(decision.reason, part);
}

/* Macro plan: bucket of 1000, 100 per second. */
static void token_bucket_example(void) {
  static const struct {
    double at_s;
    int64_t cost;
    bool is_admitted;
  } steps[] = {{0, 400, true},  {1, 500, true}, {2, 300, true},
               {3, 200, false}, {4, 100, true}, {6.5, 300, true}};
  desk d;
  desk_open(&d, "token-bucket", NULL, 0, false);
  for (size_t i = 0; i < 6; i++) {
    blis_routing_request r = {.prompt_tokens = steps[i].cost};
    blis_admission_decision decision = ask(&d, r, (int64_t)(steps[i].at_s * 1e6));
    CHECK_EQ_I64(decision.verdict, steps[i].is_admitted ? BLIS_ADMIT : BLIS_REJECT);
  }
  /* Every tenant has its own, full at first; nobody ever gets 1001. */
  blis_routing_request other = {.prompt_tokens = 1000, .tenant = number_of(&d, "other")};
  CHECK_EQ_I64(ask(&d, other, 6500000).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, other, 6500000), "insufficient tokens");
  other.prompt_tokens = 1001;
  check_rejected(ask(&d, other, 6500000), "costs more than the bucket holds");
  desk_close(&d);
}

/* BLIS (Go): 100 tokens, 1000 per second, 64-token requests every 300 us. */
static void token_bucket_of_go_blis(void) {
  static const blis_param params[] = {{.name = "bucket_size", .number = 100}};
  desk d;
  desk_open(&d, "token-bucket", params, 1, true);
  for (int64_t i = 0; i < 6; i++) {
    blis_routing_request r = {.prompt_tokens = 64, .tenant = (uint32_t)i};
    CHECK_EQ_I64(ask(&d, r, 1000 + 300 * i).verdict, i == 0 ? BLIS_ADMIT : BLIS_REJECT);
  }
  desk_close(&d);
}

static void token_bucket_costs(void) {
  static const struct {
    const char *cost;
    int64_t admitted;
  } cases[] = {{"input_tokens", 2}, {"request", 5}, {"total_tokens", 1}};
  for (size_t i = 0; i < 3; i++) {
    const blis_param params[] = {{.name = "bucket_size", .number = 20 + (i == 1 ? -15 : 0)},
                                 {.name = "cost", .text = cases[i].cost}};
    desk d;
    desk_open(&d, "token-bucket", params, 2, false);
    int64_t admitted = 0;
    for (int k = 0; k < 8; k++) {
      blis_routing_request r = {.prompt_tokens = 10, .max_output_tokens = 4};
      admitted += ask(&d, r, 0).verdict == BLIS_ADMIT;
    }
    CHECK_EQ_I64(admitted, cases[i].admitted);
    desk_close(&d);
  }
}

static void rate_limit_example(void) {
  static const blis_param params[] = {{.name = "burst", .number = 2}, {.name = "rps", .number = 1}};
  desk d;
  desk_open(&d, "cognitora.rate_limit", params, 2, false);
  const blis_routing_request r = {.number = 0};
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, r, 0), "rate-limit");
  CHECK_EQ_I64(ask(&d, r, 1000000).verdict, BLIS_ADMIT);
  desk_close(&d);
}

/* Those who wait get their turns one after the other, and nobody twice. */
static void rate_limit_delays(void) {
  static const blis_param params[] = {{.name = "burst", .number = 1},
                                      {.name = "rps", .number = 4},
                                      {.name = "on_limit", .text = "delay"}};
  desk d;
  desk_open(&d, "rate-limit", params, 3, false);
  const blis_routing_request r = {.number = 0};
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  for (int64_t k = 1; k <= 3; k++) {
    blis_admission_decision decision = ask(&d, r, 0);
    CHECK_EQ_I64(decision.verdict, BLIS_DELAY);
    CHECK_EQ_I64(decision.delay_us, 250000 * k);
  }
  blis_routing_request second = {.ticket = &d.tickets[1]};
  CHECK_EQ_I64(ask_again(&d, second, 250000).verdict, BLIS_ADMIT);
  CHECK_EQ_I64(ask(&d, r, 250000).delay_us, 750000);
  CHECK_EQ_I64(ask(&d, r, 5000000).verdict, BLIS_ADMIT);
  desk_close(&d);
}

static void tenant_quota_example(void) {
  static const blis_param params[] = {{.name = "quota", .key = "acme", .number = 2},
                                      {.name = "quota", .key = "closed", .number = 0},
                                      {.name = "default_quota", .number = 1}};
  desk d;
  desk_open(&d, "tenant-quota", params, 3, false);
  const blis_routing_request acme = {.tenant = number_of(&d, "acme")};
  const blis_routing_request closed = {.tenant = number_of(&d, "closed")};
  const blis_routing_request nobody = {.tenant = 0};
  CHECK_EQ_I64(ask(&d, acme, 0).verdict, BLIS_ADMIT);
  CHECK_EQ_I64(ask(&d, acme, 0).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, acme, 0), "tenant-quota");
  d.admission.ops->ended(d.admission.state, &d.tickets[0], 0, 0);
  CHECK_EQ_I64(ask(&d, acme, 0).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, closed, 0), "tenant-quota");
  CHECK_EQ_I64(ask(&d, nobody, 0).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, nobody, 0), "tenant-quota");
  desk_close(&d);
}

static void cognitora_example(void) {
  static const blis_param params[] = {{.name = "max_queue", .number = 2}};
  desk d;
  desk_open(&d, "cognitora.admission", params, 1, false);
  const blis_routing_request r = {.model = number_of(&d, "m")};
  const blis_routing_request other = {.model = number_of(&d, "n")};
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, r, 0), "503");
  CHECK_EQ_I64(ask(&d, other, 0).verdict, BLIS_ADMIT);
  d.admission.ops->ended(d.admission.state, &d.tickets[1], 0, 0);
  CHECK_EQ_I64(ask(&d, r, 0).verdict, BLIS_ADMIT);
  /* The client has the last token at 500. */
  d.admission.ops->ended(d.admission.state, &d.tickets[0], 0, 500);
  check_rejected(ask(&d, r, 499), "503");
  CHECK_EQ_I64(ask(&d, r, 500).verdict, BLIS_ADMIT);
  check_rejected(ask(&d, r, 501), "503");
  desk_close(&d);
}

static void tier_shed_example(void) {
  static const blis_param params[] = {{.name = "threshold", .number = 5}};
  desk d;
  desk_open(&d, "tier-shed", params, 1, false);
  blis_routing_request batch = {.slo_value = -1, .slo_class = number_of(&d, "batch")};
  blis_routing_request standard = {.slo_value = 3};
  fixture_set(&d.f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){5, 2});
  CHECK_EQ_I64(ask(&d, batch, 0).verdict, BLIS_ADMIT);
  fixture_set(&d.f, BLIS_SIGNAL_EFFECTIVE_LOAD, (double[]){0, 6});
  check_rejected(ask(&d, batch, 0), "class batch with priority -1, below 3, at "
                                    "load 6");
  CHECK_EQ_I64(ask(&d, standard, 0).verdict, BLIS_ADMIT);
  d.f.view.count = 0; /* nobody there: no load */
  CHECK_EQ_I64(ask(&d, batch, 0).verdict, BLIS_ADMIT);
  desk_close(&d);
}

/* max(2 / 5, 0.5 / 0.8) = 0.625; (0.625 + x) / 2 < 1 up to x = 1.375. */
static void gaie_legacy_example(void) {
  desk d;
  desk_open(&d, "gaie-legacy", NULL, 0, false);
  const blis_routing_request batch = {.slo_value = -1, .slo_class = number_of(&d, "batch")};
  const blis_routing_request critical = {.slo_value = 4};
  fixture_set(&d.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.1});
  fixture_set(&d.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){2, 6});
  CHECK_EQ_I64(ask(&d, batch, 0).verdict, BLIS_ADMIT);
  fixture_set(&d.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){2, 7});
  check_rejected(ask(&d, batch, 0), "class batch at saturation 1.01");
  CHECK_EQ_I64(ask(&d, critical, 0).verdict, BLIS_ADMIT);
  d.f.view.count = 0; /* nobody there: saturated */
  check_rejected(ask(&d, batch, 0), "saturation 1.00");
  desk_close(&d);
}

/* How many of so many requests are refused at a KV utilisation. */
static int refused_of(desk *d, const blis_routing_request *request, double kv_utilization,
                      int count) {
  fixture_set(&d->f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){kv_utilization, kv_utilization});
  int refused = 0;
  for (int i = 0; i < count; i++) {
    refused += ask_again(d, *request, 0).verdict == BLIS_REJECT;
  }
  return refused;
}

/*
 * Saturation 0.2 refuses 9.6 % of the sheddable, 0.3 refuses 72.9 %, and from
 * 300^(-1/5) = 0.3196 on all of them are refused.
 */
static void probabilistic_example(void) {
  desk d;
  desk_open(&d, "probabilistic-admitter", NULL, 0, false);
  const blis_routing_request batch = {.slo_value = -1, .slo_class = number_of(&d, "batch")};
  const blis_routing_request standard = {.slo_value = 0};
  enum { COUNT = 5000 };
  int refused = refused_of(&d, &batch, 0.2 * 0.8, COUNT);
  CHECK(refused > 480 - 63 && refused < 480 + 63); /* 3 standard deviations */
  refused = refused_of(&d, &batch, 0.3 * 0.8, COUNT);
  CHECK(refused > 3645 - 95 && refused < 3645 + 95);
  CHECK_EQ_I64(refused_of(&d, &batch, 0.3196 * 0.8, COUNT), COUNT);
  CHECK(refused_of(&d, &batch, 0.31 * 0.8, COUNT) < COUNT);
  CHECK_EQ_I64(refused_of(&d, &standard, 0.3 * 0.8, COUNT), 0);
  fixture_set(&d.f, BLIS_SIGNAL_QUEUE_DEPTH, (double[]){1.6, 1.6});
  check_rejected(ask(&d, batch, 0), "probability 1.000 at saturation 0.32");
  d.f.view.count = 0;
  CHECK_EQ_I64(ask(&d, batch, 0).verdict, BLIS_ADMIT);
  desk_close(&d);
}

/* 2,000 + 500 tokens at 10,000 per second, and 50 ms have gone: 300 ms. */
static void latency_slo_example(void) {
  const blis_param rate = {.name = "prefill_tokens_per_s", .number = 10000};
  desk d;
  desk_open(&d, "latency-slo", &rate, 1, false);
  blis_routing_request batch = {.slo_value = -1, .slo_target_us = 300000, .prompt_tokens = 500};
  fixture_set(&d.f, BLIS_SIGNAL_BATCH_SIZE, (double[]){1, 1});
  fixture_set(&d.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.02});
  fixture_set(&d.f, BLIS_SIGNAL_PENDING_PREFILL_TOKENS, (double[]){9000, 2000});
  CHECK_EQ_I64(ask(&d, batch, 50000).verdict, BLIS_ADMIT);
  batch.slo_target_us = 299999;
  check_rejected(ask(&d, batch, 50000), "within 299999 us");
  fixture_set(&d.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.019});
  CHECK_EQ_I64(ask(&d, batch, 50000).verdict, BLIS_ADMIT); /* cold */
  fixture_set(&d.f, BLIS_SIGNAL_KV_UTILIZATION, (double[]){0.5, 0.5});
  fixture_set(&d.f, BLIS_SIGNAL_BATCH_SIZE, (double[]){0, 1});
  CHECK_EQ_I64(ask(&d, batch, 50000).verdict, BLIS_ADMIT); /* idle */
  fixture_set(&d.f, BLIS_SIGNAL_BATCH_SIZE, (double[]){1, 1});
  batch.slo_target_us = 0; /* nothing was promised */
  CHECK_EQ_I64(ask(&d, batch, 50000).verdict, BLIS_ADMIT);
  desk_close(&d);
}

static void wrong_parameters(void) {
  static const struct {
    const char *policy;
    blis_param param;
    const char *part;
  } cases[] = {
      {"token-bucket",
       {.name = "bucket_size", .number = 0},
       "admission policy token-bucket: bucket_size is 0; expected a number"},
      {"token-bucket", {.name = "refill_rat", .number = 1}, "did you mean 'refill_rate'?"},
      {"gaie-legacy", {.name = "kv_threshold", .number = 1.5}, "is 1.5"},
      {"tenant-quota", {.name = "quota", .number = 1}, "quota must be a table of numbers"},
      {"tenant-quota", {.name = "quota", .key = "acme", .number = -1}, "quota of acme is -1"},
      {"tier-shed", {.name = "threshold", .key = "a", .number = 1}, "threshold must be a value"},
      {"tokenbucket", {.name = "x"}, "did you mean 'token-bucket'?"},
  };
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    blis_alloc alloc = blis_alloc_heap();
    blis_admission admission = {0};
    blis_error error;
    const blis_params params = {&cases[i].param, 1};
    CHECK_STATUS(blis_admission_create(&alloc, cases[i].policy, &params, &(blis_policy_context){0},
                                       &admission, &error),
                 BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].part);
  }
}

/* A whole run under each of them, on few instances for many requests. */
static void whole_runs(void) {
  for (size_t i = 0; i < blis_policy_count(BLIS_POLICY_ADMISSION); i++) {
    const blis_policy_entry *entry = blis_policy_at(BLIS_POLICY_ADMISSION, i);
    uint64_t hashes[2];
    for (int again = 0; again < 2; again++) {
      site s;
      site_init(&s, blis_alloc_heap(), 2);
      s.policy = "least-loaded";
      s.config.admission_latency_us = 100;
      site_add_random_requests(&s, 600, 100, 8);
      site_must_open(&s);
      blis_policy_context context = site_context(&s);
      blis_admission admission = {0};
      blis_error error;
      CHECK_OK(blis_admission_create(&s.alloc, entry->name, NULL, &context, &admission, &error),
               &error);
      site_set_admission(&s, &admission);
      site_run(&s);
      site_check_states_sum_up(&s, 600);
      site_check_counters_are_zero(&s);
      hashes[again] = blis_recorder_hash(s.recorder);
      blis_cluster_counts c;
      blis_cluster_get_counts(s.cluster, &c);
      bool sheds = strcmp(entry->name, "token-bucket") == 0 ||
                   strcmp(entry->name, "tier-shed") == 0 || strcmp(entry->name, "reject-all") == 0;
      CHECK((c.rejected > 0) == sheds || strcmp(entry->name, "gaie-legacy") == 0 ||
            strcmp(entry->name, "probabilistic") == 0);
      site_deinit(&s);
    }
    CHECK(hashes[0] == hashes[1]);
    CHECK(entry->summary[0] != '\0' && entry->source[0] != '\0');
  }
}

static void no_memory_is_an_error(void) {
  static const blis_param quota[] = {{.name = "quota", .key = "acme", .number = 2},
                                     {.name = "quota", .key = "other", .number = 3}};
  for (size_t i = 0; i < blis_policy_count(BLIS_POLICY_ADMISSION); i++) {
    const char *name = blis_policy_at(BLIS_POLICY_ADMISSION, i)->name;
    const blis_params params = {quota, strcmp(name, "tenant-quota") == 0 ? 2 : 0};
    blis_status status = BLIS_ERR_NOMEM;
    for (long fail_at = 1; status != BLIS_OK; fail_at++) {
      blis_alloc_probe memory = {.fail_at = fail_at, .fail_forever = 1};
      blis_alloc alloc = blis_alloc_probed(&memory);
      blis_admission admission = {0};
      blis_error error;
      status = blis_admission_create(&alloc, name, &params, &(blis_policy_context){0}, &admission,
                                     &error);
      blis_admission_free(&admission);
      CHECK_EQ_I64(memory.live_bytes, 0);
    }
  }
}

/* An admitted request that nobody can take gives its permit back. */
static void permits_come_back_when_routing_refuses(void) {
  static const blis_instance_facts facts[] = {{.model = "a", .capacity = 1}};
  const blis_param quota = {.name = "default_quota", .number = 1};
  const blis_params params = {&quota, 1};
  site s;
  site_init(&s, blis_alloc_heap(), 1);
  s.config.facts = facts;
  site_add_slow_requests(&s, 3);
  for (size_t i = 0; i < 2; i++) {
    CHECK(blis_intern_add(s.strings, i == 0 ? "b" : "a", 1, &s.source.requests[i].model) ==
          BLIS_OK);
  }
  site_must_open(&s);
  blis_policy_context context = site_context(&s);
  blis_admission admission = {0};
  blis_error error;
  CHECK_OK(blis_admission_create(&s.alloc, "tenant-quota", &params, &context, &admission, &error),
           &error);
  site_set_admission(&s, &admission);
  site_run(&s);
  static const char *const reasons[] = {"no-instance", "", "tenant-quota"};
  for (size_t i = 0; i < 3; i++) {
    const blis_record *r = &site_records(&s)[i];
    CHECK_STR(blis_recorder_reason(s.recorder, r), reasons[r->number]);
  }
  site_deinit(&s);
}

/* Tenant budgets and SLO values are the cluster's. */

/* One tenant may fill a quarter of 2 x 4 with sheddable requests: 2 of them. */
static void tenant_budgets_shed(void) {
  static const blis_tenant_budget budgets[] = {{"batch", 0.25}};
  site s;
  site_init(&s, blis_alloc_heap(), 2);
  site_add_slow_requests(&s, 9);
  uint32_t batch;
  CHECK(blis_intern_add(s.strings, "batch", 5, &batch) == BLIS_OK);
  for (size_t i = 0; i < 9; i++) {
    s.source.requests[i].slo_class = batch;
    s.source.requests[i].tenant = i % 2 == 0 ? batch : 0;
  }
  s.source.requests[8].arrival_us = 60000000; /* when all others have left */
  for (uint32_t i = 0; i < 2; i++) {
    s.instances[i].max_num_seqs = 4;
  }
  s.config.options[BLIS_FEATURE_TENANTS] = &(blis_tenant_budgets){budgets, 1};
  site_must_open(&s);
  site_run(&s);
  site_check_states_sum_up(&s, 9);
  for (size_t i = 0; i < 9; i++) {
    const blis_record *r = &site_records(&s)[i];
    bool is_shed = r->number == 6; /* the one after more than 2, which is 3 */
    CHECK_STR(blis_recorder_reason(s.recorder, r), is_shed ? "tenant-budget-shed" : "");
  }
  site_close(&s);

  static const blis_slo_override overrides[] = {{"batch", 1}};
  s.config.slo_overrides = overrides;
  s.config.slo_override_count = 1;
  site_must_open(&s); /* now batch is not sheddable */
  site_run(&s);
  blis_cluster_counts c;
  blis_cluster_get_counts(s.cluster, &c);
  CHECK_EQ_I64(c.rejected, 0);
  site_deinit(&s);
}

static void wrong_budgets_and_values(void) {
  static const blis_tenant_budget budgets[][2] = {
      {{"a", 1.5}, {"b", 1}}, {{"a", 1}, {"a", 0.5}}, {{"", 1}, {"b", 1}}};
  static const char *const parts[] = {"budget of tenant a is 1.5",
                                      "tenant a has more than one budget",
                                      "a tenant budget needs the name of a tenant"};
  static const blis_slo_override override = {"batch", 101};
  site s;
  blis_error error;
  site_init(&s, blis_alloc_heap(), 1);
  for (size_t i = 0; i < 3; i++) {
    s.config.options[BLIS_FEATURE_TENANTS] = &(blis_tenant_budgets){budgets[i], 2};
    CHECK_STATUS(site_open(&s, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, parts[i]);
    site_close(&s);
  }
  s.config.options[BLIS_FEATURE_TENANTS] = NULL;
  s.config.slo_overrides = &override;
  s.config.slo_override_count = 1;
  CHECK_STATUS(site_open(&s, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "batch");
  site_deinit(&s);
}

int main(void) {
  RUN(token_bucket_example);
  RUN(token_bucket_of_go_blis);
  RUN(token_bucket_costs);
  RUN(rate_limit_example);
  RUN(rate_limit_delays);
  RUN(tenant_quota_example);
  RUN(cognitora_example);
  RUN(tier_shed_example);
  RUN(gaie_legacy_example);
  RUN(probabilistic_example);
  RUN(latency_slo_example);
  RUN(wrong_parameters);
  RUN(whole_runs);
  RUN(no_memory_is_an_error);
  RUN(permits_come_back_when_routing_refuses);
  RUN(tenant_budgets_shed);
  RUN(wrong_budgets_and_values);
  return check_done();
}
