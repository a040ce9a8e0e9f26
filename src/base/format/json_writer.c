#include "base/format/json_writer.h"

#include <math.h>

#include "base/invariant.h"

void blis_json_writer_init(blis_json_writer *writer, blis_buffer *buffer, int indent) {
  *writer = (blis_json_writer){.buffer = buffer, .indent = indent};
}

static uint64_t level_bit(const blis_json_writer *writer) {
  return UINT64_C(1) << (writer->depth - 1);
}

static bool is_in_object(const blis_json_writer *writer) {
  return writer->depth > 0 && (writer->is_object & level_bit(writer)) != 0;
}

static void start_line(blis_json_writer *writer) {
  if (writer->indent > 0) {
    blis_buffer_char(writer->buffer, '\n');
    blis_buffer_repeat(writer->buffer, ' ', (size_t)writer->indent * (size_t)writer->depth);
  }
}

/* Writes the separator between the last value of this level and the next value. */
static void separate(blis_json_writer *writer) {
  if (writer->depth == 0) {
    return;
  }
  if ((writer->has_items & level_bit(writer)) != 0) {
    blis_buffer_char(writer->buffer, ',');
  }
  writer->has_items |= level_bit(writer);
  start_line(writer);
}

static void start_value(blis_json_writer *writer) {
  BLIS_ASSERT(writer->is_behind_key == is_in_object(writer));
  if (!writer->is_behind_key) {
    separate(writer);
  }
  writer->is_behind_key = false;
}

static void begin(blis_json_writer *writer, char bracket, bool is_object) {
  BLIS_ASSERT(writer->depth < BLIS_JSON_WRITER_DEPTH_MAX);
  start_value(writer);
  blis_buffer_char(writer->buffer, bracket);
  writer->depth++;
  writer->has_items &= ~level_bit(writer);
  writer->is_object &= ~level_bit(writer);
  if (is_object) {
    writer->is_object |= level_bit(writer);
  }
}

static void end(blis_json_writer *writer, char bracket) {
  BLIS_ASSERT(writer->depth > 0);
  BLIS_ASSERT(!writer->is_behind_key);
  bool has_items = (writer->has_items & level_bit(writer)) != 0;
  writer->depth--;
  if (has_items) {
    start_line(writer);
  }
  blis_buffer_char(writer->buffer, bracket);
}

void blis_json_writer_begin_object(blis_json_writer *writer) {
  begin(writer, '{', true);
}

void blis_json_writer_end_object(blis_json_writer *writer) {
  BLIS_ASSERT(is_in_object(writer));
  end(writer, '}');
}

void blis_json_writer_begin_array(blis_json_writer *writer) {
  begin(writer, '[', false);
}

void blis_json_writer_end_array(blis_json_writer *writer) {
  BLIS_ASSERT(!is_in_object(writer));
  end(writer, ']');
}

/* Returns the length of the UTF-8 sequence at the start of bytes; 0 if it is invalid. */
static size_t sequence_length(const unsigned char *bytes, size_t size) {
  unsigned char first = bytes[0];
  if (first < 0x80) {
    return 1;
  }
  size_t length = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  if (first < 0xc2 || first > 0xf4 || length > size) {
    return 0;
  }
  for (size_t i = 1; i < length; i++) {
    if ((bytes[i] & 0xc0) != 0x80) {
      return 0;
    }
  }
  /* An overlong encoding, a surrogate, or a value beyond the last character. */
  bool is_wrong = (first == 0xe0 && bytes[1] < 0xa0) || (first == 0xed && bytes[1] > 0x9f) ||
                  (first == 0xf0 && bytes[1] < 0x90) || (first == 0xf4 && bytes[1] > 0x8f);
  return is_wrong ? 0 : length;
}

static void write_ascii(blis_buffer *buffer, char c) {
  switch (c) {
  case '"':
  case '\\':
    blis_buffer_char(buffer, '\\');
    blis_buffer_char(buffer, c);
    return;
  case '\n':
    blis_buffer_string(buffer, "\\n");
    return;
  case '\r':
    blis_buffer_string(buffer, "\\r");
    return;
  case '\t':
    blis_buffer_string(buffer, "\\t");
    return;
  default:
    blis_buffer_format(buffer, "\\u%04x", (unsigned)c);
  }
}

static bool is_plain(unsigned char c) {
  return c >= 0x20 && c < 0x80 && c != '"' && c != '\\' && c != '<' && c != '>' && c != '&';
}

static void write_text(blis_buffer *buffer, blis_slice text) {
  const unsigned char *bytes = (const unsigned char *)text.data;
  blis_buffer_char(buffer, '"');
  for (size_t i = 0; i < text.length;) {
    size_t start = i;
    while (i < text.length && is_plain(bytes[i])) {
      i++;
    }
    blis_buffer_bytes(buffer, text.data + start, i - start);
    if (i == text.length) {
      break;
    }
    size_t length = sequence_length(bytes + i, text.length - i);
    if (length == 0) {
      blis_buffer_string(buffer, "\\ufffd");
      length = 1;
    } else if (length == 1) {
      write_ascii(buffer, text.data[i]);
    } else if (length == 3 && bytes[i] == 0xe2 && bytes[i + 1] == 0x80 &&
               (bytes[i + 2] & 0xfe) == 0xa8) {
      /* In JavaScript, line and paragraph separators end a line. */
      blis_buffer_string(buffer, bytes[i + 2] == 0xa8 ? "\\u2028" : "\\u2029");
    } else {
      blis_buffer_bytes(buffer, text.data + i, length);
    }
    i += length;
  }
  blis_buffer_char(buffer, '"');
}

void blis_json_writer_key(blis_json_writer *writer, const char *key) {
  BLIS_ASSERT(is_in_object(writer) && !writer->is_behind_key);
  separate(writer);
  write_text(writer->buffer, blis_slice_of(key));
  blis_buffer_string(writer->buffer, writer->indent > 0 ? ": " : ":");
  writer->is_behind_key = true;
}

void blis_json_writer_null(blis_json_writer *writer) {
  start_value(writer);
  blis_buffer_string(writer->buffer, "null");
}

void blis_json_writer_bool(blis_json_writer *writer, bool value) {
  start_value(writer);
  blis_buffer_string(writer->buffer, value ? "true" : "false");
}

void blis_json_writer_int64(blis_json_writer *writer, int64_t value) {
  start_value(writer);
  blis_buffer_int64(writer->buffer, value);
}

void blis_json_writer_double(blis_json_writer *writer, double value) {
  if (!isfinite(value)) {
    blis_json_writer_null(writer);
    return;
  }
  start_value(writer);
  /* Digits without a decimal point would be an integer that parsers cannot represent. */
  blis_buffer_double(writer->buffer, value,
                     fabs(value) < 0x1p63 ? BLIS_DOUBLE_JSON : BLIS_DOUBLE_SHORT);
}

void blis_json_writer_text(blis_json_writer *writer, blis_slice text) {
  start_value(writer);
  write_text(writer->buffer, text);
}

void blis_json_writer_string(blis_json_writer *writer, const char *text) {
  blis_json_writer_text(writer, blis_slice_of(text));
}
