/*
 * generator_fixture.h - generated requests as lines of text with hashes of
 * their tokens, in which values are recorded.
 */
#ifndef BLIS_GENERATOR_FIXTURE_H
#define BLIS_GENERATOR_FIXTURE_H

#include "check.h"
#include "workload/generate/generator.h"
#include "workload/workload.h"

enum { LINE_SIZE = 320, MAX_TOKENS = 16384 };

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define GAUSSIAN(mean, std_dev, min, max)                                                          \
  {                                                                                                \
    "gaussian",                                                                                    \
        (const blis_distribution_param[]){                                                         \
            {"mean", mean}, {"std_dev", std_dev}, {"min", min}, {"max", max}},                     \
        4                                                                                          \
  }
#define EXPONENTIAL(mean)                                                                          \
  { "exponential", (const blis_distribution_param[]){{"mean", mean}}, 1 }
#define CONSTANT(value)                                                                            \
  { "constant", (const blis_distribution_param[]){{"value", value}}, 1 }

/* FNV-1a over the little-endian bytes of the token ids. */
static inline uint64_t hash_tokens(const int32_t *tokens, uint32_t count) {
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (uint32_t i = 0; i < count; i++) {
    for (int byte = 0; byte < 4; byte++) {
      uint64_t bits = (uint64_t)tokens[i] >> 8 * byte & 0xff;
      hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
  }
  return hash;
}

/* Id, client, [session,] arrival, deadline, prompt and output. */
static inline void write_line(const blis_request *request, const blis_intern *strings,
                              bool has_session, const int32_t *prompt, const int32_t *output,
                              char line[LINE_SIZE]) {
  char id[BLIS_REQUEST_ID_SIZE];
  char session[64] = "";
  if (has_session) {
    const char *name = blis_intern_text(strings, request->session);
    snprintf(session, sizeof session, "%s ", *name != '\0' ? name : "-");
  }
  snprintf(line, LINE_SIZE,
           "%.120s %s %s%" PRId64 " %" PRId64 " %" PRIu32 ":%016" PRIx64 " %" PRIu32 ":%016" PRIx64,
           blis_request_id(request, strings, id), blis_intern_text(strings, request->client),
           session, request->arrival_us, request->deadline_us, request->prompt_tokens,
           hash_tokens(prompt, request->prompt_tokens), request->output_tokens,
           hash_tokens(output, request->output_tokens));
}

/* The line of the request that was given out last. */
static inline void last_line(const blis_generator *generator, const blis_intern *strings,
                             const blis_request *request, bool has_session, char line[LINE_SIZE]) {
  static int32_t prompt[MAX_TOKENS];
  static int32_t output[MAX_TOKENS];
  blis_error error;
  CHECK(request->prompt_tokens <= MAX_TOKENS);
  CHECK(request->output_tokens <= MAX_TOKENS);
  CHECK_OK(blis_generator_tokens(generator, prompt, output, &error), &error);
  write_line(request, strings, has_session, prompt, output, line);
}

/* The next request and its line; false at the end. */
static inline bool next_line(blis_generator *generator, bool has_session, char line[LINE_SIZE],
                             blis_request *request) {
  blis_request_source source = blis_generator_source(generator);
  blis_error error;
  bool done;
  CHECK_OK(source.next(source.state, request, &done, &error), &error);
  if (!done) {
    last_line(generator, source.strings, request, has_session, line);
  }
  return !done;
}

static inline blis_generator *must_generate(const blis_alloc *alloc,
                                            const blis_workload_spec *spec) {
  blis_generator *generator;
  blis_error error;
  CHECK_OK(blis_generator_new(alloc, spec, &generator, &error), &error);
  return generator;
}

#endif
