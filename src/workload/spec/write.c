#include "workload/spec/write.h"

#include <stdlib.h>
#include <string.h>

enum { STEP = 4, MAX_PARAMS = 1024 };

/* Position of the keys of the current mapping. */
typedef struct writer {
  blis_buffer *text;
  size_t column;
  bool is_first_of_item; /* the next key has a dash before it */
} writer;

static bool is_empty(const char *text) {
  return text == NULL || *text == '\0';
}

/* Scalars. */

/* Returns whether a word is not a string in YAML unless it is quoted. */
static bool is_special(const char *text) {
  static const char *const words[] = {"true", "false", "yes",  "no",   "on",    "off", "null",
                                      "y",    "n",     "~",    "True", "False", "Yes", "No",
                                      "On",   "Off",   "Null", "TRUE", "FALSE", "YES", "NO",
                                      "ON",   "OFF",   "NULL", "Y",    "N"};
  for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
    if (strcmp(words[i], text) == 0) {
      return true;
    }
  }
  return false;
}

static bool is_letter(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_plain(const char *text) {
  if (!is_letter(*text) || is_special(text)) {
    return false;
  }
  for (const char *c = text; *c != '\0'; c++) {
    bool is_digit = *c >= '0' && *c <= '9';
    if (!is_letter(*c) && !is_digit && strchr("-./", *c) == NULL) {
      return false;
    }
  }
  return true;
}

static void write_text(writer *w, const char *text) {
  text = text != NULL ? text : "";
  if (is_plain(text)) {
    blis_buffer_string(w->text, text);
    return;
  }
  blis_buffer_char(w->text, '"');
  for (const char *c = text; *c != '\0'; c++) {
    unsigned char byte = (unsigned char)*c;
    if (byte == '"' || byte == '\\') {
      blis_buffer_format(w->text, "\\%c", byte);
    } else if (byte < ' ') {
      blis_buffer_format(w->text, "\\x%02x", byte);
    } else {
      blis_buffer_char(w->text, *c);
    }
  }
  blis_buffer_char(w->text, '"');
}

/* Keys. */

static void write_key(writer *w, const char *key) {
  size_t dash = w->is_first_of_item ? 2 : 0;
  blis_buffer_repeat(w->text, ' ', w->column - dash);
  blis_buffer_string(w->text, dash > 0 ? "- " : "");
  write_text(w, key);
  blis_buffer_char(w->text, ':');
  w->is_first_of_item = false;
}

static void write_string(writer *w, const char *key, const char *value) {
  write_key(w, key);
  blis_buffer_char(w->text, ' ');
  write_text(w, value);
  blis_buffer_char(w->text, '\n');
}

static void opt_string(writer *w, const char *key, const char *value) {
  if (!is_empty(value)) {
    write_string(w, key, value);
  }
}

static void write_whole(writer *w, const char *key, int64_t value) {
  write_key(w, key);
  blis_buffer_char(w->text, ' ');
  blis_buffer_int64(w->text, value);
  blis_buffer_char(w->text, '\n');
}

static void opt_whole(writer *w, const char *key, int64_t value) {
  if (value != 0) {
    write_whole(w, key, value);
  }
}

static void write_number(writer *w, const char *key, double value) {
  write_key(w, key);
  blis_buffer_char(w->text, ' ');
  blis_buffer_double(w->text, value, BLIS_DOUBLE_SHORT);
  blis_buffer_char(w->text, '\n');
}

static void opt_number(writer *w, const char *key, double value, bool is_there) {
  if (is_there) {
    write_number(w, key, value);
  }
}

static void write_flag(writer *w, const char *key, bool value) {
  write_key(w, key);
  blis_buffer_string(w->text, value ? " true\n" : " false\n");
}

/* Starts a mapping; the caller restores column at its end. */
static size_t open_mapping(writer *w, const char *key) {
  size_t column = w->column;
  write_key(w, key);
  blis_buffer_char(w->text, '\n');
  w->column = (column / STEP + 1) * STEP;
  return column;
}

/* Starts a list; every item starts with is_first_of_item. */
static size_t open_list(writer *w, const char *key) {
  size_t column = open_mapping(w, key);
  w->column += 2;
  return column;
}

/* Parts. */

static int compare_params(const void *a, const void *b) {
  return strcmp(((const blis_distribution_param *)a)->name,
                ((const blis_distribution_param *)b)->name);
}

/* Writes the parameters, sorted as in BLIS (Go) unless there are very many. */
static void write_params(writer *w, const blis_distribution_spec *spec) {
  blis_distribution_param sorted[MAX_PARAMS];
  const blis_distribution_param *params = spec->params;
  size_t count = spec->param_count;
  if (count <= MAX_PARAMS) {
    memcpy(sorted, params, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, compare_params);
    params = sorted;
  }
  size_t column = open_mapping(w, "params");
  for (size_t i = 0; i < count; i++) {
    write_number(w, params[i].name, params[i].value);
  }
  w->column = column;
}

static void opt_distribution(writer *w, const char *key, const blis_distribution_spec *spec) {
  if (is_empty(spec->type)) {
    return;
  }
  size_t column = open_mapping(w, key);
  write_string(w, "type", spec->type);
  if (spec->param_count > 0) {
    write_params(w, spec);
  }
  w->column = column;
}

static void write_arrival(writer *w, const blis_arrival_spec *arrival) {
  size_t column = open_mapping(w, "arrival");
  write_string(w, "process", arrival->process);
  opt_number(w, "cv", arrival->cv, arrival->has_cv);
  opt_number(w, "shape", arrival->shape, arrival->has_shape);
  opt_number(w, "scale", arrival->scale, arrival->has_scale);
  w->column = column;
}

static void write_window(writer *w, const blis_window_spec *window, double fixed_rate) {
  w->is_first_of_item = true;
  write_whole(w, "start_us", window->start_us);
  write_whole(w, "end_us", window->end_us);
  bool has_rate = window->has_trace_rate || fixed_rate > 0;
  opt_number(w, "trace_rate", fixed_rate > 0 ? fixed_rate : window->trace_rate, has_rate);
  if (window->has_arrival) {
    write_arrival(w, &window->arrival);
  }
  opt_distribution(w, "input_distribution", &window->input);
  opt_distribution(w, "output_distribution", &window->output);
}

static void opt_lifecycle(writer *w, const blis_client_spec *client) {
  if (client->window_count == 0) {
    return;
  }
  size_t column = open_mapping(w, "lifecycle");
  (void)open_list(w, "windows");
  for (size_t i = 0; i < client->window_count; i++) {
    write_window(w, &client->windows[i], client->fixed_rate);
  }
  w->column = column;
}

static void opt_multimodal(writer *w, const blis_client_spec *client) {
  const blis_multimodal_spec *m = client->multimodal;
  if (m == NULL) {
    return;
  }
  size_t column = open_mapping(w, "multimodal");
  opt_distribution(w, "text_distribution", &m->text);
  opt_distribution(w, "image_distribution", &m->image);
  opt_distribution(w, "image_count_distribution", &m->image_count);
  opt_distribution(w, "audio_distribution", &m->audio);
  opt_distribution(w, "audio_count_distribution", &m->audio_count);
  opt_distribution(w, "video_distribution", &m->video);
  opt_distribution(w, "video_count_distribution", &m->video_count);
  w->column = column;
}

static void opt_reasoning(writer *w, const blis_client_spec *client) {
  const blis_multi_turn_spec *turns = client->multi_turn;
  if (turns == NULL) {
    return;
  }
  size_t column = open_mapping(w, "reasoning");
  opt_distribution(w, "reason_ratio_distribution", &client->reason_ratio);
  (void)open_mapping(w, "multi_turn");
  write_whole(w, "max_rounds", turns->max_rounds);
  write_whole(w, "think_time_us", turns->think_time_us);
  write_string(w, "context_growth", turns->context_growth);
  if (turns->single_session) {
    write_flag(w, "single_session", true);
  }
  w->column = column;
}

static void opt_timeout(writer *w, const blis_client_spec *client) {
  if (client->timeout_us > 0 || client->has_no_timeout) {
    write_whole(w, "timeout", client->timeout_us);
  }
}

static void opt_loop(writer *w, const blis_client_spec *client) {
  if (client->loop != BLIS_LOOP_DEFAULT) {
    write_flag(w, "closed_loop", client->loop == BLIS_LOOP_CLOSED);
  }
}

/* Writes arrivals and lengths, which are adjacent in all forms. */
static void write_lengths(writer *w, const blis_client_spec *client) {
  write_arrival(w, &client->arrival);
  opt_distribution(w, "input_distribution", &client->input);
  opt_distribution(w, "output_distribution", &client->output);
  opt_string(w, "prefix_group", client->prefix_group);
}

static void write_client(writer *w, const blis_client_spec *client) {
  w->is_first_of_item = true;
  write_string(w, "id", client->id);
  write_string(w, "tenant_id", client->tenant);
  write_string(w, "slo_class", client->slo_class);
  opt_string(w, "model", client->model);
  opt_string(w, "adapter", client->adapter);
  write_number(w, "rate_fraction", client->rate_fraction);
  opt_whole(w, "concurrency", client->concurrency);
  opt_whole(w, "think_time_us", client->think_time_us);
  write_lengths(w, client);
  opt_whole(w, "prefix_length", client->prefix_tokens);
  write_flag(w, "streaming", client->is_streaming);
  opt_lifecycle(w, client);
  opt_multimodal(w, client);
  opt_reasoning(w, client);
  opt_timeout(w, client);
  opt_whole(w, "slo_target_us", client->slo_target_us);
  opt_loop(w, client);
}

static void write_shape(writer *w, const blis_cohort_spec *cohort) {
  size_t column = w->column;
  if (cohort->diurnal != NULL) {
    (void)open_mapping(w, "diurnal");
    write_whole(w, "peak_hour", cohort->diurnal->peak_hour);
    write_number(w, "peak_to_trough_ratio", cohort->diurnal->peak_to_trough_ratio);
    w->column = column;
  }
  if (cohort->spike != NULL) {
    (void)open_mapping(w, "spike");
    write_whole(w, "start_time_us", cohort->spike->start_us);
    write_whole(w, "duration_us", cohort->spike->duration_us);
    opt_number(w, "trace_rate", cohort->spike->trace_rate, cohort->spike->has_trace_rate);
    w->column = column;
  }
  if (cohort->drain != NULL) {
    (void)open_mapping(w, "drain");
    write_whole(w, "start_time_us", cohort->drain->start_us);
    write_whole(w, "ramp_duration_us", cohort->drain->ramp_us);
    w->column = column;
  }
}

static void write_cohort(writer *w, const blis_cohort_spec *cohort) {
  const blis_client_spec *client = &cohort->client;
  w->is_first_of_item = true;
  write_string(w, "id", client->id);
  write_whole(w, "population", cohort->population);
  opt_string(w, "tenant_id", client->tenant);
  opt_string(w, "slo_class", client->slo_class);
  opt_string(w, "model", client->model);
  opt_string(w, "adapter", client->adapter);
  write_lengths(w, client);
  opt_string(w, "prefix_sharing", cohort->prefix_sharing);
  if (client->is_streaming) {
    write_flag(w, "streaming", true);
  }
  write_number(w, "rate_fraction", client->rate_fraction);
  write_shape(w, cohort);
  opt_whole(w, "prefix_length", client->prefix_tokens);
  opt_reasoning(w, client);
  opt_loop(w, client);
  opt_timeout(w, client);
  opt_whole(w, "slo_target_us", client->slo_target_us);
  opt_multimodal(w, client);
}

/* Top level. */

static void write_clients(writer *w, const blis_workload_spec *spec) {
  if (spec->client_count == 0) {
    blis_buffer_string(w->text, "clients: []\n");
    return;
  }
  size_t column = open_list(w, "clients");
  for (size_t i = 0; i < spec->client_count; i++) {
    write_client(w, &spec->clients[i]);
  }
  w->column = column;
}

static void opt_cohorts(writer *w, const blis_workload_spec *spec) {
  if (spec->cohort_count == 0) {
    return;
  }
  size_t column = open_list(w, "cohorts");
  for (size_t i = 0; i < spec->cohort_count; i++) {
    write_cohort(w, &spec->cohorts[i]);
  }
  w->column = column;
}

static void opt_targets(writer *w, const blis_workload_spec *spec) {
  if (spec->goodput_target_count == 0) {
    return;
  }
  size_t column = open_mapping(w, "goodput_slo_targets");
  for (size_t i = 0; i < spec->goodput_target_count; i++) {
    const blis_goodput_target *target = &spec->goodput_targets[i];
    size_t inner = open_mapping(w, target->slo_class);
    write_number(w, "ttft_ms", target->ttft_ms);
    write_number(w, "itl_ms", target->itl_ms);
    write_number(w, "e2e_ms", target->e2e_ms);
    w->column = inner;
  }
  w->column = column;
}

/* Checks for fixed rates. Without an aggregate rate, clients with their own rates have windows
   instead. */
static bool has_fixed_rates(const blis_workload_spec *spec) {
  return spec->client_count > 0 && spec->clients[0].fixed_rate > 0;
}

void blis_workload_spec_write(const blis_workload_spec *spec, blis_buffer *text) {
  writer w = {.text = text};
  write_string(&w, "version", "2");
  write_whole(&w, "seed", spec->seed);
  write_string(&w, "category", spec->category);
  write_clients(&w, spec);
  opt_cohorts(&w, spec);
  write_number(&w, "aggregate_rate", has_fixed_rates(spec) ? 0 : spec->aggregate_rate);
  opt_whole(&w, "horizon", spec->horizon_us);
  opt_whole(&w, "num_requests", spec->num_requests);
  opt_string(&w, "tokens", spec->lazy_tokens ? "lazy" : "");
  opt_targets(&w, spec);
}
