/*
 * The queue of a gateway: worked examples, and random use against a plain list
 * that is searched from end to end.
 */
#include <math.h>
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "policy/flow/flow_claims.h"
#include "policy/flow/flow_queue.h"
#include "policy/flow/flow_service.h"

static blis_alloc heap;
static blis_intern *strings;

static uint32_t tenant_of(const char *name) {
  uint32_t tenant;
  CHECK_STATUS(blis_intern_add(strings, name, strlen(name), &tenant), BLIS_OK);
  return tenant;
}

static blis_flow_verdict add(blis_flow_queue *queue, uint64_t handle, int32_t priority,
                             const char *tenant, int64_t order, uint64_t *displaced) {
  const blis_flow_item item = {.handle = handle,
                               .priority = priority,
                               .tenant = tenant_of(tenant),
                               .order = order,
                               .size_bytes = 100,
                               .enqueue_us = (int64_t)handle};
  blis_flow_verdict verdict;
  bool has_displaced;
  blis_flow_item gone;
  CHECK_STATUS(blis_flow_queue_add(queue, &item, &verdict, &has_displaced, &gone), BLIS_OK);
  *displaced = has_displaced ? gone.handle : 0;
  return verdict;
}

static void wait_for(blis_flow_queue *queue, uint64_t handle, int32_t priority, const char *tenant,
                     int64_t order) {
  uint64_t displaced;
  CHECK_EQ_I64(add(queue, handle, priority, tenant, order, &displaced), BLIS_FLOW_QUEUED);
  CHECK_EQ_I64(displaced, 0);
}

static uint64_t take(blis_flow_queue *queue, size_t band) {
  return blis_flow_queue_take(queue, band, 0).handle;
}

static blis_flow_queue *queue_of(blis_flow_fairness fairness, blis_flow_limits limits) {
  return blis_flow_queue_new(&heap, &limits, fairness, strings, NULL);
}

static void test_strict_by_order(void) {
  blis_flow_queue *queue = queue_of(BLIS_FLOW_STRICT, (blis_flow_limits){0});
  wait_for(queue, 1, 0, "b", 30);
  wait_for(queue, 2, 0, "a", 20);
  wait_for(queue, 3, 0, "b", 10);
  CHECK_EQ_I64(take(queue, 0), 3);
  CHECK_EQ_I64(take(queue, 0), 2);
  CHECK_EQ_I64(take(queue, 0), 1);
  blis_flow_queue_free(queue);
}

/* The flow of the oldest item, and of that flow the most urgent one. */
static void test_strict_by_age(void) {
  blis_flow_queue *queue = queue_of(BLIS_FLOW_STRICT_FIFO, (blis_flow_limits){0});
  wait_for(queue, 1, 0, "b", 30);
  wait_for(queue, 2, 0, "a", 5);
  wait_for(queue, 3, 0, "b", 10);
  CHECK_EQ_I64(take(queue, 0), 3); // b holds the oldest, 3 goes first
  CHECK_EQ_I64(take(queue, 0), 1);
  CHECK_EQ_I64(take(queue, 0), 2);
  blis_flow_queue_free(queue);
}

static void test_round_robin(void) {
  blis_flow_queue *queue = queue_of(BLIS_FLOW_ROUND_ROBIN, (blis_flow_limits){0});
  wait_for(queue, 1, 0, "c", 0);
  wait_for(queue, 2, 0, "a", 0);
  wait_for(queue, 3, 0, "a", 0);
  wait_for(queue, 4, 0, "c", 0);
  CHECK_EQ_I64(take(queue, 0), 2); // a
  wait_for(queue, 5, 0, "b", 0);
  CHECK_EQ_I64(take(queue, 0), 5); // b, which was served to its end
  CHECK_EQ_I64(take(queue, 0), 1); // c
  CHECK_EQ_I64(take(queue, 0), 3); // a again
  CHECK_EQ_I64(take(queue, 0), 4);
  blis_flow_queue_free(queue);
}

static void test_bands(void) {
  blis_flow_queue *queue = queue_of(BLIS_FLOW_STRICT, (blis_flow_limits){0});
  wait_for(queue, 1, -1, "a", 0);
  wait_for(queue, 2, 4, "a", 0);
  CHECK_EQ_I64(blis_flow_queue_band_count(queue), 2);
  CHECK_EQ_I64(blis_flow_queue_band(queue, 0).priority, 4);
  CHECK_EQ_I64(blis_flow_queue_take(queue, 0, 50).handle, 2);
  CHECK_EQ_I64(blis_flow_queue_band(queue, 0).count, 0);
  blis_flow_queue_forget_bands(queue, 50);
  CHECK_EQ_I64(blis_flow_queue_band_count(queue), 2);
  blis_flow_queue_forget_bands(queue, 51);
  CHECK_EQ_I64(blis_flow_queue_band_count(queue), 1);
  CHECK_EQ_I64(blis_flow_queue_band(queue, 0).priority, -1);
  CHECK_EQ_I64(blis_flow_queue_bytes(queue), 100);
  CHECK_EQ_I64(blis_flow_queue_take_oldest(queue, 60).handle, 1);
  CHECK_EQ_I64(blis_flow_queue_bytes(queue), 0);
  blis_flow_queue_free(queue);
}

static void test_limits(void) {
  uint64_t displaced;
  blis_flow_queue *queue =
      queue_of(BLIS_FLOW_STRICT,
               (blis_flow_limits){.max_requests = 3, .band_max_requests = 2, .max_bytes = 10000});
  wait_for(queue, 1, 0, "a", 0);
  wait_for(queue, 2, 0, "a", 0);
  CHECK_EQ_I64(add(queue, 3, 0, "a", 0, &displaced), BLIS_FLOW_BAND_FULL_REQUESTS);
  wait_for(queue, 4, 1, "a", 0);
  CHECK_EQ_I64(add(queue, 5, 1, "a", 0, &displaced), BLIS_FLOW_FULL_REQUESTS);
  // A band exists from its first item on, even a refused one.
  CHECK_EQ_I64(add(queue, 6, 9, "a", 0, &displaced), BLIS_FLOW_FULL_REQUESTS);
  CHECK_EQ_I64(blis_flow_queue_band_count(queue), 3);
  blis_flow_queue_free(queue);

  queue = queue_of(BLIS_FLOW_STRICT, (blis_flow_limits){.max_bytes = 250, .band_max_bytes = 150});
  wait_for(queue, 1, 0, "a", 0);
  CHECK_EQ_I64(add(queue, 2, 0, "a", 0, &displaced), BLIS_FLOW_BAND_FULL_BYTES);
  wait_for(queue, 3, 1, "a", 0);
  CHECK_EQ_I64(add(queue, 4, 2, "a", 0, &displaced), BLIS_FLOW_FULL_BYTES);
  blis_flow_queue_free(queue);
}

static void test_shedding(void) {
  uint64_t displaced;
  blis_flow_queue *queue =
      queue_of(BLIS_FLOW_STRICT, (blis_flow_limits){.max_requests = 3, .sheds = true});
  wait_for(queue, 1, -2, "a", 0);
  wait_for(queue, 2, -2, "b", 0);
  wait_for(queue, 3, -1, "a", 0);
  CHECK_EQ_I64(add(queue, 4, 3, "a", 0, &displaced), BLIS_FLOW_QUEUED);
  CHECK_EQ_I64(displaced, 2); // the newest of the lowest
  CHECK_EQ_I64(add(queue, 5, -2, "a", 0, &displaced), BLIS_FLOW_FULL_REQUESTS);
  CHECK_EQ_I64(add(queue, 6, 3, "a", 0, &displaced), BLIS_FLOW_QUEUED);
  CHECK_EQ_I64(displaced, 1);
  CHECK_EQ_I64(add(queue, 7, 3, "a", 0, &displaced), BLIS_FLOW_QUEUED);
  CHECK_EQ_I64(displaced, 3);
  // What may not be shed stays.
  CHECK_EQ_I64(add(queue, 8, 9, "a", 0, &displaced), BLIS_FLOW_FULL_REQUESTS);
  blis_flow_queue_free(queue);
}

/* Service of 1,000 + 2 * 500 a half-life ago, of 200 half of one ago, none. */
static void test_least_service(void) {
  const blis_flow_service_rules rules = {
      .service_weight = 0.8, .wait_weight = 0.2, .half_life_s = 60};
  blis_flow_service *service = blis_flow_service_new(&heap, &rules);
  CHECK_STATUS(blis_flow_service_add(service, 1, 0, 1000, 500), BLIS_OK);
  CHECK_STATUS(blis_flow_service_add(service, 2, 30000000, 100, 50), BLIS_OK);
  int64_t now_us = 60000000;
  CHECK_EQ_DOUBLE(blis_flow_service_of(service, 1, now_us), 1000);
  double b = blis_flow_service_of(service, 2, now_us);
  CHECK(b > 141.42 && b < 141.43);
  CHECK_EQ_DOUBLE(blis_flow_service_of(service, 3, now_us), 0);
  blis_flow_claims claims = {0};
  blis_flow_claim all[3];
  for (uint32_t i = 0; i < 3; i++) {
    all[i] = (blis_flow_claim){.service = blis_flow_service_share(service, i + 1),
                               .enqueue_us = now_us - (int64_t[]){500000, 100000, 0}[i],
                               .name = (const char *[]){"a", "b", "c"}[i],
                               .owner = &all[i]};
    CHECK_STATUS(blis_flow_claims_add(&claims, &heap, &all[i]), BLIS_OK);
  }
  CHECK(blis_flow_claims_pick(&claims, 0.8, 0.2, now_us) == &all[2]);
  blis_flow_claims_remove(&claims, &all[2]);
  CHECK(blis_flow_claims_pick(&claims, 0.8, 0.2, now_us) == &all[1]);
  blis_flow_claims_deinit(&claims, &heap);
  blis_flow_service_free(service);
}

enum { CLAIMS_MAX = 300 };

/* Of a program that may wait. */
typedef struct program {
  char name[16];
  bool waits;
  blis_flow_claim claim;
} program;

/* What the header says, of all claims; programs are in order of their names. */
static program *plain_pick(program *programs, double service_weight, double wait_weight,
                           int64_t now_us) {
  double least = INFINITY;
  double most = -INFINITY;
  double shortest = INFINITY;
  double longest = -INFINITY;
  for (program *p = programs; p < programs + CLAIMS_MAX; p++) {
    double wait = (double)(now_us - p->claim.enqueue_us);
    if (p->waits) {
      least = fmin(least, p->claim.service);
      most = fmax(most, p->claim.service);
      shortest = fmin(shortest, wait);
      longest = fmax(longest, wait);
    }
  }
  double per_token = most > least ? service_weight / (most - least) : 0;
  double per_us = longest > shortest ? wait_weight / (longest - shortest) : 0;
  program *best = NULL;
  double best_score = -INFINITY;
  for (program *p = programs; p < programs + CLAIMS_MAX; p++) {
    double score = service_weight - (p->claim.service - least) * per_token +
                   ((double)(now_us - p->claim.enqueue_us) - shortest) * per_us;
    bool is_equal = score == best_score;
    if (p->waits && (score > best_score || (is_equal && p->claim.service < best->claim.service))) {
      best = p;
      best_score = score;
    }
  }
  return best;
}

/* What is left out has no winner, whatever comes, goes and changes. */
static void test_claims(void) {
  enum { CHANGES = 40000 };
  static program all[CLAIMS_MAX];
  blis_flow_claims claims = {0};
  blis_random random;
  int64_t count = 0;
  int64_t most = 0;
  blis_random_init_named(&random, 7, "claims");
  for (int i = 0; i < CLAIMS_MAX; i++) {
    snprintf(all[i].name, sizeof all[i].name, "%03d", i);
  }
  for (int64_t now_us = 1000; now_us < 1000 + CHANGES; now_us++) {
    bool is_coarse = now_us % 5000 < 2500; /* so that many are equal */
    double service = blis_random_intn(&random, is_coarse ? 4 : 1000000);
    int64_t enqueue_us = now_us - blis_random_intn(&random, is_coarse ? 3 : 900);
    program *p = &all[blis_random_intn(&random, CLAIMS_MAX)];
    if (!p->waits) {
      p->claim = (blis_flow_claim){
          .service = service, .enqueue_us = enqueue_us, .name = p->name, .owner = p};
      CHECK_STATUS(blis_flow_claims_add(&claims, &heap, &p->claim), BLIS_OK);
      count++;
    } else if (blis_random_intn(&random, 3) == 0) {
      blis_flow_claims_remove(&claims, &p->claim);
      count--;
    } else {
      service = now_us % 2 == 0 ? service : p->claim.service;
      blis_flow_claims_change(&claims, &p->claim, service, enqueue_us);
      continue;
    }
    p->waits = !p->waits;
    most = count > most ? count : most;
    double weight = (double)blis_random_intn(&random, 3) / 2;
    if (count > 0) {
      CHECK(blis_flow_claims_pick(&claims, 0.8, weight, now_us) ==
            plain_pick(all, 0.8, weight, now_us));
    }
  }
  CHECK(most > 200);
  blis_flow_claims_deinit(&claims, &heap);
}

/* As if it had been added and taken. */
static void test_passing(void) {
  blis_flow_queue *queue =
      queue_of(BLIS_FLOW_ROUND_ROBIN, (blis_flow_limits){.band_max_bytes = 150});
  blis_flow_item item = {
      .handle = 1, .priority = 2, .tenant = tenant_of("a"), .size_bytes = 100, .enqueue_us = 70};
  CHECK_STATUS(blis_flow_queue_open_band(queue, 2, 70), BLIS_OK);
  CHECK(blis_flow_queue_pass(queue, &item));
  CHECK_EQ_I64(blis_flow_queue_first_idle_us(queue, 5), 75);
  item.size_bytes = 151;
  CHECK(!blis_flow_queue_pass(queue, &item));
  wait_for(queue, 2, 2, "a", 0);
  CHECK_EQ_I64(blis_flow_queue_first_idle_us(queue, 5), INT64_MAX);
  CHECK_EQ_I64(blis_flow_queue_take_oldest(queue, 80).handle, 2);
  blis_flow_queue_free(queue);

  queue = queue_of(BLIS_FLOW_ROUND_ROBIN, (blis_flow_limits){0});
  CHECK_STATUS(blis_flow_queue_open_band(queue, 2, 70), BLIS_OK);
  CHECK(blis_flow_queue_pass(queue, &item));
  wait_for(queue, 3, 2, "a", 0);
  wait_for(queue, 4, 2, "b", 0);
  CHECK_EQ_I64(take(queue, 0), 4); // a has had its turn
  blis_flow_queue_free(queue);
}

/* Random use beside a plain list */

enum { PLAIN_MAX = 64, TENANTS = 5 };

typedef struct plain {
  blis_flow_item items[PLAIN_MAX];
  uint64_t sequences[PLAIN_MAX];
  size_t count;
} plain;

static void plain_remove(plain *list, size_t index) {
  list->count--;
  for (size_t i = index; i < list->count; i++) {
    list->items[i] = list->items[i + 1];
    list->sequences[i] = list->sequences[i + 1];
  }
}

/* Index of what strict takes of a band; the list is by sequence. */
static size_t plain_strict(const plain *list, int32_t priority) {
  size_t best = list->count;
  for (size_t i = 0; i < list->count; i++) {
    const blis_flow_item *item = &list->items[i];
    if (item->priority == priority &&
        (best == list->count || item->order < list->items[best].order)) {
      best = i;
    }
  }
  return best;
}

static size_t plain_strict_fifo(const plain *list, int32_t priority) {
  size_t oldest = 0;
  while (list->items[oldest].priority != priority) {
    oldest++;
  }
  size_t best = oldest;
  for (size_t i = oldest; i < list->count; i++) {
    const blis_flow_item *item = &list->items[i];
    if (item->priority == priority && item->tenant == list->items[oldest].tenant &&
        item->order < list->items[best].order) {
      best = i;
    }
  }
  return best;
}

static size_t plain_find(const plain *list, uint64_t handle) {
  size_t i = 0;
  while (i < list->count && list->items[i].handle != handle) {
    i++;
  }
  return i;
}

/* Of a tenant of a band. */
static size_t plain_of_tenant(const plain *list, int32_t priority, uint32_t tenant) {
  size_t best = list->count;
  for (size_t i = 0; i < list->count; i++) {
    const blis_flow_item *item = &list->items[i];
    if (item->priority == priority && item->tenant == tenant &&
        (best == list->count || item->order < list->items[best].order)) {
      best = i;
    }
  }
  return best;
}

static void check_totals(const blis_flow_queue *queue, const plain *list,
                         blis_flow_fairness fairness) {
  blis_flow_item oldest;
  CHECK_EQ_I64(blis_flow_queue_count(queue), list->count);
  CHECK(blis_flow_queue_oldest(queue, &oldest) == (list->count > 0));
  if (list->count > 0) {
    CHECK_EQ_I64(oldest.handle, list->items[0].handle);
  }
  int64_t in_bands = 0;
  for (size_t b = 0; b < blis_flow_queue_band_count(queue); b++) {
    blis_flow_band band = blis_flow_queue_band(queue, b);
    in_bands += band.count;
    CHECK(b == 0 || blis_flow_queue_band(queue, b - 1).priority > band.priority);
    int64_t in_flows = 0;
    for (size_t f = 0; f < blis_flow_queue_flow_count(queue, b); f++) {
      in_flows += blis_flow_queue_flow(queue, b, f).count;
    }
    CHECK_EQ_I64(in_flows, fairness == BLIS_FLOW_CHOSEN ? band.count : 0);
  }
  CHECK_EQ_I64(in_bands, list->count);
}

static void add_at_random(blis_flow_queue *queue, plain *list, blis_random *random,
                          uint64_t handle) {
  static const char *const names[TENANTS] = {"", "a", "b", "ab", "z"};
  blis_flow_item item = {.handle = handle,
                         .priority = blis_random_intn(random, 3) - 1,
                         .tenant = tenant_of(names[blis_random_intn(random, TENANTS)]),
                         .order = blis_random_intn(random, 4),
                         .enqueue_us = (int64_t)handle};
  blis_flow_verdict verdict;
  bool has_displaced;
  blis_flow_item gone;
  CHECK_STATUS(blis_flow_queue_add(queue, &item, &verdict, &has_displaced, &gone), BLIS_OK);
  if (has_displaced) {
    CHECK_EQ_I64(list->count, PLAIN_MAX - 1);
    CHECK(gone.priority < 0 && gone.priority < item.priority);
    for (size_t i = plain_find(list, gone.handle) + 1; i < list->count; i++) {
      CHECK(list->items[i].priority > gone.priority); // it was the newest
    }
    plain_remove(list, plain_find(list, gone.handle));
  }
  if (verdict == BLIS_FLOW_QUEUED) {
    list->items[list->count++] = item;
  } else {
    CHECK_EQ_I64(list->count, PLAIN_MAX - 1);
  }
}

static void take_at_random(blis_flow_queue *queue, plain *list, blis_random *random,
                           blis_flow_fairness fairness) {
  size_t bands = blis_flow_queue_band_count(queue);
  if (bands == 0) {
    return;
  }
  size_t band = (size_t)blis_random_intn(random, (int32_t)bands);
  blis_flow_band its = blis_flow_queue_band(queue, band);
  if (its.count == 0) {
    return;
  }
  size_t wanted = fairness == BLIS_FLOW_STRICT ? plain_strict(list, its.priority)
                                               : plain_strict_fifo(list, its.priority);
  blis_flow_item taken;
  if (fairness == BLIS_FLOW_CHOSEN) {
    size_t count = blis_flow_queue_flow_count(queue, band);
    size_t flow = (size_t)blis_random_intn(random, (int32_t)count);
    blis_flow chosen = blis_flow_queue_flow(queue, band, flow);
    wanted = plain_of_tenant(list, its.priority, chosen.tenant);
    CHECK_EQ_I64(chosen.head.handle, list->items[wanted].handle);
    taken = blis_flow_queue_take_from(queue, band, flow, 0);
  } else {
    taken = blis_flow_queue_take(queue, band, 0);
  }
  CHECK_EQ_I64(taken.handle, list->items[wanted].handle);
  plain_remove(list, wanted);
}

static void test_random_use(void) {
  for (int seed = 0; seed < 40; seed++) {
    static const blis_flow_fairness all[] = {BLIS_FLOW_STRICT, BLIS_FLOW_STRICT_FIFO,
                                             BLIS_FLOW_CHOSEN};
    blis_flow_fairness fairness = all[seed % 3];
    blis_flow_queue *queue =
        queue_of(fairness, (blis_flow_limits){.max_requests = PLAIN_MAX - 1, .sheds = true});
    plain list = {.count = 0};
    blis_random random;
    blis_random_init(&random, seed);
    for (uint64_t handle = 1; handle < 2000; handle++) {
      switch (blis_random_intn(&random, 5)) {
      case 0:
      case 1:
      case 2:
        add_at_random(queue, &list, &random, handle);
        break;
      case 3:
        take_at_random(queue, &list, &random, fairness);
        break;
      default:
        if (list.count > 0) {
          CHECK_EQ_I64(blis_flow_queue_take_oldest(queue, 0).handle, list.items[0].handle);
          plain_remove(&list, 0);
        }
      }
      check_totals(queue, &list, fairness);
    }
    blis_flow_queue_free(queue);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  strings = blis_intern_new(&heap);
  RUN(test_strict_by_order);
  RUN(test_strict_by_age);
  RUN(test_round_robin);
  RUN(test_bands);
  RUN(test_limits);
  RUN(test_shedding);
  RUN(test_least_service);
  RUN(test_claims);
  RUN(test_passing);
  RUN(test_random_use);
  blis_intern_free(strings);
  return check_done();
}
