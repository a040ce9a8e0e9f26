/*
 * pins.h - routing decisions that are taken beforehand.
 *
 * For a pinned request the policy is shown its instance alone, as if the others
 * were out of service at that moment. So whatever the policy remembers of its
 * decisions it remembers of this one, too, and every policy can be told what to
 * do, scripted ones included.
 */
#ifndef BLIS_CLUSTER_PINS_H
#define BLIS_CLUSTER_PINS_H

#include "base/map.h"
#include "policy/contract/view.h"

typedef struct blis__pins {
  blis_map instances; /* by number of the request */
  blis_routing_view view;
  const blis_routing_view *whole; /* which the view shows a part of */
  size_t place;
} blis__pins;

/* Copies *alloc; allocates nothing yet. */
void blis__pins_init(blis__pins *pins, const blis_alloc *alloc);
void blis__pins_deinit(blis__pins *pins);

/* The next decision about the request. BLIS_ERR_NOMEM changes nothing. */
BLIS_MUSTUSE blis_status blis__pins_put(blis__pins *pins, int64_t number,
                                        uint32_t instance);

/*
 * What is to be shown for the request: *view itself, or a part of it that is
 * valid as long, after which the pin is gone. BLIS_ERR_INVALID when the
 * instance is no candidate.
 */
BLIS_MUSTUSE blis_status blis__pins_apply(blis__pins *pins, int64_t number,
                                          const blis_routing_view **view,
                                          blis_error *error);

#endif
