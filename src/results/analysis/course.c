#include "results/analysis/course.h"

#include "base/minmax.h"

static void find_bounds(blis_course *course, const blis_recorder *recorder) {
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    bool is_first = i == 0;
    course->from_us =
        is_first ? record.arrival_us : blis_min_i64(course->from_us, record.arrival_us);
    course->to_us = is_first ? record.arrival_us : blis_max_i64(course->to_us, record.arrival_us);
    uint32_t prompt = record.prompt_tokens;
    uint32_t output = record.output_tokens;
    if (is_first || prompt < course->least_prompt_tokens) {
      course->least_prompt_tokens = prompt;
    }
    if (is_first || output < course->least_output_tokens) {
      course->least_output_tokens = output;
    }
    course->most_prompt_tokens =
        prompt > course->most_prompt_tokens ? prompt : course->most_prompt_tokens;
    course->most_output_tokens =
        output > course->most_output_tokens ? output : course->most_output_tokens;
  }
}

/* Returns the first part whose end is not before a time; BLIS_COURSE_PARTS after the last
   arrival. */
static size_t part_of(const blis_course *course, int64_t time_us) {
  int64_t span_us = course->to_us - course->from_us;
  if (time_us > course->to_us) {
    return BLIS_COURSE_PARTS;
  }
  if (time_us <= course->from_us || span_us == 0) {
    return 0;
  }
  double share = (double)(time_us - course->from_us) / (double)span_us * BLIS_COURSE_PARTS;
  size_t part = (size_t)share;
  if ((double)part == share) {
    part--; /* the time is exactly at the end of a part */
  }
  return part < BLIS_COURSE_PARTS ? part : BLIS_COURSE_PARTS - 1;
}

/* Records a stay as changes at the ends of parts: +1 at its start and -1 at its end. */
static void add_stay(const blis_course *course, int64_t *steps, int64_t from_us, int64_t to_us) {
  size_t from = part_of(course, from_us);
  size_t to = part_of(course, to_us);
  if (from < BLIS_COURSE_PARTS) {
    steps[from]++;
  }
  if (to < BLIS_COURSE_PARTS) {
    steps[to]--;
  }
}

static int64_t admission_of(const blis_record *record) {
  if (record->scheduling_delay_us < 0) {
    return record->end_us;
  }
  return blis_min_i64(record->arrival_us + record->scheduling_delay_us, record->end_us);
}

static void add_record(blis_course *course, const blis_record *record) {
  int64_t admitted_us = admission_of(record);
  int64_t end_us = record->end_us;
  add_stay(course, course->waiting, record->arrival_us, admitted_us);
  add_stay(course, course->in_system, record->arrival_us, end_us);
  size_t part = part_of(course, record->arrival_us);
  course->arrived[part]++;
  if (record->ttft_us >= 0) {
    course->first_tokens[part]++;
    course->ttft_us[part] += (double)record->ttft_us;
  }
  int64_t ran_us = blis_min_i64(end_us, course->to_us) - blis_min_i64(admitted_us, course->to_us);
  double tokens = (double)record->prompt_tokens + (double)record->output_tokens / 2;
  course->running += (double)ran_us;
  course->held_tokens += (double)ran_us * tokens;
}

static double quotient_of(double sum, double count) {
  return count > 0 ? sum / count : 0;
}

/* The lengths that tokens are part of. Long requests have most of the tokens, and of the time. */
static void measure_lengths(blis_course *course, const blis_recorder *recorder) {
  double prompts = 0;
  double outputs = 0;
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    double prompt = (double)record.prompt_tokens;
    double output = (double)record.output_tokens;
    prompts += prompt;
    outputs += output;
    course->prompt_of_token += prompt * prompt;
    course->output_of_token += output * output;
    course->context_of_token += output * (prompt + output / 2);
  }
  course->prompt_of_token = quotient_of(course->prompt_of_token, prompts);
  course->output_of_token = quotient_of(course->output_of_token, outputs);
  course->context_of_token = quotient_of(course->context_of_token, outputs);
}

/* Converts sums to means, and changes to numbers. */
static void finish(blis_course *course) {
  int64_t waiting = 0;
  int64_t in_system = 0;
  for (size_t k = 0; k < BLIS_COURSE_PARTS; k++) {
    waiting += course->waiting[k];
    in_system += course->in_system[k];
    course->waiting[k] = waiting;
    course->in_system[k] = in_system;
    if (course->first_tokens[k] > 0) {
      course->ttft_us[k] /= (double)course->first_tokens[k];
    }
  }
  double span_us = (double)(course->to_us - course->from_us);
  course->running = span_us > 0 ? course->running / span_us : 0;
  course->held_tokens = span_us > 0 ? course->held_tokens / span_us : 0;
}

void blis_course_measure(blis_course *course, const blis_recorder *recorder) {
  *course = (blis_course){.requests = (int64_t)blis_recorder_count(recorder)};
  find_bounds(course, recorder);
  for (size_t i = 0; i < blis_recorder_count(recorder); i++) {
    const blis_record record = blis_recorder_record(recorder, i);
    add_record(course, &record);
  }
  finish(course);
  measure_lengths(course, recorder);
}
