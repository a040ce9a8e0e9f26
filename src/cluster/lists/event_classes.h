/*
 * event_classes.h - the classes of cluster events, in one table.
 *
 * At equal times, events of lower classes are executed first. Results depend on this order, so the
 * numbers never change. The queue contains only the arrivals of follow-ups. Other arrivals are read
 * from the source in order.
 */
#ifndef BLIS_CLUSTER_LISTS_EVENT_CLASSES_H
#define BLIS_CLUSTER_LISTS_EVENT_CLASSES_H

#include <stdbool.h>

#include "cluster/lists/features.h"

/* Owner of core classes. The core has no slot. */
enum { BLIS__OF_CORE = -1 };

/*
 * XX(class, number, owner, kind, makes_room, repeats).
 *
 *   kind        the name that users see
 *   makes_room  an event of this class may free capacity on an instance, so that
 *               held requests may proceed
 *   repeats     an event of this class schedules the next one, so that such
 *               events do not count as progress
 *
 * LOADED, CHECK, and SCALED belong to the autoscaler of BLIS (Go): an instance has loaded, a check
 * is due, and a check takes effect. PREFILL routes the prefill of a hand-off, MOVE starts its KV
 * transfer, and MOVED ends transfers. EVICT removes a request from its instance in favor of a more
 * important one.
 */
#define BLIS__EVENT_CLASS_MAP(XX)                                                                  \
  XX(LOADED, -1, BLIS__OF_CORE, "scaling", true, false)                                            \
  XX(ARRIVAL, 0, BLIS__OF_CORE, "arrival", false, false)                                           \
  XX(ADMISSION, 1, BLIS__OF_CORE, "admission", false, false)                                       \
  XX(ROUTING, 2, BLIS__OF_CORE, "routing", false, false)                                           \
  XX(ENCODED, 3, BLIS_FEATURE_ENCODE, "encoder", true, false)                                      \
  XX(PREFILL, 4, BLIS_FEATURE_HANDOFF, "hand-off", true, false)                                    \
  XX(EVICT, 5, BLIS_FEATURE_GATEWAY, "queue", false, false)                                        \
  XX(MOVE, 6, BLIS_FEATURE_HANDOFF, "hand-off", true, false)                                       \
  XX(MOVED, 7, BLIS_FEATURE_HANDOFF, "hand-off", true, false)                                      \
  XX(TIMEOUT, 8, BLIS_FEATURE_HANDOFF, "hand-off", true, false)                                    \
  XX(EXPIRY, 9, BLIS_FEATURE_GATEWAY, "queue", false, false)                                       \
  XX(CYCLE, 10, BLIS_FEATURE_GATEWAY, "queue", false, true)                                        \
  XX(CHECK, 11, BLIS__OF_CORE, "scaling", true, false)                                             \
  XX(SCALED, 12, BLIS__OF_CORE, "scaling", true, false)                                            \
  XX(ENCODE_LATE, 13, BLIS_FEATURE_ENCODE, "encoder", true, false)                                 \
  XX(TIERS, 14, BLIS_FEATURE_TIERS, "tiers", true, false)                                          \
  XX(CALL, 20, BLIS__OF_CORE, "call", true, false)

enum {
#define XX(name, number, owner, kind, makes_room, repeats) BLIS__CLUSTER_##name = (number),
  BLIS__EVENT_CLASS_MAP(XX)
#undef XX
      BLIS__EVENT_CLASS_FIRST = BLIS__CLUSTER_LOADED,
  BLIS__EVENT_CLASS_COUNT = BLIS__CLUSTER_CALL - BLIS__EVENT_CLASS_FIRST + 1
};

typedef struct blis__event_class {
  const char *kind; /* NULL = no class has this number */
  int owner;        /* a slot, or BLIS__OF_CORE */
  bool makes_room;
  bool repeats;
} blis__event_class;

/* Returns the class with this number, which is at least BLIS__EVENT_CLASS_FIRST; static. */
const blis__event_class *blis__event_class_of(int number);

#endif
