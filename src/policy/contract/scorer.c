#include "policy/contract/scorer.h"

void blis_scorer_free(blis_scorer *scorer) {
  if (scorer->ops != NULL && scorer->ops->free != NULL) {
    scorer->ops->free(&scorer->alloc, scorer->state);
  }
  *scorer = (blis_scorer){0};
}
