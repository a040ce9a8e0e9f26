#include "policy/memory/rank_balancer.h"

#include "base/invariant.h"

enum { WAITING_WEIGHT = 4 };

void blis__rank_balancer_init(blis__rank_balancer *balancer, uint32_t clients, int64_t publish_us) {
  BLIS_ASSERT(clients >= 1 && clients <= BLIS__BALANCER_CLIENTS_MAX);
  BLIS_ASSERT(publish_us >= 0);
  *balancer = (blis__rank_balancer){.clients = clients, .publish_us = publish_us};
}

void blis__rank_balancer_deinit(blis__rank_balancer *balancer, const blis_alloc *alloc) {
  blis_array_deinit(alloc, &balancer->copies);
}

blis_status blis__rank_balancer_reserve(blis__rank_balancer *balancer, const blis_alloc *alloc,
                                        size_t ranks) {
  size_t needed = ranks * balancer->clients;
  BLIS_TRY(blis_array_reserve(alloc, &balancer->copies, needed));
  while (balancer->copies.count < needed) {
    balancer->copies.items[balancer->copies.count++] = (blis__rank_load){0};
  }
  return BLIS_OK;
}

static int64_t round_at(const blis__rank_balancer *balancer, int64_t now_us) {
  int64_t first_us = balancer->publish_us / 2;
  return now_us < first_us ? 0 : 1 + (now_us - first_us) / balancer->publish_us;
}

bool blis__rank_balancer_is_due(blis__rank_balancer *balancer, int64_t now_us) {
  if (balancer->publish_us == 0) {
    return true;
  }
  int64_t round = round_at(balancer, now_us);
  bool is_due = round > balancer->round;
  balancer->round = round;
  return is_due;
}

static blis__rank_load *copy_of(const blis__rank_balancer *balancer, uint32_t rank,
                                uint32_t client) {
  size_t place = (size_t)rank * balancer->clients + client;
  BLIS_ASSERT(place < balancer->copies.count);
  return &balancer->copies.items[place];
}

void blis__rank_balancer_publish(const blis__rank_balancer *balancer, uint32_t rank,
                                 blis__rank_load load) {
  for (uint32_t client = 0; client < balancer->clients; client++) {
    *copy_of(balancer, rank, client) = load;
  }
}

static int64_t score_of(const blis__rank_load *load) {
  return WAITING_WEIGHT * load->waiting + load->running;
}

/* Returns the first rank with the lowest score, searching from index start. */
static size_t find_least(const blis__rank_balancer *balancer, uint32_t client,
                         const uint32_t *ranks, size_t count, size_t start) {
  size_t least = start;
  int64_t least_score = score_of(copy_of(balancer, ranks[start], client));
  for (size_t k = 1; k < count; k++) {
    size_t place = (start + k) % count;
    int64_t score = score_of(copy_of(balancer, ranks[place], client));
    if (score < least_score) {
      least = place;
      least_score = score;
    }
  }
  return least;
}

static uint32_t next_client(blis__rank_balancer *balancer) {
  return (uint32_t)(balancer->turn++ % balancer->clients);
}

static void note_sent(const blis__rank_balancer *balancer, uint32_t rank, uint32_t client) {
  copy_of(balancer, rank, client)->waiting += balancer->clients;
}

size_t blis__rank_balancer_choose(blis__rank_balancer *balancer, const uint32_t *ranks,
                                  size_t count) {
  BLIS_ASSERT(count >= 1);
  uint32_t client = next_client(balancer);
  size_t start = count * client / balancer->clients;
  size_t chosen = find_least(balancer, client, ranks, count, start);
  note_sent(balancer, ranks[chosen], client);
  return chosen;
}

void blis__rank_balancer_send(blis__rank_balancer *balancer, uint32_t rank) {
  note_sent(balancer, rank, next_client(balancer));
}
