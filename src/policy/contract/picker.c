#include "policy/contract/picker.h"

void blis_picker_free(blis_picker *picker) {
  if (picker->ops != NULL && picker->ops->free != NULL) {
    picker->ops->free(&picker->alloc, picker->state);
  }
  *picker = (blis_picker){0};
}
