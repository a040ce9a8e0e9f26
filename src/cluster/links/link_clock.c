#include "cluster/links/link_clock.h"

#include <math.h>

#include "base/minmax.h"
#include "base/time.h"
#include "cluster/state.h"

blis_status blis__link_clock_set(blis__link_clock *clock, const blis__links *links,
                                 blis_cluster *cluster, blis_error *error) {
  double next_us = blis__links_next_us(links);
  int64_t due_us = next_us < (double)BLIS_TIME_NEVER_US
                       ? blis_max_i64((int64_t)ceil(next_us), cluster->now_us)
                       : BLIS_TIME_NEVER_US;
  if (due_us == clock->due_us) {
    return BLIS_OK;
  }
  if (clock->due_us != BLIS_TIME_NEVER_US) {
    blis_event_queue_cancel(cluster->queue, clock->event);
  }
  clock->due_us = due_us;
  if (due_us == BLIS_TIME_NEVER_US) {
    return BLIS_OK;
  }
  const blis_event event = {.time_us = due_us, .event_class = clock->event_class};
  BLIS_TRY_MEM(blis_event_queue_push(cluster->queue, &event, &clock->event), error);
  return BLIS_OK;
}
