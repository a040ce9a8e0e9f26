#include "workload/generate/adapter_mix.h"

#include <math.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"

/* The part of [0, 1) of an adapter, from the end of the previous part to `end`. */
typedef struct share {
  uint32_t adapter;
  double end;
} share;

struct blis_adapter_mix {
  blis_alloc alloc;
  blis_request_source source;
  uint64_t seed;
  share *shares;
  size_t count;
};

static blis_status fill(blis_adapter_mix *mix, const blis_adapter_share *shares,
                        blis_error *error) {
  double sum = 0;
  for (size_t i = 0; i < mix->count; i++) {
    if (!(shares[i].weight >= 0 && isfinite(shares[i].weight))) {
      return blis_fail(error, BLIS_ERR_INVALID,
                       "adapter '%.100s' has weight %g; expected 0 or more", shares[i].name,
                       shares[i].weight);
    }
    sum += shares[i].weight;
  }
  if (!(sum > 0 && isfinite(sum))) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "the weights of the adapters add up to %g; expected more "
                     "than 0",
                     sum);
  }
  double end = 0;
  for (size_t i = 0; i < mix->count; i++) {
    end += shares[i].weight / sum;
    mix->shares[i].end = end;
    BLIS_TRY_MEM(blis_intern_add(mix->source.strings, shares[i].name, strlen(shares[i].name),
                                 &mix->shares[i].adapter),
                 error);
  }
  return BLIS_OK;
}

blis_status blis_adapter_mix_new(const blis_alloc *alloc, const blis_request_source *source,
                                 const blis_adapter_share *shares, size_t count, int64_t seed,
                                 blis_adapter_mix **mix, blis_error *error) {
  BLIS_ASSERT(count > 0);
  blis_adapter_mix *made = blis_alloc_zeroed(alloc, 1, sizeof *made);
  BLIS_TRY_NEW(made, error);
  made->alloc = *alloc;
  made->source = *source;
  made->seed = (uint64_t)seed ^ blis_hash64("adapters", 8, 0);
  made->count = count;
  made->shares = blis_alloc_zeroed(alloc, count, sizeof *made->shares);
  blis_status status = made->shares == NULL ? blis_fail_nomem(error) : fill(made, shares, error);
  if (status != BLIS_OK) {
    blis_adapter_mix_free(made);
    return status;
  }
  *mix = made;
  return BLIS_OK;
}

void blis_adapter_mix_free(blis_adapter_mix *mix) {
  if (mix != NULL) {
    blis_alloc alloc = mix->alloc;
    blis_alloc_free(&alloc, mix->shares, mix->count * sizeof *mix->shares);
    blis_alloc_free(&alloc, mix, sizeof *mix);
  }
}

/* Returns the first adapter whose part ends after `at`. If rounding makes the sum less than 1,
   returns the last adapter with a nonempty part. */
static uint32_t adapter_at(const blis_adapter_mix *mix, double at) {
  size_t low = 0;
  size_t high = mix->count - 1;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (mix->shares[middle].end > at) {
      high = middle;
    } else {
      low = middle + 1;
    }
  }
  while (low > 0 && mix->shares[low].end == mix->shares[low - 1].end) {
    low--;
  }
  return mix->shares[low].adapter;
}

static void give_adapter(const blis_adapter_mix *mix, blis_request *request) {
  if (request->adapter != 0) {
    return;
  }
  const char *session = blis_intern_text(mix->source.strings, request->session);
  uint64_t hash = request->session != 0
                      ? blis_hash64(session, strlen(session), mix->seed)
                      : blis_hash64(&request->number, sizeof request->number, mix->seed);
  request->adapter = adapter_at(mix, (double)(hash >> 11) * 0x1p-53);
}

static blis_status next(void *state, blis_request *request, bool *done, blis_error *error) {
  const blis_adapter_mix *mix = state;
  BLIS_TRY(mix->source.next(mix->source.state, request, done, error));
  if (!*done) {
    give_adapter(mix, request);
  }
  return BLIS_OK;
}

static blis_status ended(void *state, const blis_request *request,
                         const blis_request_outcome *outcome, blis_request *follow_up,
                         bool *has_follow_up, blis_error *error) {
  const blis_adapter_mix *mix = state;
  BLIS_TRY(mix->source.ended(mix->source.state, request, outcome, follow_up, has_follow_up, error));
  if (*has_follow_up) {
    give_adapter(mix, follow_up);
  }
  return BLIS_OK;
}

static blis_status also(void *state, blis_request *follow_up, bool *has_follow_up,
                        blis_error *error) {
  const blis_adapter_mix *mix = state;
  BLIS_TRY(mix->source.also(mix->source.state, follow_up, has_follow_up, error));
  if (*has_follow_up) {
    give_adapter(mix, follow_up);
  }
  return BLIS_OK;
}

static void release(void *state, const blis_request *request) {
  const blis_adapter_mix *mix = state;
  mix->source.release(mix->source.state, request);
}

static bool is_due(void *state, const blis_request *request) {
  const blis_adapter_mix *mix = state;
  return mix->source.is_due(mix->source.state, request);
}

blis_request_source blis_adapter_mix_source(blis_adapter_mix *mix) {
  blis_request_source source = mix->source;
  source.state = mix;
  source.next = next;
  source.ended = mix->source.ended == NULL ? NULL : ended;
  source.also = mix->source.also == NULL ? NULL : also;
  source.release = mix->source.release == NULL ? NULL : release;
  source.is_due = mix->source.is_due == NULL ? NULL : is_due;
  return source;
}
