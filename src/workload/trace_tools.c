#include "workload/trace_tools.h"

#include <math.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/invariant.h"
#include "base/number.h"

/* Arrivals up to here are exact in a double: 285 years. */
#define MAX_TIME_US INT64_C(9000000000000000)

/* Texts get the same numbers, because they are added in the same order. */
static blis_status copy_texts(const blis_workload *from, blis_workload *to) {
  const blis_intern *strings = blis_workload_strings(from);
  for (uint32_t id = 1; id < blis_intern_count(strings); id++) {
    uint32_t same_id;
    BLIS_TRY(blis_workload_text(to, blis_intern_text(strings, id),
                                blis_intern_length(strings, id), &same_id));
    BLIS_ASSERT(same_id == id);
  }
  for (size_t i = 0; i < blis_workload_note_count(from); i++) {
    BLIS_TRY(blis_workload_note(to, "%s", blis_workload_note_text(from, i)));
  }
  return BLIS_OK;
}

/* Changes a copy of request index and sets *keep to false to leave it out. */
typedef blis_status edit_fn(void *state, size_t index, blis_request *request,
                            bool *keep, blis_error *error);

static blis_status copy_edited(const blis_workload *from, edit_fn *edit,
                               void *state, const char *what, blis_workload *to,
                               blis_error *error) {
  if (copy_texts(from, to) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  for (size_t i = 0; i < blis_workload_count(from); i++) {
    blis_request request = *blis_workload_request(from, i);
    bool keep = true;
    BLIS_TRY(edit(state, i, &request, &keep, error));
    if (keep && blis_workload_add(to, &request) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  if (blis_workload_describe(to, "%s, %s", blis_workload_description(from),
                             what) != BLIS_OK ||
      blis_workload_seal(to) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  return BLIS_OK;
}

static blis_status make_edited(const blis_alloc *alloc,
                               const blis_workload *workload, edit_fn *edit,
                               void *state, const char *what,
                               blis_workload **edited, blis_error *error) {
  blis_workload *made = blis_workload_new(alloc);
  if (made == NULL) {
    return blis_fail_nomem(error);
  }
  blis_status status = copy_edited(workload, edit, state, what, made, error);
  if (status != BLIS_OK) {
    blis_workload_free(made);
    return status;
  }
  *edited = made;
  return BLIS_OK;
}

/* Filter. */

typedef struct filtering {
  const blis_workload *workload;
  blis_trace_test *test;
  void *state;
} filtering;

static blis_status filter_request(void *state, size_t index,
                                  blis_request *request, bool *keep,
                                  blis_error *error) {
  (void)request;
  (void)error;
  const filtering *f = state;
  *keep = f->test(f->state, f->workload, index);
  return BLIS_OK;
}

blis_status blis_trace_filter(const blis_alloc *alloc,
                              const blis_workload *workload,
                              blis_trace_test *test, void *state,
                              blis_workload **filtered, blis_error *error) {
  filtering f = {.workload = workload, .test = test, .state = state};
  return make_edited(alloc, workload, filter_request, &f, "filtered", filtered,
                     error);
}

/* Times. */

/* Gives a request another arrival; its deadline stays as far away. */
static void move_to(blis_request *request, int64_t arrival_us) {
  if (request->deadline_us != 0) {
    int64_t shift_us = arrival_us - request->arrival_us;
    bool overflows =
        shift_us > 0 && request->deadline_us > INT64_MAX - shift_us;
    request->deadline_us =
        overflows ? INT64_MAX : request->deadline_us + shift_us;
  }
  request->arrival_us = arrival_us;
}

/* Moves a request to a time that may be one that cannot be. */
static blis_status move_checked(blis_request *request, double arrival_us,
                                blis_error *error) {
  if (!(arrival_us >= 0 && arrival_us <= (double)MAX_TIME_US)) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "request %lld, which arrives at %lld us, would arrive at "
                     "%s us; allowed are 0 to %lld",
                     (long long)request->number, (long long)request->arrival_us,
                     blis_show_double(arrival_us).text, (long long)MAX_TIME_US);
  }
  move_to(request, llround(arrival_us));
  return BLIS_OK;
}

/* Cut. */

typedef struct cutting {
  const blis_trace_cut_options *options;
  int64_t seen; /* requests in the window */
  int64_t kept;
  int64_t start_us; /* arrival of the first that was kept */
} cutting;

static blis_status cut_request(void *state, size_t index, blis_request *request,
                               bool *keep, blis_error *error) {
  (void)index;
  (void)error;
  cutting *c = state;
  const blis_trace_cut_options *options = c->options;
  int64_t arrival_us = request->arrival_us;
  bool is_inside = arrival_us >= options->start_us &&
                   (options->end_us == 0 || arrival_us < options->end_us);
  *keep = is_inside && c->seen >= options->skip &&
          (options->limit == 0 || c->kept < options->limit);
  c->seen += is_inside;
  if (!*keep) {
    return BLIS_OK;
  }
  if (c->kept++ == 0) {
    c->start_us = arrival_us;
  }
  if (options->from_zero) {
    move_to(request, arrival_us - c->start_us);
  }
  return BLIS_OK;
}

blis_status blis_trace_cut(const blis_alloc *alloc,
                           const blis_workload *workload,
                           const blis_trace_cut_options *options,
                           blis_workload **part, blis_error *error) {
  const struct {
    const char *name;
    int64_t value;
  } numbers[] = {{"start_us", options->start_us},
                 {"end_us", options->end_us},
                 {"skip", options->skip},
                 {"limit", options->limit}};
  for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
    if (numbers[i].value < 0) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "%s is %lld; it must be at least 0", numbers[i].name,
                       (long long)numbers[i].value);
    }
  }
  if (options->end_us != 0 && options->end_us <= options->start_us) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "end_us is %lld; it must be after start_us, which is "
                     "%lld (or 0 for no end)",
                     (long long)options->end_us, (long long)options->start_us);
  }
  cutting c = {.options = options};
  return make_edited(alloc, workload, cut_request, &c, "cut", part, error);
}

/* Scale. */

static blis_status scale_request(void *state, size_t index,
                                 blis_request *request, bool *keep,
                                 blis_error *error) {
  (void)index;
  *keep = true;
  const double *factor = state;
  return move_checked(request, (double)request->arrival_us / *factor, error);
}

blis_status blis_trace_scale(const blis_alloc *alloc,
                             const blis_workload *workload, double factor,
                             blis_workload **scaled, blis_error *error) {
  if (!isfinite(factor) || factor <= 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the rate factor is %s; it must be greater than 0",
                     blis_show_double(factor).text);
  }
  return make_edited(alloc, workload, scale_request, &factor, "scaled", scaled,
                     error);
}

/* Warp. */

typedef struct warping {
  const blis_trace_warp_point *points;
  size_t count;
  size_t next; /* the first point that is not before the last arrival */
} warping;

static blis_status warp_request(void *state, size_t index,
                                blis_request *request, bool *keep,
                                blis_error *error) {
  (void)index;
  *keep = true;
  warping *w = state;
  int64_t arrival_us = request->arrival_us;
  while (w->next < w->count && w->points[w->next].from_us < arrival_us) {
    w->next++;
  }
  const blis_trace_warp_point *before =
      &w->points[w->next > 0 ? w->next - 1 : 0];
  double distance_us = (double)arrival_us - (double)before->from_us;
  if (w->next > 0 && w->next < w->count) {
    const blis_trace_warp_point *after = &w->points[w->next];
    distance_us *= ((double)after->to_us - (double)before->to_us) /
                   ((double)after->from_us - (double)before->from_us);
  }
  return move_checked(request, (double)before->to_us + distance_us, error);
}

static blis_status check_points(const blis_trace_warp_point *points,
                                size_t count, blis_error *error) {
  if (count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "a time warp needs at least one point");
  }
  for (size_t i = 0; i < count; i++) {
    int64_t from_us = points[i].from_us;
    int64_t to_us = points[i].to_us;
    if (from_us < 0 || from_us > MAX_TIME_US || to_us < 0 ||
        to_us > MAX_TIME_US) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "point %zu of a time warp is %lld us to %lld us; "
                       "allowed are 0 to %lld",
                       i + 1, (long long)from_us, (long long)to_us,
                       (long long)MAX_TIME_US);
    }
    if (i > 0 &&
        (from_us <= points[i - 1].from_us || to_us < points[i - 1].to_us)) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "point %zu of a time warp is %lld us to %lld us, after "
                       "%lld us to %lld us; the first must rise, the second "
                       "must not fall",
                       i + 1, (long long)from_us, (long long)to_us,
                       (long long)points[i - 1].from_us,
                       (long long)points[i - 1].to_us);
    }
  }
  return BLIS_OK;
}

blis_status blis_trace_warp(const blis_alloc *alloc,
                            const blis_workload *workload,
                            const blis_trace_warp_point *points, size_t count,
                            blis_workload **warped, blis_error *error) {
  BLIS_TRY(check_points(points, count, error));
  warping w = {.points = points, .count = count};
  return make_edited(alloc, workload, warp_request, &w, "warped", warped,
                     error);
}

/* Cap. */

typedef struct turn {
  uint32_t session;
  int32_t round_index;
  size_t index; /* in order of arrival */
} turn;

static int compare_turns(const void *a, const void *b) {
  const turn *left = a;
  const turn *right = b;
  if (left->session != right->session) {
    return left->session < right->session ? -1 : 1;
  }
  if (left->round_index != right->round_index) {
    return left->round_index < right->round_index ? -1 : 1;
  }
  return (left->index > right->index) - (left->index < right->index);
}

/* Clears keep of every request that is beyond the cap. */
static blis_status mark_capped(const blis_alloc *alloc,
                               const blis_workload *workload, int64_t max_turns,
                               bool *keep) {
  BLIS_ARRAY(turn) turns = {0};
  size_t count = blis_workload_count(workload);
  BLIS_TRY(blis_array_reserve(alloc, &turns, count));
  for (size_t i = 0; i < count; i++) {
    const blis_request *request = blis_workload_request(workload, i);
    keep[i] = true;
    if (request->session != 0) {
      turns.items[turns.count++] =
          (turn){request->session, request->round_index, i};
    }
  }
  if (turns.count > 0) {
    qsort(turns.items, turns.count, sizeof *turns.items, compare_turns);
  }
  int64_t taken = 0;
  for (size_t i = 0; i < turns.count; i++) {
    bool goes_on =
        i > 0 && turns.items[i].session == turns.items[i - 1].session;
    taken = goes_on ? taken + 1 : 1;
    keep[turns.items[i].index] = taken <= max_turns;
  }
  blis_array_deinit(alloc, &turns);
  return BLIS_OK;
}

static blis_status cap_request(void *state, size_t index, blis_request *request,
                               bool *keep, blis_error *error) {
  (void)request;
  (void)error;
  const bool *marks = state;
  *keep = marks[index];
  return BLIS_OK;
}

blis_status blis_trace_cap(const blis_alloc *alloc,
                           const blis_workload *workload, int64_t max_turns,
                           blis_workload **capped, blis_error *error) {
  if (max_turns < 1) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "max_turns is %lld; it must be at least 1",
                     (long long)max_turns);
  }
  size_t size = blis_workload_count(workload) + 1;
  bool *keep = blis_alloc_zeroed(alloc, size, sizeof *keep);
  if (keep == NULL) {
    return blis_fail_nomem(error);
  }
  blis_status status = mark_capped(alloc, workload, max_turns, keep);
  if (status != BLIS_OK) {
    status = blis_fail_nomem(error);
  } else {
    status = make_edited(alloc, workload, cap_request, keep, "capped", capped,
                         error);
  }
  blis_alloc_free(alloc, keep, size * sizeof *keep);
  return status;
}
