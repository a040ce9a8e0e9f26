/* How the time is rounded for which instances are paid, by hand. */
#include "cluster/costs/billing.h"

#include "cluster/costs/prices.h"
#include "cluster/instances/life_cycle.h"
#include "cluster_fixture.h"

static void time_is_rounded_up(void) {
  const blis_billing units = {.granularity_us = 10};
  CHECK_EQ_I64(blis_billed_us(&units, 0), 0);
  CHECK_EQ_I64(blis_billed_us(&units, -5), 0);
  CHECK_EQ_I64(blis_billed_us(&units, 1), 10);
  CHECK_EQ_I64(blis_billed_us(&units, 10), 10);
  CHECK_EQ_I64(blis_billed_us(&units, 11), 20);
  const blis_billing least = {.minimum_us = 60};
  CHECK_EQ_I64(blis_billed_us(&least, 0), 0); /* what never was there */
  CHECK_EQ_I64(blis_billed_us(&least, 7), 60);
  CHECK_EQ_I64(blis_billed_us(&least, 61), 61);
  const blis_billing both = {.granularity_us = 7, .minimum_us = 60};
  CHECK_EQ_I64(blis_billed_us(&both, 50), 60);
  CHECK_EQ_I64(blis_billed_us(&both, 57), 63);
}

static void open_pair(site *s) {
  site_init(s, blis_alloc_heap(), 2);
  site_add_slow_requests(s, 6);
  site_must_open(s);
}

static void set(site *s, blis_billing billing) {
  blis_error error = {0};
  CHECK_OK(blis_cluster_set_billing(s->cluster, 0, &billing, &error), &error);
}

static int64_t more_us(const site *s, uint32_t i, int64_t until_us) {
  return blis_cluster_instance_rounding(s->cluster, i, until_us).us;
}

static void nothing_is_rounded_without_rules(void) {
  site s;
  open_pair(&s);
  CHECK(!blis_cluster_has_billing(s.cluster));
  CHECK_EQ_I64(more_us(&s, 0, 15), 0);
  CHECK_EQ_I64(blis_cluster_billing(s.cluster, 0).minimum_us, 0);
  set(&s, (blis_billing){.granularity_us = 10});
  CHECK(blis_cluster_has_billing(s.cluster));
  CHECK_EQ_I64(blis_cluster_billing(s.cluster, 0).granularity_us, 10);
  CHECK_EQ_I64(blis_cluster_billing(s.cluster, 1).granularity_us, 0);
  CHECK_EQ_I64(more_us(&s, 0, 0), 0);
  CHECK_EQ_I64(more_us(&s, 0, 15), 5);
  CHECK_EQ_I64(more_us(&s, 1, 20), 0);
  site_deinit(&s);
}

static void rules_are_checked(void) {
  site s;
  open_pair(&s);
  blis_error error = {0};
  const blis_billing below = {.minimum_us = -3};
  CHECK_STATUS(blis_cluster_set_billing(s.cluster, 0, &below, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "billing: invalid value -3 us: expected at least 0");
  const blis_billing fine = {.minimum_us = 3};
  set(&s, fine);
  CHECK_STATUS(blis_cluster_set_billing(s.cluster, 0, &fine, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "billing: group 0 has rules already");
  site_deinit(&s);
}

/* Crashes at 100 and comes back at 300, or goes for good where ud is NULL. */
static blis_status fail_first(void *ud, blis_cluster *cluster, blis_error *error) {
  BLIS_TRY(blis_cluster_instance_fail(cluster, 0, (blis_loss){.kind = BLIS_LOSS_REROUTED}, error));
  return ud == NULL ? BLIS_OK : blis_cluster_instance_recover(cluster, 0, 200, 0, error);
}

static blis_status restore_first(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_restore(cluster, 0, error);
}

static void fail_at(site *s, int64_t time_us, bool comes_back) {
  blis_error error = {0};
  CHECK_OK(blis_cluster_call_at(s->cluster, time_us, fail_first, comes_back ? s : NULL, &error),
           &error);
}

static void one_that_is_to_come_back_stays(void) {
  site s;
  open_pair(&s);
  set(&s, (blis_billing){.granularity_us = 1000});
  fail_at(&s, 100, true);
  site_run(&s);
  CHECK_EQ_I64(more_us(&s, 0, 1700000), 0);
  CHECK_EQ_I64(more_us(&s, 0, 1700001), 999);
  site_deinit(&s);
}

static void one_that_has_gone_is_rounded_once(void) {
  site s;
  open_pair(&s);
  set(&s, (blis_billing){.minimum_us = 1000});
  fail_at(&s, 100, false);
  site_run(&s);
  CHECK_EQ_I64(more_us(&s, 0, 1700000), 900);
  CHECK_EQ_I64(more_us(&s, 1, 1700000), 0);
  site_deinit(&s);
}

/* From 0 to 100, and from 40,000 on. */
static void each_time_is_rounded(void) {
  site s;
  open_pair(&s);
  const blis_price_step steps[] = {{0, 3.6e9}, {100, 7.2e9}, {50000, 1.08e10}};
  blis_error error = {0};
  CHECK_OK(blis_cluster_set_prices(s.cluster, 0, steps, 3, &error), &error);
  set(&s, (blis_billing){.minimum_us = 1000, .granularity_us = 7});
  fail_at(&s, 100, false);
  CHECK_OK(blis_cluster_call_at(s.cluster, 40000, restore_first, NULL, &error), &error);
  site_run(&s);
  blis_rounding more = blis_cluster_instance_rounding(s.cluster, 0, 40000 + 1000001);
  CHECK_EQ_I64(more.us, 900 + 5);
  CHECK_EQ_DOUBLE(more.gpu_usd, 900 * 1 + 5 * 3); /* USD/us when it went */
  site_deinit(&s);
}

/* 1 s at 1 USD/h and the 3,599 s that an hour adds, though the step that took
   it away was one to 10 USD/h. */
static void what_is_added_costs_what_was_paid(void) {
  site s;
  open_pair(&s);
  const blis_price_step steps[] = {{0, 1}, {1000000, 10}};
  blis_error error = {0};
  CHECK_OK(blis_cluster_set_prices(s.cluster, 0, steps, 2, &error), &error);
  set(&s, (blis_billing){.granularity_us = 3600000000});
  fail_at(&s, 1000000, false);
  site_run(&s);
  blis_rounding more = blis_cluster_instance_rounding(s.cluster, 0, 2000000);
  CHECK_EQ_I64(more.us, 3599000000);
  CHECK_EQ_DOUBLE(more.gpu_usd, 3599000000 / 3.6e9);
  /* The other one was there for 1 s at 10 USD/h. */
  more = blis_cluster_instance_rounding(s.cluster, 1, 2000000);
  CHECK_EQ_DOUBLE(more.gpu_usd, 10 * (3598000000 / 3.6e9));
  site_deinit(&s);
}

int main(void) {
  RUN(time_is_rounded_up);
  RUN(nothing_is_rounded_without_rules);
  RUN(rules_are_checked);
  RUN(one_that_is_to_come_back_stays);
  RUN(one_that_has_gone_is_rounded_once);
  RUN(each_time_is_rounded);
  RUN(what_is_added_costs_what_was_paid);
  return check_done();
}
