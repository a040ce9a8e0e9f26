#include "workload/trace/read/order.h"

#include <string.h>

#include "base/invariant.h"

/* Size of the ring: a row, its window, and the previous row. */
enum { RING = BLIS__TRACE_WINDOW_MAX + 2 };

static int64_t *highest_of(const blis__trace_lag *lag, int64_t row) {
  return &lag->highest[row % RING];
}

blis_status blis__trace_lag_add(const blis_alloc *alloc, blis__trace_lag *lag, int64_t time_us) {
  if (lag->highest == NULL) {
    lag->highest = blis_alloc_new(alloc, RING * sizeof *lag->highest);
    if (lag->highest == NULL) {
      return BLIS_ERR_NOMEM;
    }
  }
  int64_t row = lag->count++;
  if (row == 0 || time_us >= lag->last_us) {
    lag->last_us = time_us;
    *highest_of(lag, row) = time_us;
    return BLIS_OK;
  }
  *highest_of(lag, row) = lag->last_us;
  /* Binary search for the first row in the ring that is later than this one. */
  int64_t low = row > BLIS__TRACE_WINDOW_MAX ? row - BLIS__TRACE_WINDOW_MAX : 0;
  if (low > 0 && *highest_of(lag, low - 1) > time_us) {
    lag->beyond_row = lag->is_beyond ? lag->beyond_row : row + 1;
    lag->is_beyond = true;
    return BLIS_OK;
  }
  int64_t high = row - 1;
  while (low < high) {
    int64_t middle = low + (high - low) / 2;
    if (*highest_of(lag, middle) > time_us) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  BLIS_ASSERT(*highest_of(lag, low) > time_us);
  size_t late = (size_t)(row - low);
  lag->window = late > lag->window ? late : lag->window;
  return BLIS_OK;
}

void blis__trace_lag_deinit(const blis_alloc *alloc, blis__trace_lag *lag) {
  if (lag->highest != NULL) {
    blis_alloc_free(alloc, lag->highest, RING * sizeof *lag->highest);
    lag->highest = NULL;
  }
}

/* The window: a binary heap of slots. */

typedef struct waiting {
  int64_t arrival_us;
  int64_t order;
  size_t place;
} waiting;

struct blis__trace_window {
  blis_alloc alloc;
  size_t capacity; /* size of the window + 1 */
  size_t count;
  int64_t put;
  waiting *heap;
  blis_request *rows;  /* rows by slot; the window owns their segments */
  size_t *free_places; /* free slots: the first capacity - count items */
  blis_segment *taken; /* segments of the row that was taken last */
  uint32_t taken_count;
};

blis__trace_window *blis__trace_window_new(const blis_alloc *alloc, size_t size) {
  blis__trace_window *window = blis_alloc_zeroed(alloc, 1, sizeof *window);
  if (window == NULL) {
    return NULL;
  }
  window->alloc = *alloc;
  window->capacity = size + 1;
  window->heap = blis_alloc_zeroed(alloc, window->capacity, sizeof *window->heap);
  window->rows = blis_alloc_zeroed(alloc, window->capacity, sizeof *window->rows);
  window->free_places = blis_alloc_zeroed(alloc, window->capacity, sizeof *window->free_places);
  if (window->heap == NULL || window->rows == NULL || window->free_places == NULL) {
    blis__trace_window_free(window);
    return NULL;
  }
  for (size_t i = 0; i < window->capacity; i++) {
    window->free_places[i] = i;
  }
  return window;
}

static void free_segments(const blis__trace_window *window, const blis_segment *segments,
                          uint32_t count) {
  if (count > 0) {
    blis_alloc_free(&window->alloc, (blis_segment *)segments, count * sizeof *segments);
  }
}

static void forget_taken(blis__trace_window *window) {
  free_segments(window, window->taken, window->taken_count);
  window->taken_count = 0;
}

void blis__trace_window_free(blis__trace_window *window) {
  if (window == NULL) {
    return;
  }
  forget_taken(window);
  for (size_t i = 0; i < window->count; i++) {
    const blis_request *row = &window->rows[window->heap[i].place];
    free_segments(window, row->segments, row->segment_count);
  }
  blis_alloc alloc = window->alloc;
  size_t capacity = window->capacity;
  blis_alloc_free(&alloc, window->heap, capacity * sizeof *window->heap);
  blis_alloc_free(&alloc, window->rows, capacity * sizeof *window->rows);
  blis_alloc_free(&alloc, window->free_places, capacity * sizeof *window->free_places);
  blis_alloc_free(&alloc, window, sizeof *window);
}

bool blis__trace_window_is_full(const blis__trace_window *window) {
  return window->count == window->capacity;
}

bool blis__trace_window_is_empty(const blis__trace_window *window) {
  return window->count == 0;
}

static bool is_before(const waiting *a, const waiting *b) {
  return a->arrival_us != b->arrival_us ? a->arrival_us < b->arrival_us : a->order < b->order;
}

blis_status blis__trace_window_put(blis__trace_window *window, const blis_request *row) {
  BLIS_ASSERT(window->count < window->capacity);
  size_t place = window->free_places[window->capacity - window->count - 1];
  blis_request *kept = &window->rows[place];
  size_t size = row->segment_count * sizeof *row->segments;
  blis_segment *segments = NULL;
  if (size > 0) {
    segments = blis_alloc_new(&window->alloc, size);
    if (segments == NULL) {
      return BLIS_ERR_NOMEM;
    }
    memcpy(segments, row->segments, size);
  }
  *kept = *row;
  kept->segments = segments;
  const waiting added = {row->arrival_us, window->put++, place};
  size_t at = window->count++;
  while (at > 0 && is_before(&added, &window->heap[(at - 1) / 2])) {
    window->heap[at] = window->heap[(at - 1) / 2];
    at = (at - 1) / 2;
  }
  window->heap[at] = added;
  BLIS_ASSERT(!is_before(&added, &window->heap[0]) || at == 0);
  return BLIS_OK;
}

void blis__trace_window_take(blis__trace_window *window, blis_request *row) {
  BLIS_ASSERT(window->count > 0);
  forget_taken(window);
  size_t place = window->heap[0].place;
  *row = window->rows[place];
  window->taken = (blis_segment *)row->segments;
  window->taken_count = row->segment_count;
  waiting last = window->heap[--window->count];
  window->free_places[window->capacity - window->count - 1] = place;
  size_t at = 0;
  for (;;) {
    size_t child = 2 * at + 1;
    if (child >= window->count) {
      break;
    }
    if (child + 1 < window->count && is_before(&window->heap[child + 1], &window->heap[child])) {
      child++;
    }
    if (!is_before(&window->heap[child], &last)) {
      break;
    }
    window->heap[at] = window->heap[child];
    at = child;
  }
  window->heap[at] = last;
}
