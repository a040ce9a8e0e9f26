/* snapshot_view.c - the view for one decision: its candidates and their columns. */
#include "cluster/signals/snapshot.h"

blis_status blis__snapshot_cached_blocks(const blis__snapshot *snapshot, uint32_t i,
                                         const blis_block_chain *chain, uint32_t *blocks) {
  const blis_instance *instance = snapshot->instances[i];
  if (snapshot->has_marks) {
    return blis_instance_cached_blocks_at_mark(instance, chain, blocks);
  }
  *blocks = blis_instance_cached_blocks(instance, chain);
  return BLIS_OK;
}

/*
 * Returns whether the candidates are in the order of the columns, so that the view can use the
 * columns directly.
 */
static bool shows_columns(const blis__shown *shown) {
  return shown->group->is_prefix;
}

/* Returns the location of a column of the view. */
static double *shown_column(const blis__shown *shown, blis_signal signal) {
  return shows_columns(shown) ? blis__snapshot_column(shown->snapshot, signal)
                              : shown->gathered + (size_t)signal * shown->snapshot->count;
}

/* Returns the combined value of several instances that are shown as one. */
static double combine(blis_signal signal, double sum, uint32_t count) {
  bool is_mean = (BLIS_SIGNAL_BIT(signal) & BLIS_MEAN_SIGNALS) != 0;
  return is_mean && count > 1 ? sum / count : sum;
}

static void gather(const blis__shown *shown, blis_signal signal) {
  const blis__candidates *all = &shown->snapshot->candidates;
  const double *from = blis__snapshot_column(shown->snapshot, signal);
  double *to = shown_column(shown, signal);
  const blis__group *group = shown->group;
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t front = group->instances[k];
    uint32_t i = front + 1;
    double sum = from[front];
    for (; blis__is_shown_by(all, i, front); i++) {
      sum += from[i];
    }
    to[k] = combine(signal, sum, i - front);
  }
}

/* Returns the value of the cached blocks of a prompt, in the unit of the signal. */
static double cached_value(blis_signal signal, uint32_t cached, const blis_block_chain *chain,
                           int64_t block_size) {
  if (signal == BLIS_SIGNAL_CACHED_TOKENS) {
    return (double)cached * (double)block_size;
  }
  return chain->prompt_blocks > 0 ? (double)cached / (double)chain->prompt_blocks : 0;
}

/* Estimates the TTFT: the wait on the instance plus the time for the uncached prompt. */
static double estimated_ttft_us(const blis__snapshot *snapshot, uint32_t i, int64_t prompt_tokens,
                                int64_t cached_tokens) {
  const double *waits = blis__snapshot_column(snapshot, BLIS_SIGNAL_ESTIMATED_WAIT_US);
  int64_t tokens = prompt_tokens - cached_tokens;
  return waits[i] + blis__snapshot_entry_us(snapshot, i, prompt_tokens) +
         blis__snapshot_prefill_us(snapshot, i, tokens > 0 ? (double)tokens : 1);
}

/* Reads a signal of a request. Returns false if memory is exhausted. */
static bool read_request_signal(const blis__shown *shown, blis_signal signal, uint32_t i,
                                double *value) {
  const blis__snapshot *snapshot = shown->snapshot;
  const blis_routing_request *request = shown->request;
  const blis_instance *instance = snapshot->instances[i];
  int64_t block_size = blis_instance_get_config(instance)->block_size_tokens;
  const blis_block_chain *chain = request->chain(request->chain_ud, (uint32_t)block_size);
  uint32_t cached = 0;
  if (chain == NULL) {
    return false;
  }
  if (signal == BLIS_SIGNAL_LIVE_PREFIX_HIT) {
    cached = blis_instance_cached_blocks(instance, chain);
  } else if (blis__snapshot_cached_blocks(snapshot, i, chain, &cached) != BLIS_OK) {
    return false;
  }
  const blis__signal_source *source = snapshot->sources[signal];
  if (signal == BLIS_SIGNAL_ESTIMATED_TTFT_US) {
    *value = estimated_ttft_us(snapshot, i, request->prompt_tokens, (int64_t)cached * block_size);
  } else if (source != NULL && source->of_prompt != NULL) {
    *value = source->of_prompt(source->ud, i, chain, cached);
  } else {
    *value = cached_value(signal, cached, chain, block_size);
  }
  return true;
}

static bool write_request_signal(const blis__shown *shown, blis_signal signal) {
  const blis__candidates *all = &shown->snapshot->candidates;
  const blis__group *group = shown->group;
  double *column = shown_column(shown, signal);
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t front = group->instances[k];
    uint32_t i = front;
    double sum = 0;
    for (; blis__is_shown_by(all, i, front); i++) {
      double value = 0;
      if (!read_request_signal(shown, signal, i, &value)) {
        return false;
      }
      sum += value;
    }
    column[k] = combine(signal, sum, i - front);
  }
  return true;
}

/* Writes a signal as last read by its source; 0 without a source. */
static void write_part_signal(const blis__shown *shown, blis_signal signal) {
  const blis__snapshot *snapshot = shown->snapshot;
  const blis__signal_source *source = snapshot->sources[signal];
  const blis__group *group = shown->group;
  double *column = shown_column(shown, signal);
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t front = group->instances[k];
    uint32_t i = front;
    double sum = 0;
    for (; blis__is_shown_by(&snapshot->candidates, i, front); i++) {
      sum += source == NULL ? 0 : source->of_request(source->ud, i, shown->request, signal);
    }
    column[k] = combine(signal, sum, i - front);
  }
}

/* Updates a column of the view. Returns false if memory is exhausted. */
static bool fill(const blis__shown *shown, blis_signal signal) {
  blis_signal_set bit = BLIS_SIGNAL_BIT(signal);
  if ((bit & BLIS_SIGNALS_OF_REQUEST & BLIS_SIGNALS_OF_PARTS) != 0) {
    write_part_signal(shown, signal);
    return true;
  }
  if ((bit & BLIS_SIGNALS_OF_REQUEST) != 0) {
    return write_request_signal(shown, signal);
  }
  if (!shows_columns(shown)) {
    gather(shown, signal);
  }
  return true;
}

static bool fill_all(const blis__shown *shown) {
  blis_signal_set wanted = shown->snapshot->kept;
  if (shows_columns(shown)) {
    wanted &= BLIS_SIGNALS_OF_REQUEST;
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT && wanted >> s != 0; s++) {
    if ((wanted & BLIS_SIGNAL_BIT(s)) != 0 && !fill(shown, (blis_signal)s)) {
      return false;
    }
  }
  return true;
}

/* Enables a column. Existing views remain valid. */
static bool keep_late(blis__snapshot *snapshot, blis_signal signal) {
  const blis__group *groups[BLIS__STAGE_COUNT];
  if (!blis__snapshot_can_keep(snapshot, signal)) {
    return false;
  }
  for (int k = 0; k < BLIS__STAGE_COUNT; k++) {
    groups[k] = snapshot->shown[k].group;
  }
  blis__snapshot_keep(snapshot, BLIS_SIGNAL_BIT(signal));
  for (int k = 0; k < BLIS__STAGE_COUNT; k++) {
    snapshot->shown[k].group = groups[k];
  }
  blis__snapshot_update(snapshot);
  return true;
}

static const double *column_on_demand(void *column_ud, blis_signal signal) {
  blis__shown *shown = column_ud;
  blis__snapshot *snapshot = shown->snapshot;
  if (shown->view.columns[signal] == NULL) {
    bool is_kept = (snapshot->kept & BLIS_SIGNAL_BIT(signal)) != 0;
    if ((!is_kept && !keep_late(snapshot, signal)) || !fill(shown, signal)) {
      return NULL;
    }
    shown->view.columns[signal] = shown_column(shown, signal);
  }
  return shown->view.columns[signal];
}

static bool need_gathered(blis__shown *shown) {
  if (shown->gathered == NULL) {
    shown->gathered = blis_alloc_zeroed(&shown->snapshot->alloc, shown->snapshot->count,
                                        BLIS_SIGNAL_COUNT * sizeof *shown->gathered);
  }
  return shown->gathered != NULL;
}

/* Sets up the view for other candidates or columns. */
static bool turn_to(blis__snapshot *snapshot, blis__shown *shown, const blis__group *group) {
  blis_routing_view *view = &shown->view;
  shown->snapshot = snapshot;
  if (!group->is_prefix && !need_gathered(shown)) {
    return false;
  }
  shown->group = group;
  *view = (blis_routing_view){.instances = group->instances,
                              .ids = group->ids,
                              .id_ranks = group->id_ranks,
                              .column = column_on_demand,
                              .column_ud = shown};
  if (group->is_prefix && group->is_everybody && group->count > 0) {
    view->least_load = snapshot->least_load;
  }
  if (group->count == snapshot->count) {
    view->rank_extremes = snapshot->rank_extremes;
    if (view->rank_extremes != NULL) {
      view->extremes = (const blis_extremes *const *)snapshot->extremes;
    }
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT; s++) {
    if ((snapshot->kept & BLIS_SIGNAL_BIT(s)) != 0) {
      view->columns[s] = shown_column(shown, (blis_signal)s);
    }
  }
  return true;
}

blis_status blis__snapshot_refresh(blis__snapshot *snapshot, const blis_intern *strings,
                                   uint32_t model, int64_t now_us) {
  if (!snapshot->has_marks && (snapshot->refresh_us == 0 || !snapshot->has_readers)) {
    return BLIS_OK; /* no signal is delayed */
  }
  blis__group *group = blis__candidates_for(&snapshot->candidates, strings, model, 0);
  if (group == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis__snapshot_catch_up(snapshot, group, now_us);
  blis__snapshot_catch_up_caches(snapshot, now_us);
  return BLIS_OK;
}

blis_status blis__snapshot_survey(blis__snapshot *snapshot, uint32_t role, int64_t now_us,
                                  const blis__group **group) {
  blis__group *found = blis__candidates_all(&snapshot->candidates, role);
  if (found == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (now_us >= 0) {
    blis__snapshot_catch_up(snapshot, found, now_us);
    if (snapshot->surveys_mark_caches) {
      blis__snapshot_catch_up_caches(snapshot, now_us);
    }
    blis__snapshot_update(snapshot);
  }
  *group = found;
  return BLIS_OK;
}

const blis_routing_view *blis__snapshot_show(blis__snapshot *snapshot,
                                             const blis_routing_request *request, int64_t now_us) {
  blis__group *group =
      blis__candidates_for(&snapshot->candidates, request->strings, request->model, request->stage);
  if (group == NULL) {
    return NULL;
  }
  blis__shown *shown = &snapshot->shown[blis__stage_of(request->stage)];
  blis__snapshot_catch_up(snapshot, group, now_us);
  blis__snapshot_catch_up_caches(snapshot, now_us);
  blis__snapshot_update(snapshot);
  if (group != shown->group && !turn_to(snapshot, shown, group)) {
    return NULL;
  }
  shown->request = request;
  shown->view.now_us = now_us;
  shown->view.count = group->count;
  return fill_all(shown) ? &shown->view : NULL;
}

const blis_routing_view *blis__snapshot_show_peers(blis__snapshot *snapshot,
                                                   const blis_routing_request *request,
                                                   int64_t now_us) {
  snapshot->peers_request = *request;
  return blis__snapshot_show(snapshot, &snapshot->peers_request, now_us);
}
