/*
 * Every field of every trace format, broken in every way: an invalid value
 * is an error that names the file, the line, the field and the value.
 */
#include <math.h>

#include "base/buffer.h"
#include "trace_fixture.h"

/* What a field may hold. */
typedef enum field_kind {
  TIME,   /* a number from 0, with or without a fraction */
  WHOLE,  /* a whole number from 0 */
  SIGNED, /* any whole number */
  SHARE,  /* a number from 0 to 1 */
  FLAG,   /* true or false */
  NAME,   /* a text; in JSON a whole number, too */
  LABEL,  /* a text; of numbers it is not told that they are none */
  IDS,    /* in JSON: a list of whole numbers from 0 */
  CLOCK   /* a date with a time */
} field_kind;

typedef struct field {
  const char *name;
  field_kind kind;
  bool is_optional; /* may be left out, and null in JSON */
  const char *good; /* as it is written */
} field;

enum { FIELDS = 32 };

typedef struct trace_format {
  const char *name;
  field fields[FIELDS]; /* ends with no name */
} trace_format;

static const trace_format json_formats[] = {
    {"mooncake",
     {{"timestamp", TIME, false, "5"},
      {"input_length", WHOLE, false, "600"},
      {"output_length", WHOLE, false, "4"},
      {"session_id", NAME, true, "\"s\""},
      {"turn_id", WHOLE, true, "1"},
      {"hash_ids", IDS, true, "[1, 2]"}}},
    {"bailian",
     {{"chat_id", WHOLE, false, "7"},
      {"parent_chat_id", SIGNED, true, "-1"},
      {"timestamp", TIME, false, "5"},
      {"input_length", WHOLE, false, "600"},
      {"output_length", WHOLE, false, "4"},
      {"type", NAME, true, "\"text\""},
      {"turn", WHOLE, true, "1"},
      {"hash_ids", IDS, true, "[1, 2]"}}},
    {"routesim",
     {{"ts", TIME, false, "5"},
      {"prompt_tokens", WHOLE, false, "600"},
      {"gen_tokens", WHOLE, false, "4"},
      {"prefix_hash", NAME, true, "\"h\""},
      {"prefix_len", WHOLE, true, "5"},
      {"conversation_id", NAME, true, "\"c\""},
      {"lora_adapter", NAME, true, "\"l\""},
      {"priority", WHOLE, true, "3"},
      {"id", WHOLE, true, "9"},
      {"turn", SIGNED, true, "1"},
      {"max_tokens", WHOLE, true, "8"},
      {"deadline_us", WHOLE, true, "9000"},
      {"slo_target_us", WHOLE, true, "9000"},
      {"think_us", WHOLE, true, "90"},
      {"model", NAME, true, "\"m\""},
      {"tenant", NAME, true, "\"t\""},
      {"slo_class", NAME, true, "\"s\""},
      {"client", NAME, true, "\"k\""},
      {"cascade", NAME, true, "\"a,b\""},
      {"mean_logprob", NAME, true, "\"-1.5\""},
      {"text_tokens", WHOLE, true, "1"},
      {"image_tokens", WHOLE, true, "1"},
      {"audio_tokens", WHOLE, true, "1"},
      {"video_tokens", WHOLE, true, "1"},
      {"reason_ratio", SHARE, true, "0.5"},
      {"streaming", FLAG, true, "true"}}},
    {"llmservingsim",
     {{"input_toks", WHOLE, false, "3"},
      {"output_toks", WHOLE, false, "4"},
      {"arrival_time_ns", TIME, false, "5"}}},
    {"llmservingsim",
     {{"input_toks", WHOLE, false, "3"},
      {"output_toks", WHOLE, false, "4"},
      {"arrival_time", TIME, false, "5.5"}}},
};

static const trace_format csv_formats[] = {
    {"azure",
     {{"TIMESTAMP", CLOCK, false, "2023-11-16 18:15:46.6805900"},
      {"ContextTokens", WHOLE, false, "3"},
      {"GeneratedTokens", WHOLE, false, "4"}}},
    {"burstgpt",
     {{"Timestamp", TIME, false, "5"},
      {"Session ID", LABEL, true, "s"},
      {"Model", LABEL, true, "m"},
      {"Request tokens", WHOLE, false, "3"},
      {"Response tokens", WHOLE, false, "4"}}},
    {"vidur",
     {{"arrived_at", TIME, false, "5"},
      {"num_prefill_tokens", WHOLE, false, "3"},
      {"num_decode_tokens", WHOLE, false, "4"}}},
    {"splitwise",
     {{"arrival_timestamp", TIME, false, "5"},
      {"application_id", LABEL, true, "0"},
      {"batch_size", WHOLE, true, "1"},
      {"prompt_size", WHOLE, false, "3"},
      {"token_size", WHOLE, false, "4"}}},
    {"tracev2",
     {{"request_id", WHOLE, false, "7"},
      {"client_id", LABEL, true, "c"},
      {"tenant_id", LABEL, true, "t"},
      {"slo_class", LABEL, true, "s"},
      {"session_id", LABEL, true, "z"},
      {"round_index", SIGNED, true, "0"},
      {"prefix_group", LABEL, true, "g"},
      {"prefix_length", WHOLE, true, "2"},
      {"streaming", FLAG, true, "true"},
      {"input_tokens", WHOLE, false, "3"},
      {"output_tokens", WHOLE, false, "4"},
      {"text_tokens", WHOLE, true, "1"},
      {"image_tokens", WHOLE, true, "1"},
      {"audio_tokens", WHOLE, true, "1"},
      {"video_tokens", WHOLE, true, "1"},
      {"reason_ratio", SHARE, true, "0.5"},
      {"model", LABEL, true, ""},
      {"deadline_us", WHOLE, true, "0"},
      {"slo_target_us", WHOLE, true, "9000"},
      {"server_input_tokens", WHOLE, true, "0"},
      {"arrival_time_us", WHOLE, false, "5"},
      {"send_time_us", SIGNED, true, "5"},
      {"first_chunk_time_us", SIGNED, true, "6"},
      {"last_chunk_time_us", SIGNED, true, "7"},
      {"num_chunks", WHOLE, true, "0"},
      {"vllm_priority", WHOLE, true, "0"},
      {"adapter", LABEL, true, "a"},
      {"max_output_tokens", WHOLE, true, "4"}}},
};

/* A wrong value, and the kinds that may have it nevertheless. */
typedef struct wrong_value {
  const char *text;
  unsigned allowed; /* a bit for every kind */
  bool is_no_json;  /* it cannot be written in JSON at all */
} wrong_value;

#define KIND(kind) (1u << (kind))
#define NUMBERS (KIND(TIME) | KIND(WHOLE) | KIND(SIGNED) | KIND(SHARE))

static const wrong_value json_values[] = {
    {"\"\"", KIND(NAME), false},
    {"\"x\"", KIND(NAME), false},
    {"\"5\"", KIND(NAME), false},
    {"-1", KIND(SIGNED) | KIND(NAME), false},
    {"-7", KIND(NAME), false}, /* parents are at least -1 */
    {"1.5", KIND(TIME), false},
    {"1e+300", 0, false},
    {"1e+30", 0, false},
    {"100000000000000000000", 0, false},
    {"true", KIND(FLAG), false},
    {"[]", KIND(IDS), false},
    {"[-1]", 0, false},
    {"[\"x\"]", KIND(IDS), false},
    {"{}", 0, false},
    {"NaN", 0, false},
    {"Infinity", 0, false},
    {"1e999", 0, true},
    {"", 0, true},
};

static const wrong_value csv_values[] = {
    {"", KIND(LABEL), false},
    {"x", KIND(LABEL), false},
    {"-7", KIND(LABEL) | KIND(SIGNED), false},
    {"1.5", KIND(LABEL) | KIND(TIME), false},
    {"nan", KIND(LABEL), false},
    {"inf", KIND(LABEL), false},
    {"1e300", KIND(LABEL), false},
    {"99999999999999999999", KIND(LABEL), false},
    {"0x10", KIND(LABEL), false},
    {"2023-13-16 18:15:46", KIND(LABEL), false},
};

static blis_alloc heap;

static blis_status read_text(const char *name, const char *format, const blis_buffer *text,
                             blis_error *error) {
  CHECK(blis_buffer_status(text) == BLIS_OK);
  const blis_trace_options options = {.format = format};
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_workload *workload = NULL;
  blis_status status =
      blis_trace_read(&alloc, temp_file(name, blis_buffer_text(text)), &options, &workload, error);
  blis_workload_free(workload);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return status;
}

static size_t count_fields(const trace_format *f) {
  size_t count = 0;
  while (count < FIELDS && f->fields[count].name != NULL) {
    count++;
  }
  return count;
}

/* "" and null are in messages in their own way. */
static void check_value_is_named(const blis_error *error, const char *value) {
  char shown[64];
  size_t length = strlen(value);
  snprintf(shown, sizeof shown, "%.12s", value);
  if (length > 0 && strchr("[{", *value) == NULL) {
    CHECK_CONTAINS(error->message, shown);
  }
}

/* JSON: two rows, of which the second has value as a field; NULL = not. */
static void add_json_row(blis_buffer *text, const trace_format *f, size_t broken, const char *value,
                         bool breaks) {
  size_t count = count_fields(f);
  bool is_first = true;
  blis_buffer_char(text, '{');
  for (size_t i = 0; i < count; i++) {
    const char *shown = f->fields[i].good;
    if (breaks && i == broken) {
      if (value == NULL) {
        continue;
      }
      shown = value;
    } else if (breaks && strcmp(f->fields[i].name, "id") == 0) {
      shown = "10";
    } else if (breaks && strcmp(f->fields[i].name, "chat_id") == 0) {
      shown = "8";
    }
    blis_buffer_format(text, "%s\"%s\": %s", is_first ? "" : ", ", f->fields[i].name, shown);
    is_first = false;
  }
  blis_buffer_string(text, "}\n");
}

static void check_json(const trace_format *f, size_t i, const char *value, bool is_allowed,
                       bool is_no_json) {
  const field *broken = &f->fields[i];
  blis_buffer text;
  blis_buffer_init(&text, &heap);
  add_json_row(&text, f, i, value, false);
  add_json_row(&text, f, i, value, true);
  blis_error error = {0};
  blis_status status = read_text("bad.jsonl", f->name, &text, &error);
  blis_buffer_deinit(&text);
  if (is_allowed) {
    CHECK_OK(status, &error);
    return;
  }
  if (status == BLIS_OK) {
    printf("# %s: %s may be %s\n", f->name, broken->name, value != NULL ? value : "missing");
  }
  CHECK(status == BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "bad.jsonl:2: ");
  if (is_no_json) {
    CHECK_CONTAINS(error.message, "column ");
    return;
  }
  CHECK_CONTAINS(error.message, broken->name);
  if (value != NULL && *value != '"') {
    check_value_is_named(&error, value);
  }
}

static void json_fields_are_checked(void) {
  for (size_t k = 0; k < COUNT(json_formats); k++) {
    const trace_format *f = &json_formats[k];
    for (size_t i = 0; i < count_fields(f); i++) {
      const field *one = &f->fields[i];
      check_json(f, i, one->good, strcmp(one->name, "chat_id") != 0, false);
      check_json(f, i, NULL, one->is_optional, false);
      check_json(f, i, "null", one->is_optional, false);
      for (size_t v = 0; v < COUNT(json_values); v++) {
        const wrong_value *wrong = &json_values[v];
        bool is_allowed = (wrong->allowed & KIND(one->kind)) != 0;
        bool is_turn = strcmp(f->name, "routesim") == 0 && strcmp(one->name, "turn") == 0;
        check_json(f, i, wrong->text, is_allowed || (is_turn && strcmp(wrong->text, "-7") == 0),
                   wrong->is_no_json);
      }
    }
  }
}

/* CSV. */

static void add_csv_row(blis_buffer *text, const trace_format *f, size_t broken, const char *value,
                        bool breaks) {
  size_t count = count_fields(f);
  for (size_t i = 0; i < count; i++) {
    const char *shown = f->fields[i].good;
    if (breaks && i == broken) {
      shown = value;
    } else if (breaks && strcmp(f->fields[i].name, "request_id") == 0) {
      shown = "8";
    }
    blis_buffer_format(text, "%s%s", i > 0 ? "," : "", shown);
  }
  blis_buffer_char(text, '\n');
}

static void add_header(blis_buffer *text, const trace_format *f, size_t without) {
  bool is_first = true;
  for (size_t i = 0; i < count_fields(f); i++) {
    if (i != without) {
      blis_buffer_format(text, "%s%s", is_first ? "" : ",", f->fields[i].name);
      is_first = false;
    }
  }
  blis_buffer_char(text, '\n');
}

static void check_csv(const trace_format *f, size_t i, const char *value, bool is_allowed) {
  const field *broken = &f->fields[i];
  blis_buffer text;
  blis_buffer_init(&text, &heap);
  add_header(&text, f, SIZE_MAX);
  add_csv_row(&text, f, i, value, false);
  add_csv_row(&text, f, i, value, true);
  blis_error error = {0};
  blis_status status = read_text("bad.csv", f->name, &text, &error);
  blis_buffer_deinit(&text);
  if (is_allowed) {
    CHECK_OK(status, &error);
    return;
  }
  if (status == BLIS_OK) {
    printf("# %s: %s may be %s\n", f->name, broken->name, value);
  }
  CHECK(status == BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "bad.csv:3: column '");
  CHECK_CONTAINS(error.message, broken->name);
  check_value_is_named(&error, value);
}

static void csv_fields_are_checked(void) {
  temp_file("bad.yaml", "trace_version: 3\ntime_unit: us\nmode: generated\n");
  for (size_t k = 0; k < COUNT(csv_formats); k++) {
    const trace_format *f = &csv_formats[k];
    for (size_t i = 0; i < count_fields(f); i++) {
      const field *one = &f->fields[i];
      check_csv(f, i, one->good, strcmp(one->name, "request_id") != 0);
      for (size_t v = 0; v < COUNT(csv_values); v++) {
        check_csv(f, i, csv_values[v].text, (csv_values[v].allowed & KIND(one->kind)) != 0);
      }
    }
  }
}

static void missing_columns_are_named(void) {
  for (size_t k = 0; k < COUNT(csv_formats); k++) {
    const trace_format *f = &csv_formats[k];
    for (size_t i = 0; i < count_fields(f); i++) {
      blis_buffer text;
      blis_buffer_init(&text, &heap);
      add_header(&text, f, i);
      blis_error error = {0};
      blis_status status = read_text("bad.csv", f->name, &text, &error);
      blis_buffer_deinit(&text);
      CHECK(status == BLIS_ERR_PARSE);
      CHECK_CONTAINS(error.message, "bad.csv: ");
      if (f->fields[i].is_optional) {
        CHECK_CONTAINS(error.message, "the trace has no rows");
      } else {
        CHECK_CONTAINS(error.message, f->fields[i].name);
        CHECK_CONTAINS(error.message, "the columns are ");
      }
    }
  }
}

/* Rows that end too soon, and rows that go on. */
static void uneven_rows_are_named(void) {
  for (size_t k = 0; k < COUNT(csv_formats); k++) {
    const trace_format *f = &csv_formats[k];
    blis_buffer text;
    blis_buffer_init(&text, &heap);
    add_header(&text, f, SIZE_MAX);
    add_csv_row(&text, f, 0, NULL, false);
    blis_buffer_string(&text, "5,5\n");
    blis_error error = {0};
    CHECK(read_text("bad.csv", f->name, &text, &error) == BLIS_ERR_PARSE);
    CHECK_CONTAINS(error.message, "bad.csv:3: ");
    CHECK_CONTAINS(error.message, "fields");
    blis_buffer_deinit(&text);
  }
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(json_fields_are_checked);
  RUN(csv_fields_are_checked);
  RUN(missing_columns_are_named);
  RUN(uneven_rows_are_named);
  return check_done();
}
