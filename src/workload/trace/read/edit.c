#include "workload/trace/read/edit.h"

#include <math.h>

#include "base/number.h"

/* Up to this time (285 years), arrivals are exact in a double. */
#define MAX_TIME_US INT64_C(9000000000000000)

/* Changes the arrival of a request; the deadline moves with it. */
static void move_to(blis_request *request, int64_t arrival_us) {
  if (request->deadline_us != 0) {
    int64_t shift_us = arrival_us - request->arrival_us;
    bool overflows = shift_us > 0 && request->deadline_us > INT64_MAX - shift_us;
    request->deadline_us = overflows ? INT64_MAX : request->deadline_us + shift_us;
  }
  request->arrival_us = arrival_us;
}

/* Moves a request to a time that may be invalid. */
static blis_status move_checked(blis_request *request, double arrival_us, blis_error *error) {
  if (!(arrival_us >= 0 && arrival_us <= (double)MAX_TIME_US)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request %lld, which arrives at %lld us, would move to %s "
                     "us; expected 0 to %lld",
                     (long long)request->number, (long long)request->arrival_us,
                     blis_show_double(arrival_us).text, (long long)MAX_TIME_US);
  }
  move_to(request, llround(arrival_us));
  return BLIS_OK;
}

/* Cut. */

static blis_status check_cut(const blis_trace_cut_options *options, blis_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"start_us", options->start_us},
                 {"end_us", options->end_us},
                 {"skip", options->skip},
                 {"limit", options->limit}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].value < 0) {
      return blis_fail(error, BLIS_ERR_INVALID, "%s is %lld; it must be at least 0",
                       numbers[i].name, (long long)numbers[i].value);
    }
  }
  if (options->end_us != 0 && options->end_us <= options->start_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "end_us is %lld; it must be after start_us, which is "
                     "%lld (or 0 for no end)",
                     (long long)options->end_us, (long long)options->start_us);
  }
  return BLIS_OK;
}

static void cut_request(blis__trace_editing *e, blis_request *request, bool *keep) {
  const blis_trace_cut_options *options = &e->edit->cut;
  int64_t arrival_us = request->arrival_us;
  bool is_inside =
      arrival_us >= options->start_us && (options->end_us == 0 || arrival_us < options->end_us);
  *keep =
      is_inside && e->seen >= options->skip && (options->limit == 0 || e->kept < options->limit);
  e->seen += is_inside;
  if (!*keep) {
    return;
  }
  if (e->kept++ == 0) {
    e->start_us = arrival_us;
  }
  if (options->from_zero) {
    move_to(request, arrival_us - e->start_us);
  }
}

/* Scale. */

static blis_status check_factor(double factor, blis_error *error) {
  if (!isfinite(factor) || factor <= 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "the rate factor is %s; it must be greater than 0",
                     blis_show_double(factor).text);
  }
  return BLIS_OK;
}

/* Warp. */

static blis_status check_points(const blis_trace_warp_point *points, size_t count,
                                blis_error *error) {
  if (count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "a time warp needs at least one point");
  }
  for (size_t i = 0; i < count; i++) {
    int64_t from_us = points[i].from_us;
    int64_t to_us = points[i].to_us;
    if (from_us < 0 || from_us > MAX_TIME_US || to_us < 0 || to_us > MAX_TIME_US) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "point %zu of a time warp is %lld us to %lld us; "
                       "expected 0 to %lld",
                       i + 1, (long long)from_us, (long long)to_us, (long long)MAX_TIME_US);
    }
    if (i > 0 && (from_us <= points[i - 1].from_us || to_us < points[i - 1].to_us)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "point %zu of a time warp is %lld us to %lld us, after "
                       "%lld us to %lld us; the first must rise, the second "
                       "must not fall",
                       i + 1, (long long)from_us, (long long)to_us,
                       (long long)points[i - 1].from_us, (long long)points[i - 1].to_us);
    }
  }
  return BLIS_OK;
}

static blis_status warp_request(blis__trace_editing *e, blis_request *request, blis_error *error) {
  const blis_trace_warp_point *points = e->edit->points;
  size_t count = e->edit->point_count;
  int64_t arrival_us = request->arrival_us;
  while (e->next_point < count && points[e->next_point].from_us < arrival_us) {
    e->next_point++;
  }
  const blis_trace_warp_point *before = &points[e->next_point > 0 ? e->next_point - 1 : 0];
  double distance_us = (double)arrival_us - (double)before->from_us;
  if (e->next_point > 0 && e->next_point < count) {
    const blis_trace_warp_point *after = &points[e->next_point];
    distance_us *= ((double)after->to_us - (double)before->to_us) /
                   ((double)after->from_us - (double)before->from_us);
  }
  return move_checked(request, (double)before->to_us + distance_us, error);
}

/* Edits. */

const char *blis__trace_edit_name(const blis_trace_edit *edit) {
  static const char *const names[] = {[BLIS_TRACE_CUT] = "cut",
                                      [BLIS_TRACE_SCALE] = "scaled",
                                      [BLIS_TRACE_WARP] = "warped",
                                      [BLIS_TRACE_FILTER] = "filtered",
                                      [BLIS_TRACE_CAP] = "capped"};
  return names[edit->kind];
}

blis_status blis__trace_edit_check(const blis_trace_edit *edit, blis_error *error) {
  switch (edit->kind) {
  case BLIS_TRACE_CUT:
    return check_cut(&edit->cut, error);
  case BLIS_TRACE_SCALE:
    return check_factor(edit->factor, error);
  case BLIS_TRACE_WARP:
    return check_points(edit->points, edit->point_count, error);
  case BLIS_TRACE_FILTER:
  case BLIS_TRACE_CAP:
    break;
  }
  return BLIS_OK;
}

blis_status blis__trace_edit_next(blis__trace_editing *editing, blis_request *request, bool *keep,
                                  blis_error *error) {
  size_t index = editing->index++;
  *keep = true;
  switch (editing->edit->kind) {
  case BLIS_TRACE_CUT:
    cut_request(editing, request, keep);
    break;
  case BLIS_TRACE_SCALE:
    return move_checked(request, (double)request->arrival_us / editing->edit->factor, error);
  case BLIS_TRACE_WARP:
    return warp_request(editing, request, error);
  case BLIS_TRACE_FILTER:
  case BLIS_TRACE_CAP:
    *keep = (editing->edit->marks[index / 64] >> index % 64 & 1) != 0;
    break;
  }
  return BLIS_OK;
}
