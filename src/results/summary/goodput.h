/*
 * goodput.h - the requests that met the targets of their SLO class.
 *
 * A completed request is good if every time with a target (TTFT, mean inter-token latency, E2E) is
 * at most the target of its class. Attainment is good / arrived, so rejected and timed-out requests
 * count against it. Requests without a class belong to class "default". Classes without a target
 * are omitted. Formulas of BLIS (Go).
 */
#ifndef BLIS_RESULTS_SUMMARY_GOODPUT_H
#define BLIS_RESULTS_SUMMARY_GOODPUT_H

#include "results/metrics/figures.h"
#include "results/record/recorder.h"
#include "workload/spec/workload_spec.h"

typedef struct blis_goodput {
  BLIS_GOODPUT_FIGURES(BLIS_FIGURE_MEMBER)
} blis_goodput;

/*
 * Fills goodputs[i] for targets[i]. If a class has two targets, its requests count for the first
 * one. strings is the string table of the records. Makes one pass over the records. Nothing remains
 * allocated on BLIS_ERR_NOMEM.
 */
BLIS_MUSTUSE blis_status blis_goodput_fill(blis_goodput *goodputs,
                                           const blis_goodput_target *targets, size_t count,
                                           const blis_alloc *alloc, const blis_recorder *recorder,
                                           const blis_intern *strings);

/* Requests that arrived in a part of a run. */
typedef struct blis_goodput_span {
  int64_t from_us; /* a span ends where the next one starts */
  int64_t arrived;
  int64_t judged; /* requests whose class has a target */
  int64_t good;   /* requests that met their target */
} blis_goodput_span;

/*
 * Counts the requests of each span by their arrival. The caller must have set from_us, in ascending
 * order. Requests before the first span are not counted; the last span has no end. Makes one pass
 * over the records.
 */
BLIS_MUSTUSE blis_status blis_goodput_over_time(blis_goodput_span *spans, size_t span_count,
                                                const blis_goodput_target *targets, size_t count,
                                                const blis_alloc *alloc,
                                                const blis_recorder *recorder,
                                                const blis_intern *strings);

#endif
