#include "latency/composed/links.h"

#include <string.h>

#include "latency/composed/portable.h"
#include "latency/spec/names.h"

enum { SIZES = 3 }; /* 2, 4, and 8 GPUs */

/* t0 + bytes / rate, for a link with a given bandwidth. */
typedef struct fit {
  double gb_s;
  double t0_us[SIZES];
  double rate[SIZES]; /* bytes per us */
} fit;

static const fit NVLINK = {900, {4.3, 4.6, 4.7}, {290e3, 220e3, 234e3}};
static const fit PCIE = {128, {4.3, 13, 25}, {37e3, 19.3e3, 13.5e3}};

/* Returns the index for a number of GPUs. */
static size_t size_of(int64_t gpus) {
  return gpus <= 2 ? 0 : gpus <= 4 ? 1 : 2;
}

static bool find_row(const blis__kernel_tables *tables, const char *gpu, int64_t gpus,
                     blis__allreduce *reduce) {
  if (gpu == NULL) {
    return false;
  }
  const double key = (double)(INT64_C(2) << size_of(gpus));
  blis__kernel_match match;
  blis__kernel_tables_find(tables, BLIS__TABLE_ALLREDUCES, gpu, "", &key, &match);
  if (match.count == 0 || match.rows[0].points < 2) {
    return false;
  }
  reduce->count = match.rows[0].points;
  memcpy(reduce->times_us, match.rows[0].time_us, sizeof reduce->times_us);
  return true;
}

static blis__allreduce closed_form(const blis__links *links, int64_t gpus) {
  size_t i = size_of(gpus);
  bool is_bridge = blis__contains(links->link, "bridge");
  bool is_fast =
      blis__starts_with(links->link, "NVLink") || blis__starts_with(links->link, "Infinity Fabric");
  const fit *of = is_fast && !(is_bridge && i > 0) ? &NVLINK : &PCIE;
  double scale = links->link_gb_s > 0 && !(is_bridge && i > 0) ? links->link_gb_s / of->gb_s : 1;
  return (blis__allreduce){.t0_us = of->t0_us[i], .rate = of->rate[i] * scale};
}

/* Returns the increase of ln time per doubling of the bytes, between two points. */
static double growth(const blis__allreduce *reduce, size_t from, size_t to) {
  return blis__portable_log(reduce->times_us[to] / reduce->times_us[from]) / (double)(to - from);
}

/* Replaces the times with their lower convex hull over ln bytes and ln time. */
static void remove_jumps(blis__allreduce *reduce) {
  const size_t last = reduce->count - 1;
  for (size_t from = 0, to; from < last; from = to) {
    to = from + 1;
    for (size_t i = to + 1; i <= last; i++) {
      to = growth(reduce, from, i) <= growth(reduce, from, to) ? i : to;
    }
    const double each = growth(reduce, from, to);
    for (size_t i = from + 1; i < to; i++) {
      reduce->times_us[i] = reduce->times_us[from] * blis__portable_exp(each * (double)(i - from));
    }
  }
}

blis__allreduce blis__links_allreduce(const blis__links *links, int64_t gpus) {
  blis__allreduce reduce = {.factor = 1};
  if (gpus < 2 || find_row(links->own, links->gpu, gpus, &reduce)) {
    return reduce;
  }
  if (find_row(links->shipped, links->rows_of, gpus, &reduce)) {
    reduce.factor = links->factor;
    if (links->is_fused) {
      remove_jumps(&reduce);
    }
    return reduce;
  }
  return closed_form(links, gpus);
}
