#include "live/metrics_writer.h"

double blis__share_of(double part, double whole) {
  return whole <= 0 ? 0 : part / whole;
}

void blis__read(const blis_live_page *page, size_t i, blis__reading *reading) {
  const blis_live_metered *of = &page->instances[i];
  *reading = (blis__reading){
      .of = of, .page = page, .meter = of->meter, .config = blis_instance_get_config(of->instance)};
  blis_instance_get_stats(of->instance, &reading->stats);
  blis_instance_get_drafts(of->instance, &reading->drafts);
}

void blis__metric_number(blis_buffer *buffer, double value) {
  blis_buffer_double(buffer, value, BLIS_DOUBLE_DIGITS);
  if (value == (double)(int64_t)value && value < 1e15) {
    blis_buffer_string(buffer, ".0");
  }
}

/* Label values may contain any characters; three of them need escapes. */
void blis__metric_text(blis_buffer *buffer, const char *text) {
  for (; *text != '\0'; text++) {
    switch (*text) {
    case '\\':
      blis_buffer_string(buffer, "\\\\");
      break;
    case '"':
      blis_buffer_string(buffer, "\\\"");
      break;
    case '\n':
      blis_buffer_string(buffer, "\\n");
      break;
    default:
      blis_buffer_char(buffer, *text);
    }
  }
}

void blis__metric_head(const blis__metrics *m, const char *name, const char *type,
                       const char *text) {
  blis_buffer_format(m->buffer, "# HELP %s%s %s\n# TYPE %s%s %s\n", m->prefix, name, text,
                     m->prefix, name, type);
}

/* Writes NAME{LABELS, without the closing brace. */
static void begin(const blis__metrics *m, const blis__reading *reading, const char *name,
                  const char *suffix) {
  blis_buffer_string(m->buffer, m->prefix);
  blis_buffer_string(m->buffer, name);
  blis_buffer_string(m->buffer, suffix);
  blis_buffer_char(m->buffer, '{');
  m->labels(m->buffer, reading);
}

static void end(const blis__metrics *m, double value) {
  blis_buffer_string(m->buffer, "} ");
  blis__metric_number(m->buffer, value);
  blis_buffer_char(m->buffer, '\n');
}

void blis__metric_line(const blis__metrics *m, const blis__reading *reading, const char *name,
                       const char *more, double value) {
  begin(m, reading, name, "");
  if (*more != '\0') {
    blis_buffer_char(m->buffer, ',');
    blis_buffer_string(m->buffer, more);
  }
  end(m, value);
}

void blis__metric_singles(const blis__metrics *m, const blis__single *list, size_t count) {
  for (size_t k = 0; k < count; k++) {
    blis__metric_head(m, list[k].name, list[k].type, list[k].text);
    for (size_t i = 0; i < m->page->count; i++) {
      blis__reading reading;
      blis__read(m->page, i, &reading);
      blis__metric_line(m, &reading, list[k].name, "", list[k].value(&reading));
    }
  }
}

void blis__metric_histogram(const blis__metrics *m, const blis__reading *reading,
                            const blis__distribution *of, const blis_live_histogram *h) {
  const blis_live_bounds bounds = blis_live_bounds_of(m->page->flavor, of->kind);
  const char *name = of->name;
  uint64_t below = 0;
  for (int i = 0; i < bounds.count; i++) {
    below += h->counts[i];
    if (bounds.are_lengths && bounds.values[i] > (double)m->page->max_model_len) {
      break;
    }
    begin(m, reading, name, "_bucket");
    blis_buffer_string(m->buffer, ",le=\"");
    blis__metric_number(m->buffer, bounds.values[i]);
    blis_buffer_char(m->buffer, '"');
    end(m, (double)below);
  }
  begin(m, reading, name, "_bucket");
  blis_buffer_string(m->buffer, ",le=\"+Inf\"");
  end(m, (double)h->count);
  begin(m, reading, name, "_sum");
  end(m, h->sum);
  begin(m, reading, name, "_count");
  end(m, (double)h->count);
}

void blis__metric_distributions(const blis__metrics *m, const blis__distribution *list,
                                size_t count) {
  for (size_t k = 0; k < count; k++) {
    blis__metric_head(m, list[k].name, "histogram", list[k].text);
    for (size_t i = 0; i < m->page->count; i++) {
      blis__reading reading;
      blis__read(m->page, i, &reading);
      blis__metric_histogram(m, &reading, &list[k], &reading.meter->histograms[list[k].kind]);
    }
  }
}
