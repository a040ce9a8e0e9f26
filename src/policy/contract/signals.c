#include "policy/contract/signals.h"

#include <string.h>

typedef struct signal_entry {
  const char *name;
  const char *unit;
  const char *summary;
} signal_entry;

static const signal_entry signals[BLIS_SIGNAL_COUNT] = {
#define XX(constant, group, combination, name, unit, what) {name, unit, what},
    BLIS_SIGNAL_MAP(XX)
#undef XX
};

const char *blis_signal_name(blis_signal signal) {
  return signals[signal].name;
}

const char *blis_signal_unit(blis_signal signal) {
  return signals[signal].unit;
}

const char *blis_signal_summary(blis_signal signal) {
  return signals[signal].summary;
}

blis_signal blis_signal_find(const char *name) {
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    if (strcmp(signals[i].name, name) == 0) {
      return (blis_signal)i;
    }
  }
  return BLIS_SIGNAL_COUNT;
}
