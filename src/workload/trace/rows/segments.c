#include "workload/trace/rows/segments.h"

#include <stdio.h>
#include <string.h>

#include "base/number.h"
#include "workload/workload.h"

/* Splits text at the first c: returns the part before it, and sets text to the part after it. */
static blis_slice cut(blis_slice *text, char c) {
  const char *end = text->length > 0 ? memchr(text->data, c, text->length) : NULL;
  blis_slice front = *text;
  if (end == NULL) {
    *text = (blis_slice){0};
    return front;
  }
  front.length = (size_t)(end - text->data);
  text->data += front.length + 1;
  text->length -= front.length + 1;
  return front;
}

static bool parse_number(blis_slice text, int64_t max, int64_t *value) {
  return blis_parse_int64(text, value) == BLIS_NUMBER_OK && *value >= 0 && *value <= max;
}

static bool parse_segment(blis_slice text, blis_segment *segment) {
  int64_t stream;
  int64_t length;
  int64_t offset = 0;
  bool has_offset = text.length > 0 && memchr(text.data, '@', text.length);
  blis_slice stream_text = cut(&text, ':');
  blis_slice length_text = cut(&text, '@');
  if (!parse_number(stream_text, INT64_MAX, &stream) ||
      !parse_number(length_text, BLIS_WORKLOAD_MAX_TOKENS, &length) || length == 0 ||
      (has_offset && !parse_number(text, BLIS_WORKLOAD_MAX_TOKENS, &offset))) {
    return false;
  }
  *segment = (blis_segment){.stream = (uint64_t)stream,
                            .offset_tokens = (uint32_t)offset,
                            .length_tokens = (uint32_t)length};
  return true;
}

static blis_status parse_list(const blis_alloc *alloc, blis_slice text, blis__segment_list *list,
                              int64_t *tokens) {
  *tokens = 0;
  while (text.length > 0) {
    blis_segment segment;
    if (!parse_segment(cut(&text, ' '), &segment)) {
      return BLIS_ERR_PARSE;
    }
    *tokens += segment.length_tokens;
    BLIS_TRY(blis_array_push(alloc, list, segment));
  }
  return BLIS_OK;
}

blis_status blis__trace_parse_segments(const blis_alloc *alloc, blis_slice text,
                                       blis__segment_list *list, blis_request *request,
                                       char fault[BLIS__SEGMENTS_FAULT_SIZE]) {
  size_t first = list->count;
  int64_t tokens;
  bool goes_on = text.length > 0 && text.data[text.length - 1] == '+';
  text.length -= goes_on;
  bool has_last = goes_on && text.length > 0 && text.data[text.length - 1] == '+';
  text.length -= has_last;
  blis_status status = parse_list(alloc, text, list, &tokens);
  size_t count = list->count - first;
  if (status == BLIS_ERR_NOMEM) {
    return status;
  }
  if (status != BLIS_OK || (goes_on && count == 0)) {
    snprintf(fault, BLIS__SEGMENTS_FAULT_SIZE,
             "is not a list of segments such as '7:512 9:64@128' "
             "(stream:tokens@offset)");
    return BLIS_ERR_PARSE;
  }
  if (tokens > request->prompt_tokens || (goes_on && tokens != request->prompt_tokens)) {
    snprintf(fault, BLIS__SEGMENTS_FAULT_SIZE, "has %lld tokens; the prompt has %u%s",
             (long long)tokens, request->prompt_tokens,
             goes_on ? ", which must be as many for \"+\"" : "");
    return BLIS_ERR_PARSE;
  }
  request->segment_count = (uint32_t)count;
  request->shared_tokens = (uint32_t)tokens;
  request->shares_output = goes_on;
  request->shares_last_output = has_last;
  return BLIS_OK;
}

blis_status blis__trace_write_segments(blis_buffer *buffer, blis_map *numbers,
                                       const blis_request *request) {
  for (uint32_t i = 0; i < request->segment_count; i++) {
    const blis_segment *segment = &request->segments[i];
    uint64_t *number;
    BLIS_TRY(blis_map_add(numbers, segment->stream, blis_map_count(numbers) + 1, &number, NULL));
    if (i > 0) {
      blis_buffer_char(buffer, ' ');
    }
    blis_buffer_int64(buffer, (int64_t)*number);
    blis_buffer_char(buffer, ':');
    blis_buffer_int64(buffer, segment->length_tokens);
    if (segment->offset_tokens > 0) {
      blis_buffer_char(buffer, '@');
      blis_buffer_int64(buffer, segment->offset_tokens);
    }
  }
  if (request->shares_output) {
    blis_buffer_string(buffer, request->shares_last_output ? "++" : "+");
  }
  return BLIS_OK;
}
