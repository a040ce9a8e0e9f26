/* Arrivals, queues, and TTFT over the course of a run. */
#include "results/analysis/course.h"

#include <stdlib.h>

#include "check.h"
#include "results/record/recorder.h"

typedef struct stay {
  int64_t arrival_us;
  int64_t delay_us; /* -1 = never admitted */
  int64_t end_us;
  uint32_t prompt_tokens;
  uint32_t output_tokens;
} stay;

static void add(blis_recorder *recorder, int64_t number, const stay *one) {
  bool is_done = one->delay_us >= 0;
  blis_record record = {.number = number,
                        .state = is_done ? BLIS_REQUEST_COMPLETED : BLIS_REQUEST_TIMED_OUT,
                        .arrival_us = one->arrival_us,
                        .ttft_us = is_done ? one->delay_us : -1,
                        .scheduling_delay_us = one->delay_us,
                        .e2e_us = is_done ? one->end_us - one->arrival_us : -1,
                        .end_us = one->end_us,
                        .prompt_tokens = one->prompt_tokens,
                        .output_tokens = one->output_tokens};
  blis_record_extras extras = {0};
  CHECK(blis_recorder_add(recorder, &record, NULL, 0, &extras, NULL) == BLIS_OK);
}

static void queues_are_those_at_the_end_of_each_part(void) {
  /* 24 parts of 100 us. */
  static const stay stays[] = {
      {1000, 50, 1250, 10, 4},   /* admitted in the first part, in the system until the third */
      {1101, 399, 3300, 10, 4},  /* waits from the second part until exactly the end of the fifth */
      {2000, -1, 2900, 10, 4},   /* arrives at the end of the tenth part, never admitted */
      {3400, 1000, 9000, 10, 4}, /* the last arrival */
  };
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  for (size_t i = 0; i < 4; i++) {
    add(recorder, (int64_t)i, &stays[i]);
  }
  blis_course course;
  blis_course_measure(&course, recorder);
  CHECK_EQ_I64(course.requests, 4);
  CHECK_EQ_I64(course.from_us, 1000);
  CHECK_EQ_I64(course.to_us, 3400);
  static const int64_t waiting[BLIS_COURSE_PARTS] = {0, 1, 1, 1, 0, 0, 0, 0, 0, 1, 1, 1,
                                                     1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 1};
  static const int64_t in_system[BLIS_COURSE_PARTS] = {1, 2, 1, 1, 1, 1, 1, 1, 1, 2, 2, 2,
                                                       2, 2, 2, 2, 2, 2, 1, 1, 1, 1, 0, 1};
  for (size_t k = 0; k < BLIS_COURSE_PARTS; k++) {
    CHECK_EQ_I64(course.waiting[k], waiting[k]);
    CHECK_EQ_I64(course.in_system[k], in_system[k]);
  }
  CHECK_EQ_I64(course.arrived[0], 1);
  CHECK_EQ_I64(course.arrived[9], 1);
  CHECK_EQ_I64(course.first_tokens[9], 0);
  CHECK(course.ttft_us[1] > 398 && course.ttft_us[1] < 400);
  /* 200 us and 1,800 us of 2,400 us, of 12 tokens each. */
  CHECK(course.running > 0.8333 && course.running < 0.8334);
  CHECK(course.held_tokens > 9.999 && course.held_tokens < 10.001);
  blis_recorder_free(recorder);
}

static void lengths_have_their_extremes(void) {
  static const stay stays[] = {{0, 0, 1, 7, 3}, {0, 0, 1, 5, 9}, {0, 0, 1, 6, 4}};
  blis_alloc alloc = blis_alloc_heap();
  blis_recorder *recorder = blis_recorder_new(&alloc);
  blis_course course;
  blis_course_measure(&course, recorder);
  CHECK_EQ_I64(course.requests, 0);
  CHECK_EQ_I64(course.to_us, 0);
  for (size_t i = 0; i < 3; i++) {
    add(recorder, (int64_t)i, &stays[i]);
  }
  blis_course_measure(&course, recorder);
  /* Of 18 prompt tokens, 7, 5, and 6 are in prompts of these lengths; likewise 16 output tokens. */
  CHECK(course.prompt_of_token > 6.11 && course.prompt_of_token < 6.12);
  CHECK(course.output_of_token > 6.62 && course.output_of_token < 6.63);
  CHECK(course.context_of_token > 8.93 && course.context_of_token < 8.94);
  CHECK_EQ_I64(course.least_prompt_tokens, 5);
  CHECK_EQ_I64(course.most_prompt_tokens, 7);
  CHECK_EQ_I64(course.least_output_tokens, 3);
  CHECK_EQ_I64(course.most_output_tokens, 9);
  CHECK_EQ_I64(course.arrived[0], 3); /* all at one time */
  CHECK(course.running == 0);
  blis_recorder_free(recorder);
}

/* The number of requests at a time, from first principles. */
static int64_t waiting_at(const stay *stays, size_t count, int64_t time_us, bool is_system) {
  int64_t sum = 0;
  for (size_t i = 0; i < count; i++) {
    const stay *one = &stays[i];
    bool is_admitted = one->delay_us >= 0 && !is_system;
    int64_t left_us = is_admitted ? one->arrival_us + one->delay_us : one->end_us;
    sum += one->arrival_us <= time_us && left_us > time_us;
  }
  return sum;
}

static void random_runs_agree_with_a_count(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (uint64_t seed = 1; seed <= 200; seed++) {
    srand((unsigned)seed);
    enum { COUNT = 40 };
    stay stays[COUNT];
    blis_recorder *recorder = blis_recorder_new(&alloc);
    for (size_t i = 0; i < COUNT; i++) {
      /* All at ends of parts of 10 us, or between them. */
      int64_t arrival_us = i == 0 ? 0 : i == 1 ? 240 : rand() % 241;
      int64_t delay_us = rand() % 4 == 0 ? -1 : rand() % 100;
      int64_t end_us = arrival_us + (delay_us > 0 ? delay_us : 0) + rand() % 100;
      stays[i] = (stay){arrival_us, delay_us, end_us, 1, 1};
      add(recorder, (int64_t)i, &stays[i]);
    }
    blis_course course;
    blis_course_measure(&course, recorder);
    for (int64_t k = 0; k < BLIS_COURSE_PARTS; k++) {
      CHECK_EQ_I64(course.waiting[k], waiting_at(stays, COUNT, (k + 1) * 10, false));
      CHECK_EQ_I64(course.in_system[k], waiting_at(stays, COUNT, (k + 1) * 10, true));
    }
    blis_recorder_free(recorder);
  }
}

int main(void) {
  RUN(queues_are_those_at_the_end_of_each_part);
  RUN(lengths_have_their_extremes);
  RUN(random_runs_agree_with_a_count);
  return check_done();
}
