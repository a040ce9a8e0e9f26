/*
 * Every routing policy, with its defaults, on one small workload: where each
 * request goes, against tests/golden/decisions/<policy>.txt.
 *
 * A difference means that a policy decides otherwise than it did. Where that is
 * what a change is about, the files are rewritten (golden.h).
 *
 * The workload: 4 instances of 900 KV blocks of 16 tokens and 8 running
 * requests; every half second three requests arrive together.
 *   - Of any six requests in a row, the first four are turns of sessions s1 to
 *     s4: 512 tokens that all sessions of a group begin with (s1 and s4 are in
 *     group g1 and of tenant t1, s2 in g2, s3 in g3), 128 tokens for every turn
 *     before, and 40 of their own.
 *   - The fifth has only 300 tokens of its own.
 *   - The sixth is the same 256 tokens, "same", every time.
 */
#include "cluster_fixture.h"
#include "golden.h"

enum {
  REQUESTS = 60,
  CYCLE = 6,
  SESSIONS = 4,
  GROUPS = 3,
  GROUP_TOKENS = 512,
  TURN_TOKENS = 128,
  SAME_TOKENS = 256,
  LINE_SIZE = 160
};

/* Segments outlive the requests made of them. */
typedef struct content {
  blis_segment turns[REQUESTS][2];
  blis_segment same;
} content;

/* "s1", "g2": the number of the text. */
static uint32_t text_number(site *s, char letter, int number) {
  char text[16];
  int length = snprintf(text, sizeof text, "%c%d", letter, number);
  uint32_t id;
  CHECK(blis_intern_add(s->strings, text, (size_t)length, &id) == BLIS_OK);
  return id;
}

static void make_turn(site *s, content *c, int i) {
  blis_request *r = &s->source.requests[i];
  int session = i % CYCLE;
  int turn = i / CYCLE;
  int group = session % GROUPS;
  c->turns[i][0] = (blis_segment){.stream = 1 + (uint64_t)group, .length_tokens = GROUP_TOKENS};
  c->turns[i][1] = (blis_segment){.stream = 101 + (uint64_t)session,
                                  .length_tokens = (uint32_t)(TURN_TOKENS * turn)};
  r->segments = c->turns[i];
  r->segment_count = turn > 0 ? 2 : 1;
  r->shared_tokens = (uint32_t)(GROUP_TOKENS + TURN_TOKENS * turn);
  r->prompt_tokens = r->shared_tokens + 40;
  r->session = text_number(s, 's', session + 1);
  r->tenant = text_number(s, 't', group + 1);
  r->round_index = turn;
  r->prefix_group = text_number(s, 'g', group + 1);
  r->prefix_tokens = GROUP_TOKENS;
}

static void make_request(site *s, content *c, int i) {
  blis_request *r = &s->source.requests[i];
  r->arrival_us = i / 3 * INT64_C(500000);
  r->output_tokens = (uint32_t)(120 + 60 * (i % 5));
  r->max_output_tokens = r->output_tokens;
  if (i % CYCLE < SESSIONS) {
    make_turn(s, c, i);
  } else if (i % CYCLE == SESSIONS) {
    r->prompt_tokens = 300;
  } else {
    c->same = (blis_segment){.stream = 999, .length_tokens = SAME_TOKENS};
    r->segments = &c->same;
    r->segment_count = 1;
    r->shared_tokens = SAME_TOKENS;
    r->prompt_tokens = SAME_TOKENS;
  }
}

static void make_site(site *s, content *c, const char *policy) {
  site_init(s, blis_alloc_heap(), 4);
  for (int i = 0; i < 4; i++) {
    s->instances[i].kv_blocks = 900;
    s->instances[i].max_num_seqs = 8;
  }
  s->policy = policy;
  site_add_requests(s, REQUESTS);
  for (int i = 0; i < REQUESTS; i++) {
    make_request(s, c, i);
  }
}

static void write_line(const site *s, const blis_record *record, char *line) {
  const blis_request *r = &s->source.requests[record->number];
  char what[32];
  if (r->session != 0) {
    snprintf(what, sizeof what, "%s turn %d of %s", blis_intern_text(s->strings, r->session),
             (int)r->round_index, blis_intern_text(s->strings, r->prefix_group));
  } else {
    snprintf(what, sizeof what, "%s", r->shared_tokens > 0 ? "same" : "own");
  }
  char where[48];
  if (record->instance < 0) {
    snprintf(where, sizeof where, "rejected: %s", blis_recorder_reason(s->recorder, record));
  } else {
    snprintf(where, sizeof where, "instance_%d", (int)record->instance);
  }
  snprintf(line, LINE_SIZE, "%2d %5d ms %-15s %4d tokens -> %s\n", (int)record->number,
           (int)(r->arrival_us / 1000), what, (int)r->prompt_tokens, where);
}

typedef struct golden {
  char path[160];
  char text[REQUESTS * LINE_SIZE];
} golden;

/* What the policy decides now. */
static void decide(const char *policy, golden *now) {
  static content c;
  static site s;
  make_site(&s, &c, policy);
  site_must_open(&s);
  site_run(&s);
  CHECK(blis_recorder_sort(s.recorder) == BLIS_OK);
  CHECK_EQ_I64(blis_recorder_count(s.recorder), REQUESTS);
  now->text[0] = '\0';
  for (size_t i = 0; i < REQUESTS; i++) {
    char line[LINE_SIZE];
    write_line(&s, &site_records(&s)[i], line);
    strncat(now->text, line, sizeof now->text - strlen(now->text) - 1);
  }
  snprintf(now->path, sizeof now->path, "tests/golden/decisions/%s.txt", policy);
  site_deinit(&s);
}

static void decisions_are_those_of_the_files(void) {
  static golden now;
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    decide(blis_policy_at(BLIS_POLICY_ROUTER, e)->name, &now);
    check_golden(now.path, now.text);
  }
}

/* The fast engine decides the same: it is another way to compute alike. */
static void the_engine_does_not_matter(void) {
  static content c;
  for (size_t e = 0; e < blis_policy_count(BLIS_POLICY_ROUTER); e++) {
    static site s;
    make_site(&s, &c, blis_policy_at(BLIS_POLICY_ROUTER, e)->name);
    uint64_t hash = site_hash(&s);
    for (int i = 0; i < 4; i++) {
      s.instances[i].engine = BLIS_ENGINE_FAST;
    }
    CHECK(site_hash(&s) == hash);
    site_deinit(&s);
  }
}

int main(void) {
  RUN(decisions_are_those_of_the_files);
  RUN(the_engine_does_not_matter);
  return check_done();
}
