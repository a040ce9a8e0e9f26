#include "latency/step/latency_model.h"

/* Sums of products of two counts up to this fit in 64 bits. */
#define TOKENS_MAX (INT64_C(1) << 30)

void blis_latency_free(blis_latency_model *model) {
  if (model->ops != NULL && model->ops->free != NULL) {
    model->ops->free(&model->alloc, model->state);
  }
  model->ops = NULL;
  model->state = NULL;
}

static void add(int64_t *sum, int64_t value) {
  *sum = *sum > INT64_MAX - value ? INT64_MAX : *sum + value;
}

static void add_prefill(blis_batch_sums *sums, const blis_batch_item *item) {
  int64_t t = item->new_tokens;
  int64_t s = item->progress_tokens;
  add(&sums->prefill_tokens, t);
  add(&sums->prefill_context_tokens, s);
  /* s is below the prompt length, so the limit on the prompt also limits s. */
  if (t > TOKENS_MAX || item->prompt_tokens > TOKENS_MAX) {
    sums->prefill_attention = INT64_MAX;
    sums->prefill_pairs = INT64_MAX;
    return;
  }
  add(&sums->prefill_attention, t * (2 * item->prompt_tokens + t));
  add(&sums->prefill_pairs, 2 * t * s + t * (t - 1));
}

void blis_batch_sums_add(blis_batch_sums *sums, const blis_batch_item *item) {
  if (item->new_tokens <= 0) {
    return;
  }
  sums->requests++;
  if (item->progress_tokens < item->prompt_tokens) {
    add_prefill(sums, item);
  } else if (item->output_tokens > 0) {
    sums->decode_requests++;
    add(&sums->decode_context_tokens, item->progress_tokens);
  }
}

blis_batch_sums blis_batch_sums_of(const blis_batch_item *items, size_t count) {
  blis_batch_sums sums = {0};
  for (size_t i = 0; i < count; i++) {
    blis_batch_sums_add(&sums, &items[i]);
  }
  return sums;
}

size_t blis__latency_decode_times(const blis_latency_model *model, int64_t decodes, int64_t context,
                                  size_t count, int64_t *step_us) {
  blis_batch_sums sums = {
      .requests = decodes, .decode_requests = decodes, .decode_context_tokens = context};
  size_t told = 0;
  if (!model->ops->may_look_ahead && count > 1) {
    count = 1;
  }
  while (told < count && blis_latency_step_time_from_sums(model, &sums, &step_us[told])) {
    sums.decode_context_tokens += decodes;
    told++;
  }
  return told;
}
