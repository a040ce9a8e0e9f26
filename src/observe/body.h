/*
 * body.h - the body of a sent request; for observe files only.
 */
#ifndef BLIS_OBSERVE_BODY_H
#define BLIS_OBSERVE_BODY_H

#include "base/buffer.h"
#include "observe/observe.h"

enum { BLIS__FIRST_ID = 1000 }; /* lower ids are special tokens in many models */

/* Returns the token id for a position of a stream. */
uint32_t blis__token_id(uint64_t stream, uint32_t offset, uint32_t vocabulary);

/* Appends the body in JSON. The buffer records out-of-memory failures. */
void blis__write_body(blis_buffer *buffer, const blis_observe_config *config,
                      const blis_request *request);

#endif
