/*
 * answer.h - writes responses of the OpenAI API, as complete JSON or as stream events, and
 * responses of SGLang's /generate.
 *
 * The head of a response is written once. A chunk of a stream is a copy of the head with the new
 * words, so it costs O(bytes of the chunk). Generated text consists of letters and spaces (text.h),
 * so only names are escaped.
 */
#ifndef BLIS_LIVE_ANSWER_H
#define BLIS_LIVE_ANSWER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "live/ask.h"
#include "live/desk.h"

enum { BLIS_LIVE_ID_SIZE = 128 };

/* Location of a computed prompt's KV, for the engine that continues. Everything is borrowed. */
typedef struct blis_live_transfer {
  const char *engine;
  const char *host;
  uint16_t port;
  uint32_t tp;
  uint32_t blocks;
} blis_live_transfer;

/* The common parts of all chunks of a response. Must be zeroed before use. */
typedef struct blis_live_answer {
  blis_alloc alloc;
  blis_live_api api;
  char id[BLIS_LIVE_ID_SIZE];
  char *head; /* {"id":...,"model":"...", without the choices */
  size_t head_length;
  char *stops; /* the stop strings as JSON, concatenated, each followed by a zero */
  size_t stops_size;
  char *echo; /* prompt as JSON text without quotes; NULL = no echo */
  size_t echo_size;
  uint32_t n;
  bool includes_usage;
  bool continues_usage;
  bool shows_cached; /* prompt_tokens_details */
  bool returns_token_ids;
} blis_live_answer;

/*
 * Prepares the response to an ask. The caller chooses id, which consists of letters, digits, and
 * "-_.:". created is in Unix seconds. Returns BLIS_ERR_NOMEM on failure; the response must be
 * deinitialized even then.
 */
BLIS_MUSTUSE blis_status blis_live_answer_init(blis_live_answer *answer, const blis_alloc *alloc,
                                               const blis_live_ask *ask, const char *id,
                                               int64_t created, bool shows_cached);
void blis_live_answer_deinit(blis_live_answer *answer);

/*
 * Appends a stream event with the due tokens of a choice, starting at token `from`. The first event
 * of a chat is preceded by an event with the role. If the choice is over, the event includes the
 * finish reason. If the choice failed, the event is an error.
 */
void blis_live_write_event(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *choice, uint32_t from);

/* Appends the end of a stream: the usage, if the client requested it, and [DONE]. */
void blis_live_write_end(blis_buffer *buffer, const blis_live_answer *answer,
                         const blis_live_choice *const *choices, size_t count);

/* Appends a complete response with choices that are over. */
void blis_live_write_whole(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *const *choices, size_t count);

/* Like blis_live_write_whole, with kv_transfer_params, as vLLM's NIXL connector responds to
   do_remote_decode. */
void blis_live_write_split(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *const *choices, size_t count,
                           const blis_live_transfer *transfer);

/* Appends {"error": ...}. */
void blis_live_write_refusal(blis_buffer *buffer, const blis_live_refusal *refusal);

#endif
