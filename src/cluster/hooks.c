#include "cluster/hooks.h"

#include "base/time.h"

void blis__hooks_init(blis__hooks *hooks) {
  *hooks = (blis__hooks){.sources_due_us = BLIS_TIME_NEVER_US, .last_turn_us = BLIS_TIME_NEVER_US};
}

void blis__hooks_add(blis__hooks *hooks, blis__hook_point point, blis__hook_fn *hook) {
  blis__hook_list *list = &hooks->points[point];
  BLIS_ASSERT(list->count < BLIS__HOOKS_MAX);
  list->all[list->count++] = hook;
}

blis_status blis__hooks_call(const blis__hook_list *list, blis_cluster *cluster, uint32_t instance,
                             blis_error *error) {
  for (uint32_t i = 0; i < list->count; i++) {
    BLIS_TRY(list->all[i](cluster, instance, error));
  }
  return BLIS_OK;
}

void blis__hooks_add_source(blis__hooks *hooks, blis__clock_source *source) {
  BLIS_ASSERT(source->due_us == BLIS_TIME_NEVER_US && source->run != NULL);
  source->next = hooks->sources;
  hooks->sources = source;
}

void blis__hooks_set_due(blis__hooks *hooks, blis__clock_source *source, int64_t due_us) {
  bool was_first = source->due_us == hooks->sources_due_us;
  source->due_us = due_us;
  if (due_us <= hooks->sources_due_us) {
    hooks->sources_due_us = due_us;
    return;
  }
  if (!was_first) {
    return;
  }
  int64_t least_us = due_us;
  for (const blis__clock_source *s = hooks->sources; s != NULL; s = s->next) {
    least_us = s->due_us < least_us ? s->due_us : least_us;
  }
  hooks->sources_due_us = least_us;
}

blis__clock_source *blis__hooks_first_due(const blis__hooks *hooks) {
  blis__clock_source *first = hooks->sources;
  for (blis__clock_source *s = first; s != NULL; s = s->next) {
    bool is_before = s->due_us != first->due_us ? s->due_us < first->due_us
                                                : s->event_class < first->event_class;
    first = is_before ? s : first;
  }
  return first;
}

int64_t blis__hooks_last_us(const blis__hooks *hooks, const blis_cluster *cluster) {
  int64_t last_us = -1;
  for (const blis__clock_source *s = hooks->sources; s != NULL; s = s->next) {
    int64_t its_us = s->due_us;
    if (s->last_us != NULL) {
      its_us = s->last_us(cluster);
    } else if (its_us == BLIS_TIME_NEVER_US) {
      its_us = -1;
    }
    last_us = its_us > last_us ? its_us : last_us;
  }
  return last_us;
}
