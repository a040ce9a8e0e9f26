#include "policy/contract/view.h"

size_t blis_routing_view_find(const blis_routing_view *view, uint32_t instance) {
  if (instance < view->count && view->instances[instance] == instance) {
    return instance; /* all instances up to here are candidates */
  }
  size_t low = 0;
  size_t high = view->count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (view->instances[middle] < instance) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low < view->count && view->instances[low] == instance ? low : view->count;
}
