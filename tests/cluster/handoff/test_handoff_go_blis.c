/* Prefill and decode apart as BLIS (Go) has it, by hand. */
#include "cluster/handoff/handoff.h"
#include "handoff_scene.h"

/* The prefill ends, for the cluster, at the start of its step. */
static void parts_have_times_of_their_own_in_go_blis(void) {
  scene s = {0};
  begin(&s, 1, 1, 0);
  make_go_blis(&s);
  add_one(&s, 321, 3);
  open_scene(&s);
  site_run(&s.site);
  const blis_record *r = site_records(&s.site);
  int64_t queued_us = 532;
  CHECK_EQ_I64(r->state, BLIS_REQUEST_COMPLETED);
  CHECK_EQ_I64(r->ttft_us, queued_us + 34 + 6040);
  CHECK_EQ_I64(r->e2e_us, queued_us + 34 + 2 * 6040);
  CHECK_EQ_I64(SITE_EXTRA(&s.site, 0, prefill_e2e_us), queued_us + 6000 + 15 * 321);
  CHECK_EQ_I64(SITE_EXTRA(&s.site, 0, decode_e2e_us), 2 * 6040);
  check_nothing_is_held(&s);
  site_deinit(&s.site);
}

static void prompts_of_one_token_are_split_in_go_blis_alone(void) {
  for (int is_go_blis = 0; is_go_blis < 2; is_go_blis++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    if (is_go_blis) {
      make_go_blis(&s);
    }
    add_one(&s, 1, 3);
    open_scene(&s);
    site_run(&s.site);
    CHECK_EQ_I64(counts_of(&s).started, is_go_blis);
    CHECK_EQ_I64(site_records(&s.site)->state, BLIS_REQUEST_COMPLETED);
    site_deinit(&s.site);
  }
}

/* Two whole prompts fill a destination that would serve neither: no block is
   left for a token more, and none is needed to end them. */
static void prompts_beyond_the_length_of_their_destination_in_go_blis(void) {
  for (int engine = 0; engine < 2; engine++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    make_go_blis(&s);
    for (int i = 0; i < 2; i++) {
      s.site.instances[i].engine = engine == 0 ? BLIS_ENGINE_STEPWISE : BLIS_ENGINE_FAST;
    }
    s.site.instances[1].kv_blocks = 40;
    s.site.instances[1].max_model_len_tokens = 100;
    add_equal(&s, 2, 320, 5);
    open_scene(&s);
    site_run(&s.site);
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(s.site.cluster, 1), &stats);
    CHECK_EQ_I64(stats.length_capped, 2);
    CHECK_EQ_I64(stats.preemptions, 0);
    for (int i = 0; i < 2; i++) {
      CHECK_EQ_I64(site_records(&s.site)[i].state, BLIS_REQUEST_LENGTH_CAPPED);
    }
    check_nothing_is_held(&s);
    site_deinit(&s.site);
  }
}

/* 336 tokens take 33,600 us, and the deadline is over before that. */
static void deadlines_of_transfers_in_go_blis(void) {
  scene s = {0};
  begin(&s, 1, 1, 0);
  make_go_blis(&s);
  s.policy.bytes_per_us = 1;
  add_one(&s, 321, 3);
  s.site.source.requests[0].deadline_us = 1000 + 20000;
  open_scene(&s);
  site_run(&s.site);
  const blis_record *r = site_records(&s.site);
  CHECK_EQ_I64(r->state, BLIS_REQUEST_TIMED_OUT);
  CHECK_EQ_I64(r->instance, 1);
  CHECK_EQ_I64(r->e2e_us, 20000);
  CHECK_EQ_I64(r->ttft_us, SITE_EXTRA(&s.site, 0, prefill_e2e_us));
  CHECK_EQ_I64(counts_of(&s).completed, 1);
  check_nothing_is_held(&s);
  site_deinit(&s.site);
}

/* Two of 158 tokens have 20 of 21 blocks, and each needs one more at once: the
   second one gives way. Again, it computes one token, and then all others. */
static void preempted_decodes_start_by_a_token_in_go_blis(void) {
  for (int i = 0; i < 2; i++) {
    scene s = {0};
    begin(&s, 1, 1, 0);
    make_go_blis(&s);
    s.site.instances[1].kv_blocks = 21;
    s.site.instances[1].engine = i == 0 ? BLIS_ENGINE_FAST : BLIS_ENGINE_STEPWISE;
    add_equal(&s, 2, 158, 6);
    open_scene(&s);
    site_run(&s.site);
    blis_instance_stats stats;
    blis_instance_get_stats(blis_cluster_instance(s.site.cluster, 1), &stats);
    CHECK_EQ_I64(stats.preemptions, 1);
    CHECK_EQ_I64(stats.cache_hits, 0);
    CHECK_EQ_I64(site_records(&s.site)[1].state, BLIS_REQUEST_COMPLETED);
    site_deinit(&s.site);
  }
}

int main(void) {
  RUN(parts_have_times_of_their_own_in_go_blis);
  RUN(prompts_of_one_token_are_split_in_go_blis_alone);
  RUN(prompts_beyond_the_length_of_their_destination_in_go_blis);
  RUN(deadlines_of_transfers_in_go_blis);
  RUN(preempted_decodes_start_by_a_token_in_go_blis);
  return check_done();
}
