#include "workload/spec/notes.h"

#include <stdio.h>
#include <string.h>

typedef struct notes {
  const blis__spec_reader *reader;
  const blis__spec_top *top;
  blis_status (*note)(void *ud, const char *text);
  void *ud;
} notes;

/* Returns a note about a client, or NULL. */
typedef const char *rule(const notes *n, const blis_client_spec *client);

static bool is_empty(const char *text) {
  return text == NULL || *text == '\0';
}

static bool is_written(const notes *n, const void *member) {
  return blis__spec_find(n->reader, member) != NULL;
}

static const char *network(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->has_network ? "network has no effect on a simulation" : NULL;
}

static const char *reason_ratio(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->reason_ratio.type != NULL && client->multi_turn == NULL
             ? "reason_ratio_distribution has no effect without multi_turn"
             : NULL;
}

static const char *prefix_length(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->prefix_tokens > 0 && is_empty(client->prefix_group)
             ? "prefix_length has no effect without prefix_group"
             : NULL;
}

static const char *loop(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->loop == BLIS_LOOP_CLOSED && client->multi_turn == NULL && client->concurrency == 0
             ? "closed_loop without multi_turn only gives requests a deadline"
             : NULL;
}

static const char *users_lifecycle(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->concurrency > 0 && client->window_count > 0
             ? "lifecycle has no effect on users (concurrency)"
             : NULL;
}

static const char *users_arrival(const notes *n, const blis_client_spec *client) {
  (void)n;
  return client->concurrency > 0 && !is_empty(client->arrival.process)
             ? "arrival has no effect on users (concurrency)"
             : NULL;
}

static const char *think_time(const notes *n, const blis_client_spec *client) {
  return client->concurrency == 0 && is_written(n, &client->think_time_us)
             ? "think_time_us has no effect without concurrency; that of "
               "conversations is in multi_turn"
             : NULL;
}

static const char *arrival(const notes *n, const blis_client_spec *client) {
  (void)n;
  const char *unused = blis_arrival_unused(&client->arrival);
  for (size_t i = 0; unused == NULL && i < client->window_count; i++) {
    unused = blis_arrival_unused(&client->windows[i].arrival);
  }
  return unused;
}

static rule *const rules[] = {network,         reason_ratio,  prefix_length, loop,
                              users_lifecycle, users_arrival, think_time,    arrival};

static blis_status note_clients(const notes *n, rule *of_client) {
  const blis_workload_spec *spec = &n->top->spec;
  for (size_t i = 0; i < spec->client_count + spec->cohort_count; i++) {
    const char *what = of_client(n, blis_workload_spec_client(spec, i));
    if (what != NULL) {
      char label[BLIS_CLIENT_LABEL_SIZE];
      char text[BLIS_CLIENT_LABEL_SIZE + 160];
      snprintf(text, sizeof text, "%s: %s", blis_client_label(spec, i, label), what);
      return n->note(n->ud, text);
    }
  }
  return BLIS_OK;
}

/* Returns the number of a client's arrivals with a note; stores the first note of all. */
static size_t find_arrival_notes(const blis_workload_spec *spec, size_t index,
                                 blis_arrival_note *first) {
  const blis_client_spec *client = blis_workload_spec_client(spec, index);
  char label[BLIS_CLIENT_LABEL_SIZE];
  const char *where = blis_client_label(spec, index, label);
  bool has_rate = client->concurrency == 0;
  size_t count = has_rate && blis_arrival_get_note(&client->arrival, where, first);
  blis_arrival_note other;
  for (size_t i = 0; i < client->window_count; i++) {
    const blis_window_spec *window = &client->windows[i];
    count += window->has_arrival &&
             blis_arrival_get_note(&window->arrival, where, count == 0 ? first : &other);
  }
  return count;
}

/* Adds notes about arrivals of clients and of their windows that are replaced by other arrivals. */
static blis_status note_arrivals(const notes *n) {
  const blis_workload_spec *spec = &n->top->spec;
  blis_arrival_note first;
  blis_arrival_note other;
  size_t count = 0;
  for (size_t i = 0; i < spec->client_count + spec->cohort_count; i++) {
    count += find_arrival_notes(spec, i, count == 0 ? &first : &other);
  }
  if (count < 2) {
    return count == 0 ? BLIS_OK : n->note(n->ud, first.text);
  }
  char text[sizeof first.text + 48];
  snprintf(text, sizeof text, "%s (and %zu more like this)", first.text, count - 1);
  return n->note(n->ud, text);
}

static blis_status note_servegen(const notes *n) {
  const blis_servegen_spec *servegen = n->top->servegen;
  bool is_unused = servegen != NULL &&
                   (is_written(n, &servegen->time_window) || is_written(n, &servegen->span_start) ||
                    is_written(n, &servegen->span_end));
  return is_unused ? n->note(n->ud, "servegen_data: time_window, span_start and "
                                    "span_end have no effect")
                   : BLIS_OK;
}

static bool has_class(const blis_workload_spec *spec, const char *slo_class) {
  for (size_t i = 0; i < spec->client_count + spec->cohort_count; i++) {
    const char *own = blis_workload_spec_client(spec, i)->slo_class;
    if (strcmp(own != NULL ? own : "", slo_class) == 0) {
      return true;
    }
  }
  return false;
}

/* Adds notes about targets whose class is unknown, so that they apply to no request. */
static blis_status note_targets(const notes *n) {
  const blis_workload_spec *spec = &n->top->spec;
  for (size_t i = 0; i < spec->goodput_target_count; i++) {
    const char *slo_class = spec->goodput_targets[i].slo_class;
    if (!has_class(spec, slo_class)) {
      char text[160];
      snprintf(text, sizeof text, "goodput_slo_targets: no client has the slo_class '%.60s'",
               slo_class);
      return n->note(n->ud, text);
    }
  }
  return BLIS_OK;
}

blis_status blis__spec_note_unused(const blis__spec_reader *reader, const blis__spec_top *top,
                                   blis_status (*note)(void *ud, const char *text), void *ud) {
  const notes n = {.reader = reader, .top = top, .note = note, .ud = ud};
  for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
    BLIS_TRY(note_clients(&n, rules[i]));
  }
  BLIS_TRY(note_arrivals(&n));
  BLIS_TRY(note_servegen(&n));
  return note_targets(&n);
}
