/*
 * Random clusters with prefill and decode apart, in which every request ends
 * once, every hand-off is accounted for, nothing stays reserved or held, and
 * both engines agree. Arguments: how many cases (default 300) and the number of
 * the first one.
 */
#include "base/hash.h"
#include "cluster/encode/encode.h"
#include "cluster/handoff/handoff.h"
#include "handoff_scene.h"

enum { REQUESTS = 120, ACTS = 6 };

static int64_t stuck_cases;

typedef struct act {
  uint32_t index;
  int kind;
} act;

static blis_status do_act(void *ud, blis_cluster *cluster, blis_error *error) {
  const act *a = ud;
  switch (a->kind) {
  case 0:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){.kind = BLIS_LOSS_REROUTED},
                                      error);
  case 1:
    return blis_cluster_instance_fail(cluster, a->index, (blis_loss){0}, error);
  case 2:
    return blis_cluster_instance_drain(cluster, a->index, false, error);
  default:
    return blis_cluster_instance_restore(cluster, a->index, error);
  }
}

static void draw_policy(scene *s, blis_random *random) {
  static const char *const deciders[] = {"always", "always", "prefix-threshold", "cognitora.plan"};
  blis_disaggregation *p = &s->policy;
  s->decider = deciders[blis_random_intn(random, 4)];
  p->reserves_first = blis_random_intn(random, 2) == 0;
  p->gives_first_token = blis_random_intn(random, 2) == 0;
  p->on_no_room = (blis_no_room)blis_random_intn(random, 3);
  p->on_failure = (blis_handoff_failure)blis_random_intn(random, 3);
  p->retries_max = blis_random_intn(random, 3);
  p->retry_pause_us = blis_random_intn(random, 20000);
  p->timeout_us = blis_random_intn(random, 4) == 0 ? 0 : 20000 + blis_random_intn(random, 2000000);
  p->kv_limit = blis_random_intn(random, 2) == 0 ? 1 : 0.6;
  p->bytes_per_us = 0.5 + blis_random_intn(random, 500);
  p->fabric_bytes_per_us = 1 + blis_random_intn(random, 500);
  if (blis_random_intn(random, 2) == 0) {
    p->fabric_bytes_per_us = (double)INFINITY;
  }
  p->base_us = blis_random_intn(random, 500) / 7.0;
  p->handshake_us = blis_random_intn(random, 2) * 5000;
  p->moves_missing = blis_random_intn(random, 2) == 0;
  p->drops_source_cache = blis_random_intn(random, 3) == 0;
  if (p->reserves_first && blis_random_intn(random, 2) == 0) {
    p->overlap_portion = 1.0 / (1 + blis_random_intn(random, 12));
    p->overlap_from_tokens = blis_random_intn(random, 200);
  }
}

/* One more instance encodes what half of the requests bring. */
static void add_encoder(scene *s, blis_random *random) {
  uint32_t last = s->site.config.instance_count++;
  s->site.instances[last] = s->site.instances[0];
  s->facts[last] = s->facts[0];
  s->facts[last].roles = BLIS_ROLE_ENCODE;
  s->stage = (blis_encode_stage){.rule = BLIS_ENCODES_MULTIMODAL,
                                 .base_us = blis_random_intn(random, 20000),
                                 .us_per_token = blis_random_intn(random, 300) / 7.0};
}

static void set_horizon(scene *s, int64_t horizon_us) {
  s->site.config.horizon_us = horizon_us;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].horizon_us = horizon_us;
  }
}

static void go_blis(scene *s, blis_random *random) {
  make_go_blis(s);
  s->policy.has_contention = blis_random_intn(random, 2) == 0;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    s->site.instances[i].kv_blocks += 30; /* each request fits */
  }
}

static void draw_scene(scene *s, int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  uint32_t prefills = 1 + (uint32_t)blis_random_intn(&random, 2);
  uint32_t decodes = 1 + (uint32_t)blis_random_intn(&random, 2);
  uint32_t both = (uint32_t)blis_random_intn(&random, 3);
  static const char *const policies[] = {"round-robin", "least-loaded", "weighted"};
  begin(s, prefills, decodes, both);
  s->site.policy = policies[blis_random_intn(&random, 3)];
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    blis_instance_config *c = &s->site.instances[i];
    c->kv_blocks = 60 + blis_random_intn(&random, 150);
    c->block_size_tokens = 8 << blis_random_intn(&random, 2);
    c->max_num_seqs = 1 + blis_random_intn(&random, 20);
    c->max_batched_tokens = 64 << blis_random_intn(&random, 5);
    s->facts[i].nic_bytes_per_us = blis_random_intn(&random, 3) * 40;
    s->facts[i].kv_bytes_per_token = 100.0 / (1 + blis_random_intn(&random, 4));
    if (blis_random_intn(&random, 3) == 0) {
      c->max_model_len_tokens = 300 + blis_random_intn(&random, 150);
    }
  }
  if (blis_random_intn(&random, 3) == 0) {
    s->site.config.snapshot_refresh_us = 30000;
  }
  draw_policy(s, &random);
  if (blis_random_intn(&random, 4) == 0) {
    add_encoder(s, &random);
  }
  if (blis_random_intn(&random, 6) == 0) {
    go_blis(s, &random);
  }
  if (blis_random_intn(&random, 8) == 0) {
    set_horizon(s, 1000000 + blis_random_intn(&random, 3000000));
  }
  site_add_random_requests(&s->site, REQUESTS, 5 + blis_random_intn(&random, 60), seed);
  for (size_t i = 0; i < REQUESTS; i++) {
    blis_request *r = &s->site.source.requests[i];
    if (blis_random_intn(&random, 4) == 0) {
      r->deadline_us = r->arrival_us + blis_random_intn(&random, 3000000);
    }
    if (blis_random_intn(&random, 2) == 0) {
      r->image_tokens = (uint32_t)blis_random_intn(&random, 200);
    }
    if (blis_random_intn(&random, 8) == 0) {
      r->output_tokens = 1;
      r->max_output_tokens = 1;
    }
  }
}

/*
 * Instances of both roles may wait for each other for ever where there is no
 * timeout; then one of the hand-offs is named, or a request that gets in again
 * and again beside blocks that are held.
 */
static bool may_get_stuck(const scene *s) {
  bool has_both = false;
  for (uint32_t i = 0; i < s->site.config.instance_count; i++) {
    has_both |= s->facts[i].roles == (BLIS_ROLE_PREFILL | BLIS_ROLE_DECODE);
  }
  return s->policy.timeout_us == 0 && s->policy.ops == NULL && has_both;
}

static uint64_t give_up(const scene *s, const blis_error *error, const char *why) {
  CHECK(may_get_stuck(s) && counts_of(s).in_flight > 0);
  CHECK(strstr(error->message, "request_") != NULL);
  CHECK(strstr(error->message, why) != NULL);
  stuck_cases++;
  return blis_hash64(why, strlen(why), 1);
}

/* Whole transfers go over the fabric, and over one of their ends at least; over
   both, where each instance has as many GPUs. */
static void check_links(const scene *s) {
  double out = 0, in = 0, fabric = 0, moved = counts_of(s).bytes;
  size_t count = blis_cluster_link_count(s->site.cluster);
  bool is_equal = true;
  for (size_t i = 0; i < count; i++) {
    blis_link_counts link = blis_cluster_link(s->site.cluster, i);
    *(link.instance < 0 ? &fabric : link.is_in ? &in : &out) += link.bytes;
    is_equal &= link.instance < 0 ||
                s->facts[link.instance].kv_bytes_per_token == s->facts[0].kv_bytes_per_token;
    CHECK(link.transfer_us >= link.busy_us * (1 - 1e-9));
    CHECK(link.bytes <= link.bytes_per_us * link.busy_us * (1 + 1e-9) + 1);
  }
  double slack = 0.5 + 1e-9 * moved;
  CHECK(s->policy.ops != NULL || (out <= moved + slack && in <= moved + slack));
  CHECK(s->policy.ops != NULL || out + in >= moved - slack);
  CHECK(!is_equal || fabs(out - in) <= 1e-9 * out);
  CHECK(!is_equal || s->policy.ops != NULL || fabs(out - moved) <= slack);
  CHECK(count % 2 == 0 || fabs(moved - fabric) <= slack);
}

static uint64_t close_books(scene *s) {
  blis_handoff_counts c = counts_of(s);
  blis_cluster_counts all;
  blis_error error = {0};
  if (blis_cluster_finish(s->site.cluster, &error) == BLIS_ERR_STUCK) {
    return give_up(s, &error, "nothing is left to happen");
  }
  CHECK_OK(error.status, &error);
  check_links(s);
  blis_cluster_get_counts(s->site.cluster, &all);
  if (s->site.config.horizon_us == BLIS_TIME_NEVER_US) {
    CHECK_EQ_I64(all.arrived, REQUESTS);
    CHECK_EQ_I64(all.unfinished, 0);
    CHECK_EQ_I64(c.in_flight, 0);
    check_nothing_is_held(s);
  }
  return blis_recorder_hash(s->site.recorder) ^ blis_hash64(&c, sizeof c, 1);
}

static blis_status run_to_end(scene *s, bool by_steps, blis_error *error) {
  if (by_steps) {
    BLIS_TRY(site_step_to_end(&s->site, NULL, error));
  }
  return blis_cluster_run_until(s->site.cluster, BLIS_TIME_NEVER_US, error);
}

static uint64_t run_scene(scene *s, int64_t seed, blis_engine_kind engine, bool by_steps) {
  static act acts[ACTS];
  blis_random random;
  blis_random_init_named(&random, seed, "acts");
  uint32_t count = s->site.config.instance_count;
  blis_error error;
  for (uint32_t i = 0; i < count; i++) {
    s->site.instances[i].engine = engine;
  }
  open_scene(s);
  for (int i = 0; i < ACTS && seed % 2 == 0; i++) {
    acts[i] = (act){.index = (uint32_t)blis_random_intn(&random, (int32_t)count),
                    .kind = i == 0 ? 3 : blis_random_intn(&random, 5)};
    CHECK_OK(blis_cluster_call_at(s->site.cluster, blis_random_intn(&random, 4000000), do_act,
                                  &acts[i], &error),
             &error);
  }
  blis_status status = run_to_end(s, by_steps, &error);
  bool is_stuck = status == BLIS_ERR_STUCK;
  CHECK_OK(is_stuck ? BLIS_OK : status, &error);
  uint64_t hash = is_stuck ? give_up(s, &error, "has made progress") : close_books(s);
  site_close(&s->site);
  return hash;
}

static int64_t case_count = 300;
static int64_t first_case = 1;

static void engines_agree(void) {
  for (int64_t k = 0; k < case_count; k++) {
    int64_t seed = first_case + k;
    printf("# case %" PRId64 "\n", seed);
    scene s = {0};
    draw_scene(&s, seed);
    uint64_t hash = run_scene(&s, seed, BLIS_ENGINE_STEPWISE, false);
    CHECK(run_scene(&s, seed, BLIS_ENGINE_FAST, false) == hash);
    CHECK(run_scene(&s, seed, BLIS_ENGINE_FAST, true) == hash);
    site_deinit(&s.site);
  }
  printf("# %" PRId64 " of %" PRId64 " cases agree, %" PRId64 " of them stuck and named\n",
         case_count, case_count, stuck_cases / 3);
}
int main(int argc, char **argv) {
  if (argc > 1) {
    case_count = strtoll(argv[1], NULL, 10);
    first_case = argc > 2 ? strtoll(argv[2], NULL, 10) : 1;
  }
  RUN(engines_agree);
  return check_done();
}
