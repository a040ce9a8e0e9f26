/*
 * body.h - the body of a request as it is sent; for the files of observe only.
 */
#ifndef BLIS_OBSERVE_BODY_H
#define BLIS_OBSERVE_BODY_H

#include "base/buffer.h"
#include "observe/observe.h"

enum { BLIS__FIRST_ID = 1000 }; /* smaller ones are special tokens of many models */

/* Token i of a prompt whose content is at that place of a stream. */
uint32_t blis__token_id(uint64_t stream, uint32_t offset, uint32_t vocabulary);

/* Appends the JSON. A lack of memory is found in the buffer. */
void blis__write_body(blis_buffer *buffer, const blis_observe_config *config,
                      const blis_request *request);

#endif
