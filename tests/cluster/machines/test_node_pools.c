/* Instances on machines: who finds room, who waits, and when they start. */
#include "cluster/machines/machines.h"
#include "cluster/machines/node_pools.h"
#include "cluster/scaling/scaling.h"
#include "cluster_fixture.h"

static const blis_instance_facts facts[SITE_INSTANCES_MAX] = {
    {.gpu = "H100", .tp = 2, .capacity = 1}, {.gpu = "H100", .tp = 2, .capacity = 1},
    {.gpu = "H100", .tp = 2, .capacity = 1}, {.gpu = "H100", .tp = 2, .capacity = 1},
    {.gpu = "H100", .tp = 2, .capacity = 1}, {.gpu = "H100", .tp = 2, .capacity = 1},
};

/* Room for 6 instances, of which so many are there, and 40 slow requests. */
static void open_site(site *s, uint32_t initial) {
  site_init(s, blis_alloc_heap(), 6);
  site_add_slow_requests(s, 40);
  s->config.facts = facts;
  s->config.initial_count = initial;
  site_must_open(s);
}

static blis_status set(site *s, const blis_node_pool *pools, size_t count, blis_error *error) {
  const blis_node_pools_config config = {.pools = pools, .count = count, .seed = 1};
  return blis_cluster_set_node_pools(s->cluster, &config, error);
}

static void must_set(site *s, const blis_node_pool *pools, size_t count) {
  blis_error error;
  CHECK_OK(set(s, pools, count, &error), &error);
}

static uint32_t start(site *s) {
  const blis_cold_start cold = {.loading = {1000, 0}};
  uint32_t index;
  blis_error error;
  CHECK_OK(blis_cluster_instance_start(s->cluster, 0, &cold, 1, &index, &error), &error);
  return index;
}

static blis_service service_of(const site *s, uint32_t i) {
  return blis_cluster_instance_service(s->cluster, i);
}

static void run_until(site *s, int64_t at_us) {
  blis_error error;
  CHECK_OK(blis_cluster_run_until(s->cluster, at_us, &error), &error);
}

static void those_that_fit_start(void) {
  site s;
  open_site(&s, 1);
  /* An instance needs two GPUs of one node: the third GPU of a node is idle. */
  const blis_node_pool pools[] = {
      {.name = "other", .gpu = "L40S", .gpus_per_node = 8, .nodes = 1, .max_nodes = 1},
      {.name = "main", .gpu = "h100", .gpus_per_node = 3, .nodes = 2, .max_nodes = 2}};
  must_set(&s, pools, 2);
  run_until(&s, 1000);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_LOADING);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_PENDING);
  blis_node_pool_use use = blis_cluster_node_pool_use(s.cluster, 1);
  CHECK_EQ_I64(use.gpus, 6);
  CHECK_EQ_I64(use.used, 4);
  CHECK_EQ_I64(blis_cluster_node_pool_use(s.cluster, 0).used, 0);
  run_until(&s, 5000);
  CHECK_EQ_I64(service_of(&s, 1), BLIS_SERVICE_ACTIVE);
  CHECK_EQ_I64(service_of(&s, 2), BLIS_SERVICE_PENDING);
  /* It starts when another one has gone. */
  blis_error error;
  CHECK_OK(blis_cluster_instance_stop(s.cluster, 1, BLIS_STOP_IMMEDIATE, 0, &error), &error);
  run_until(&s, 5500);
  CHECK_EQ_I64(service_of(&s, 1), BLIS_SERVICE_DRAINED);
  CHECK_EQ_I64(service_of(&s, 2), BLIS_SERVICE_LOADING);
  run_until(&s, 6000);
  CHECK_EQ_I64(service_of(&s, 2), BLIS_SERVICE_ACTIVE);
  CHECK_EQ_I64(blis_cluster_instance_restore(s.cluster, 1, &error), BLIS_ERR_INVALID);
  CHECK_CONTAINS(error.message, "it does not fit on the nodes");
  CHECK_EQ_I64(service_of(&s, 1), BLIS_SERVICE_DRAINED);
  site_run(&s);
  site_check_states_sum_up(&s, 40);
  site_deinit(&s);
}

static void nodes_are_ordered(void) {
  site s;
  open_site(&s, 1);
  const blis_node_pool pools[] = {{.name = "main",
                                   .gpu = "H100",
                                   .gpus_per_node = 4,
                                   .nodes = 1,
                                   .max_nodes = 2,
                                   .provisioning = {20000, 0}}};
  must_set(&s, pools, 1);
  run_until(&s, 1000);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_LOADING);
  uint32_t third = start(&s);
  CHECK_EQ_I64(service_of(&s, third), BLIS_SERVICE_PROVISIONING);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_PROVISIONING);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_PENDING);
  CHECK_EQ_I64(blis_cluster_node_pool_use(s.cluster, 0).nodes, 1);
  /* What becomes free comes first. */
  run_until(&s, 4000);
  blis_error error;
  CHECK_OK(blis_cluster_instance_stop(s.cluster, 1, BLIS_STOP_IMMEDIATE, 0, &error), &error);
  run_until(&s, 4500);
  CHECK_EQ_I64(service_of(&s, third), BLIS_SERVICE_LOADING);
  CHECK_EQ_I64(service_of(&s, 4), BLIS_SERVICE_PROVISIONING);
  run_until(&s, 22500);
  CHECK_EQ_I64(service_of(&s, 3), BLIS_SERVICE_ACTIVE);
  CHECK_EQ_I64(service_of(&s, 4), BLIS_SERVICE_ACTIVE);
  CHECK_EQ_I64(blis_cluster_instance_time_us(s.cluster, 3, BLIS_SERVICE_PROVISIONING, 30000),
               20000);
  blis_node_pool_use use = blis_cluster_node_pool_use(s.cluster, 0);
  CHECK_EQ_I64(use.most_nodes, 2);
  CHECK_EQ_I64(use.used, 8);
  site_run(&s);
  site_check_states_sum_up(&s, 40);
  site_deinit(&s);
}

static void a_failure_for_good_makes_room(void) {
  site s;
  open_site(&s, 1);
  const blis_node_pool pools[] = {
      {.name = "main", .gpu = "H100", .gpus_per_node = 2, .nodes = 1, .max_nodes = 1}};
  must_set(&s, pools, 1);
  run_until(&s, 1000);
  CHECK_EQ_I64(service_of(&s, start(&s)), BLIS_SERVICE_PENDING);
  blis_error error;
  CHECK_OK(
      blis_cluster_instance_fail(s.cluster, 0, (blis_loss){.kind = BLIS_LOSS_REROUTED}, &error),
      &error);
  CHECK_OK(blis_cluster_instance_recover(s.cluster, 0, 3000, 0, &error), &error);
  run_until(&s, 3000);
  CHECK_EQ_I64(service_of(&s, 1), BLIS_SERVICE_PENDING); /* it comes back */
  run_until(&s, 5000);
  CHECK_EQ_I64(service_of(&s, 0), BLIS_SERVICE_ACTIVE);
  CHECK_OK(
      blis_cluster_instance_fail(s.cluster, 0, (blis_loss){.kind = BLIS_LOSS_REROUTED}, &error),
      &error);
  run_until(&s, 7000);
  CHECK_EQ_I64(service_of(&s, 1), BLIS_SERVICE_ACTIVE);
  site_run(&s);
  site_deinit(&s);
}

/* The price of a machine is that of its own pool, or of the first pool with its type of GPU. */
static void machines_have_prices(void) {
  const blis_node_pool pools[] = {{.name = "cheap",
                                   .gpu = "L40S",
                                   .gpus_per_node = 8,
                                   .nodes = 1,
                                   .max_nodes = 1,
                                   .cost_per_hour = 1},
                                  {.name = "unpriced",
                                   .gpu = "H100",
                                   .gpus_per_node = 2,
                                   .nodes = 1,
                                   .max_nodes = 1,
                                   .cost_per_hour = -1},
                                  {.name = "first",
                                   .gpu = "H100",
                                   .gpus_per_node = 2,
                                   .nodes = 1,
                                   .max_nodes = 1,
                                   .cost_per_hour = 3},
                                  {.name = "second",
                                   .gpu = "H100",
                                   .gpus_per_node = 2,
                                   .nodes = 1,
                                   .max_nodes = 1,
                                   .cost_per_hour = 8}};
  for (int has_first_price = 0; has_first_price <= 1; has_first_price++) {
    site s;
    open_site(&s, 3);
    const blis_node_pools_config config = {
        .pools = pools, .count = 4, .seed = 1, .rules = {.has_first_price = has_first_price != 0}};
    blis_error error;
    CHECK_OK(blis_cluster_set_node_pools(s.cluster, &config, &error), &error);
    static const double own[] = {0, 3, 8};
    for (uint32_t i = 0; i < 3; i++) {
      blis__machine machine = blis__machine_of(s.cluster, i);
      CHECK(strcmp(machine.gpu, "H100") == 0);
      CHECK_EQ_DOUBLE(machine.cost_per_hour, has_first_price ? 3 : own[i]);
    }
    site_deinit(&s);
  }
}

static void what_cannot_be_is_told(void) {
  static const struct {
    blis_node_pool pool;
    const char *told;
  } cases[] = {{{.name = "a", .gpu = "H100", .gpus_per_node = 1, .nodes = 4, .max_nodes = 4},
                "none has nodes with 2 GPUs of type 'H100'"},
               {{.name = "a", .gpu = "L4", .gpus_per_node = 8, .nodes = 4, .max_nodes = 4},
                "none has nodes with 2 GPUs of type 'H100'"},
               {{.name = "a", .gpu = "H100", .gpus_per_node = 2, .nodes = 1, .max_nodes = 9},
                "instance_1, with 2 GPUs H100, finds no room on their nodes: 1 of 2 "
                "instances are placed"},
               {{.name = "a", .gpu = "H100", .gpus_per_node = 2, .nodes = 3, .max_nodes = 2},
                "node pool 1 (a): 2 GPUs per node, 3 nodes at first and 2 at most"},
               {{.name = "a", .gpu = "H100", .gpus_per_node = 0, .nodes = 3, .max_nodes = 3},
                "expected 1 to 4096 GPUs"}};
  for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
    site s;
    open_site(&s, 2);
    blis_error error;
    CHECK_EQ_I64(set(&s, &cases[i].pool, 1, &error), BLIS_ERR_INVALID);
    CHECK_CONTAINS(error.message, cases[i].told);
    site_deinit(&s);
  }
}

int main(void) {
  RUN(those_that_fit_start);
  RUN(nodes_are_ordered);
  RUN(a_failure_for_good_makes_room);
  RUN(machines_have_prices);
  RUN(what_cannot_be_is_told);
  return check_done();
}
