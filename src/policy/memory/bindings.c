#include "policy/memory/bindings.h"

#include "base/invariant.h"

#define NONE BLIS_POOL_NONE

void blis__bindings_init(blis__bindings *bindings, const blis_alloc *alloc) {
  blis_map_init(&bindings->by_key, alloc);
  blis_pool_init(&bindings->pool, alloc, sizeof(blis__binding));
  bindings->oldest = NONE;
  bindings->newest = NONE;
}

void blis__bindings_deinit(blis__bindings *bindings) {
  blis_map_deinit(&bindings->by_key);
  blis_pool_deinit(&bindings->pool);
}

uint32_t blis__bindings_count(const blis__bindings *bindings) {
  return blis_pool_count(&bindings->pool);
}

static blis__binding *at(const blis__bindings *bindings, uint32_t place) {
  return blis_pool_item(&bindings->pool, place);
}

static void take_out(blis__bindings *bindings, const blis__binding *binding) {
  uint32_t *to_newer =
      binding->older == NONE ? &bindings->oldest : &at(bindings, binding->older)->newer;
  uint32_t *to_older =
      binding->newer == NONE ? &bindings->newest : &at(bindings, binding->newer)->older;
  BLIS_ASSERT(*to_newer == *to_older && at(bindings, *to_newer) == binding);
  *to_newer = binding->newer;
  *to_older = binding->older;
}

static void link_newest(blis__bindings *bindings, uint32_t place) {
  blis__binding *binding = at(bindings, place);
  binding->older = bindings->newest;
  binding->newer = NONE;
  if (bindings->newest == NONE) {
    bindings->oldest = place;
  } else {
    BLIS_ASSERT(at(bindings, bindings->newest)->last_use_us <= binding->last_use_us);
    at(bindings, bindings->newest)->newer = place;
  }
  bindings->newest = place;
}

const blis__binding *blis__bindings_find(const blis__bindings *bindings, uint64_t key) {
  uint64_t place;
  return blis_map_get(&bindings->by_key, key, &place) ? at(bindings, (uint32_t)place) : NULL;
}

size_t blis__bindings_candidate(const blis__bindings *bindings, uint64_t key,
                                const blis_routing_view *view) {
  const blis__binding *binding = blis__bindings_find(bindings, key);
  return binding == NULL ? view->count : blis_routing_view_find(view, binding->instance);
}

static blis_status add(blis__bindings *bindings, uint64_t key, uint32_t *place) {
  BLIS_TRY(blis_pool_take(&bindings->pool, place));
  if (blis_map_put(&bindings->by_key, key, *place) != BLIS_OK) {
    blis_pool_give(&bindings->pool, *place);
    return BLIS_ERR_NOMEM;
  }
  at(bindings, *place)->key = key;
  return BLIS_OK;
}

blis_status blis__bindings_put(blis__bindings *bindings, uint64_t key, uint32_t instance,
                               int64_t now_us) {
  uint64_t found;
  uint32_t place;
  if (blis_map_get(&bindings->by_key, key, &found)) {
    place = (uint32_t)found;
    take_out(bindings, at(bindings, place));
  } else {
    BLIS_TRY(add(bindings, key, &place));
  }
  at(bindings, place)->instance = instance;
  at(bindings, place)->last_use_us = now_us;
  link_newest(bindings, place);
  return BLIS_OK;
}

static void forget(blis__bindings *bindings, uint32_t place) {
  take_out(bindings, at(bindings, place));
  blis_map_remove(&bindings->by_key, at(bindings, place)->key);
  blis_pool_give(&bindings->pool, place);
}

void blis__bindings_remove(blis__bindings *bindings, uint64_t key) {
  uint64_t place;
  if (blis_map_get(&bindings->by_key, key, &place)) {
    forget(bindings, (uint32_t)place);
  }
}

void blis__bindings_drop_oldest(blis__bindings *bindings, uint32_t count) {
  while (count-- > 0 && bindings->oldest != NONE) {
    forget(bindings, bindings->oldest);
  }
}
