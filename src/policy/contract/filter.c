#include "policy/contract/filter.h"

void blis_filter_free(blis_filter *filter) {
  if (filter->ops != NULL && filter->ops->free != NULL) {
    filter->ops->free(&filter->alloc, filter->state);
  }
  *filter = (blis_filter){0};
}
