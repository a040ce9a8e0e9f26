/*
 * Writes TraceV2, the format of BLIS (Go, inference-sim f90a1e3a): with the same header keys,
 * columns, quoting, and line ends. If needed, max_output_tokens and segments (segments.h) follow
 * its columns.
 */
#include <string.h>

#include "base/format/csv.h"
#include "base/format/json_writer.h"
#include "base/format/packer.h"
#include "workload/trace/rows/segments.h"
#include "workload/trace/write/writer.h"

static const char *const status_texts[] = {
    [BLIS_TRACE_UNKNOWN] = "",
    [BLIS_TRACE_OK] = "ok",
    [BLIS_TRACE_TIMEOUT] = "timeout",
    [BLIS_TRACE_ERROR] = "error",
    [BLIS_TRACE_INCOMPLETE] = "incomplete",
};

/* Rows: every field except the first is preceded by a comma. */

static void add_whole(blis_buffer *buffer, int64_t value) {
  blis_buffer_char(buffer, ',');
  blis_buffer_int64(buffer, value);
}

static void add_text(blis_buffer *buffer, const blis_intern *strings, uint32_t id) {
  blis_buffer_char(buffer, ',');
  blis_csv_write(buffer,
                 (blis_slice){blis_intern_text(strings, id), blis_intern_length(strings, id)});
}

/* Returns the number of prompt tokens that readers take from the group. */
static uint32_t group_tokens(const blis_request *request) {
  if (request->prefix_group == 0) {
    return 0;
  }
  return request->prefix_tokens < request->prompt_tokens ? request->prefix_tokens
                                                         : request->prompt_tokens;
}

static blis_trace_outcome outcome_of(const blis__trace_writing *w, size_t index) {
  return w->options->outcomes == NULL ? (blis_trace_outcome){.status = BLIS_TRACE_UNKNOWN}
                                      : w->options->outcomes[index];
}

static void add_word(blis_buffer *buffer, const char *text) {
  blis_buffer_char(buffer, ',');
  blis_csv_write(buffer, blis_slice_of(text == NULL ? "" : text));
}

static void add_end(const blis__trace_writing *w, const blis_request *request,
                    const blis_trace_outcome *outcome, blis_buffer *buffer) {
  bool is_observed = w->options->is_observed;
  add_whole(buffer, request->arrival_us);
  add_whole(buffer, is_observed ? outcome->sent_us : request->arrival_us);
  add_whole(buffer, outcome->first_chunk_us);
  add_whole(buffer, outcome->last_chunk_us);
  add_whole(buffer, outcome->chunks);
  add_word(buffer, status_texts[outcome->status]);
  add_word(buffer, outcome->problem);
  add_word(buffer, outcome->finish);
}

/* Writes the optional columns. */
static blis_status add_optional(blis__trace_writing *w, const blis_request *request,
                                blis_buffer *buffer) {
  if (w->has_adapters) {
    add_text(buffer, w->strings, request->adapter);
  }
  if (w->has_cascades) {
    add_text(buffer, w->strings, request->cascade);
  }
  if (w->has_logprobs) {
    add_text(buffer, w->strings, request->mean_logprob);
  }
  if (w->has_think_times) {
    blis_buffer_char(buffer, ',');
    if (request->has_think_time) {
      blis_buffer_int64(buffer, request->think_us);
    }
  }
  if (w->has_limits) {
    add_whole(buffer, request->max_output_tokens);
  }
  if (w->has_numbers) {
    add_whole(buffer, request->number);
  }
  if (!w->is_by_group) {
    blis_buffer_char(buffer, ',');
    return blis__trace_write_segments(buffer, &w->streams, request);
  }
  return BLIS_OK;
}

static blis_status write_row(blis__trace_writing *w, size_t index, const blis_request *request,
                             blis_buffer *buffer) {
  const blis_intern *strings = w->strings;
  uint32_t prefix_tokens = group_tokens(request);
  const blis_trace_outcome outcome = outcome_of(w, index);
  blis_buffer_int64(buffer, blis__trace_row_id(w, index, request));
  add_text(buffer, strings, request->client);
  add_text(buffer, strings, request->tenant);
  add_text(buffer, strings, request->slo_class);
  add_text(buffer, strings, request->session);
  add_whole(buffer, request->round_index);
  add_text(buffer, strings, request->prefix_group);
  add_whole(buffer, request->prefix_group != 0 ? prefix_tokens : request->prefix_tokens);
  blis_buffer_string(buffer, request->is_streaming ? ",true" : ",false");
  add_whole(buffer, request->prompt_tokens - prefix_tokens);
  add_whole(buffer, w->options->is_observed ? outcome.output_tokens : request->output_tokens);
  add_whole(buffer, request->text_tokens);
  add_whole(buffer, request->image_tokens);
  add_whole(buffer, request->audio_tokens);
  add_whole(buffer, request->video_tokens);
  blis_buffer_char(buffer, ',');
  blis_buffer_double(buffer, request->reason_ratio, BLIS_DOUBLE_DIGITS);
  add_text(buffer, strings, request->model);
  add_whole(buffer, request->deadline_us);
  if (w->has_slo_targets) {
    add_whole(buffer, request->slo_target_us);
  }
  add_whole(buffer, outcome.server_input_tokens);
  add_end(w, request, &outcome, buffer);
  BLIS_TRY(add_optional(w, request, buffer));
  blis_buffer_char(buffer, '\n');
  return BLIS_OK;
}

static void add_column_names(const blis__trace_writing *w, blis_buffer *buffer) {
  blis_buffer_string(buffer, "request_id,client_id,tenant_id,slo_class,session_id,round_index,"
                             "prefix_group,prefix_length,streaming,input_tokens,output_tokens,"
                             "text_tokens,image_tokens,audio_tokens,video_tokens,reason_ratio,"
                             "model,deadline_us,");
  blis_buffer_string(buffer, w->has_slo_targets ? "slo_target_us," : "");
  blis_buffer_string(buffer, "server_input_tokens,arrival_time_us,send_time_us,"
                             "first_chunk_time_us,last_chunk_time_us,num_chunks,status,"
                             "error_message,finish_reason");
  blis_buffer_string(buffer, w->has_adapters ? ",adapter" : "");
  blis_buffer_string(buffer, w->has_cascades ? ",cascade" : "");
  blis_buffer_string(buffer, w->has_logprobs ? ",mean_logprob" : "");
  blis_buffer_string(buffer, w->has_think_times ? ",think_time_us" : "");
  blis_buffer_string(buffer, w->has_limits ? ",max_output_tokens" : "");
  blis_buffer_string(buffer, w->has_numbers ? ",request_number" : "");
  blis_buffer_string(buffer, w->is_by_group ? "" : ",segments");
  blis_buffer_char(buffer, '\n');
}

/* Header. */

static bool is_word(const char *text) {
  static const char letters[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ";
  static const char *const others[] = {"y", "n", "yes", "no", "on", "off", "true", "false", "null"};
  for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
    if (strcmp(text, others[i]) == 0) {
      return false;
    }
  }
  size_t length = strspn(text, letters);
  length += length > 0 ? strspn(text + length, "-_0123456789") : 0;
  return length > 0 && text[length] == '\0';
}

/* Writes a key unchanged if that is safe in YAML, otherwise in quotes. */
static void add_key(blis_buffer *buffer, const char *key) {
  if (is_word(key)) {
    blis_buffer_string(buffer, key);
    return;
  }
  blis_json_writer json;
  blis_json_writer_init(&json, buffer, 0);
  blis_json_writer_string(&json, key);
}

static void add_target(blis_buffer *buffer, const char *name, double value_ms) {
  if (value_ms != 0) {
    blis_buffer_format(buffer, "        %s: ", name);
    blis_buffer_double(buffer, value_ms, BLIS_DOUBLE_SHORT);
    blis_buffer_char(buffer, '\n');
  }
}

static void add_header(const blis_trace_write_options *options, blis_buffer *buffer) {
  blis_buffer_format(buffer,
                     "trace_version: 3\n"
                     "time_unit: microseconds\n"
                     "mode: %s\n"
                     "warm_up_requests: 0\n",
                     options->is_observed ? "real"
                     : options->is_replay ? "replayed"
                                          : "generated");
  if (options->has_seed) {
    blis_buffer_format(buffer, "workload_seed: %lld\n", (long long)options->seed);
  }
  if (options->target_count > 0) {
    blis_buffer_string(buffer, "goodput_slo_targets:\n");
  }
  for (size_t i = 0; i < options->target_count; i++) {
    const blis_goodput_target *target = &options->targets[i];
    blis_buffer_string(buffer, "    ");
    add_key(buffer, target->slo_class);
    blis_buffer_string(buffer, ":\n");
    add_target(buffer, "ttft_ms", target->ttft_ms);
    add_target(buffer, "itl_ms", target->itl_ms);
    add_target(buffer, "e2e_ms", target->e2e_ms);
  }
}

/* Files. */

/*
 * Returns the length of path without ".csv" and similar extensions. *packing is the extension of
 * the compression, which applies only to the data.
 */
static size_t stem_length(const char *path, const char **packing) {
  static const char *const endings[] = {".csv", ".yaml", ".yml"};
  size_t length;
  blis_packing_of(path, &length);
  *packing = path + length;
  for (size_t i = 0; i < sizeof endings / sizeof *endings; i++) {
    size_t ending = strlen(endings[i]);
    if (length > ending && strncmp(path + length - ending, endings[i], ending) == 0) {
      return length - ending;
    }
  }
  return length;
}

static blis_status write_header(const blis__trace_writing *w, blis_buffer *buffer, const char *path,
                                blis_output **output, blis_error *error) {
  blis_buffer_clear(buffer);
  add_header(w->options, buffer);
  BLIS_TRY_MEM(blis_buffer_status(buffer), error);
  BLIS_TRY(blis_output_open(w->alloc, path, output, error));
  blis_status status = blis_output_write(*output, blis_buffer_slice(buffer), error);
  if (status != BLIS_OK) {
    blis_output_discard(*output);
  }
  return status;
}

/* Writes both files completely before renaming either. */
static blis_status write_files(blis__trace_writing *w, const char *data_path,
                               const char *header_path, blis_buffer *buffer, blis_error *error) {
  blis_output *data;
  blis_output *header;
  add_column_names(w, buffer);
  BLIS_TRY_MEM(blis_buffer_status(buffer), error);
  BLIS_TRY(blis__trace_write_rows(w, data_path, blis_buffer_text(buffer), write_row, &data, error));
  blis_status status = write_header(w, buffer, header_path, &header, error);
  if (status != BLIS_OK) {
    blis_output_discard(data);
    return status;
  }
  status = blis_output_commit(data, error);
  if (status != BLIS_OK) {
    blis_output_discard(header);
    return status;
  }
  return blis_output_commit(header, error);
}

static blis_status write(blis__trace_writing *w, blis_error *error) {
  if (strcmp(w->path, "-") == 0) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "tracev2 is a pair of files and cannot go to standard "
                     "output; name a file or use routesim");
  }
  blis_buffer data_path;
  blis_buffer header_path;
  blis_buffer text;
  blis_buffer_init(&data_path, w->alloc);
  blis_buffer_init(&header_path, w->alloc);
  blis_buffer_init(&text, w->alloc);
  const char *packing;
  size_t stem = stem_length(w->path, &packing);
  blis_buffer_bytes(&data_path, w->path, stem);
  blis_buffer_string(&data_path, ".csv");
  blis_buffer_string(&data_path, packing);
  blis_buffer_bytes(&header_path, w->path, stem);
  blis_buffer_string(&header_path, ".yaml");
  bool has_paths =
      blis_buffer_status(&data_path) == BLIS_OK && blis_buffer_status(&header_path) == BLIS_OK;
  blis_status status = has_paths ? write_files(w, blis_buffer_text(&data_path),
                                               blis_buffer_text(&header_path), &text, error)
                                 : blis_fail_nomem(error);
  blis_buffer_deinit(&data_path);
  blis_buffer_deinit(&header_path);
  blis_buffer_deinit(&text);
  return status;
}

const blis__trace_writer blis__trace_writer_v2 = {
    .name = "tracev2",
    .needs_even_groups = true,
    .write = write,
};
