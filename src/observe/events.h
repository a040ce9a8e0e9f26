/*
 * events.h - reads the events of a streamed response as they arrive; for observe files only.
 *
 * Input may be split at any byte. Each event costs O(bytes of the event).
 */
#ifndef BLIS_OBSERVE_EVENTS_H
#define BLIS_OBSERVE_EVENTS_H

#include "base/buffer.h"
#include "base/format/json.h"

enum { BLIS__WORD_SIZE = 24, BLIS__PROBLEM_SIZE = 200, BLIS__LINE_MAX = 16 << 20 };

/* Content of the events of a response so far. */
typedef struct blis__answer {
  blis_buffer line; /* the last, incomplete line */
  bool is_done;     /* [DONE] was received */
  bool is_broken;
  uint32_t choices; /* number of events with a choice in the last call */
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t cached_tokens;
  char finish[BLIS__WORD_SIZE];
  char problem[BLIS__PROBLEM_SIZE]; /* from an error event, or from a body that is not a stream */
} blis__answer;

void blis__answer_init(blis__answer *answer, const blis_alloc *alloc);
void blis__answer_deinit(blis__answer *answer);
/* Clears the response for the next request; keeps the memory. */
void blis__answer_clear(blis__answer *answer);

/* Reads bytes of a stream, and counts its events with a choice. json is scratch memory. */
BLIS_MUSTUSE blis_status blis__answer_read(blis__answer *answer, blis_json *json, const char *data,
                                           size_t length);

/* Sets the problem from a body that is not a stream: its error message, or its first bytes. */
void blis__answer_refused(blis__answer *answer, blis_json *json, int status);

#endif
