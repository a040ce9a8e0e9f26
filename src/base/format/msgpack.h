/*
 * msgpack.h - writes values in MessagePack, a binary form of JSON.
 *
 * Each function appends one value, or the header of an array or map, after which the items follow.
 * blis_buffer_status reports exhausted memory. O(bytes).
 */
#ifndef BLIS_BASE_FORMAT_MSGPACK_H
#define BLIS_BASE_FORMAT_MSGPACK_H

#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"

void blis_msgpack_nil(blis_buffer *buffer);
void blis_msgpack_uint(blis_buffer *buffer, uint64_t value);
void blis_msgpack_double(blis_buffer *buffer, double value);

/* Writes a UTF-8 string of fewer than 2^32 bytes. */
void blis_msgpack_text(blis_buffer *buffer, blis_slice text);

/* Write the header of an array of count items, or of a map of count pairs; count < 2^32. */
void blis_msgpack_array(blis_buffer *buffer, size_t count);
void blis_msgpack_map(blis_buffer *buffer, size_t count);

#endif
