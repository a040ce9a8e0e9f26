#include "results/log/visit_log.h"

#include <stdlib.h>
#include <string.h>

#include "base/minmax.h"

void blis_visit_log_init(blis_visit_log *log, const blis_alloc *alloc, size_t most) {
  *log = (blis_visit_log){.alloc = *alloc, .most = most, .whole_until_us = INT64_MAX};
}

void blis_visit_log_deinit(blis_visit_log *log) {
  if (log->alloc.fn != NULL) {
    blis_array_deinit(&log->alloc, &log->visits);
    blis_array_deinit(&log->alloc, &log->preemptions);
    blis_array_deinit(&log->alloc, &log->states);
  }
  *log = (blis_visit_log){0};
}

/* Sort orders that do not depend on the engine. */

static int compare_integers(int64_t a, int64_t b) {
  return (a > b) - (a < b);
}

static int compare_requests(const blis_request_name *a, const blis_request_name *b) {
  int order = compare_integers(a->number, b->number);
  if (order == 0 && a->session != b->session) {
    order = strcmp(a->session == NULL ? "" : a->session, b->session == NULL ? "" : b->session);
  }
  return order != 0 ? order : compare_integers(a->round_index, b->round_index);
}

static int compare_visits(const void *a, const void *b) {
  const blis_visit *left = a;
  const blis_visit *right = b;
  int order = compare_integers(left->from_us, right->from_us);
  if (order == 0) {
    order = compare_requests(&left->request, &right->request);
  }
  return order != 0 ? order : compare_integers(left->number, right->number);
}

static int compare_preemptions(const void *a, const void *b) {
  const blis_preempted *left = a;
  const blis_preempted *right = b;
  int order = compare_integers(left->time_us, right->time_us);
  if (order == 0) {
    order = compare_requests(&left->request, &right->request);
  }
  return order != 0 ? order : compare_integers(left->visit, right->visit);
}

/* Adding. */

/* Keeps the earliest entries; returns their number. */
static size_t cut(blis_visit_log *log, void *items, size_t count, size_t size,
                  int (*compare)(const void *a, const void *b)) {
  if (count > 0) {
    qsort(items, count, size, compare);
  }
  if (count <= log->most) {
    return count;
  }
  log->left_out += (int64_t)(count - log->most);
  return log->most;
}

/* Records that entries at or after last_us were omitted. */
static void note_whole(blis_visit_log *log, int64_t last_us) {
  log->whole_until_us = blis_min_i64(log->whole_until_us, last_us);
}

static void cut_visits(blis_visit_log *log) {
  size_t count = log->visits.count;
  log->visits.count = cut(log, log->visits.items, count, sizeof *log->visits.items, compare_visits);
  if (log->visits.count < count) {
    note_whole(log, log->visits.items[log->visits.count - 1].from_us);
  }
}

static void cut_preemptions(blis_visit_log *log) {
  size_t count = log->preemptions.count;
  log->preemptions.count =
      cut(log, log->preemptions.items, count, sizeof *log->preemptions.items, compare_preemptions);
  if (log->preemptions.count < count) {
    note_whole(log, log->preemptions.items[log->preemptions.count - 1].time_us);
  }
}

static blis_status add_visit(void *ud, const blis_visit *visit, blis_error *error) {
  blis_visit_log *log = ud;
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->visits, *visit), error);
  if (log->visits.count == 2 * log->most) {
    cut_visits(log);
  }
  return BLIS_OK;
}

static blis_status add_preempted(void *ud, const blis_preempted *preempted, blis_error *error) {
  blis_visit_log *log = ud;
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->preemptions, *preempted), error);
  if (log->preemptions.count == 2 * log->most) {
    cut_preemptions(log);
  }
  return BLIS_OK;
}

static blis_status add_state(void *ud, const blis_service_change *change, blis_error *error) {
  blis_visit_log *log = ud;
  if (log->states.count == log->most) {
    log->left_out++;
    note_whole(log, log->states.items[log->states.count - 1].time_us);
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis_array_push(&log->alloc, &log->states, *change), error);
  return BLIS_OK;
}

blis_visit_sink blis_visit_log_sink(blis_visit_log *log) {
  return (blis_visit_sink){
      .ud = log, .visit = add_visit, .preempted = add_preempted, .service = add_state};
}

void blis_visit_log_sort(blis_visit_log *log) {
  cut_visits(log);
  cut_preemptions(log);
}
