/*
 * The encode stage: times that can be worked out by hand, queues, deadlines,
 * instances that fail, and what is wrong.
 */
#include <math.h>

#include "cluster/encode/encode.h"
#include "cluster/handoff/handoff.h"
#include "cluster_fixture.h"

typedef struct scene {
  site site;
  blis_instance_facts facts[SITE_INSTANCES_MAX];
  blis_encode_stage stage;
} scene;

/* Instance 0 does everything else, the others encode. */
static void begin(scene *s, uint32_t encoders, size_t requests) {
  site_init(&s->site, blis_alloc_heap(), 1 + encoders);
  s->stage =
      (blis_encode_stage){.rule = BLIS_ENCODES_MULTIMODAL, .base_us = 1000.5, .us_per_token = 3};
  for (uint32_t i = 0; i <= encoders; i++) {
    s->facts[i] = BLIS_INSTANCE_FACTS_UNKNOWN;
    s->facts[i].roles = i == 0 ? BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE : BLIS_ROLE_ENCODE;
  }
  s->site.config.facts = s->facts;
  s->site.policy = "least-loaded";
  site_add_requests(&s->site, requests);
  for (size_t i = 0; i < requests; i++) {
    blis_request *r = &s->site.source.requests[i];
    r->arrival_us = 1000;
    r->prompt_tokens = 320;
    r->output_tokens = 3;
    r->max_output_tokens = 3;
    r->image_tokens = 100;
    r->audio_tokens = 20;
    r->video_tokens = 3;
  }
}

enum { ENCODE_US = 1370 }; /* 1000.5 + 3 * 123, rounded up */

static blis_status try_open(scene *s, blis_error *error) {
  blis_disaggregation apart = {.bytes_per_us = 1000, .fabric_bytes_per_us = 1000, .kv_limit = 1};
  site_must_open(&s->site);
  CHECK_OK(blis_cluster_set_disaggregation(s->site.cluster, &apart, error), error);
  return blis_cluster_set_encode_stage(s->site.cluster, &s->stage, error);
}

static void open_scene(scene *s) {
  blis_error error = {0};
  CHECK_OK(try_open(s, &error), &error);
}

static void run(scene *s) {
  site_run(&s->site);
  CHECK(blis_recorder_sort(s->site.recorder) == BLIS_OK);
}

static blis_encode_counts counts_of(const scene *s) {
  blis_encode_counts counts;
  blis_cluster_get_encodes(s->site.cluster, &counts);
  return counts;
}

static void check_is_empty(const scene *s) {
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    CHECK(blis_cluster_signal(s->site.cluster, i, BLIS_SIGNAL_IN_FLIGHT) == 0);
    CHECK(blis_cluster_signal(s->site.cluster, i, BLIS_SIGNAL_PENDING) == 0);
  }
}

/* One encoder has them in turn; text alone does not wait. */
static void one_after_another(void) {
  scene s = {0};
  begin(&s, 1, 3);
  blis_request *text = &s.site.source.requests[1];
  text->image_tokens = text->audio_tokens = text->video_tokens = 0;
  open_scene(&s);
  run(&s);
  const blis_record *r = site_records(&s.site);
  /* It is queued 532 us after it is routed; a step takes 6,000 and 15 for each
     of 320 tokens. */
  CHECK_EQ_I64(r[1].ttft_us, 532 + 6000 + 15 * 320);
  CHECK(SITE_EXTRA(&s.site, 1, encode_instance) == -1);
  for (int i = 0; i < 3; i += 2) {
    int64_t start_us = 1000 + (i == 0 ? 0 : ENCODE_US);
    CHECK_EQ_I64(SITE_EXTRA(&s.site, (size_t)i, encode_instance), 1);
    CHECK_EQ_I64(SITE_EXTRA(&s.site, (size_t)i, encode_start_us), start_us);
    CHECK_EQ_I64(SITE_EXTRA(&s.site, (size_t)i, encode_end_us), start_us + ENCODE_US);
    CHECK_EQ_I64(SITE_EXTRA(&s.site, (size_t)i, prefill_instance), -1);
    CHECK(r[i].scheduling_delay_us >= start_us + ENCODE_US - 1000 + 532);
  }
  blis_encode_counts c = counts_of(&s);
  CHECK_EQ_I64(c.encoded, 2);
  CHECK(c.busy_us == 2 * ENCODE_US && c.wait_us == ENCODE_US);
  check_is_empty(&s);
  site_deinit(&s.site);
}

/* Two of them share the load, as the router sees who waits there. */
static void load_is_seen(void) {
  scene s = {0};
  begin(&s, 2, 4);
  s.stage.rule = BLIS_ENCODES_ALL;
  open_scene(&s);
  run(&s);
  CHECK(counts_of(&s).wait_us == 2 * ENCODE_US);
  for (size_t i = 0; i < 4; i++) {
    CHECK_EQ_I64(SITE_EXTRA(&s.site, i, encode_instance), 1 + (int64_t)i % 2);
  }
  site_deinit(&s.site);
}

/* Of three, the first one is late while it is encoded, the last one while it
   waits: the second one has its turn earlier. */
static void deadlines_are_kept(void) {
  scene s = {0};
  begin(&s, 1, 3);
  s.site.source.requests[0].deadline_us = 1200;
  s.site.source.requests[2].deadline_us = 1300;
  open_scene(&s);
  run(&s);
  const blis_record *r = site_records(&s.site);
  CHECK_EQ_I64(r[0].state, BLIS_REQUEST_TIMED_OUT);
  CHECK_EQ_I64(r[0].end_us, 1200);
  CHECK_EQ_I64(r[1].state, BLIS_REQUEST_COMPLETED);
  CHECK_EQ_I64(SITE_EXTRA(&s.site, 1, encode_start_us), 1200);
  CHECK_EQ_I64(r[2].state, BLIS_REQUEST_TIMED_OUT);
  CHECK_EQ_I64(SITE_EXTRA(&s.site, 2, encode_start_us), -1);
  CHECK_EQ_I64(counts_of(&s).timed_out, 2);
  CHECK_EQ_I64(counts_of(&s).encoded, 1);
  check_is_empty(&s);
  site_deinit(&s.site);
}

static blis_status fail_first(void *ud, blis_cluster *cluster, blis_error *error) {
  return blis_cluster_instance_fail(
      cluster, 1, (blis_loss){.kind = *(bool *)ud ? BLIS_LOSS_REROUTED : BLIS_LOSS_USUAL}, error);
}

/* Its requests are encoded by the other one, or fail. */
static void encoders_fail(void) {
  for (int k = 0; k < 2; k++) {
    scene s = {0};
    blis_error error;
    bool re_route = k != 0;
    begin(&s, 2, 4);
    open_scene(&s);
    CHECK_OK(blis_cluster_call_at(s.site.cluster, 1500, fail_first, &re_route, &error), &error);
    run(&s);
    blis_cluster_counts all;
    blis_cluster_get_counts(s.site.cluster, &all);
    CHECK_EQ_I64(all.completed, re_route ? 4 : 2);
    CHECK_EQ_I64(all.failed, re_route ? 0 : 2);
    CHECK_EQ_I64(all.rerouted, re_route ? 2 : 0);
    CHECK_EQ_I64(counts_of(&s).lost, 2);
    CHECK_EQ_I64(counts_of(&s).encoded, re_route ? 4 : 2);
    check_is_empty(&s);
    site_deinit(&s.site);
  }
}

/* With BLIS (Go), nothing comes of it but a choice. */
static void go_blis_takes_no_time(void) {
  scene s = {0};
  begin(&s, 1, 2);
  s.stage.chooses_only = true;
  open_scene(&s);
  run(&s);
  CHECK_EQ_I64(site_records(&s.site)[0].ttft_us, 532 + 6000 + 15 * 2 * 320);
  CHECK(SITE_EXTRA(&s.site, 0, encode_instance) == -1);
  CHECK_EQ_I64(counts_of(&s).encoded, 0);
  site_deinit(&s.site);
}

static void check_refused(scene *s, const char *what) {
  blis_error error = {0};
  CHECK_STATUS(try_open(s, &error), BLIS_ERR_INVALID);
  CHECK(strstr(error.message, what) != NULL);
  site_deinit(&s->site);
}

static void wrong_stages(void) {
  scene s = {0};
  begin(&s, 0, 0);
  check_refused(&s, "no instance has the role encode");
  begin(&s, 1, 0);
  s.stage.base_us = -1;
  check_refused(&s, "-1 us");
  begin(&s, 1, 0);
  s.stage.us_per_token = (double)INFINITY;
  check_refused(&s, "inf us a token");
}

/* Everything is given back when memory runs out anywhere. */
static blis_status set_and_run(site *s, blis_error *error) {
  blis_disaggregation apart = {.bytes_per_us = 1000, .fabric_bytes_per_us = 1000, .kv_limit = 1};
  blis_encode_stage stage = {.rule = BLIS_ENCODES_ALL, .us_per_token = 1};
  BLIS_TRY(blis_cluster_set_disaggregation(s->cluster, &apart, error));
  BLIS_TRY(blis_cluster_set_encode_stage(s->cluster, &stage, error));
  return site_try_run(s, error);
}

static void memory_runs_out(void) {
  scene s = {0};
  begin(&s, 1, 3);
  long request = 1;
  while (!site_run_with_failure_at(&s.site, request, set_and_run)) {
    request++;
  }
  CHECK(request > 20);
  site_deinit(&s.site);
}

int main(void) {
  RUN(one_after_another);
  RUN(load_is_seen);
  RUN(deadlines_are_kept);
  RUN(encoders_fail);
  RUN(go_blis_takes_no_time);
  RUN(wrong_stages);
  RUN(memory_runs_out);
  return check_done();
}
