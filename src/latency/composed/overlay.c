#include "latency/composed/overlay.h"

#include <math.h>
#include <string.h>

#include "base/array.h"
#include "base/invariant.h"
#include "latency/composed/portable.h"

#define PRODUCT_DAMPING 0.5
#define EXPERT_DAMPING 0.3
#define LEAST_DISTANCE 1e-4

/* Rows with a smaller weight than this are ignored. */
#define LEAST_WEIGHT 0.01

/* ln ratio of one shape as a function of ln tokens. */
typedef struct curve {
  blis__overlay_entry entry;
  size_t points;
  double at[BLIS__TABLE_POINTS_MAX];
  double log_ratio[BLIS__TABLE_POINTS_MAX];
} curve;

struct blis__overlay {
  blis_alloc alloc;
  blis__measured_place places[BLIS__MEASURED_PLACES_MAX];
  size_t place_count;
  BLIS_ARRAY(curve) curves;
};

const char *blis__table_format_name(blis_weight_kind kind) {
  return kind == BLIS_KIND_MODEL ? "bf16" : blis_weight_kind_name(kind);
}

blis__overlay *blis__overlay_new(const blis_alloc *alloc, const blis__measured_place *places,
                                 size_t count) {
  BLIS_ASSERT(count <= BLIS__MEASURED_PLACES_MAX);
  blis__overlay *overlay = blis_alloc_zeroed(alloc, 1, sizeof *overlay);
  if (overlay != NULL) {
    overlay->alloc = *alloc;
    overlay->place_count = count;
    memcpy(overlay->places, places, count * sizeof *places);
  }
  return overlay;
}

void blis__overlay_free(blis__overlay *overlay) {
  if (overlay != NULL) {
    blis_alloc alloc = overlay->alloc;
    blis_array_deinit(&alloc, &overlay->curves);
    blis_alloc_free(&alloc, overlay, sizeof *overlay);
  }
}

/* The closed form of a kernel on the measured GPU, for any number of tokens. */
typedef struct closed_form {
  blis__kernel kernel;
  blis__kernel_rates rates;
  bool is_experts;
  double balance;
} closed_form;

static double closed_us(const closed_form *form, const double *key, double tokens) {
  if (!form->is_experts) {
    return blis__product_us(&form->kernel, &form->rates, tokens, key[0], key[1]);
  }
  const blis__expert_shape shape = {key[0], key[1], key[2], key[3], key[4]};
  return blis__experts_us(&form->kernel, &form->rates, &shape, tokens, form->balance);
}

/* Lowers times where necessary, so that each time is at most the next one. */
static void make_monotone(blis__kernel_row *row) {
  for (size_t i = row->points; i-- > 1;) {
    row->time_us[i - 1] = fmin(row->time_us[i - 1], row->time_us[i]);
  }
}

static double between(const double *at, const double *value, size_t count, double place) {
  if (place <= at[0]) {
    return value[0];
  }
  for (size_t i = 1; i < count; i++) {
    if (place <= at[i]) {
      double share = (place - at[i - 1]) / (at[i] - at[i - 1]);
      return value[i - 1] + (value[i] - value[i - 1]) * share;
    }
  }
  return value[count - 1];
}

/* Computes ln ratio of a row at its sizes. */
static void log_ratios_of(const blis__kernel_row *row, const closed_form *form, double *at,
                          double *log_ratio) {
  for (size_t i = 0; i < row->points; i++) {
    at[i] = blis__portable_log(row->size[i]);
    log_ratio[i] = blis__portable_log(row->time_us[i] / closed_us(form, row->key, row->size[i]));
  }
}

/*
 * Adds the weighted ratios of a row to a curve. The sizes of the curve are those of the nearest
 * row.
 */
static void add_row(curve *c, const blis__kernel_row *row, const closed_form *form, double weight) {
  double at[BLIS__TABLE_POINTS_MAX];
  double log_ratio[BLIS__TABLE_POINTS_MAX];
  log_ratios_of(row, form, at, log_ratio);
  if (c->points == 0) {
    c->points = row->points;
    memcpy(c->at, at, row->points * sizeof *at);
  }
  for (size_t i = 0; i < c->points; i++) {
    c->log_ratio[i] += weight * between(at, log_ratio, row->points, c->at[i]);
  }
}

static void fill_curve(curve *c, blis__kernel_match *match, const closed_form *form,
                       double damping) {
  double nearest = match->rows[0].distance;
  double trust = blis__portable_exp(-fmin(damping * nearest, 700));
  double sum = 0;
  for (size_t i = 0; i < match->count; i++) {
    sum += 1 / (match->rows[i].distance + LEAST_DISTANCE);
  }
  for (size_t i = 0; i < match->count; i++) {
    double share = 1 / (match->rows[i].distance + LEAST_DISTANCE) / sum;
    add_row(c, &match->rows[i], form, nearest == 0 ? 1 : trust * share);
  }
  c->entry.source = nearest == 0            ? BLIS__SOURCE_MEASURED
                    : trust >= LEAST_WEIGHT ? BLIS__SOURCE_NEAR
                                            : BLIS__SOURCE_CLOSED_FORM;
  c->entry.weight = trust;
  memcpy(c->entry.nearest, match->rows[0].key, sizeof c->entry.nearest);
}

/* Returns the first place with rows of a format, or NULL. */
static const blis__measured_place *place_of(const blis__overlay *overlay, blis__table_kind kind,
                                            blis_weight_kind format) {
  const char *dtype = blis__table_format_name(format);
  for (size_t i = 0; i < overlay->place_count; i++) {
    const blis__measured_place *place = &overlay->places[i];
    if (blis__kernel_tables_have(place->tables, kind, place->gpu.name, dtype)) {
      return place;
    }
  }
  return NULL;
}

static const curve *find(const blis__overlay *overlay, bool is_experts, blis_weight_kind format,
                         const double *key) {
  for (size_t i = 0; overlay != NULL && i < overlay->curves.count; i++) {
    const blis__overlay_entry *entry = &overlay->curves.items[i].entry;
    if (entry->is_experts == is_experts && entry->format == format &&
        memcmp(entry->key, key, sizeof entry->key) == 0) {
      return &overlay->curves.items[i];
    }
  }
  return NULL;
}

static blis_status add(blis__overlay *overlay, const blis__overlay_entry *entry, closed_form form,
                       double peak) {
  if (find(overlay, entry->is_experts, entry->format, entry->key) != NULL) {
    return BLIS_OK;
  }
  blis__table_kind kind = entry->is_experts ? BLIS__TABLE_EXPERTS : BLIS__TABLE_PRODUCTS;
  curve c = {.entry = *entry};
  c.entry.gpu = "";
  const blis__measured_place *place = place_of(overlay, kind, entry->format);
  if (place != NULL) {
    blis__kernel_match match;
    blis__kernel_tables_find(place->tables, kind, place->gpu.name,
                             blis__table_format_name(entry->format), entry->key, &match);
    form.rates.bandwidth = place->gpu.bandwidth;
    form.rates.peak *= place->gpu.peak / peak;
    if (match.count > 0) {
      for (size_t i = 0; i < match.count && !entry->is_experts; i++) {
        make_monotone(&match.rows[i]);
      }
      c.entry.gpu = place->gpu.name;
      fill_curve(&c, &match, &form, entry->is_experts ? EXPERT_DAMPING : PRODUCT_DAMPING);
    }
  }
  return blis_array_push(&overlay->alloc, &overlay->curves, c);
}

blis_status blis__overlay_add_product(blis__overlay *overlay, blis_weight_kind format,
                                      const blis__kernel *kernel, const blis__kernel_rates *rates,
                                      double peak, double n, double k) {
  if (n <= 0 || k <= 0) {
    return BLIS_OK;
  }
  const blis__overlay_entry entry = {.format = format, .key = {n, k}};
  return add(overlay, &entry, (closed_form){.kernel = *kernel, .rates = *rates}, peak);
}

static blis__overlay_entry entry_of_experts(blis_weight_kind format,
                                            const blis__expert_shape *shape) {
  return (blis__overlay_entry){
      .is_experts = true,
      .format = format,
      .key = {shape->experts, shape->chosen, shape->hidden, shape->width, shape->local},
  };
}

blis_status blis__overlay_add_experts(blis__overlay *overlay, blis_weight_kind format,
                                      const blis__kernel *kernel, const blis__kernel_rates *rates,
                                      double peak, const blis__expert_shape *shape,
                                      double balance) {
  const blis__overlay_entry entry = entry_of_experts(format, shape);
  closed_form form = {.kernel = *kernel, .rates = *rates, .is_experts = true, .balance = balance};
  return add(overlay, &entry, form, peak);
}

static double ratio_at(const curve *c, double tokens) {
  if (c == NULL || c->points == 0 || tokens <= 0) {
    return 1;
  }
  double place = blis__portable_log(tokens);
  return blis__portable_exp(between(c->at, c->log_ratio, c->points, place));
}

double blis__overlay_product(const blis__overlay *overlay, blis_weight_kind format, double n,
                             double k, double tokens) {
  const double key[BLIS__TABLE_KEYS_MAX] = {n, k};
  return ratio_at(find(overlay, false, format, key), tokens);
}

double blis__overlay_experts(const blis__overlay *overlay, blis_weight_kind format,
                             const blis__expert_shape *shape, double tokens) {
  const blis__overlay_entry entry = entry_of_experts(format, shape);
  return ratio_at(find(overlay, true, format, entry.key), tokens);
}

size_t blis__overlay_count(const blis__overlay *overlay) {
  return overlay == NULL ? 0 : overlay->curves.count;
}

const blis__overlay_entry *blis__overlay_at(const blis__overlay *overlay, size_t index) {
  BLIS_ASSERT(index < overlay->curves.count);
  return &overlay->curves.items[index].entry;
}
