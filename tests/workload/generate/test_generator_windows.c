/*
 * When clients and cohorts are active, and at what rate. Arrivals are at equal
 * distances, so that their number in a time is known.
 */
#include "workload/go_blis.h"
#include "written_fixture.h"

#define SECOND INT64_C(1000000)
#define HOUR (3600 * SECOND)

#define COUNT(array) (sizeof(array) / sizeof *(array))

#define LENGTHS                                                                                    \
  "    input_distribution: {type: constant, params: {value: 30}}\n"                                \
  "    output_distribution: {type: constant, params: {value: 4}}\n"
#define STEADY "    arrival: {process: constant}\n" LENGTHS

static request_list list;

static const blis_spec_settings compatible = {.rules = &blis_workload_go_blis};

/* A client or cohort has so many requests in a time, give or take one. */
static void check_number_of(const char *client, int64_t start_us, int64_t end_us,
                            int64_t expected) {
  int64_t got = count_between(&list, client, start_us, end_us);
  if (got < expected - 1 || got > expected + 1) {
    printf("%s from %" PRId64 " to %" PRId64 " us\n", client, start_us, end_us);
    CHECK_EQ_I64(got, expected);
  }
}

/* Lifecycles. */

static void requests_arrive_in_windows_only(void) {
  list_requests(&list,
                "aggregate_rate: 1000\n"
                "num_requests: 5000\n"
                "clients:\n"
                "  - id: a\n"
                "    rate_fraction: 1\n" STEADY
                "    lifecycle: {windows: [{start_us: 999999, end_us: "
                "1500000}, {start_us: 3000000, end_us: 3000999}]}\n",
                NULL);
  CHECK_EQ_I64(list.count, 501);
  /* The gap is 1000 us, or 999 where 1 / rate is a little less. */
  int64_t gap_us = list.items[1].arrival_us - list.items[0].arrival_us;
  for (size_t i = 0; i < list.count; i++) {
    int64_t time_us = list.items[i].arrival_us;
    CHECK_EQ_I64(time_us % gap_us, 0);
    CHECK((time_us >= 999999 && time_us < 1500000) || (time_us >= 3000000 && time_us < 3000999));
  }
  free_requests(&list);
}

static void a_window_has_its_start_and_not_its_end(void) {
  list_requests(&list,
                "aggregate_rate: 1000000\n"
                "num_requests: 50\n"
                "clients:\n"
                "  - id: a\n"
                "    rate_fraction: 1\n" STEADY
                "    lifecycle: {windows: [{start_us: 5, end_us: 9}]}\n",
                NULL);
  CHECK_EQ_I64(list.count, 4); /* 5, 6, 7, 8 */
  CHECK_EQ_I64(list.items[0].arrival_us, 5);
  CHECK_EQ_I64(list.items[3].arrival_us, 8);
  free_requests(&list);
}

/* Of 12 requests/s: 1 / (1 + 2) each beside z, who is beside both of them. */
static void clients_share_the_rate_with_those_beside_them(void) {
  list_requests(&list,
                "aggregate_rate: 12\n"
                "horizon: 20000000\n"
                "clients:\n"
                "  - id: x\n"
                "    rate_fraction: 1\n" STEADY
                "    lifecycle: {windows: [{start_us: 0, end_us: 10000000}]}\n"
                "  - id: y\n"
                "    rate_fraction: 1\n" STEADY
                "    lifecycle: {windows: [{start_us: 10000000, end_us: "
                "20000000}]}\n"
                "  - id: z\n"
                "    rate_fraction: 2\n" STEADY,
                NULL);
  check_number_of("x", 0, 10 * SECOND, 40);
  check_number_of("x", 10 * SECOND, INT64_MAX, 0);
  check_number_of("y", 0, 10 * SECOND, 0);
  check_number_of("y", 10 * SECOND, 20 * SECOND, 40);
  check_number_of("z", 0, 20 * SECOND, 120);
  free_requests(&list);
}

/* Cohorts. */

static void members_of_a_cohort_share_its_weight_and_its_prefix(void) {
  static const char *const sharings[] = {"", "    prefix_sharing: shared\n",
                                         "    prefix_sharing: per_member\n"};
  for (size_t i = 0; i < COUNT(sharings); i++) {
    char text[1024];
    snprintf(text, sizeof text,
             "aggregate_rate: 8\n"
             "horizon: 60000000\n"
             "clients:\n"
             "  - id: a\n"
             "    rate_fraction: 1\n" STEADY "cohorts:\n"
             "  - id: c\n"
             "    population: 3\n"
             "    prefix_group: g\n"
             "    prefix_length: 64\n"
             "    rate_fraction: 3\n%s" STEADY,
             sharings[i]);
    list_requests(&list, text, NULL);
    check_number_of("a", 0, 60 * SECOND, 120);
    for (int member = 0; member < 3; member++) {
      char id[16];
      snprintf(id, sizeof id, "c-%d", member);
      check_number_of(id, 0, 60 * SECOND, 120);
    }
    for (size_t k = 0; k < list.count; k++) {
      const blis_request *r = &list.items[k];
      const char *client = text_of(&list, r->client);
      const char *group = text_of(&list, r->prefix_group);
      char own[8];
      snprintf(own, sizeof own, "g%s", i == 2 ? client + 1 : "");
      CHECK_STR(group, *client == 'a' ? "" : own);
      CHECK_EQ_I64(r->shared_tokens, *client == 'a' ? 0 : 64);
    }
    free_requests(&list);
  }
}

/* Shares of an hour: 1 in the peak hour, 1/4 opposite, 5/8 in between. */
static void check_day(int64_t first_hour) {
  static const struct {
    int hour;
    int64_t requests; /* one every ten seconds */
  } hours[] = {{6, 360}, {18, 90}, {0, 225}, {12, 225}, {9, 320}, {3, 320}, {15, 129}, {21, 129}};
  for (size_t i = 0; i < COUNT(hours); i++) {
    int64_t start_us = (first_hour + hours[i].hour) * HOUR;
    check_number_of("d-0", start_us, start_us + HOUR, hours[i].requests);
    check_number_of("d-0", start_us + hours[i].requests * 10 * SECOND, start_us + HOUR, 0);
  }
}

static const char day_text[] =
    "aggregate_rate: 0.1\n"
    "num_requests: 20000\n"
    "cohorts:\n"
    "  - id: d\n"
    "    population: 1\n"
    "    rate_fraction: 1\n" STEADY "    diurnal: {peak_hour: 6, peak_to_trough_ratio: 4}\n";

static void days_repeat_up_to_the_horizon(void) {
  blis_spec_settings settings = {.horizon_us = 48 * HOUR};
  list_requests(&list, day_text, &settings);
  check_day(0);
  check_day(24);
  free_requests(&list);
  settings.horizon_us = 31 * HOUR; /* not the whole of the second day */
  list_requests(&list, day_text, &settings);
  check_day(0);
  check_number_of("d-0", 30 * HOUR, 31 * HOUR, 360);
  CHECK_EQ_I64(count_between(&list, NULL, 31 * HOUR, INT64_MAX), 0);
  free_requests(&list);
}

static void without_a_horizon_there_is_one_day(void) {
  list_requests(&list, day_text, NULL);
  check_day(0);
  CHECK_EQ_I64(count_between(&list, NULL, 24 * HOUR, INT64_MAX), 0);
  free_requests(&list);
  blis_spec_settings settings = compatible;
  settings.horizon_us = 48 * HOUR;
  list_requests(&list, day_text, &settings);
  check_day(0);
  CHECK_EQ_I64(count_between(&list, NULL, 24 * HOUR, INT64_MAX), 0);
  free_requests(&list);
}

/* Ten steps of ten seconds, the first whole, the last a second. */
static void a_drain_is_active_for_less_and_less(void) {
  for (int64_t start = 0; start <= 100; start += 100) {
    char text[512];
    snprintf(text, sizeof text,
             "aggregate_rate: 20\n"
             "num_requests: 20000\n"
             "cohorts:\n"
             "  - id: d\n"
             "    population: 2\n"
             "    rate_fraction: 1\n" STEADY "    drain: {start_time_us: %" PRId64
             ", ramp_duration_us: 100000000}\n",
             start * SECOND);
    list_requests(&list, text, NULL);
    for (int member = 0; member < 2; member++) {
      const char *id = member == 0 ? "d-0" : "d-1";
      check_number_of(id, 0, start * SECOND, 10 * start);
      for (int64_t i = 0; i < 10; i++) {
        int64_t step_us = (start + 10 * i) * SECOND;
        check_number_of(id, step_us, step_us + (10 - i) * SECOND, 10 * (10 - i));
        check_number_of(id, step_us + (10 - i) * SECOND, step_us + 10 * SECOND, 0);
      }
    }
    free_requests(&list);
  }
}

static void a_spike_is_one_window(void) {
  list_requests(&list,
                "aggregate_rate: 30\n"
                "num_requests: 20000\n"
                "cohorts:\n"
                "  - id: s\n"
                "    population: 3\n"
                "    rate_fraction: 1\n" STEADY
                "    spike: {start_time_us: 5000000, duration_us: 2000000}\n",
                NULL);
  check_number_of("s-0", 5 * SECOND, 7 * SECOND, 20);
  check_number_of("s-2", 5 * SECOND, 7 * SECOND, 20);
  CHECK_EQ_I64(count_between(&list, NULL, 5 * SECOND, 7 * SECOND), list.count);
  free_requests(&list);
}

static void a_spike_may_have_a_rate_of_its_own(void) {
  static const char text[] =
      "cohorts:\n"
      "  - id: s\n"
      "    population: 3\n"
      "    rate_fraction: 1\n" STEADY
      "    spike: {start_time_us: 5000000, duration_us: 2000000, trace_rate: "
      "6}\n";
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(list.count, 12); /* 2 requests/s of each for 2 s */
  for (int member = 0; member < 3; member++) {
    char id[16];
    snprintf(id, sizeof id, "s-%d", member);
    CHECK_EQ_I64(count_between(&list, id, 5 * SECOND, 7 * SECOND), 4);
  }
  free_requests(&list);
  list_requests(&list, text, &compatible);
  CHECK_EQ_I64(list.count, 9); /* the last of each is lost */
  free_requests(&list);
}

/* Windows with rates, arrivals and lengths of their own. */

static const char override_text[] =
    "clients:\n"
    "  - id: a\n"
    "    rate_fraction: 1\n" STEADY "    lifecycle:\n"
    "      windows:\n"
    "        - {start_us: 0, end_us: 4000000, trace_rate: 10,\n"
    "           input_distribution: {type: constant, params: {value: 70}}}\n"
    "        - {start_us: 4000000, end_us: 8000000, trace_rate: 5,\n"
    "           output_distribution: {type: constant, params: {value: 9}},\n"
    "           arrival: {process: gamma, cv: 3}}\n";

static void windows_override_what_the_client_has(void) {
  list_requests(&list, override_text, NULL);
  CHECK_EQ_I64(count_between(&list, "a", 0, 4 * SECOND), 40);
  CHECK_EQ_I64(count_between(&list, "a", 4 * SECOND, 8 * SECOND), 20);
  int64_t gaps = 0; /* that are not those of a constant */
  for (size_t i = 0; i < list.count; i++) {
    const blis_request *r = &list.items[i];
    bool is_first = r->arrival_us < 4 * SECOND;
    CHECK_EQ_I64(r->prompt_tokens, is_first ? 70 : 30);
    CHECK_EQ_I64(r->output_tokens, is_first ? 4 : 9);
    int64_t gap_us = i > 0 ? r->arrival_us - list.items[i - 1].arrival_us : 0;
    if (i > 0 && i < 39) {
      CHECK(gap_us >= 99999 && gap_us <= 100001);
    } else {
      gaps += gap_us < 150000 || gap_us > 250000;
    }
  }
  CHECK(gaps > 10);
  free_requests(&list);
}

static void a_horizon_cuts_windows(void) {
  const blis_spec_settings settings = {.horizon_us = 2 * SECOND};
  list_requests(&list, override_text, &settings);
  CHECK_EQ_I64(list.count, 20);
  CHECK_EQ_I64(count_between(&list, "a", 0, 2 * SECOND), 20);
  free_requests(&list);
  const blis_spec_settings wide = {.horizon_us = 100 * SECOND};
  list_requests(&list, override_text, &wide);
  CHECK_EQ_I64(list.count, 60);
  free_requests(&list);
}

/* Its share is 10 * 1 / (3 + 1), and it is active all the time. */
static void clients_without_windows_are_active_beside_windows(void) {
  static const char text[] = "aggregate_rate: 10\n"
                             "horizon: 8000000\n"
                             "clients:\n"
                             "  - id: a\n"
                             "    rate_fraction: 1\n" STEADY
                             "    lifecycle: {windows: [{start_us: 0, end_us: 4000000, trace_rate: "
                             "3}]}\n"
                             "  - id: b\n"
                             "    rate_fraction: 1\n" STEADY;
  list_requests(&list, text, NULL);
  CHECK_EQ_I64(count_between(&list, "a", 0, 4 * SECOND), 30);
  CHECK_EQ_I64(count_between(&list, "b", 0, 8 * SECOND), 20);
  CHECK_EQ_I64(list.count, 50);
  CHECK_EQ_I64(count_between(&list, "b", 399998, 400002), 1); /* the first */
  free_requests(&list);
  list_requests(&list, text, &compatible);
  CHECK_EQ_I64(count_between(&list, "a", 0, 4 * SECOND), 29);
  CHECK_EQ_I64(list.count, 29);
  free_requests(&list);
}

/* The weight beside a window is that of the first window that overlaps. */
static void weights_are_those_of_the_first_window_beside(void) {
  list_requests(
      &list,
      "aggregate_rate: 10\n"
      "num_requests: 1000\n"
      "clients:\n"
      "  - id: a\n"
      "    rate_fraction: 5\n" STEADY "    lifecycle: {windows: [{start_us: 0, end_us: 4000000, "
      "trace_rate: 1}, {start_us: 4000000, end_us: 8000000}]}\n"
      "  - id: b\n"
      "    rate_fraction: 4\n" STEADY "    lifecycle: {windows: [{start_us: 0, end_us: 4000000}, "
      "{start_us: 4000000, end_us: 8000000, trace_rate: 5}]}\n",
      NULL);
  CHECK_EQ_I64(count_between(&list, "a", 0, 4 * SECOND), 8);
  CHECK_EQ_I64(count_between(&list, "b", 0, 4 * SECOND), 32);
  CHECK_EQ_I64(count_between(&list, "a", 4 * SECOND, 8 * SECOND), 20);
  CHECK_EQ_I64(count_between(&list, "b", 4 * SECOND, 8 * SECOND), 20);
  free_requests(&list);
}

static void a_weight_of_zero_is_silence(void) {
  list_requests(&list,
                "clients:\n"
                "  - id: a\n"
                "    rate_fraction: 1\n" STEADY
                "    lifecycle: {windows: [{start_us: 0, end_us: 4000000, "
                "trace_rate: 0}, {start_us: 4000000, end_us: 8000000, "
                "trace_rate: 0.1}]}\n",
                NULL);
  CHECK_EQ_I64(list.count, 1);
  CHECK_EQ_I64(list.items[0].arrival_us, 7999999);
  free_requests(&list);
}

/* Stages of inference-perf have their rates whatever the others are. */
static void stages_have_their_own_rates(void) {
  list_requests(&list,
                "num_requests: 20000\n"
                "inference_perf:\n"
                "  stages: [{rate: 400, duration: 4}, {rate: 100, duration: "
                "4}]\n"
                "  shared_prefix: {num_unique_system_prompts: 2, "
                "num_users_per_system_prompt: 2, system_prompt_len: 0, "
                "question_len: 10, output_len: 5}\n",
                NULL);
  /* Poisson with standard deviations of 40 and 20. */
  int64_t first = count_between(&list, NULL, 0, 4 * SECOND);
  int64_t second = count_between(&list, NULL, 4 * SECOND, 8 * SECOND);
  CHECK(first > 1600 - 160 && first < 1600 + 160);
  CHECK(second > 400 - 80 && second < 400 + 80);
  CHECK_EQ_I64(list.count, first + second);
  for (size_t i = 0; i < list.count; i++) {
    CHECK_EQ_I64(list.items[i].shared_tokens, 0);
  }
  free_requests(&list);
}

/* 5 a second, of which one client has 2 of 7: one every 0.7 s. */
static void shares_are_rounded_as_in_each_profile(void) {
  static const char text[] =
      "aggregate_rate: 5\nnum_requests: 9\nclients:\n"
      "  - id: a\n    rate_fraction: 0.4\n" STEADY "  - id: b\n    rate_fraction: 1\n" STEADY;
  for (int is_compatible = 0; is_compatible <= 1; is_compatible++) {
    list_requests(&list, text, is_compatible ? &compatible : NULL);
    int64_t gap_us = is_compatible ? 699999 : 700000;
    CHECK_EQ_I64(count_between(&list, "a", 0, gap_us), 0);
    CHECK_EQ_I64(count_between(&list, "a", gap_us, gap_us + 1), 1);
    free_requests(&list);
  }
}

/* Who is first active behind the horizon has no share before it. */
static void who_comes_too_late_has_no_share(void) {
  static const char text[] = "aggregate_rate: 10\nclients:\n"
                             "  - id: a\n    rate_fraction: 1\n" STEADY
                             "    lifecycle: {windows: [{start_us: 0, end_us: 4000000, trace_rate: "
                             "4}]}\n"
                             "  - id: b\n    rate_fraction: 1\n" STEADY
                             "    lifecycle: {windows: [{start_us: 2500000, end_us: 4500000, "
                             "trace_rate: 4}]}\n";
  const blis_spec_settings early = {.horizon_us = 2 * SECOND};
  list_requests(&list, text, &early);
  CHECK_EQ_I64(list.count, 20);
  free_requests(&list);
  const blis_spec_settings late = {.horizon_us = 3 * SECOND};
  list_requests(&list, text, &late);
  CHECK_EQ_I64(count_between(&list, "a", 0, 3 * SECOND), 15);
  free_requests(&list);
}

int main(void) {
  RUN(requests_arrive_in_windows_only);
  RUN(a_window_has_its_start_and_not_its_end);
  RUN(clients_share_the_rate_with_those_beside_them);
  RUN(members_of_a_cohort_share_its_weight_and_its_prefix);
  RUN(days_repeat_up_to_the_horizon);
  RUN(without_a_horizon_there_is_one_day);
  RUN(a_drain_is_active_for_less_and_less);
  RUN(a_spike_is_one_window);
  RUN(a_spike_may_have_a_rate_of_its_own);
  RUN(windows_override_what_the_client_has);
  RUN(a_horizon_cuts_windows);
  RUN(clients_without_windows_are_active_beside_windows);
  RUN(weights_are_those_of_the_first_window_beside);
  RUN(a_weight_of_zero_is_silence);
  RUN(stages_have_their_own_rates);
  RUN(shares_are_rounded_as_in_each_profile);
  RUN(who_comes_too_late_has_no_share);
  return check_done();
}
