/* counts.c - outcomes and waiting times of requests in the gateway queue, by band. */
#include "base/invariant.h"
#include "cluster/gateway/gateway.h"
#include "cluster/gateway/gateway_queue.h"

blis_status blis__gateway_book_of(blis__gateway *gateway, int32_t priority,
                                  blis__gateway_book **book) {
  size_t place = 0;
  while (place < gateway->books.count && gateway->books.items[place]->counts.priority > priority) {
    place++;
  }
  if (place < gateway->books.count && gateway->books.items[place]->counts.priority == priority) {
    *book = gateway->books.items[place];
    return BLIS_OK;
  }
  BLIS_TRY(blis_array_reserve(&gateway->alloc, &gateway->books, gateway->books.count + 1));
  blis__gateway_book *made = blis_alloc_zeroed(&gateway->alloc, 1, sizeof *made);
  if (made == NULL) {
    return BLIS_ERR_NOMEM;
  }
  made->counts.priority = priority;
  blis_sketch_init(&made->wait_us, &gateway->alloc);
  for (size_t i = gateway->books.count++; i > place; i--) {
    gateway->books.items[i] = gateway->books.items[i - 1];
  }
  gateway->books.items[place] = made;
  *book = made;
  return BLIS_OK;
}

blis__gateway_book *blis__gateway_known_book(const blis__gateway *gateway, int32_t priority) {
  size_t place = 0;
  while (gateway->books.items[place]->counts.priority != priority) {
    place++;
    BLIS_ASSERT(place < gateway->books.count);
  }
  return gateway->books.items[place];
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

void blis__gateway_count_in(blis__gateway *gateway, blis__gateway_book *book, int64_t waiting) {
  blis_gateway_band_counts *band = &book->counts;
  gateway->counts.enqueued++;
  gateway->counts.peak = larger(gateway->counts.peak, waiting);
  band->enqueued++;
  band->waiting++;
  band->peak = larger(band->peak, band->waiting);
}

void blis__gateway_free_books(blis__gateway *gateway) {
  for (size_t i = 0; i < gateway->books.count; i++) {
    blis_sketch_deinit(&gateway->books.items[i]->wait_us);
    blis_alloc_free(&gateway->alloc, gateway->books.items[i], sizeof *gateway->books.items[i]);
  }
  blis_array_deinit(&gateway->alloc, &gateway->books);
  blis_sketch_deinit(&gateway->wait_us);
}

/* Queries. */

size_t blis_cluster_gateway_band_count(const blis_cluster *cluster) {
  return blis__gateway_of(cluster) == NULL ? 0 : blis__gateway_of(cluster)->books.count;
}

blis_gateway_band_counts blis_cluster_gateway_band(const blis_cluster *cluster, size_t index) {
  const blis_gateway_band_counts *c = &blis__gateway_of(cluster)->books.items[index]->counts;
  BLIS_ASSERT(c->waiting >= 0 && c->enqueued == c->dispatched + c->shed + c->expired + c->waiting);
  return *c;
}

const blis_sketch *blis_cluster_gateway_waits(const blis_cluster *cluster) {
  return blis__gateway_of(cluster) == NULL ? NULL : &blis__gateway_of(cluster)->wait_us;
}

const blis_sketch *blis_cluster_gateway_band_waits(const blis_cluster *cluster, size_t index) {
  return &blis__gateway_of(cluster)->books.items[index]->wait_us;
}
