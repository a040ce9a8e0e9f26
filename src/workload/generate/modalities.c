#include "workload/generate/modalities.h"

#include <inttypes.h>
#include <stdio.h>

#include "workload/workload.h"

static const char *const names[BLIS__MODALITIES] = {"text", "image", "audio", "video"};

static blis_status make(const blis_distribution_spec *spec, const char *label, const char *name,
                        const char *what, const blis_alloc *alloc, blis_distribution *distribution,
                        bool *is_there, blis_error *error) {
  *is_there = spec != NULL && spec->type != NULL && *spec->type != '\0';
  if (!*is_there) {
    return BLIS_OK;
  }
  char where[BLIS_CLIENT_LABEL_SIZE + 64];
  snprintf(where, sizeof where, "%s: multimodal.%s%s_distribution", label, name, what);
  return blis_distribution_init(distribution, alloc, spec, where, error);
}

blis_status blis__modalities_init(blis__modalities *modalities, const blis_alloc *alloc,
                                  const blis_multimodal_spec *spec, const char *label,
                                  blis_error *error) {
  const blis_distribution_spec *const tokens[BLIS__MODALITIES] = {&spec->text, &spec->image,
                                                                  &spec->audio, &spec->video};
  const blis_distribution_spec *const counts[BLIS__MODALITIES] = {
      NULL, &spec->image_count, &spec->audio_count, &spec->video_count};
  for (int i = 0; i < BLIS__MODALITIES; i++) {
    bool has_tokens;
    bool has_count;
    BLIS_TRY(
        make(tokens[i], label, names[i], "", alloc, &modalities->tokens[i], &has_tokens, error));
    BLIS_TRY(make(counts[i], label, names[i], "_count", alloc, &modalities->counts[i], &has_count,
                  error));
    modalities->is_there[i] = has_tokens && (has_count || i == BLIS__TEXT);
  }
  return BLIS_OK;
}

void blis__modalities_deinit(blis__modalities *modalities, const blis_alloc *alloc) {
  for (int i = 0; i < BLIS__MODALITIES; i++) {
    blis_distribution_deinit(&modalities->tokens[i], alloc);
    blis_distribution_deinit(&modalities->counts[i], alloc);
  }
}

static blis_status fail_large(const char *client, const char *what, double sum, blis_error *error) {
  return blis_fail(error, BLIS_ERR_INVALID,
                   "%s: a multimodal prompt has at least %.10g tokens%s%s; at "
                   "most %d are possible",
                   client, sum, *what != '\0' ? " of " : "", what, BLIS_WORKLOAD_MAX_TOKENS);
}

/* Parts can be empty, so their number is also limited. */
static blis_status draw_one(const blis__modalities *m, int modality, const char *client,
                            blis_random *random, uint32_t *tokens, blis_error *error) {
  int64_t count = 1;
  if (modality != BLIS__TEXT) {
    count = blis_distribution_draw(&m->counts[modality], random);
  }
  if (count > BLIS_WORKLOAD_MAX_TOKENS) {
    return fail_large(client, names[modality], (double)count, error);
  }
  int64_t sum = 0;
  for (int64_t i = 0; i < count; i++) {
    int64_t length = blis_distribution_draw(&m->tokens[modality], random);
    if (length > BLIS_WORKLOAD_MAX_TOKENS - sum) {
      return fail_large(client, names[modality], (double)sum + (double)length, error);
    }
    sum += length;
  }
  *tokens = (uint32_t)sum;
  return BLIS_OK;
}

blis_status blis__modalities_draw(const blis__modalities *modalities, const char *client,
                                  blis_random *random, uint32_t tokens[BLIS__MODALITIES],
                                  uint32_t *sum, blis_error *error) {
  uint64_t total = 0;
  for (int i = 0; i < BLIS__MODALITIES; i++) {
    tokens[i] = 0;
    if (modalities->is_there[i]) {
      BLIS_TRY(draw_one(modalities, i, client, random, &tokens[i], error));
    }
    total += tokens[i];
  }
  if (total > BLIS_WORKLOAD_MAX_TOKENS) {
    return fail_large(client, "", (double)total, error);
  }
  *sum = total > 0 ? (uint32_t)total : 1;
  return BLIS_OK;
}
