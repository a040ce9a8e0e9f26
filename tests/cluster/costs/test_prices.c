/* What instances cost where prices change, by hand. */
#include "cluster/costs/prices.h"

#include <math.h>

#include "cluster_fixture.h"

static const int64_t hour_us = 3600000000;

static blis_status set(site *s, const blis_price_step *steps, size_t count, blis_error *error) {
  return blis_cluster_set_prices(s->cluster, 0, steps, count, error);
}

static void open_pair(site *s) {
  site_init(s, blis_alloc_heap(), 2);
  site_add_slow_requests(s, 6);
  site_must_open(s);
}

static void each_hour_has_its_price(void) {
  site s;
  open_pair(&s);
  CHECK(!blis_cluster_has_prices(s.cluster));
  CHECK(blis_cluster_instance_usd(s.cluster, 0, hour_us) < 0);
  const blis_price_step steps[] = {{0, 2}, {hour_us, 5}, {3 * hour_us, 1}};
  blis_error error = {0};
  CHECK_OK(set(&s, steps, 3, &error), &error);
  CHECK(blis_cluster_has_prices(s.cluster));
  CHECK_EQ_DOUBLE(blis_cluster_instance_usd(s.cluster, 1, 0), 0);
  CHECK_EQ_DOUBLE(blis_cluster_instance_usd(s.cluster, 1, hour_us / 2), 1);
  CHECK_EQ_DOUBLE(blis_cluster_instance_usd(s.cluster, 1, hour_us), 2);
  CHECK_EQ_DOUBLE(blis_cluster_instance_usd(s.cluster, 1, 2 * hour_us), 7);
  CHECK_EQ_DOUBLE(blis_cluster_instance_usd(s.cluster, 1, 5 * hour_us), 14);
  site_deinit(&s);
}

static blis_status fail_first(void *ud, blis_cluster *cluster, blis_error *error) {
  (void)ud;
  return blis_cluster_instance_fail(cluster, 0, (blis_loss){.kind = BLIS_LOSS_REROUTED}, error);
}

static void one_that_has_gone_costs_no_more(void) {
  site s;
  open_pair(&s);
  const blis_price_step steps[] = {{0, 3600}, {100000, 7200}}; /* 1, 2 USD/s */
  blis_error error = {0};
  CHECK_OK(set(&s, steps, 2, &error), &error);
  CHECK_OK(blis_cluster_call_at(s.cluster, 300000, fail_first, NULL, &error), &error);
  site_run(&s);
  CHECK(fabs(blis_cluster_instance_usd(s.cluster, 0, 10000000) - 0.5) < 1e-9);
  CHECK(fabs(blis_cluster_instance_usd(s.cluster, 1, 10000000) - 19.9) < 1e-9);
  site_deinit(&s);
}

static void lists_are_checked(void) {
  site s;
  open_pair(&s);
  blis_error error = {0};
  const blis_price_step late[] = {{1, 2}};
  CHECK_STATUS(set(&s, late, 1, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "prices: the first step must be at 0 us");
  CHECK_STATUS(set(&s, late, 0, &error), BLIS_ERR_INVALID);
  const blis_price_step twice[] = {{0, 2}, {0, 3}};
  CHECK_STATUS(set(&s, twice, 2, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "prices: steps must be in order of time");
  const blis_price_step below[] = {{0, -1}};
  CHECK_STATUS(set(&s, below, 1, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "prices: invalid value -1: expected a finite "
                           "number of at least 0");
  const blis_price_step fine[] = {{0, 1}};
  CHECK_OK(set(&s, fine, 1, &error), &error);
  CHECK_STATUS(set(&s, fine, 1, &error), BLIS_ERR_INVALID);
  CHECK_STR(error.message, "prices: group 0 has prices already");
  site_deinit(&s);
}

int main(void) {
  RUN(each_hour_has_its_price);
  RUN(one_that_has_gone_costs_no_more);
  RUN(lists_are_checked);
  return check_done();
}
