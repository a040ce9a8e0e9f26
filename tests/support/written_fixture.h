/*
 * written_fixture.h - the requests of a workload specification that is written
 * as a text.
 */
#ifndef BLIS_WRITTEN_FIXTURE_H
#define BLIS_WRITTEN_FIXTURE_H

#include <stdbool.h>

#include "check.h"
#include "workload/generate/generator.h"
#include "workload/spec/written_spec.h"

enum { MAX_LISTED = 20000 };

/* Requests with what they borrow; one list at a time. */
typedef struct request_list {
  blis_generator *generator;
  blis_request_source source;
  blis_request items[MAX_LISTED];
  size_t count;
} request_list;

static inline blis_written_spec *must_read(const blis_alloc *alloc, const char *text,
                                           const blis_spec_settings *settings) {
  blis_error error;
  blis_yaml *yaml;
  CHECK_OK(blis_yaml_parse(alloc, "spec.yaml", blis_slice_of(text), &yaml, &error), &error);
  blis_written_spec *written;
  CHECK_OK(blis_written_spec_from(alloc, blis_yaml_root(yaml), settings, &written, &error), &error);
  blis_yaml_free(yaml);
  return written;
}

/* All requests that do not follow on others. */
static inline void list_requests(request_list *list, const char *text,
                                 const blis_spec_settings *settings) {
  blis_error error;
  blis_alloc alloc = blis_alloc_heap();
  blis_written_spec *written = must_read(&alloc, text, settings);
  CHECK_OK(blis_generator_new(&alloc, blis_written_spec_get(written), &list->generator, &error),
           &error);
  blis_written_spec_free(written);
  list->source = blis_generator_source(list->generator);
  list->count = 0;
  for (bool done = false;; list->count++) {
    CHECK(list->count < MAX_LISTED);
    CHECK_OK(list->source.next(list->source.state, &list->items[list->count], &done, &error),
             &error);
    if (done) {
      return;
    }
  }
}

static inline void free_requests(request_list *list) {
  blis_generator_free(list->generator);
}

static inline const char *text_of(const request_list *list, uint32_t number) {
  return blis_intern_text(list->source.strings, number);
}

/* How many requests of a client arrive from start_us to end_us, exclusive. */
static inline int64_t count_between(const request_list *list, const char *client, int64_t start_us,
                                    int64_t end_us) {
  int64_t count = 0;
  for (size_t i = 0; i < list->count; i++) {
    const blis_request *r = &list->items[i];
    bool is_from = client == NULL || strcmp(text_of(list, r->client), client) == 0;
    count += is_from && r->arrival_us >= start_us && r->arrival_us < end_us;
  }
  return count;
}

#endif
