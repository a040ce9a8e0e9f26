/*
 * metrics_writer.h - writes metrics in the Prometheus text format; for metrics files only.
 *
 * The module has several files: metrics.c contains the page and the parts that all engines share,
 * and each engine has a separate file.
 */
#ifndef BLIS_LIVE_METRICS_WRITER_H
#define BLIS_LIVE_METRICS_WRITER_H

#include "live/metrics.h"

/* An instance and the counters of its engine, read once per page. */
typedef struct blis__reading {
  const blis_live_metered *of;
  const blis_live_page *page;
  const blis_live_meter *meter;
  const blis_instance_config *config;
  blis_instance_stats stats;
  blis_draft_stats drafts;
} blis__reading;

typedef struct blis__metrics {
  blis_buffer *buffer;
  const blis_live_page *page;
  const char *prefix; /* "vllm:" */
  /* Writes the labels of an instance, without braces: a="b",c="d". */
  void (*labels)(blis_buffer *buffer, const blis__reading *reading);
} blis__metrics;

/* The number of items of a list. */
#define BLIS__COUNT(list) (sizeof(list) / sizeof *(list))

/* Defines the value of a metric for a reading r. */
#define BLIS__VALUE(name, expression)                                                              \
  static double name(const blis__reading *r) {                                                     \
    return (double)(expression);                                                                   \
  }

/* A metric with one value per instance. */
typedef struct blis__single {
  const char *name;
  const char *type;
  const char *text;
  double (*value)(const blis__reading *reading);
} blis__single;

/* A histogram of meters. */
typedef struct blis__distribution {
  const char *name;
  const char *text;
  blis_live_histogram_kind kind;
} blis__distribution;

/* Returns part / whole; 0 if whole is 0. */
double blis__share_of(double part, double whole);

void blis__read(const blis_live_page *page, size_t i, blis__reading *reading);

/* Writes a number as Python prints a float. */
void blis__metric_number(blis_buffer *buffer, double value);

/* Writes a label value with escapes, without quotes. */
void blis__metric_text(blis_buffer *buffer, const char *text);

void blis__metric_head(const blis__metrics *m, const char *name, const char *type,
                       const char *text);

/* Writes a line for an instance. more contains further labels such as reason="capacity"; "" =
   none. */
void blis__metric_line(const blis__metrics *m, const blis__reading *reading, const char *name,
                       const char *more, double value);

/* Writes a list of metrics, with one line per instance. */
void blis__metric_singles(const blis__metrics *m, const blis__single *list, size_t count);
void blis__metric_distributions(const blis__metrics *m, const blis__distribution *list,
                                size_t count);

/* Writes the lines of a histogram. */
void blis__metric_histogram(const blis__metrics *m, const blis__reading *reading,
                            const blis__distribution *of, const blis_live_histogram *h);

/* The engines. */
void blis__write_vllm(const blis__metrics *m);
void blis__write_vllm_labels(blis_buffer *buffer, const blis__reading *reading);
void blis__write_sglang(const blis__metrics *m);
void blis__write_sglang_labels(blis_buffer *buffer, const blis__reading *reading);
void blis__write_trtllm(const blis__metrics *m);
void blis__write_trtllm_labels(blis_buffer *buffer, const blis__reading *reading);

#endif
