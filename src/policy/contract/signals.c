#include "policy/contract/signals.h"

#include <string.h>

typedef struct signal_entry {
  const char *name;
  const char *unit;
  const char *summary;
  const char *freshness;
} signal_entry;

/* Age of the signals of a group when a policy reads them. */
#define FRESHNESS_FACT "constant"
#define FRESHNESS_BOOKS "always current"
#define FRESHNESS_COUNTED "always current"
#define FRESHNESS_ENGINE "ages by snapshot_refresh_us"
#define FRESHNESS_HISTORY "ages by snapshot_refresh_us"
#define FRESHNESS_TIME "ages by snapshot_refresh_us"
#define FRESHNESS_CACHE "ages by cache_signal_delay_us"
#define FRESHNESS_LIVE_CACHE "always current"
#define FRESHNESS_ESTIMATE                                                                         \
  "ages by snapshot_refresh_us and cache_signal_delay_us, except for the prompt of the request"
#define FRESHNESS_ADAPTERS "ages by snapshot_refresh_us"
#define FRESHNESS_ADAPTER "ages by snapshot_refresh_us"

static const signal_entry signals[BLIS_SIGNAL_COUNT] = {
#define XX(constant, group, combination, name, unit, what) {name, unit, what, FRESHNESS_##group},
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

const char *blis_signal_freshness(blis_signal signal) {
  return signals[signal].freshness;
}

blis_signal blis_signal_find(const char *name) {
  for (int i = 0; i < BLIS_SIGNAL_COUNT; i++) {
    if (strcmp(signals[i].name, name) == 0) {
      return (blis_signal)i;
    }
  }
  return BLIS_SIGNAL_COUNT;
}
