#include "cluster/requests/request_table.h"

#include <stddef.h>
#include <string.h>

#include "base/invariant.h"

void blis__request_table_init(blis__request_table *table, const blis_alloc *alloc) {
  *table = (blis__request_table){.first = NULL};
  blis_pool_init(&table->pool, alloc, sizeof(blis__cluster_request));
}

void blis__request_table_deinit(blis__request_table *table) {
  blis_pool_deinit(&table->pool);
  table->first = NULL;
  table->last = NULL;
}

blis__cluster_request *blis__request_table_add(blis__request_table *table,
                                               const blis_request *request) {
  uint32_t slot;
  if (blis_pool_take(&table->pool, &slot) != BLIS_OK) {
    return NULL;
  }
  blis__cluster_request *added = blis_pool_item(&table->pool, slot);
  /* Cleared in place, because the record is large. */
  memset(&added->own, 0, sizeof *added - offsetof(blis__cluster_request, own));
  added->request = *request;
  blis_live_request_init(&added->live, request, slot);
  added->live.owner = &added->own;
  added->own.request = added;
  added->own.live = &added->live;
  added->instance = -1;
  added->earlier = table->last;
  *(table->last != NULL ? &table->last->later : &table->first) = added;
  table->last = added;
  return added;
}

void blis__request_table_remove(blis__request_table *table, blis__cluster_request *request) {
  blis__cluster_request *earlier = request->earlier;
  blis__cluster_request *later = request->later;
  BLIS_ASSERT(earlier == NULL || earlier->later == request);
  BLIS_ASSERT(later == NULL || later->earlier == request);
  *(earlier != NULL ? &earlier->later : &table->first) = later;
  *(later != NULL ? &later->earlier : &table->last) = earlier;
  blis_pool_give(&table->pool, request->live.slot);
}

/*
 * Returns whether a transition is legal. A feature may send a request back to admission from any
 * position. A request that loses its instance is sent back to routing.
 */
static bool is_legal(blis__place from, blis__place to) {
  switch (to) {
  case BLIS__AT_ADMISSION:
    return from != BLIS__AT_END;
  case BLIS__HELD_ADMITTED:
    return from == BLIS__AT_ADMISSION;
  case BLIS__AT_ROUTING:
    return from == BLIS__AT_ADMISSION || from == BLIS__HELD_ADMITTED || from == BLIS__AT_WAITING ||
           from == BLIS__AT_INSTANCE || from == BLIS__HELD_ROUTED || from == BLIS__HELD_FOR_ROUTING;
  case BLIS__HELD_FOR_ROUTING:
  case BLIS__HELD_ROUTED:
  case BLIS__AT_WAITING:
    return from == BLIS__AT_ROUTING;
  case BLIS__AT_INSTANCE:
    return from == BLIS__AT_ROUTING || from == BLIS__HELD_ROUTED;
  default:
    return to == BLIS__AT_END && from != BLIS__AT_END;
  }
}

void blis__request_move(blis__cluster_request *request, blis__place place) {
  BLIS_ASSERT(is_legal(request->place, place));
  request->place = place;
}
