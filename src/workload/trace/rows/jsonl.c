#include "workload/trace/rows/jsonl.h"

#include <math.h>
#include <string.h>

#include "base/number.h"
#include "workload/hash_id.h"

static bool is_skipped(blis_slice line) {
  return line.length == 0 || line.data[0] == '#';
}

blis_status blis__trace_next_json(blis__trace_rows *rows, blis__trace_line *line, bool *has_row,
                                  blis_error *error) {
  blis_text_line content;
  *has_row = false;
  if (rows->taken == rows->job->limit) {
    return BLIS_OK;
  }
  do {
    BLIS_TRY(blis_text_next(rows->text, &content, has_row, error));
    if (!*has_row) {
      return BLIS_OK;
    }
  } while (is_skipped(blis_slice_trim(content.content)));
  BLIS_TRY(blis_json_parse(&rows->json, blis_text_name(rows->text), content.number, content.content,
                           error));
  *line = (blis__trace_line){
      .row = blis_json_root(&rows->json), .number = rows->taken++, .line = content.number};
  BLIS_TRY(blis_json_need_object(line->row, error));
  blis__trace_see_members(rows, line->row, rows->fields);
  return BLIS_OK;
}

blis_slice blis__trace_first_row(blis_slice head) {
  while (head.length > 0) {
    const char *end = memchr(head.data, '\n', head.length);
    size_t length = end != NULL ? (size_t)(end - head.data) : head.length;
    blis_slice line = blis_slice_trim((blis_slice){head.data, length});
    if (!is_skipped(line)) {
      return line;
    }
    size_t skipped = end != NULL ? length + 1 : length;
    head.data += skipped;
    head.length -= skipped;
  }
  return head;
}

blis_status blis__trace_time(blis_json_value row, const char *key, double unit_us, int64_t *time_us,
                             blis_error *error) {
  double time;
  BLIS_TRY(blis_json_double(blis_json_member(row, key), 0, BLIS__TRACE_MAX_MS * 1000 / unit_us,
                            &time, error));
  *time_us = llround(time * unit_us);
  return BLIS_OK;
}

blis_status blis__trace_tokens(blis_json_value row, const char *key, uint32_t *tokens,
                               blis_error *error) {
  int64_t value;
  BLIS_TRY(blis_json_int64(blis_json_member(row, key), 0, BLIS_WORKLOAD_MAX_TOKENS, &value, error));
  *tokens = (uint32_t)value;
  return BLIS_OK;
}

blis_status blis__trace_name(const blis__trace_job *job, blis_json_value row, const char *key,
                             uint32_t *id, blis_error *error) {
  blis_json_value value = blis_json_member(row, key);
  char digits[BLIS_INT64_TEXT_SIZE];
  blis_slice name = {0};
  if (blis_json_type_of(value) == BLIS_JSON_INTEGER) {
    int64_t number;
    BLIS_TRY(blis_json_int64(value, INT64_MIN, INT64_MAX, &number, error));
    name = (blis_slice){digits, blis_format_int64(number, digits)};
  } else if (blis_json_has(value)) {
    BLIS_TRY(blis_json_text(value, &name, error));
  }
  return blis__trace_text(job, name, id, error);
}

blis_status blis__trace_read_turn(blis__trace_turns *turns, blis_json_value row, int32_t *turn,
                                  blis_error *error) {
  blis_json_value given = blis_json_member(row, "turn");
  if (!blis_json_has(given)) {
    given = blis_json_member(row, "turn_id");
  }
  if (!blis_json_has(given)) {
    turns->missing++;
    return BLIS_OK;
  }
  int64_t value;
  BLIS_TRY(blis_json_int64(given, 0, INT32_MAX, &value, error));
  *turn = (int32_t)value;
  turns->from_zero = turns->from_zero || value == 0;
  return BLIS_OK;
}

blis_status blis__trace_note_turns(blis__trace_rows *rows, const blis__trace_turns *turns,
                                   blis_error *error) {
  return blis__trace_note(rows, "rows without a turn", turns->missing,
                          "; the rounds of a session are ordered by time", error);
}

int32_t blis__trace_round_of(const blis__trace_turns *turns, int32_t turn) {
  return turns->missing == 0 && !turns->from_zero ? turn - 1 : turn;
}

blis_status blis__trace_fail_ids(const blis__trace_rows *rows, const blis__trace_line *line,
                                 size_t ids, uint32_t tokens, uint32_t block_tokens,
                                 blis_error *error) {
  uint32_t blocks = tokens / block_tokens + (tokens % block_tokens != 0);
  return blis_fail(error, BLIS_ERR_PARSE,
                   "%s:%lld: key 'hash_ids' has %zu ids; %u tokens in blocks "
                   "of %u need %u; hash_block_tokens (--hash-block-tokens) "
                   "says how many tokens an id stands for",
                   rows->job->name, (long long)line->line, ids, tokens, block_tokens, blocks);
}

blis_status blis__trace_read_ids(const blis_alloc *alloc, blis_json_value list,
                                 blis__trace_ids *ids, blis_error *error) {
  ids->segments.count = 0;
  if (!blis_json_has(list)) {
    return BLIS_OK;
  }
  size_t count = blis_json_count(list);
  BLIS_TRY(blis_json_need_array(list, error));
  BLIS_TRY_MEM(blis_array_reserve(alloc, &ids->segments, count), error);
  for (size_t i = 0; i < count; i++) {
    uint64_t key;
    BLIS_TRY(blis__hash_id(blis_json_item(list, i), &key, error));
    ids->segments.items[i] = (blis_segment){.stream = key};
  }
  ids->segments.count = count;
  return BLIS_OK;
}

void blis__trace_ids_deinit(const blis_alloc *alloc, blis__trace_ids *ids) {
  blis_array_deinit(alloc, &ids->segments);
}
