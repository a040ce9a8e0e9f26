/*
 * events.h - reads the events of a streamed answer as they come in; for the files of observe only.
 *
 * Bytes may be cut anywhere. Each event costs O(its bytes).
 */
#ifndef BLIS_OBSERVE_EVENTS_H
#define BLIS_OBSERVE_EVENTS_H

#include "base/buffer.h"
#include "base/format/json.h"

enum { BLIS__WORD_SIZE = 24, BLIS__PROBLEM_SIZE = 200, BLIS__LINE_MAX = 16 << 20 };

/* What the events of an answer say so far. */
typedef struct blis__answer {
  blis_buffer line; /* the last one, which is not complete */
  bool is_done;     /* [DONE] */
  bool is_broken;
  uint32_t choices; /* events with a choice, of the last call */
  uint32_t prompt_tokens;
  uint32_t output_tokens;
  uint32_t cached_tokens;
  char finish[BLIS__WORD_SIZE];
  char problem[BLIS__PROBLEM_SIZE]; /* of an error event, or of a body that is no stream */
} blis__answer;

void blis__answer_init(blis__answer *answer, const blis_alloc *alloc);
void blis__answer_deinit(blis__answer *answer);
/* Empties it for the next request, keeping the memory. */
void blis__answer_clear(blis__answer *answer);

/* Reads bytes of a stream, and counts its events with a choice. json is scratch memory. */
BLIS_MUSTUSE blis_status blis__answer_read(blis__answer *answer, blis_json *json, const char *data,
                                           size_t length);

/* Sets the problem from a body that is no stream: its error message, or its beginning. */
void blis__answer_refused(blis__answer *answer, blis_json *json, int status);

#endif
