#include "results/record/attempts.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/invariant.h"

void blis_attempts_init(blis_attempts *attempts, const blis_alloc *alloc, bool keeps_records) {
  *attempts = (blis_attempts){.alloc = *alloc, .keeps_records = keeps_records};
  blis_sketch_init(&attempts->earlier_us, alloc);
}

void blis_attempts_deinit(blis_attempts *attempts) {
  blis_array_deinit(&attempts->alloc, &attempts->records);
  blis_array_deinit(&attempts->alloc, &attempts->models);
  blis_array_deinit(&attempts->alloc, &attempts->steps);
  blis_sketch_deinit(&attempts->earlier_us);
}

static blis_attempt_record record_of(const blis_request *request,
                                     const blis_cascade_attempt *attempt,
                                     blis_cascade_verdict verdict, uint32_t reason) {
  return (blis_attempt_record){
      .number = request->number,
      .arrival_us = attempt->arrival_us,
      .start_us = attempt->start_us,
      .ttft_us = attempt->ttft_us,
      .end_us = attempt->end_us,
      .mean_logprob = attempt->mean_logprob,
      .model = attempt->model_id,
      .instance = attempt->instance,
      .prompt_tokens = (uint32_t)attempt->prompt_tokens,
      .output_tokens = (uint32_t)attempt->output_tokens,
      .reason = reason,
      .step = (uint16_t)attempt->step,
      .stage = (uint16_t)attempt->stage,
      .stage_count = (uint16_t)attempt->stage_count,
      .state = (uint8_t)attempt->state,
      .verdict = (uint8_t)verdict,
  };
}

static uint64_t hash_of(const blis_attempt_record *record) {
  uint64_t logprob = 0;
  if (!isnan(record->mean_logprob)) {
    memcpy(&logprob, &record->mean_logprob, sizeof logprob);
  }
  const int64_t values[] = {
      record->number,        record->arrival_us, record->start_us, record->ttft_us,
      record->end_us,        (int64_t)logprob,   record->instance, record->prompt_tokens,
      record->output_tokens, record->step,       record->stage,    record->stage_count,
      record->state,         record->verdict,
  };
  unsigned char bytes[sizeof values];
  for (size_t i = 0; i < sizeof bytes; i++) {
    bytes[i] = (unsigned char)((uint64_t)values[i / 8] >> (i % 8 * 8));
  }
  return blis_hash64(bytes, sizeof bytes, 0);
}

static void add_to(blis_attempt_sums *sums, const blis_attempt_record *record) {
  sums->attempts++;
  sums->verdicts[record->verdict]++;
  sums->prompt_tokens += record->prompt_tokens;
  sums->output_tokens += record->output_tokens;
  if (record->verdict == BLIS_CASCADE_ESCALATE) {
    sums->dropped_output_tokens += record->output_tokens;
  }
  BLIS_ASSERT(sums->dropped_output_tokens <= sums->output_tokens);
  if (!isnan(record->mean_logprob)) {
    sums->answers++;
    sums->logprob_sum += record->mean_logprob;
    sums->duration_us += record->end_us - record->start_us;
    BLIS_ASSERT(sums->answers <= sums->attempts && sums->duration_us >= 0);
  }
}

/* Returns NULL if out of memory. */
static blis_attempt_sums *sums_of(blis_attempts *attempts, uint32_t model) {
  size_t i = 0;
  while (i < attempts->models.count && attempts->models.items[i].model != model) {
    i++;
  }
  const blis_attempt_sums none = {.model = model};
  if (i == attempts->models.count &&
      blis_array_push(&attempts->alloc, &attempts->models, none) != BLIS_OK) {
    return NULL;
  }
  return &attempts->models.items[i];
}

static blis_status count_steps(blis_attempts *attempts, const blis_attempt_record *last) {
  BLIS_TRY(blis_array_reserve(&attempts->alloc, &attempts->steps, last->step));
  while (attempts->steps.count < last->step) {
    attempts->steps.items[attempts->steps.count++] = 0;
  }
  BLIS_ASSERT(last->step >= 1 && last->start_us >= last->arrival_us);
  attempts->steps.items[last->step - 1]++;
  return last->step == 1
             ? BLIS_OK
             : blis_sketch_add(&attempts->earlier_us, last->start_us - last->arrival_us);
}

blis_status blis_attempts_add(blis_attempts *attempts, const blis_request *request,
                              const blis_cascade_attempt *attempt, blis_cascade_verdict verdict,
                              uint32_t reason) {
  const blis_attempt_record record = record_of(request, attempt, verdict, reason);
  blis_attempt_sums *sums = sums_of(attempts, record.model);
  if (sums == NULL) {
    return BLIS_ERR_NOMEM;
  }
  add_to(sums, &record);
  add_to(&attempts->all, &record);
  attempts->hash += hash_of(&record);
  if (verdict != BLIS_CASCADE_ESCALATE) {
    BLIS_TRY(count_steps(attempts, &record));
  }
  return attempts->keeps_records ? blis_array_push(&attempts->alloc, &attempts->records, record)
                                 : BLIS_OK;
}

static int compare_requests(const blis_attempt_record *a, int64_t arrival_us, int64_t number) {
  if (a->arrival_us != arrival_us) {
    return a->arrival_us < arrival_us ? -1 : 1;
  }
  return (a->number > number) - (a->number < number);
}

static int compare_records(const void *a, const void *b) {
  const blis_attempt_record *left = a;
  const blis_attempt_record *right = b;
  int order = compare_requests(left, right->arrival_us, right->number);
  return order != 0 ? order : (int)left->step - (int)right->step;
}

void blis_attempts_sort(blis_attempts *attempts) {
  if (attempts->sorted < attempts->records.count) {
    qsort(attempts->records.items, attempts->records.count, sizeof *attempts->records.items,
          compare_records);
    attempts->sorted = attempts->records.count;
  }
}

const blis_attempt_record *blis_attempts_of(const blis_attempts *attempts, int64_t arrival_us,
                                            int64_t number, size_t *count) {
  const blis_attempt_record *items = attempts->records.items;
  size_t low = 0;
  size_t high = attempts->records.count;
  while (low < high) {
    size_t middle = low + (high - low) / 2;
    if (compare_requests(&items[middle], arrival_us, number) < 0) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  *count = 0;
  while (low + *count < attempts->records.count &&
         compare_requests(&items[low + *count], arrival_us, number) == 0) {
    ++*count;
  }
  return *count == 0 ? NULL : &items[low];
}

static bool is_late(const blis_attempt_record *record) {
  return record->verdict != BLIS_CASCADE_ESCALATE && record->step > 1;
}

blis_status blis_attempts_earlier(const blis_attempts *attempts, blis_percentiles *result) {
  *result = (blis_percentiles){0};
  if (!attempts->keeps_records) {
    blis_percentiles_of_sketch(result, &attempts->earlier_us);
    return BLIS_OK;
  }
  blis_value_set set;
  size_t count = attempts->records.count;
  BLIS_TRY(blis_value_set_init(&set, &attempts->alloc, count, false));
  for (size_t i = 0; i < count; i++) {
    const blis_attempt_record *record = &attempts->records.items[i];
    if (is_late(record)) {
      blis_value_set_add(&set, record->start_us - record->arrival_us);
    }
  }
  blis_percentiles_of_set(result, &set);
  blis_value_set_deinit(&set, &attempts->alloc);
  return BLIS_OK;
}

blis_attempt_figures blis_attempts_figures(const blis_attempt_sums *sums) {
  double answers = sums->answers > 0 ? (double)sums->answers : 1;
  return (blis_attempt_figures){
      .attempts = sums->attempts,
      .accepted = sums->verdicts[BLIS_CASCADE_ACCEPT],
      .escalated = sums->verdicts[BLIS_CASCADE_ESCALATE],
      .accepted_last = sums->verdicts[BLIS_CASCADE_ACCEPT_LAST],
      .failed = sums->verdicts[BLIS_CASCADE_FAIL],
      .unfinished = sums->verdicts[BLIS_CASCADE_UNFINISHED],
      .prompt_tokens = sums->prompt_tokens,
      .output_tokens = sums->output_tokens,
      .dropped_output_tokens = sums->dropped_output_tokens,
      .mean_logprob = sums->logprob_sum / answers,
      .mean_attempt_ms = (double)sums->duration_us / answers / 1000,
  };
}

blis_cascade_figures blis_attempts_cascade(const blis_attempts *attempts) {
  int64_t asked = attempts->all.attempts;
  int64_t requests = asked - attempts->all.verdicts[BLIS_CASCADE_ESCALATE];
  BLIS_ASSERT(requests >= 0 && requests <= asked);
  return (blis_cascade_figures){
      .requests = requests,
      .mean_steps = requests == 0 ? 0 : (double)asked / (double)requests,
  };
}
