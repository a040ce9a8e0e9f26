/*
 * json_writer.h - writes JSON into a buffer, value by value.
 *
 * The output equals that of Go's encoding/json: numbers are as short as possible
 * (BLIS_DOUBLE_JSON), and "<", ">", and "&" are escaped, so the output can be embedded in a web
 * page. The caller must make its calls in an order that produces valid JSON. The buffer reports
 * exhausted memory at the end. Example:
 *
 *   blis_json_writer writer;
 *   blis_json_writer_init(&writer, &buffer, 2);
 *   blis_json_writer_begin_object(&writer);
 *   blis_json_writer_key(&writer, "ttft_ms");
 *   blis_json_writer_double(&writer, 12.5);
 *   blis_json_writer_end_object(&writer);
 */
#ifndef BLIS_BASE_FORMAT_JSON_WRITER_H
#define BLIS_BASE_FORMAT_JSON_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/slice.h"

/* Maximum nesting depth of objects and arrays. */
enum { BLIS_JSON_WRITER_DEPTH_MAX = 64 };

/* Stored by the caller; the members are private. */
typedef struct blis_json_writer {
  blis_buffer *buffer; /* borrowed */
  int indent;
  int depth;
  bool is_behind_key;
  uint64_t has_items; /* one bit per depth: a value was written at that depth */
  uint64_t is_object; /* one bit per depth */
} blis_json_writer;

/* Starts a document at the end of the buffer. indent is the number of spaces per level; 0 writes
 * everything on one line without spaces. */
void blis_json_writer_init(blis_json_writer *writer, blis_buffer *buffer, int indent);

void blis_json_writer_begin_object(blis_json_writer *writer);
void blis_json_writer_end_object(blis_json_writer *writer);
void blis_json_writer_begin_array(blis_json_writer *writer);
void blis_json_writer_end_array(blis_json_writer *writer);

/* Writes the key of the next value of an object. */
void blis_json_writer_key(blis_json_writer *writer, const char *key);

void blis_json_writer_null(blis_json_writer *writer);
void blis_json_writer_bool(blis_json_writer *writer, bool value);
void blis_json_writer_int64(blis_json_writer *writer, int64_t value);

/* Non-finite values become null, because JSON cannot represent them. Numbers from 2^63 are written
 * with an exponent, whereas Go uses exponents only from 1e21. */
void blis_json_writer_double(blis_json_writer *writer, double value);

/* Bytes that are not valid UTF-8 become U+FFFD, the replacement character. */
void blis_json_writer_text(blis_json_writer *writer, blis_slice text);

/* Writes a zero-terminated string. */
void blis_json_writer_string(blis_json_writer *writer, const char *text);

#endif
