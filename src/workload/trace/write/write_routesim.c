/* Writes compact JSONL; routesim.c describes the keys. */
#include "base/format/json_writer.h"
#include "workload/trace/rows/segments.h"
#include "workload/trace/write/writer.h"

static void write_whole(blis_json_writer *json, const char *key, int64_t value) {
  blis_json_writer_key(json, key);
  blis_json_writer_int64(json, value);
}

/*
 * RouteSim reads only whole milliseconds, so arrival_us contains the exact time if needed. If the
 * first row arrives after 0, it also has arrival_us, which shows that times do not count from the
 * first row.
 */
static void write_time(blis_json_writer *json, int64_t time_us, bool is_first) {
  write_whole(json, "ts", time_us / 1000);
  if (time_us % 1000 != 0 || (is_first && time_us > 0)) {
    write_whole(json, "arrival_us", time_us);
  }
}

static void write_label(blis_json_writer *json, const blis_intern *strings, const char *key,
                        uint32_t id) {
  if (id != 0) {
    blis_json_writer_key(json, key);
    blis_json_writer_text(
        json, (blis_slice){blis_intern_text(strings, id), blis_intern_length(strings, id)});
  }
}

static blis_status write_content(blis__trace_writing *w, blis_json_writer *json,
                                 const blis_request *request) {
  write_label(json, w->strings, "prefix_hash", request->prefix_group);
  if (request->prefix_tokens > 0) {
    write_whole(json, "prefix_len", request->prefix_tokens);
  }
  bool needs_segments = request->segment_count > 0 || request->prefix_tokens > 0;
  if (w->is_by_group || !needs_segments) {
    return BLIS_OK;
  }
  blis_buffer text;
  blis_buffer_init(&text, w->alloc);
  blis_status status = blis__trace_write_segments(&text, &w->streams, request);
  if (status == BLIS_OK) {
    blis_json_writer_key(json, "segments");
    blis_json_writer_text(json, blis_buffer_slice(&text));
    status = blis_buffer_status(&text);
  }
  blis_buffer_deinit(&text);
  return status;
}

/* Writes numbers that are omitted if they are 0. */
static void write_rest(blis_json_writer *json, const blis_request *request) {
  const struct {
    const char *key;
    int64_t value;
  } wholes[] = {
      {"deadline_us", request->deadline_us},   {"slo_target_us", request->slo_target_us},
      {"text_tokens", request->text_tokens},   {"image_tokens", request->image_tokens},
      {"audio_tokens", request->audio_tokens}, {"video_tokens", request->video_tokens},
  };
  for (size_t i = 0; i < sizeof wholes / sizeof *wholes; i++) {
    if (wholes[i].value != 0) {
      write_whole(json, wholes[i].key, wholes[i].value);
    }
  }
  if (request->has_think_time) {
    write_whole(json, "think_us", request->think_us);
  }
  if (request->reason_ratio != 0) {
    blis_json_writer_key(json, "reason_ratio");
    blis_json_writer_double(json, request->reason_ratio);
  }
  if (request->is_streaming) {
    blis_json_writer_key(json, "streaming");
    blis_json_writer_bool(json, true);
  }
}

static blis_status write_row(blis__trace_writing *w, size_t index, const blis_request *request,
                             blis_buffer *buffer) {
  const blis_intern *strings = w->strings;
  int64_t id = blis__trace_row_id(w, index, request);
  blis_json_writer json;
  blis_json_writer_init(&json, buffer, 0);
  blis_json_writer_begin_object(&json);
  if (id != (int64_t)index) {
    write_whole(&json, "id", id);
  }
  write_time(&json, request->arrival_us, index == 0);
  write_whole(&json, "prompt_tokens", request->prompt_tokens);
  write_whole(&json, "gen_tokens", request->output_tokens);
  if (request->max_output_tokens != request->output_tokens) {
    write_whole(&json, "max_tokens", request->max_output_tokens);
  }
  BLIS_TRY(write_content(w, &json, request));
  write_label(&json, strings, "conversation_id", request->session);
  if (request->session != 0 || request->round_index != 0) {
    write_whole(&json, "turn", request->round_index);
  }
  write_label(&json, strings, "model", request->model);
  write_label(&json, strings, "tenant", request->tenant);
  write_label(&json, strings, "slo_class", request->slo_class);
  write_label(&json, strings, "client", request->client);
  write_label(&json, strings, "lora_adapter", request->adapter);
  write_label(&json, strings, "cascade", request->cascade);
  write_label(&json, strings, "mean_logprob", request->mean_logprob);
  write_rest(&json, request);
  blis_json_writer_end_object(&json);
  blis_buffer_char(buffer, '\n');
  return BLIS_OK;
}

static blis_status write(blis__trace_writing *w, blis_error *error) {
  blis_output *output;
  BLIS_TRY(blis__trace_write_rows(w, w->path, "", write_row, &output, error));
  return blis_output_commit(output, error);
}

const blis__trace_writer blis__trace_writer_routesim = {
    .name = "routesim",
    .write = write,
};
