/*
 * request.h - one request as it arrives, and where requests come from.
 *
 * Text that many requests repeat (tenant, SLO class, model, ...) is kept once,
 * in the workload's string table; a request holds its number there, 0 for the
 * empty text.
 */
#ifndef BLIS_WORKLOAD_REQUEST_H
#define BLIS_WORKLOAD_REQUEST_H

#include <stdbool.h>
#include <stdint.h>

#include "base/error.h"
#include "base/intern.h"

/*
 * A run of prompt tokens with a known origin: tokens [offset, offset + length)
 * of the content called stream. Two tokens are equal exactly when stream and
 * position are. Tokens themselves are never stored.
 */
typedef struct blis_segment {
  uint64_t stream;
  uint32_t offset_tokens;
  uint32_t length_tokens;
} blis_segment;

typedef struct blis_request {
  int64_t arrival_us;
  int64_t deadline_us; /* absolute; 0 = none */
  int64_t number;      /* its id is "request_<number>" */
  uint32_t prompt_tokens;
  uint32_t output_tokens;     /* how many it will produce: never for policies */
  uint32_t max_output_tokens; /* what the client allowed; what policies see */
  /*
   * The prompt is these segments and, after them, tokens of the request's own.
   * Borrowed from the source, valid until the source is freed.
   */
  const blis_segment *segments;
  uint32_t segment_count;
  uint32_t shared_tokens; /* sum of the segments' lengths, <= prompt_tokens */
  uint32_t tenant;        /* numbers in the string table */
  uint32_t slo_class;
  uint32_t model;
  uint32_t session;
  uint32_t client;
  uint32_t prefix_group;
  uint32_t prefix_tokens;
  int32_t round_index; /* turn of the session, from 0 */
} blis_request;

/*
 * A stream of requests in order of arrival; those that arrive together come in
 * the order of the trace, or of the clients of a generator. Implemented by
 * traces, generators and Lua iterators.
 */
typedef struct blis_request_source {
  /* *done = true and BLIS_OK at the end; *request is then untouched. */
  blis_status (*next)(void *state, blis_request *request, bool *done,
                      blis_error *error);
  void *state;
  const blis_intern *strings; /* what the string numbers mean; borrowed */
  int64_t count; /* how many there will be, or -1 when nobody knows */
} blis_request_source;

#endif
