/*
 * JSON: the parser agrees with the reference parser of json_reference.h, with
 * and without numbers that are not finite; every value can be converted to
 * every type or fails with an error; written texts read back.
 */
#include "base/format/json.h"

#include <float.h>
#include <math.h>

#include "base/format/json_writer.h"
#include "fuzz.h"
#include "json_reference.h"

/* Writers nest less deeply than readers. */
enum { DEPTH_MAX = 50 };

static void ask(blis_json_value value) {
  int64_t whole;
  double real;
  bool flag;
  blis_slice text;
  blis_error error = {0};
  fuzz_check(blis_json_int64(value, 0, 9, &whole, &error), &error);
  fuzz_check(blis_json_double(value, 0, 9, &real, &error), &error);
  fuzz_check(blis_json_bool(value, &flag, &error), &error);
  fuzz_check(blis_json_text(value, &text, &error), &error);
  fuzz_check(blis_json_need_array(value, &error), &error);
  fuzz_check(blis_json_need_object(value, &error), &error);
}

static void copy(blis_json_value value, blis_json_writer *writer, int depth);

static void copy_members(blis_json_value value, blis_json_writer *writer, int depth) {
  const char *key = NULL;
  blis_json_value member;
  blis_json_writer_begin_object(writer);
  while (blis_json_next(value, &key, &member)) {
    blis_json_writer_key(writer, key);
    copy(member, writer, depth + 1);
  }
  blis_json_writer_end_object(writer);
}

static void copy_items(blis_json_value value, blis_json_writer *writer, int depth) {
  blis_json_writer_begin_array(writer);
  for (size_t i = 0; i < blis_json_count(value); i++) {
    copy(blis_json_item(value, i), writer, depth + 1);
  }
  blis_json_writer_end_array(writer);
}

static void copy(blis_json_value value, blis_json_writer *writer, int depth) {
  int64_t whole = 0;
  double real = 0;
  bool flag = false;
  blis_slice text = {0};
  ask(value);
  if (depth > DEPTH_MAX) {
    blis_json_writer_null(writer);
    return;
  }
  switch (blis_json_type_of(value)) {
  case BLIS_JSON_INTEGER:
    FUZZ_NEED(blis_json_int64(value, INT64_MIN, INT64_MAX, &whole, NULL) == BLIS_OK);
    blis_json_writer_int64(writer, whole);
    break;
  case BLIS_JSON_REAL:
    FUZZ_NEED(blis_json_double(value, -DBL_MAX, DBL_MAX, &real, NULL) == BLIS_OK);
    /*
     * Whole ones are written as integers: large ones the reader would refuse,
     * and -0 would lose its sign.
     */
    blis_json_writer_double(writer, fabs(real) < 9e18 ? real + 0.0 : 0);
    break;
  case BLIS_JSON_BOOL:
    FUZZ_NEED(blis_json_bool(value, &flag, NULL) == BLIS_OK);
    blis_json_writer_bool(writer, flag);
    break;
  case BLIS_JSON_TEXT:
    FUZZ_NEED(blis_json_text(value, &text, NULL) == BLIS_OK);
    blis_json_writer_text(writer, text);
    break;
  case BLIS_JSON_OBJECT:
    copy_members(value, writer, depth);
    break;
  case BLIS_JSON_ARRAY:
    copy_items(value, writer, depth);
    break;
  case BLIS_JSON_NULL:
  case BLIS_JSON_MISSING:
    blis_json_writer_null(writer);
    break;
  }
}

static void write_value(blis_json_value root, blis_buffer *buffer) {
  blis_json_writer writer;
  blis_json_writer_init(&writer, buffer, 0);
  copy(root, &writer, 0);
}

/* Writing, reading and writing again gives the same text. */
static void check_written(const blis_alloc *alloc, blis_json_value root) {
  blis_buffer first;
  blis_buffer second;
  blis_json json;
  blis_error error = {0};
  blis_buffer_init(&first, alloc);
  blis_buffer_init(&second, alloc);
  write_value(root, &first);
  blis_json_init(&json, alloc);
  blis_status status = blis_json_parse(&json, "written", 1, blis_buffer_slice(&first), &error);
  FUZZ_NEED(status == BLIS_OK);
  write_value(blis_json_root(&json), &second);
  FUZZ_NEED(strcmp(blis_buffer_text(&first), blis_buffer_text(&second)) == 0);
  blis_json_deinit(&json);
  blis_buffer_deinit(&first);
  blis_buffer_deinit(&second);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_json json;
  blis_status status;
  blis_json_init(&json, &alloc);
  blis_json_allow_any_number(&json);
  FUZZ_NEED(json_reference_agrees(&json, fuzz_slice(data, size), &status));
  json.allows_any_number = false;
  FUZZ_NEED(json_reference_agrees(&json, fuzz_slice(data, size), &status));
  if (status == BLIS_OK) {
    check_written(&alloc, blis_json_root(&json));
  }
  blis_json_deinit(&json);
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
