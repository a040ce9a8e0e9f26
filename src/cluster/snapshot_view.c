/*
 * snapshot_view.c - the view for one decision: candidates, and columns over
 * them.
 */
#include "cluster/snapshot.h"

blis_status blis__snapshot_cached_blocks(const blis__snapshot *snapshot,
                                         uint32_t i,
                                         const blis_block_chain *chain,
                                         uint32_t *blocks) {
  const blis_instance *instance = snapshot->instances[i];
  if (snapshot->has_marks) {
    return blis_instance_cached_blocks_at_mark(instance, chain, blocks);
  }
  *blocks = blis_instance_cached_blocks(instance, chain);
  return BLIS_OK;
}

/* Candidates have the places of the columns, so views show these themselves. */
static bool shows_columns(const blis__snapshot *snapshot) {
  return snapshot->shown->is_prefix;
}

/* Where the view has a column of its candidates. */
static double *shown_column(const blis__snapshot *snapshot,
                            blis_signal signal) {
  return shows_columns(snapshot)
             ? blis__snapshot_column(snapshot, signal)
             : snapshot->gathered + (size_t)signal * snapshot->count;
}

static void gather(const blis__snapshot *snapshot, blis_signal signal) {
  const double *from = blis__snapshot_column(snapshot, signal);
  double *to = shown_column(snapshot, signal);
  const blis__group *group = snapshot->shown;
  for (uint32_t k = 0; k < group->count; k++) {
    to[k] = from[group->instances[k]];
  }
}

/* What cached blocks of a prompt come to, as the signal says it. */
static double cached_value(blis_signal signal, uint32_t cached,
                           const blis_block_chain *chain, int64_t block_size) {
  if (signal == BLIS_SIGNAL_CACHED_TOKENS) {
    return (double)cached * (double)block_size;
  }
  return chain->prompt_blocks > 0
             ? (double)cached / (double)chain->prompt_blocks
             : 0;
}

static bool write_request_signal(blis__snapshot *snapshot, blis_signal signal) {
  const blis_routing_request *request = snapshot->request;
  const blis__group *group = snapshot->shown;
  double *column = shown_column(snapshot, signal);
  for (uint32_t k = 0; k < group->count; k++) {
    uint32_t i = group->instances[k];
    const blis_instance *instance = snapshot->instances[i];
    int64_t block_size = blis_instance_get_config(instance)->block_size_tokens;
    const blis_block_chain *chain =
        request->chain(request->chain_ud, (uint32_t)block_size);
    uint32_t cached = 0;
    if (chain == NULL) {
      return false;
    }
    if (signal == BLIS_SIGNAL_LIVE_PREFIX_HIT) {
      cached = blis_instance_cached_blocks(instance, chain);
    } else if (blis__snapshot_cached_blocks(snapshot, i, chain, &cached) !=
               BLIS_OK) {
      return false;
    }
    column[k] = cached_value(signal, cached, chain, block_size);
  }
  return true;
}

/* Brings a column of the view up to date; false = out of memory. */
static bool fill(blis__snapshot *snapshot, blis_signal signal) {
  if ((BLIS_SIGNAL_BIT(signal) & BLIS_SIGNALS_OF_REQUEST) != 0) {
    return write_request_signal(snapshot, signal);
  }
  if (!shows_columns(snapshot)) {
    gather(snapshot, signal);
  }
  return true;
}

static bool fill_all(blis__snapshot *snapshot) {
  blis_signal_set wanted = snapshot->kept;
  if (shows_columns(snapshot)) {
    wanted &= BLIS_SIGNALS_OF_REQUEST;
  }
  for (int s = 0; s < BLIS_SIGNAL_COUNT && wanted >> s != 0; s++) {
    if ((wanted & BLIS_SIGNAL_BIT(s)) != 0 && !fill(snapshot, (blis_signal)s)) {
      return false;
    }
  }
  return true;
}

static const double *column_on_demand(void *column_ud, blis_signal signal) {
  blis__snapshot *snapshot = column_ud;
  const blis__group *shown = snapshot->shown;
  if ((snapshot->kept & BLIS_SIGNAL_BIT(signal)) == 0) {
    if (!blis__snapshot_can_keep(snapshot, signal)) {
      return NULL;
    }
    blis__snapshot_keep(snapshot, BLIS_SIGNAL_BIT(signal));
    snapshot->shown = shown; /* this view goes on */
    blis__snapshot_update(snapshot);
    snapshot->view.columns[signal] = shown_column(snapshot, signal);
    if (!fill(snapshot, signal)) {
      return NULL;
    }
  }
  return shown_column(snapshot, signal);
}

static bool need_gathered(blis__snapshot *snapshot) {
  if (snapshot->gathered == NULL) {
    snapshot->gathered =
        blis_alloc_zeroed(&snapshot->alloc, snapshot->count,
                          BLIS_SIGNAL_COUNT * sizeof *snapshot->gathered);
  }
  return snapshot->gathered != NULL;
}

/* The view is about other candidates, or has other columns, than before. */
static bool turn_to(blis__snapshot *snapshot, const blis__group *group) {
  blis_routing_view *view = &snapshot->view;
  if (!group->is_prefix && !need_gathered(snapshot)) {
    return false;
  }
  snapshot->shown = group;
  *view = (blis_routing_view){.instances = group->instances,
                              .ids = group->ids,
                              .id_ranks = group->id_ranks,
                              .column = column_on_demand,
                              .column_ud = snapshot};
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
      view->columns[s] = shown_column(snapshot, (blis_signal)s);
    }
  }
  return true;
}

blis_status blis__snapshot_refresh(blis__snapshot *snapshot,
                                   const blis_intern *strings, uint32_t model,
                                   int64_t now_us) {
  if (!snapshot->has_marks &&
      (snapshot->refresh_us == 0 || !snapshot->has_readers)) {
    return BLIS_OK; /* nothing lags behind */
  }
  blis__group *group =
      blis__candidates_for(&snapshot->candidates, strings, model, 0);
  if (group == NULL) {
    return BLIS_ERR_NOMEM;
  }
  blis__snapshot_catch_up(snapshot, group, now_us);
  return BLIS_OK;
}

blis_status blis__snapshot_survey(blis__snapshot *snapshot,
                                  const blis_intern *strings, uint32_t role,
                                  int64_t now_us, const blis__group **group) {
  blis__group *found =
      blis__candidates_for(&snapshot->candidates, strings, 0, role);
  if (found == NULL) {
    return BLIS_ERR_NOMEM;
  }
  if (now_us >= 0) {
    blis__snapshot_catch_up(snapshot, found, now_us);
    blis__snapshot_update(snapshot);
  }
  *group = found;
  return BLIS_OK;
}

const blis_routing_view *
blis__snapshot_show(blis__snapshot *snapshot,
                    const blis_routing_request *request, int64_t now_us) {
  blis__group *group = blis__candidates_for(
      &snapshot->candidates, request->strings, request->model, request->stage);
  if (group == NULL) {
    return NULL;
  }
  blis__snapshot_catch_up(snapshot, group, now_us);
  blis__snapshot_update(snapshot);
  if (group != snapshot->shown && !turn_to(snapshot, group)) {
    return NULL;
  }
  snapshot->request = request;
  snapshot->view.now_us = now_us;
  snapshot->view.count = group->count;
  return fill_all(snapshot) ? &snapshot->view : NULL;
}
