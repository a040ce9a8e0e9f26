#include "workload/workload.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/invariant.h"
#include "workload/workload_edit.h"

enum { TEXT_BYTES = 512 };

struct blis_workload {
  blis_alloc alloc;
  blis_intern *strings;
  BLIS_ARRAY(blis_request) requests; /* member segments is set by seal */
  BLIS_ARRAY(blis_segment) segments; /* in the order of adding */
  BLIS_ARRAY(const char *) notes;
  BLIS_ARRAY(blis_goodput_target) targets;
  size_t *added;    /* order of addition -> index; NULL = identical */
  blis_arena texts; /* description, notes, and classes of targets */
  const char *description;
  bool sessions_grow;
  bool is_placed; /* requests point to their segments */
  bool is_sealed;
};

blis_workload *blis_workload_new(const blis_alloc *alloc) {
  blis_workload *workload = blis_alloc_new(alloc, sizeof *workload);
  if (workload == NULL) {
    return NULL;
  }
  *workload = (blis_workload){.alloc = *alloc, .description = ""};
  blis_arena_init(&workload->texts, alloc);
  workload->strings = blis_intern_new(alloc);
  if (workload->strings == NULL) {
    blis_workload_free(workload);
    return NULL;
  }
  return workload;
}

void blis_workload_free(blis_workload *workload) {
  if (workload == NULL) {
    return;
  }
  blis_alloc alloc = workload->alloc;
  blis_intern_free(workload->strings);
  blis_alloc_free(&alloc, workload->added, workload->requests.count * sizeof *workload->added);
  blis_array_deinit(&alloc, &workload->requests);
  blis_array_deinit(&alloc, &workload->segments);
  blis_array_deinit(&alloc, &workload->notes);
  blis_array_deinit(&alloc, &workload->targets);
  blis_arena_deinit(&workload->texts);
  blis_alloc_free(&alloc, workload, sizeof *workload);
}

blis_status blis_workload_text(blis_workload *workload, const char *text, size_t length,
                               uint32_t *id) {
  BLIS_ASSERT(!workload->is_sealed);
  return blis_intern_add(workload->strings, text, length, id);
}

blis_status blis_workload_add(blis_workload *workload, const blis_request *request) {
  BLIS_ASSERT(!workload->is_sealed && !workload->is_placed);
  size_t count = request->segment_count;
  BLIS_TRY(
      blis_array_reserve(&workload->alloc, &workload->segments, workload->segments.count + count));
  BLIS_TRY(blis_array_push(&workload->alloc, &workload->requests, *request));
  workload->requests.items[workload->requests.count - 1].call = NULL;
  if (count > 0) {
    memcpy(workload->segments.items + workload->segments.count, request->segments,
           count * sizeof *request->segments);
    workload->segments.count += count;
  }
  return BLIS_OK;
}

static const char *keep_text(blis_workload *workload, const char *format, va_list arguments) {
  char text[TEXT_BYTES];
  int length = vsnprintf(text, sizeof text, format, arguments);
  BLIS_ASSERT(length >= 0);
  return blis_arena_text(&workload->texts, text, strlen(text));
}

blis_status blis_workload_note(blis_workload *workload, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = keep_text(workload, format, arguments);
  va_end(arguments);
  return text == NULL ? BLIS_ERR_NOMEM : blis_array_push(&workload->alloc, &workload->notes, text);
}

blis_status blis_workload_add_target(blis_workload *workload, const blis_goodput_target *target) {
  blis_goodput_target copy = *target;
  copy.slo_class = blis_arena_text(&workload->texts, target->slo_class, strlen(target->slo_class));
  return copy.slo_class == NULL ? BLIS_ERR_NOMEM
                                : blis_array_push(&workload->alloc, &workload->targets, copy);
}

blis_status blis_workload_describe(blis_workload *workload, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  const char *text = keep_text(workload, format, arguments);
  va_end(arguments);
  if (text == NULL) {
    return BLIS_ERR_NOMEM;
  }
  workload->description = text;
  return BLIS_OK;
}

void blis_workload_let_sessions_grow(blis_workload *workload) {
  BLIS_ASSERT(!workload->is_sealed);
  workload->sessions_grow = true;
}

bool blis_workload_sessions_grow(const blis_workload *workload) {
  return workload->sessions_grow;
}

/* A request during sorting. */
typedef struct arrival {
  int64_t time_us;
  size_t place; /* position in order of addition */
} arrival;

/* Merges the sorted runs [0, middle) and [middle, count) of from into to. */
static void merge(const arrival *from, size_t middle, size_t count, arrival *to) {
  size_t left = 0;
  size_t right = middle;
  for (size_t i = 0; i < count; i++) {
    bool take_left = right == count || (left < middle && from[left].time_us <= from[right].time_us);
    to[i] = take_left ? from[left++] : from[right++];
  }
}

/* Sorts the first count arrivals; the array must have space for count more. */
static const arrival *sort(arrival *arrivals, size_t count) {
  arrival *from = arrivals;
  arrival *to = arrivals + count;
  for (size_t width = 1; width < count; width *= 2) {
    for (size_t start = 0; start < count; start += 2 * width) {
      size_t rest = count - start;
      merge(from + start, rest < width ? rest : width, rest < 2 * width ? rest : 2 * width,
            to + start);
    }
    arrival *sorted = to;
    to = from;
    from = sorted;
  }
  return from;
}

static bool is_sorted(const blis_request *requests, size_t count) {
  for (size_t i = 1; i < count; i++) {
    if (requests[i].arrival_us < requests[i - 1].arrival_us) {
      return false;
    }
  }
  return true;
}

/* Moves all requests to their sorted positions. */
static void move(blis_workload *workload, const arrival *sorted, blis_request *to, size_t *added) {
  size_t count = workload->requests.count;
  blis_request *from = workload->requests.items;
  for (size_t i = 0; i < count; i++) {
    to[i] = from[sorted[i].place];
    added[sorted[i].place] = i;
  }
  blis_alloc_free(&workload->alloc, from, workload->requests.capacity * sizeof *from);
  workload->requests.items = to;
  workload->added = added;
}

static blis_status sort_by_arrival(blis_workload *workload) {
  const blis_alloc *alloc = &workload->alloc;
  size_t count = workload->requests.count;
  const blis_request *requests = workload->requests.items;
  if (is_sorted(requests, count)) {
    return BLIS_OK;
  }
  arrival *arrivals = blis_alloc_zeroed(alloc, 2 * count, sizeof *arrivals);
  size_t capacity = workload->requests.capacity;
  blis_request *to = blis_alloc_zeroed(alloc, capacity, sizeof *to);
  size_t *added = blis_alloc_zeroed(alloc, count, sizeof *added);
  bool is_made = arrivals != NULL && to != NULL && added != NULL;
  if (is_made) {
    for (size_t i = 0; i < count; i++) {
      arrivals[i] = (arrival){requests[i].arrival_us, i};
    }
    move(workload, sort(arrivals, count), to, added);
  } else {
    blis_alloc_free(alloc, to, capacity * sizeof *to);
    blis_alloc_free(alloc, added, count * sizeof *added);
  }
  blis_alloc_free(alloc, arrivals, 2 * count * sizeof *arrivals);
  return is_made ? BLIS_OK : BLIS_ERR_NOMEM;
}

/* Sets the segment pointers of requests. Segments are stored in order of addition. */
void blis__workload_edit(blis_workload *workload, blis__workload_edit_fn *fn, const void *state) {
  BLIS_ASSERT(!workload->is_sealed);
  blis_segment *segments = workload->segments.items;
  size_t placed = 0;
  for (size_t i = 0; i < workload->requests.count; i++) {
    blis_request *request = &workload->requests.items[i];
    uint32_t count = request->segment_count;
    request->segments = count > 0 ? segments : NULL;
    if (fn != NULL) {
      fn(state, request, segments);
    }
    if (request->segment_count == 0) {
      request->segments = NULL;
    }
    if (count > 0) { /* without segments, the array does not exist */
      segments += count;
      placed += count;
    }
  }
  BLIS_ASSERT(placed == workload->segments.count);
  workload->is_placed = true;
}

blis_status blis__workload_number_rounds(blis_workload *workload) {
  BLIS_ASSERT(workload->is_sealed);
  uint32_t texts = blis_intern_count(workload->strings);
  int32_t *rounds = blis_alloc_zeroed(&workload->alloc, texts, sizeof *rounds);
  if (rounds == NULL) {
    return BLIS_ERR_NOMEM;
  }
  for (size_t i = 0; i < workload->requests.count; i++) {
    blis_request *request = &workload->requests.items[i];
    if (request->session != 0) {
      request->round_index = rounds[request->session]++;
    }
  }
  blis_alloc_free(&workload->alloc, rounds, texts * sizeof *rounds);
  return BLIS_OK;
}

blis_status blis_workload_seal(blis_workload *workload) {
  BLIS_ASSERT(!workload->is_sealed);
  if (!workload->is_placed) {
    blis__workload_edit(workload, NULL, NULL);
  }
  BLIS_TRY(sort_by_arrival(workload));
  BLIS_ASSERT(is_sorted(workload->requests.items, workload->requests.count));
  workload->is_sealed = true;
  return BLIS_OK;
}

size_t blis_workload_count(const blis_workload *workload) {
  return workload->requests.count;
}

const blis_request *blis_workload_request(const blis_workload *workload, size_t index) {
  BLIS_ASSERT(workload->is_sealed);
  BLIS_ASSERT(index < workload->requests.count);
  return &workload->requests.items[index];
}

size_t blis_workload_added(const blis_workload *workload, size_t place) {
  BLIS_ASSERT(workload->is_sealed);
  BLIS_ASSERT(place < workload->requests.count);
  return workload->added != NULL ? workload->added[place] : place;
}

blis_intern *blis_workload_strings(const blis_workload *workload) {
  return workload->strings;
}

const char *blis_workload_description(const blis_workload *workload) {
  return workload->description;
}

size_t blis_workload_note_count(const blis_workload *workload) {
  return workload->notes.count;
}

const char *blis_workload_note_text(const blis_workload *workload, size_t index) {
  BLIS_ASSERT(index < workload->notes.count);
  return workload->notes.items[index];
}

size_t blis_workload_target_count(const blis_workload *workload) {
  return workload->targets.count;
}

const blis_goodput_target *blis_workload_targets(const blis_workload *workload) {
  return workload->targets.items;
}

static blis_status next_request(void *state, blis_request *request, bool *done, blis_error *error) {
  (void)error;
  blis_workload_cursor *cursor = state;
  *done = cursor->next == cursor->workload->requests.count;
  if (!*done) {
    *request = cursor->workload->requests.items[cursor->next++];
  }
  return BLIS_OK;
}

blis_request_source blis_workload_source(const blis_workload *workload,
                                         blis_workload_cursor *cursor) {
  BLIS_ASSERT(workload->is_sealed);
  *cursor = (blis_workload_cursor){.workload = workload};
  return (blis_request_source){.next = next_request,
                               .state = cursor,
                               .strings = workload->strings,
                               .count = (int64_t)workload->requests.count};
}

/* Strings keep their numbers, because they are added in the same order. */
static blis_status copy_strings(const blis_intern *from, blis_intern *to) {
  for (uint32_t id = 1; id < blis_intern_count(from); id++) {
    uint32_t same_id;
    BLIS_TRY(
        blis_intern_add(to, blis_intern_text(from, id), blis_intern_length(from, id), &same_id));
    BLIS_ASSERT(same_id == id);
  }
  return BLIS_OK;
}

static blis_status collect(const blis_request_source *source, size_t limit, blis_workload *workload,
                           blis_error *error) {
  while (workload->requests.count < limit) {
    blis_request request;
    bool done;
    BLIS_TRY(source->next(source->state, &request, &done, error));
    if (done) {
      break;
    }
    BLIS_TRY_MEM(blis_workload_add(workload, &request), error);
  }
  BLIS_TRY_MEM(copy_strings(source->strings, workload->strings), error);
  BLIS_TRY_MEM(blis_workload_seal(workload), error);
  return BLIS_OK;
}

blis_status blis_workload_collect(const blis_alloc *alloc, const blis_request_source *source,
                                  size_t limit, blis_workload **workload, blis_error *error) {
  blis_workload *collected = blis_workload_new(alloc);
  BLIS_TRY_NEW(collected, error);
  blis_status status = collect(source, limit, collected, error);
  if (status != BLIS_OK) {
    blis_workload_free(collected);
    return status;
  }
  *workload = collected;
  return BLIS_OK;
}

static blis_status copy_texts(const blis_workload *from, blis_workload *to) {
  to->sessions_grow = from->sessions_grow;
  BLIS_TRY(blis_workload_describe(to, "%s", from->description));
  for (size_t i = 0; i < from->notes.count; i++) {
    BLIS_TRY(blis_workload_note(to, "%s", from->notes.items[i]));
  }
  for (size_t i = 0; i < from->targets.count; i++) {
    BLIS_TRY(blis_workload_add_target(to, &from->targets.items[i]));
  }
  return BLIS_OK;
}

blis_status blis_workload_slice(const blis_alloc *alloc, const blis_workload *workload,
                                size_t first, size_t limit, blis_workload **slice,
                                blis_error *error) {
  blis_workload_cursor cursor;
  blis_request_source source = blis_workload_source(workload, &cursor);
  cursor.next = first < workload->requests.count ? first : workload->requests.count;
  blis_workload *part;
  BLIS_TRY(blis_workload_collect(alloc, &source, limit, &part, error));
  if (copy_texts(workload, part) != BLIS_OK) {
    blis_workload_free(part);
    return blis_fail_nomem(error);
  }
  *slice = part;
  return BLIS_OK;
}

blis_status blis_workload_take_texts(blis_workload *workload, const blis_workload *from) {
  BLIS_TRY(copy_strings(from->strings, workload->strings));
  return copy_texts(from, workload);
}
