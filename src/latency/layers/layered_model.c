#include "latency/layers/layered_model.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/invariant.h"
#include "latency/layers/layer_fields.h"

void blis_layered_model_init(blis_layered_model *model, const blis_alloc *alloc) {
  *model = (blis_layered_model){.alloc = *alloc};
}

void blis_layered_model_free(blis_layered_model *model) {
  if (model->runs != NULL) {
    blis_alloc_free(&model->alloc, model->runs, model->run_capacity * sizeof *model->runs);
  }
  *model = (blis_layered_model){0};
}

blis_status blis_layered_model_copy(const blis_layered_model *model, blis_layered_model *copy,
                                    blis_error *error) {
  blis_layer_run *runs = NULL;
  if (model->run_count > 0) {
    runs = blis_alloc_new(&model->alloc, model->run_count * sizeof *runs);
    BLIS_TRY_NEW(runs, error);
    memcpy(runs, model->runs, model->run_count * sizeof *runs);
  }
  *copy = *model;
  copy->runs = runs;
  copy->run_capacity = model->run_count;
  return BLIS_OK;
}

static blis_status reserve_run(blis_layered_model *model, blis_error *error) {
  if (model->run_count < model->run_capacity) {
    return BLIS_OK;
  }
  size_t capacity = model->run_capacity > 0 ? 2 * model->run_capacity : 4;
  blis_layer_run *runs = blis_alloc_new(&model->alloc, capacity * sizeof *runs);
  BLIS_TRY_NEW(runs, error);
  if (model->runs != NULL) {
    memcpy(runs, model->runs, model->run_count * sizeof *runs);
    blis_alloc_free(&model->alloc, model->runs, model->run_capacity * sizeof *runs);
  }
  model->runs = runs;
  model->run_capacity = capacity;
  return BLIS_OK;
}

/*
 * Clears formats of classes without a matrix in the layer, so that otherwise identical layers
 * compare equal.
 */
static void clear_unused_formats(blis_layer *layer, int64_t hidden_size) {
  blis_matrix matrices[BLIS_LAYER_MATRICES_MAX];
  size_t count = blis_layer_matrices(layer, hidden_size, matrices);
  bool is_used[BLIS_WEIGHT_CLASS_COUNT] = {false};
  for (size_t i = 0; i < count; i++) {
    is_used[matrices[i].class] |= !matrices[i].is_small;
  }
  for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
    if (!is_used[class]) {
      layer->formats[class] = (blis_weight_format){0};
    }
  }
}

blis_status blis_layered_model_add(blis_layered_model *model, const blis_layer *layer,
                                   int64_t count, blis_error *error) {
  BLIS_ASSERT(count >= 1);
  blis_layer added = *layer;
  clear_unused_formats(&added, model->hidden_size);
  for (size_t i = 0; i < model->run_count; i++) {
    if (blis_layer_equal(&model->runs[i].layer, &added)) {
      model->runs[i].count += count;
      return BLIS_OK;
    }
  }
  BLIS_TRY(reserve_run(model, error));
  model->runs[model->run_count++] = (blis_layer_run){count, added};
  return BLIS_OK;
}

void blis_layered_model_note(blis_layered_model *model, const char *format, ...) {
  char line[256];
  va_list arguments;
  va_start(arguments, format);
  (void)vsnprintf(line, sizeof line, format, arguments);
  va_end(arguments);
  size_t length = strlen(model->notes);
  if (strstr(model->notes, line) == NULL && length + strlen(line) + 2 <= sizeof model->notes) {
    (void)snprintf(model->notes + length, sizeof model->notes - length, "%s%s",
                   length > 0 ? "\n" : "", line);
  }
}

int64_t blis_layered_model_layers(const blis_layered_model *model) {
  int64_t sum = 0;
  for (size_t i = 0; i < model->run_count; i++) {
    sum += model->runs[i].count;
  }
  return sum;
}

static bool has_experts(const blis_layer *layer) {
  return layer->ffn.kind == BLIS_FFN_MOE || layer->ffn.kind == BLIS_FFN_MOE_DENSE;
}

bool blis_layered_model_has_experts(const blis_layered_model *model) {
  for (size_t i = 0; i < model->run_count; i++) {
    if (has_experts(&model->runs[i].layer)) {
      return true;
    }
  }
  return false;
}

static bool have_equal_fields(const void *a, const void *b, const blis_spec_field *fields,
                              size_t count) {
  for (size_t i = 0; i < count; i++) {
    if (blis_spec_get_number(a, &fields[i]) != blis_spec_get_number(b, &fields[i])) {
      return false;
    }
  }
  return true;
}

bool blis_layer_equal(const blis_layer *a, const blis_layer *b) {
  size_t count;
  const blis_spec_field *fields = blis_attention_fields(&count);
  if (a->attention.kind != b->attention.kind || a->ffn.kind != b->ffn.kind ||
      a->other_weights != b->other_weights ||
      !have_equal_fields(&a->attention, &b->attention, fields, count)) {
    return false;
  }
  fields = blis_ffn_fields(&count);
  if (!have_equal_fields(&a->ffn, &b->ffn, fields, count)) {
    return false;
  }
  for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
    if (a->formats[class].kind != b->formats[class].kind ||
        a->formats[class].bytes != b->formats[class].bytes) {
      return false;
    }
  }
  return true;
}

/* Merges runs of identical layers. */
static void join_runs(blis_layered_model *model) {
  size_t kept = 0;
  for (size_t i = 0; i < model->run_count; i++) {
    size_t same = 0;
    while (same < kept && !blis_layer_equal(&model->runs[same].layer, &model->runs[i].layer)) {
      same++;
    }
    if (same < kept) {
      model->runs[same].count += model->runs[i].count;
    } else {
      model->runs[kept++] = model->runs[i];
    }
  }
  model->run_count = kept;
}

void blis_layered_model_set_precision(blis_layered_model *model, const blis_precision *precision) {
  for (size_t i = 0; i < model->run_count; i++) {
    blis_layer *layer = &model->runs[i].layer;
    for (int class = 0; class < BLIS_WEIGHT_CLASS_COUNT; class ++) {
      layer->formats[class] = blis_precision_of(precision, 0, (blis_weight_class) class);
    }
    clear_unused_formats(layer, model->hidden_size);
  }
  model->head = precision->head;
  (void)snprintf(model->quantization, sizeof model->quantization, "%s", precision->method);
  join_runs(model);
}

/* A bounded text that is built piece by piece. */
typedef struct text_end {
  char *at;
  size_t room;
} text_end;

BLIS_PRINTF(2, 3)
static void append(text_end *end, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  int written = vsnprintf(end->at, end->room, format, arguments);
  va_end(arguments);
  size_t used = (size_t)written < end->room ? (size_t)written : end->room - 1;
  end->at += used;
  end->room -= used;
}

/* Appends an integer with commas between groups of three digits. */
static void append_count(text_end *end, int64_t value) {
  if (value >= 1000) {
    append_count(end, value / 1000);
    append(end, ",%03" PRId64, value % 1000);
  } else {
    append(end, "%" PRId64, value);
  }
}

/*
 * Returns whether a description counts the layers together: their attention has the same kind and
 * span.
 */
static bool is_alike(const blis_attention *a, const blis_attention *b) {
  return a->kind == b->kind && a->span == b->span && a->ratio == b->ratio &&
         a->index_heads == b->index_heads;
}

static void append_kind(text_end *end, const blis_attention *a) {
  append(end, " %s", blis_attention_kind_name(a->kind));
  if (a->kind == BLIS_ATTENTION_COMPRESSED) {
    append(end, a->ratio > 0 ? " 1/%" PRId64 : " (none)", a->ratio);
  }
  if (a->span > 0 && a->kind != BLIS_ATTENTION_COMPRESSED) {
    append(end, " ");
    append_count(end, a->span);
  }
  if (a->index_heads > 0 && a->kind != BLIS_ATTENTION_COMPRESSED) {
    append(end, " with indexer");
  }
}

static void append_attention(text_end *end, const blis_layered_model *model) {
  const char *separator = ":";
  for (size_t i = 0; i < model->run_count; i++) {
    const blis_attention *a = &model->runs[i].layer.attention;
    int64_t count = 0;
    bool is_first = true;
    for (size_t j = 0; j < model->run_count; j++) {
      bool is_same = is_alike(a, &model->runs[j].layer.attention);
      is_first &= !is_same || j >= i;
      count += is_same ? model->runs[j].count : 0;
    }
    if (is_first) {
      append(end, "%s ", separator);
      append_count(end, count);
      append_kind(end, a);
      separator = ",";
    }
  }
}

static void append_ffn(text_end *end, const blis_layered_model *model) {
  int64_t counts[BLIS_FFN_KIND_COUNT] = {0};
  for (size_t i = 0; i < model->run_count; i++) {
    counts[model->runs[i].layer.ffn.kind] += model->runs[i].count;
  }
  const char *separator = ";";
  for (int kind = 0; kind < BLIS_FFN_KIND_COUNT; kind++) {
    if (counts[kind] > 0 && kind != BLIS_FFN_NONE) {
      append(end, "%s ", separator);
      append_count(end, counts[kind]);
      append(end, " %s", blis_ffn_kind_name((blis_ffn_kind)kind));
      separator = ",";
    }
  }
}

void blis_layered_model_describe(const blis_layered_model *model, char *text, size_t size) {
  BLIS_ASSERT(size > 0);
  text_end end = {text, size};
  int64_t layers = blis_layered_model_layers(model);
  append_count(&end, layers);
  append(&end, " layer%s", layers == 1 ? "" : "s");
  append_attention(&end, model);
  if (blis_layered_model_has_experts(model)) {
    append_ffn(&end, model);
  }
}
