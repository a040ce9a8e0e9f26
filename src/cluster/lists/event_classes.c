#include "cluster/lists/event_classes.h"

#include "base/invariant.h"

const blis__event_class *blis__event_class_of(int number) {
  static const blis__event_class classes[BLIS__EVENT_CLASS_COUNT] = {
#define XX(name, number, owner, kind, makes_room, repeats)                                         \
  [(number)-BLIS__EVENT_CLASS_FIRST] = {kind, owner, makes_room, repeats},
      BLIS__EVENT_CLASS_MAP(XX)
#undef XX
  };
  BLIS_ASSERT(number >= BLIS__EVENT_CLASS_FIRST &&
              number < BLIS__EVENT_CLASS_FIRST + BLIS__EVENT_CLASS_COUNT);
  return &classes[number - BLIS__EVENT_CLASS_FIRST];
}
