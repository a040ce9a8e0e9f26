#include "workload/spec/servegen_files.h"

#include <dirent.h>
#include <errno.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/format/csv.h"
#include "base/format/json.h"
#include "base/number.h"
#include "base/slice.h"

enum { MAX_JSON_SIZE = 1 << 28, MAX_CHUNKS = 1000000, NAME_SIZE = 256 };

static const char chunk_start[] = "chunk-";
static const char trace_end[] = "-trace.csv";
static const char dataset_end[] = "-dataset.json";

void blis__servegen_end(blis__servegen_data *data) {
  for (size_t i = 0; i < data->chunks.count; i++) {
    blis_array_deinit(&data->alloc, &data->chunks.items[i].rows);
    blis_array_deinit(&data->alloc, &data->chunks.items[i].lengths);
  }
  blis_array_deinit(&data->alloc, &data->chunks);
  blis_arena_deinit(&data->arena);
}

static blis_status tell(blis__servegen_data *data, const char *text, blis_error *error) {
  BLIS_TRY_MEM(data->note(data->note_ud, text), error);
  return BLIS_OK;
}

/* The folder. */

/* Returns the position of "-trace.csv" in "chunk-<id>-trace.csv"; 0 = another file. */
static size_t stem_length(const char *name) {
  size_t length = strlen(name);
  size_t ends = strlen(trace_end);
  bool is_trace = strncmp(name, chunk_start, strlen(chunk_start)) == 0 &&
                  length > strlen(chunk_start) + ends && length < NAME_SIZE - sizeof dataset_end &&
                  strcmp(name + length - ends, trace_end) == 0;
  return is_trace ? length - ends : 0;
}

static int compare_chunks(const void *a, const void *b) {
  const blis__servegen_chunk *left = a;
  const blis__servegen_chunk *right = b;
  /* File names are compared including their extensions. */
  char names[2][NAME_SIZE];
  snprintf(names[0], NAME_SIZE, "%s%s", left->name, trace_end);
  snprintf(names[1], NAME_SIZE, "%s%s", right->name, trace_end);
  return strcmp(names[0], names[1]);
}

static blis_status add_chunk(blis__servegen_data *data, const char *file, size_t length,
                             blis_error *error) {
  blis__servegen_chunk chunk = {.name = blis_arena_text(&data->arena, file, length)};
  BLIS_TRY_NEW(chunk.name, error);
  BLIS_TRY_MEM(blis_array_push(&data->alloc, &data->chunks, chunk), error);
  return BLIS_OK;
}

static blis_status list_chunks(blis__servegen_data *data, const char *folder, blis_error *error) {
  DIR *directory = opendir(folder);
  if (directory == NULL) {
    return blis_fail(error, BLIS_ERR_IO, "%s: %s", folder, strerror(errno));
  }
  blis_status status = BLIS_OK;
  for (struct dirent *entry = readdir(directory); entry != NULL && status == BLIS_OK;
       entry = readdir(directory)) {
    size_t length = stem_length(entry->d_name);
    if (length > 0) {
      status = data->chunks.count < MAX_CHUNKS
                   ? add_chunk(data, entry->d_name, length, error)
                   : blis_fail(error, BLIS_ERR_INVALID, "%s: there are more than %d chunks", folder,
                               MAX_CHUNKS);
    }
  }
  (void)closedir(directory);
  BLIS_TRY(status);
  if (data->chunks.count == 0) {
    return blis_fail(error, BLIS_ERR_INVALID, "%s: contains no file chunk-<id>-trace.csv", folder);
  }
  qsort(data->chunks.items, data->chunks.count, sizeof *data->chunks.items, compare_chunks);
  return BLIS_OK;
}

static blis_status join(blis_buffer *path, const char *folder, const blis__servegen_chunk *chunk,
                        const char *end, blis_error *error) {
  blis_buffer_clear(path);
  blis_buffer_string(path, folder);
  blis_buffer_char(path, '/');
  blis_buffer_string(path, chunk->name);
  blis_buffer_string(path, end);
  return blis_buffer_status(path) == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Traces. */

/* Reads a row. Returns false if the row cannot be used. */
static bool read_row(const blis_csv *csv, blis__servegen_row *row) {
  size_t count = blis_csv_count(csv);
  double start;
  *row = (blis__servegen_row){0};
  if (count < 4 || blis_csv_double(csv, 0, 0, 1e12, &start, NULL) != BLIS_OK ||
      blis_csv_double(csv, 1, 0, DBL_MAX, &row->rate, NULL) != BLIS_OK ||
      blis_csv_double(csv, 2, 0, DBL_MAX, &row->cv, NULL) != BLIS_OK) {
    return false;
  }
  row->start_s = (int64_t)start;
  blis_slice pattern = blis_csv_field(csv, 3);
  row->is_gamma = blis_slice_equals(pattern, "Gamma");
  row->is_weibull = blis_slice_equals(pattern, "Weibull");
  if (count >= 6) {
    double scale_s;
    if (blis_csv_double(csv, 4, 0, DBL_MAX, &row->shape, NULL) != BLIS_OK ||
        blis_csv_double(csv, 5, 0, 1e15, &scale_s, NULL) != BLIS_OK) {
      return false;
    }
    row->scale_us = scale_s * 1e6;
  }
  return true;
}

static blis_status read_rows(blis__servegen_data *data, blis__servegen_chunk *chunk, blis_csv *csv,
                             blis_error *error) {
  int64_t skipped = 0;
  for (;;) {
    bool has_row;
    BLIS_TRY(blis_csv_next(csv, &has_row, error));
    if (!has_row) {
      break;
    }
    blis__servegen_row row;
    if (!read_row(csv, &row)) {
      skipped++;
    } else if (row.rate > 0 && blis_array_push(&data->alloc, &chunk->rows, row) != BLIS_OK) {
      return blis_fail_nomem(error);
    }
  }
  if (skipped == 0) {
    return BLIS_OK;
  }
  char text[NAME_SIZE + 96];
  snprintf(text, sizeof text, "%s%s: %lld rows were skipped", chunk->name, trace_end,
           (long long)skipped);
  return tell(data, text, error);
}

static blis_status read_trace(blis__servegen_data *data, blis__servegen_chunk *chunk,
                              const char *path, blis_error *error) {
  const blis_csv_options options = {.has_even_rows = true};
  blis_csv *csv;
  BLIS_TRY(blis_csv_open(&data->alloc, path, &options, &csv, error));
  blis_status status = read_rows(data, chunk, csv, error);
  blis_csv_close(csv);
  return status;
}

/* Tables of lengths: "{224: 0.5, 225.0: 0.5}". */

/* State of processing the entries of a table. */
typedef struct table {
  double weight; /* sum over all entries */
  double log_sum;
  double log_square_sum;
  double *percents; /* NULL = lengths */
  bool rounds;
} table;

static void add_entry(table *t, double key, double weight) {
  if (t->percents != NULL) {
    double percent = t->rounds ? round(100 * key) : trunc(100 * key);
    if (percent >= 0 && percent < BLIS__PERCENTS) {
      t->percents[(size_t)percent] += weight;
      t->weight += weight;
    }
    return;
  }
  double length = trunc(key);
  if (length > 0) {
    double log_length = log(length);
    t->weight += weight;
    t->log_sum += weight * log_length;
    t->log_square_sum += weight * log_length * log_length;
  }
}

/* Parses a number up to an end character, which is skipped. */
static bool take_number(blis_slice *text, char end, double *number) {
  const char *found = memchr(text->data, end, text->length);
  size_t length = found != NULL ? (size_t)(found - text->data) : text->length;
  blis_slice part = blis_slice_trim((blis_slice){text->data, length});
  size_t taken = found != NULL ? length + 1 : length;
  text->data += taken;
  text->length -= taken;
  return blis_parse_double(part, number) == BLIS_NUMBER_OK;
}

static blis_status read_table(blis_json_value value, table *t, blis_error *error) {
  blis_slice text;
  BLIS_TRY(blis_json_text(value, &text, error));
  text = blis_slice_trim(text);
  if (text.length < 2 || text.data[0] != '{' || text.data[text.length - 1] != '}') {
    return blis_json_fail(value, "is not a table such as {100: 0.5, 200: 0.5}", error);
  }
  text = blis_slice_trim((blis_slice){text.data + 1, text.length - 2});
  while (text.length > 0) {
    double key;
    double weight;
    if (!take_number(&text, ':', &key) || !take_number(&text, ',', &weight) ||
        !(weight >= 0 && weight <= DBL_MAX)) {
      return blis_json_fail(value, "is not a table of numbers and their shares", error);
    }
    add_entry(t, key, weight);
  }
  return BLIS_OK;
}

static blis_status read_fit(blis_json_value entry, const char *key, blis__servegen_fit *fit,
                            blis_error *error) {
  *fit = (blis__servegen_fit){.has_data = false};
  blis_json_value value = blis_json_member(entry, key);
  if (!blis_json_has(value)) {
    return BLIS_OK;
  }
  table t = {0};
  BLIS_TRY(read_table(value, &t, error));
  if (t.weight > 0) {
    double mu = t.log_sum / t.weight;
    double variance = t.log_square_sum / t.weight - mu * mu;
    *fit = (blis__servegen_fit){.has_data = true, .mu = mu, .sigma = sqrt(fmax(variance, 0))};
  }
  return BLIS_OK;
}

/* Datasets. */

/* The first entry with ratios, in byte order of the keys. */
typedef struct first_ratios {
  const char *key;
} first_ratios;

static blis_status read_ratios(const blis__servegen_data *data, blis__servegen_chunk *chunk,
                               const char *key, blis_json_value value, first_ratios *first,
                               blis_error *error) {
  chunk->has_reason_key = true;
  double percents[BLIS__PERCENTS] = {0};
  table t = {.percents = percents, .rounds = data->rounds_percents};
  BLIS_TRY(read_table(value, &t, error));
  bool is_first = first->key == NULL || strcmp(key, first->key) < 0;
  if (t.weight > 0 && is_first) {
    first->key = key;
    chunk->has_reason_ratios = true;
    for (int i = 0; i < BLIS__PERCENTS; i++) {
      chunk->reason_weights[i] = percents[i] / t.weight;
    }
  }
  return BLIS_OK;
}

static int compare_lengths(const void *a, const void *b) {
  const blis__servegen_lengths *left = a;
  const blis__servegen_lengths *right = b;
  return (left->start_s > right->start_s) - (left->start_s < right->start_s);
}

static const char *const known_members[] = {"input_tokens", "output_tokens", "reason_ratio", NULL};

static blis_status read_entry(blis__servegen_data *data, blis__servegen_chunk *chunk,
                              const char *key, blis_json_value entry, first_ratios *first,
                              blis_error *error) {
  double start;
  if (blis_parse_double(blis_slice_of(key), &start) != BLIS_NUMBER_OK ||
      !(start >= 0 && start <= 1e12)) {
    return blis_json_fail(entry, "has a key that is not a time in seconds", error);
  }
  BLIS_TRY(blis_json_need_object(entry, error));
  if (blis_json_has(blis_json_member(entry, "text_tokens"))) {
    return blis_json_fail(entry, "is multimodal; only language and reasoning data can be converted",
                          error);
  }
  blis__unread_see_members(&data->unread, entry, known_members);
  blis__servegen_lengths lengths = {.start_s = (int64_t)start};
  BLIS_TRY(read_fit(entry, "input_tokens", &lengths.input, error));
  BLIS_TRY(read_fit(entry, "output_tokens", &lengths.output, error));
  BLIS_TRY_MEM(blis_array_push(&data->alloc, &chunk->lengths, lengths), error);
  blis_json_value ratios = blis_json_member(entry, "reason_ratio");
  return blis_json_has(ratios) ? read_ratios(data, chunk, key, ratios, first, error) : BLIS_OK;
}

static blis_status read_entries(blis__servegen_data *data, blis__servegen_chunk *chunk,
                                blis_json_value root, blis_error *error) {
  BLIS_TRY(blis_json_need_object(root, error));
  first_ratios first = {NULL};
  const char *key = NULL;
  blis_json_value entry;
  while (blis_json_next(root, &key, &entry)) {
    BLIS_TRY(read_entry(data, chunk, key, entry, &first, error));
  }
  if (chunk->lengths.count > 1) {
    qsort(chunk->lengths.items, chunk->lengths.count, sizeof *chunk->lengths.items,
          compare_lengths);
  }
  return BLIS_OK;
}

static blis_status read_dataset(blis__servegen_data *data, blis__servegen_chunk *chunk,
                                const char *path, blis_error *error) {
  blis_json json;
  blis_json_init(&json, &data->alloc);
  blis_json_allow_any_number(&json);
  blis_status status = blis_json_read_file(&json, path, MAX_JSON_SIZE, error);
  if (status == BLIS_OK) {
    status = read_entries(data, chunk, blis_json_root(&json), error);
  }
  blis_json_deinit(&json);
  return status;
}

/* Reads a chunk. In reasoning data, a chunk may lack a dataset. */
static blis_status read_chunk(blis__servegen_data *data, size_t index, const char *folder,
                              blis_buffer *path, blis_error *error) {
  blis__servegen_chunk *chunk = &data->chunks.items[index];
  BLIS_TRY(join(path, folder, chunk, trace_end, error));
  BLIS_TRY(read_trace(data, chunk, blis_buffer_text(path), error));
  BLIS_TRY(join(path, folder, chunk, dataset_end, error));
  blis_status status = read_dataset(data, chunk, blis_buffer_text(path), error);
  if (index == 0) {
    data->is_reasoning = chunk->has_reason_key;
  }
  if (status != BLIS_ERR_IO || !data->is_reasoning) {
    return status;
  }
  char text[NAME_SIZE + 96];
  snprintf(text, sizeof text, "%s was skipped: it has no %s%s", chunk->name, chunk->name,
           dataset_end);
  return tell(data, text, error);
}

static blis_status tell_unread(blis__servegen_data *data, const char *folder, blis_error *error) {
  if (data->unread.count == 0) {
    return BLIS_OK;
  }
  char names[BLIS__UNREAD_TEXT_SIZE];
  char text[BLIS__UNREAD_TEXT_SIZE + 256];
  blis__unread_list(&data->unread, names);
  snprintf(text, sizeof text, "%.200s: members of datasets are not read: %s", folder, names);
  return tell(data, text, error);
}

blis_status blis__servegen_read(blis__servegen_data *data, const char *folder, blis_error *error) {
  BLIS_TRY(list_chunks(data, folder, error));
  blis_buffer path;
  blis_buffer_init(&path, &data->alloc);
  blis_status status = BLIS_OK;
  for (size_t i = 0; status == BLIS_OK && i < data->chunks.count; i++) {
    status = read_chunk(data, i, folder, &path, error);
  }
  blis_buffer_deinit(&path);
  BLIS_TRY(status);
  return tell_unread(data, folder, error);
}
