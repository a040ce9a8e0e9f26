#include "workload/generate/source_copy.h"

#include "base/array.h"

typedef struct kept_requests {
  BLIS_ARRAY(blis_request) requests; /* their segments are in the list below */
  BLIS_ARRAY(blis_segment) segments;
} kept_requests;

struct blis_source_copy {
  blis_alloc alloc;
  blis_request_source original;
  kept_requests arrivals;
  kept_requests follow_ups;
  bool has_lost; /* a request was lost for lack of memory, and the error could not be reported at
                    that time */
};

blis_source_copy *blis_source_copy_new(const blis_alloc *alloc,
                                       const blis_request_source *original) {
  blis_source_copy *copy = blis_alloc_zeroed(alloc, 1, sizeof *copy);
  if (copy != NULL) {
    copy->alloc = *alloc;
    copy->original = *original;
  }
  return copy;
}

static void deinit_kept(const blis_alloc *alloc, kept_requests *kept) {
  blis_array_deinit(alloc, &kept->requests);
  blis_array_deinit(alloc, &kept->segments);
}

void blis_source_copy_free(blis_source_copy *copy) {
  if (copy == NULL) {
    return;
  }
  blis_alloc alloc = copy->alloc;
  deinit_kept(&alloc, &copy->arrivals);
  deinit_kept(&alloc, &copy->follow_ups);
  blis_alloc_free(&alloc, copy, sizeof *copy);
}

static blis_status keep(const blis_alloc *alloc, kept_requests *kept, const blis_request *request,
                        blis_error *error) {
  for (uint32_t i = 0; i < request->segment_count; i++) {
    BLIS_TRY_MEM(blis_array_push(alloc, &kept->segments, request->segments[i]), error);
  }
  return blis_array_push(alloc, &kept->requests, *request) == BLIS_OK ? BLIS_OK
                                                                      : blis_fail_nomem(error);
}

/* Returns whether each request is copied on arrival, because requests may be moved forward in
   time. */
static bool keeps_early(const blis_source_copy *copy) {
  return copy->original.is_due == NULL;
}

static blis_status next(void *state, blis_request *request, bool *done, blis_error *error) {
  blis_source_copy *copy = state;
  BLIS_TRY(copy->original.next(copy->original.state, request, done, error));
  return *done || !keeps_early(copy) ? BLIS_OK
                                     : keep(&copy->alloc, &copy->arrivals, request, error);
}

static blis_status keep_follow_up(blis_source_copy *copy, const blis_request *follow_up,
                                  blis_error *error) {
  return keeps_early(copy) ? keep(&copy->alloc, &copy->follow_ups, follow_up, error) : BLIS_OK;
}

static blis_status ended(void *state, const blis_request *request,
                         const blis_request_outcome *outcome, blis_request *follow_up,
                         bool *has_follow_up, blis_error *error) {
  blis_source_copy *copy = state;
  BLIS_TRY(copy->original.ended(copy->original.state, request, outcome, follow_up, has_follow_up,
                                error));
  return *has_follow_up ? keep_follow_up(copy, follow_up, error) : BLIS_OK;
}

static blis_status also(void *state, blis_request *follow_up, bool *has_follow_up,
                        blis_error *error) {
  blis_source_copy *copy = state;
  BLIS_TRY(copy->original.also(copy->original.state, follow_up, has_follow_up, error));
  return *has_follow_up ? keep_follow_up(copy, follow_up, error) : BLIS_OK;
}

/* Stores the deadline of a request that its client has abandoned. */
static void keep_deadline(blis_source_copy *copy, const blis_request *request) {
  const kept_requests *kept = &copy->arrivals;
  if (request->number >= 0 && (uint64_t)request->number < kept->requests.count &&
      kept->requests.items[request->number].number == request->number) {
    kept->requests.items[request->number].deadline_us = request->deadline_us;
  }
}

static void release(void *state, const blis_request *request) {
  blis_source_copy *copy = state;
  keep_deadline(copy, request);
  copy->original.release(copy->original.state, request);
}

static bool is_due(void *state, const blis_request *request) {
  blis_source_copy *copy = state;
  if (!copy->original.is_due(copy->original.state, request)) {
    return false;
  }
  kept_requests *kept = request->number < 0 ? &copy->follow_ups : &copy->arrivals;
  blis_error error = {0};
  copy->has_lost |= keep(&copy->alloc, kept, request, &error) != BLIS_OK;
  return true;
}

blis_request_source blis_source_copy_source(blis_source_copy *copy) {
  blis_request_source source = copy->original;
  source.release = copy->original.release != NULL ? release : NULL;
  source.next = next;
  source.ended = copy->original.ended != NULL ? ended : NULL;
  source.also = copy->original.also != NULL ? also : NULL;
  source.is_due = copy->original.is_due != NULL ? is_due : NULL;
  source.state = copy;
  return source;
}

static blis_status add_all(const kept_requests *kept, blis_workload *workload) {
  const blis_segment *segments = kept->segments.items;
  for (size_t i = 0; i < kept->requests.count; i++) {
    blis_request request = kept->requests.items[i];
    request.segments = request.segment_count > 0 ? segments : NULL;
    BLIS_TRY(blis_workload_add(workload, &request));
    if (request.segment_count > 0) {
      segments += request.segment_count;
    }
  }
  return BLIS_OK;
}

/* Adds strings in order, so that they keep their numbers. */
static blis_status add_texts(const blis_intern *strings, blis_workload *workload) {
  for (uint32_t id = 1; id < blis_intern_count(strings); id++) {
    uint32_t same_id;
    BLIS_TRY(blis_workload_text(workload, blis_intern_text(strings, id),
                                blis_intern_length(strings, id), &same_id));
  }
  return BLIS_OK;
}

static blis_status fill(const blis_source_copy *copy, blis_workload *workload) {
  BLIS_TRY(add_texts(copy->original.strings, workload));
  BLIS_TRY(add_all(&copy->arrivals, workload));
  BLIS_TRY(add_all(&copy->follow_ups, workload));
  BLIS_TRY(blis_workload_describe(workload, "the requests of a run"));
  return blis_workload_seal(workload);
}

blis_status blis_source_copy_get(const blis_source_copy *copy, const blis_alloc *alloc,
                                 blis_workload **workload, blis_error *error) {
  blis_workload *made = copy->has_lost ? NULL : blis_workload_new(alloc);
  if (made == NULL || fill(copy, made) != BLIS_OK) {
    blis_workload_free(made);
    return blis_fail_nomem(error);
  }
  *workload = made;
  return BLIS_OK;
}
