/*
 * The traces published with Mooncake (Qin et al., FAST 2025): one JSON object
 * per line with timestamp (ms), input_length, output_length and hash_ids.
 *
 * Hash id k of a request stands for its tokens [512 k, 512 k + 512), the last
 * one for what is left of the prompt. Equal ids are equal tokens, so an id is a
 * stream of content. A request with fewer ids than blocks has tokens of its own
 * behind them; more ids than blocks are an error.
 *
 * Lines as published are scanned here, several times faster than the full JSON
 * reader would read them. That one takes every other line, such as one with
 * further keys, and finds the words for what is wrong with it.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "workload/trace/rows.h"

enum { HASH_BLOCK_TOKENS = 512, MAX_DIGITS = 18 };

/* Microseconds up to here are exact in a double: 285 years. */
#define MAX_TIME_MS 9e12

enum { TIMESTAMP, INPUT_LENGTH, OUTPUT_LENGTH, HASH_IDS, KEYS };

static const char *const keys[] = {"timestamp", "input_length", "output_length",
                                   "hash_ids"};

typedef struct mooncake_row {
  int64_t arrival_us;
  int64_t input_tokens;
  int64_t output_tokens;
  BLIS_ARRAY(blis_segment) ids; /* streams; lengths are filled in later */
} mooncake_row;

static bool recognise(blis_slice head) {
  return head.length > 0 && head.data[0] == '{' &&
         blis__trace_first_line_has(head, "\"timestamp\"") &&
         blis__trace_first_line_has(head, "\"input_length\"") &&
         !blis__trace_first_line_has(head, "\"chat_id\"");
}

typedef struct reading {
  blis__trace_rows rows;
  uint32_t block_tokens;
  mooncake_row row;
} reading;

/* The fast way. Everything here is false for a line that is not as published.
 */

typedef struct scanner {
  const char *at;
  const char *end;
} scanner;

/* Moves past c and the spaces before it. */
static bool take(scanner *s, char c) {
  while (s->at < s->end && *s->at == ' ') {
    s->at++;
  }
  if (s->at == s->end || *s->at != c) {
    return false;
  }
  s->at++;
  return true;
}

/* Digits without sign, fraction and exponent. */
static bool take_number(scanner *s, int64_t *value) {
  while (s->at < s->end && *s->at == ' ') {
    s->at++;
  }
  const char *start = s->at;
  int64_t number = 0;
  while (s->at < s->end && *s->at >= '0' && *s->at <= '9' &&
         s->at - start < MAX_DIGITS) {
    number = number * 10 + (*s->at++ - '0');
  }
  *value = number;
  ptrdiff_t digits = s->at - start;
  bool goes_on = s->at < s->end && strchr(".eE0123456789", *s->at) != NULL;
  return digits > 0 && !goes_on && (*start != '0' || digits == 1);
}

static bool take_key(scanner *s, int *key) {
  if (!take(s, '"')) {
    return false;
  }
  for (int i = 0; i < KEYS; i++) {
    size_t length = strlen(keys[i]);
    if ((size_t)(s->end - s->at) > length && s->at[length] == '"' &&
        memcmp(s->at, keys[i], length) == 0) {
      s->at += length + 1;
      *key = i;
      return take(s, ':');
    }
  }
  return false;
}

static bool take_ids(const blis_alloc *alloc, scanner *s, mooncake_row *row) {
  if (!take(s, '[')) {
    return false;
  }
  if (take(s, ']')) {
    return true;
  }
  do {
    int64_t id;
    if (!take_number(s, &id)) {
      return false;
    }
    blis_segment segment = {.stream = (uint64_t)id};
    if (blis_array_push(alloc, &row->ids, segment) != BLIS_OK) {
      return false; /* the full reader will say so */
    }
  } while (take(s, ','));
  return take(s, ']');
}

static bool scan_row(const blis_alloc *alloc, blis_slice line,
                     mooncake_row *row) {
  scanner s = {line.data, line.data + line.length};
  int64_t values[KEYS] = {0};
  unsigned seen = 0;
  row->ids.count = 0;
  if (!take(&s, '{')) {
    return false;
  }
  do {
    int key;
    if (!take_key(&s, &key) || (seen & 1u << key) != 0) {
      return false;
    }
    seen |= 1u << key;
    if (!(key == HASH_IDS ? take_ids(alloc, &s, row)
                          : take_number(&s, &values[key]))) {
      return false;
    }
  } while (take(&s, ','));
  if (!take(&s, '}') || s.at != s.end || seen != (1u << KEYS) - 1 ||
      (double)values[TIMESTAMP] > MAX_TIME_MS ||
      values[INPUT_LENGTH] > BLIS_WORKLOAD_MAX_TOKENS ||
      values[OUTPUT_LENGTH] > BLIS_WORKLOAD_MAX_TOKENS) {
    return false;
  }
  row->arrival_us = values[TIMESTAMP] * 1000;
  row->input_tokens = values[INPUT_LENGTH];
  row->output_tokens = values[OUTPUT_LENGTH];
  return true;
}

/* The full way. */

static blis_status parse_ids(const blis_alloc *alloc, blis_json_value ids,
                             mooncake_row *row, blis_error *error) {
  row->ids.count = 0;
  if (!blis_json_has(ids)) {
    return BLIS_OK;
  }
  BLIS_TRY(blis_json_need_array(ids, error));
  for (size_t i = 0; i < blis_json_count(ids); i++) {
    int64_t id;
    BLIS_TRY(blis_json_int64(blis_json_item(ids, i), 0, INT64_MAX, &id, error));
    blis_segment segment = {.stream = (uint64_t)id};
    BLIS_TRY_MEM(blis_array_push(alloc, &row->ids, segment), error);
  }
  return BLIS_OK;
}

static blis_status parse_row(const blis_alloc *alloc, blis_json_value object,
                             mooncake_row *row, blis_error *error) {
  double time_ms;
  BLIS_TRY(blis_json_need_object(object, error));
  BLIS_TRY(blis_json_double(blis_json_member(object, keys[TIMESTAMP]), 0,
                            MAX_TIME_MS, &time_ms, error));
  BLIS_TRY(blis_json_int64(blis_json_member(object, keys[INPUT_LENGTH]), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &row->input_tokens,
                           error));
  BLIS_TRY(blis_json_int64(blis_json_member(object, keys[OUTPUT_LENGTH]), 0,
                           BLIS_WORKLOAD_MAX_TOKENS, &row->output_tokens,
                           error));
  row->arrival_us = llround(time_ms * 1000);
  return parse_ids(alloc, blis_json_member(object, keys[HASH_IDS]), row, error);
}

static blis_status read_row(const blis_alloc *alloc, const char *file,
                            const blis_text_line *line, mooncake_row *row,
                            blis_error *error) {
  if (scan_row(alloc, line->content, row)) {
    return BLIS_OK;
  }
  blis_json json;
  BLIS_TRY(blis_json_parse(&json, file, line->number, line->content, error));
  blis_status status = parse_row(alloc, blis_json_root(&json), row, error);
  blis_json_deinit(&json);
  return status;
}

/* Requests. */

static blis_status set_request(reading *r, int64_t line, blis_request *request,
                               blis_error *error) {
  mooncake_row *row = &r->row;
  uint32_t left = (uint32_t)row->input_tokens;
  size_t blocks = ((size_t)left + r->block_tokens - 1) / r->block_tokens;
  if (row->ids.count > blocks) {
    return blis_fail(error, BLIS_ERR_PARSE,
                     "%s:%lld: key 'hash_ids' has %zu ids; %u tokens in "
                     "blocks of %u need %zu",
                     blis_text_name(r->rows.text), (long long)line,
                     row->ids.count, left, r->block_tokens, blocks);
  }
  for (size_t i = 0; i < row->ids.count; i++) {
    uint32_t length = left < r->block_tokens ? left : r->block_tokens;
    row->ids.items[i].length_tokens = length;
    left -= length;
  }
  *request =
      (blis_request){.number = r->rows.taken++,
                     .arrival_us = row->arrival_us,
                     .prompt_tokens = (uint32_t)row->input_tokens,
                     .output_tokens = (uint32_t)row->output_tokens,
                     .max_output_tokens = (uint32_t)row->output_tokens,
                     .segments = row->ids.items,
                     .segment_count = (uint32_t)row->ids.count,
                     .shared_tokens = (uint32_t)row->input_tokens - left};
  return BLIS_OK;
}

static blis_status next(void *reader, blis_request *request, bool *has_row,
                        blis_error *error) {
  reading *r = reader;
  blis_text_line line;
  *has_row = false;
  if (r->rows.taken == r->rows.job->limit) {
    return BLIS_OK;
  }
  BLIS_TRY(blis__trace_next_line(&r->rows, &line, has_row, error));
  if (!*has_row) {
    return BLIS_OK;
  }
  BLIS_TRY(read_row(r->rows.job->alloc, blis_text_name(r->rows.text), &line,
                    &r->row, error));
  return set_request(r, line.number, request, error);
}

static void close_reading(void *reader) {
  reading *r = reader;
  blis_array_deinit(r->rows.job->alloc, &r->row.ids);
}

static blis_status open_reading(void *reader, blis_error *error) {
  reading *r = reader;
  uint32_t given = r->rows.job->options->hash_block_tokens;
  r->block_tokens = given != 0 ? given : HASH_BLOCK_TOKENS;
  return blis__trace_open_text(reader, error);
}

const blis__trace_format blis__trace_mooncake = {
    .name = "mooncake",
    .text = "JSONL with timestamp, input_length, output_length, hash_ids",
    .recognise = recognise,
    .reader_size = sizeof(reading),
    .open = open_reading,
    .next = next,
    .close = close_reading,
};
