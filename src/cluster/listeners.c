#include "cluster/listeners.h"

#include <string.h>

#include "base/invariant.h"

void blis__listeners_init(blis__listeners *listeners, const blis_alloc *alloc) {
  *listeners = (blis__listeners){.alloc = *alloc};
}

void blis__listeners_deinit(blis__listeners *listeners) {
  for (int m = 0; m < BLIS__MOMENT_COUNT; m++) {
    blis_array_deinit(&listeners->alloc, &listeners->audience[m]);
  }
}

static blis_status add_ear(blis__listeners *listeners, blis__moment moment, const blis__ear *ear) {
  size_t place = listeners->audience[moment].count;
  BLIS_TRY(blis_array_push(&listeners->alloc, &listeners->audience[moment], *ear));
  blis__ear *ears = listeners->audience[moment].items;
  for (; place > 0 && ears[place - 1].phase > ear->phase; place--) {
    ears[place] = ears[place - 1];
  }
  ears[place] = *ear;
  return BLIS_OK;
}

blis_status blis__listeners_add(blis__listeners *listeners, const blis__listener *listener) {
  blis__listeners_need(listeners, listener->need);
  for (int m = 0; m < BLIS__MOMENT_COUNT; m++) {
    const blis__ear ear = {listener->on[m], listener->ud, listener->phase};
    if (ear.hear != NULL) {
      BLIS_TRY(add_ear(listeners, (blis__moment)m, &ear));
    }
  }
  return BLIS_OK;
}

void blis__listeners_need(blis__listeners *listeners, blis__need need) {
  listeners->needing[need]++;
}

void blis__listeners_need_no_more(blis__listeners *listeners, blis__need need) {
  BLIS_ASSERT(listeners->needing[need] > 0);
  listeners->needing[need]--;
}

blis_status blis__tell(blis__listeners *listeners, blis__moment moment, blis_cluster *cluster,
                       const blis__news *news, blis_error *error) {
  size_t count = listeners->audience[moment].count;
  for (size_t i = 0; i < count; i++) {
    const blis__ear *ear = &listeners->audience[moment].items[i];
    BLIS_TRY(ear->hear(ear->ud, cluster, news, error));
  }
  return BLIS_OK;
}

blis_status blis__offer(blis__listeners *listeners, blis__moment moment, blis_cluster *cluster,
                        const blis__news *news, blis_error *error) {
  size_t count = listeners->audience[moment].count;
  for (size_t i = 0; i < count && !*news->is_taken && *news->refusal == NULL; i++) {
    const blis__ear *ear = &listeners->audience[moment].items[i];
    BLIS_TRY(ear->hear(ear->ud, cluster, news, error));
  }
  return BLIS_OK;
}
