/* The radix tree of recent prompts, against a list of them. */
#include <math.h>

#include "base/random.h"
#include "policy/memory/prompt_tree.h"
#include "routing_fixture.h"

enum { LIVE_MAX = 400, BLOCKS = 24, INSTANCES = 3, ROUNDS = 20000 };

enum { WINDOW_US = 100 };

/* A request that the tree may remember. */
typedef struct prompt {
  blis_block_id ids[BLOCKS];
  uint32_t shared;
  uint32_t blocks;
  blis_block_id private_base;
  int64_t at_us;
  uint32_t instance;
  bool is_in_flight;
  blis_ticket ticket;
} prompt;

typedef struct model {
  blis_alloc_probe memory;
  blis_alloc alloc;
  blis__prompt_tree tree;
  fixture f;
  blis_random random;
  prompt live[LIVE_MAX];
  int count;
  blis_block_id next_private;
} model;

static int draw(model *m, int n) {
  return blis_random_intn(&m->random, n);
}

/* Identities such that equal ones have equal ones before them. */
static void draw_prompt(model *m, prompt *p) {
  *p = (prompt){.shared = (uint32_t)draw(m, BLOCKS + 1)};
  p->blocks = p->shared + (uint32_t)draw(m, (int)(BLOCKS - p->shared) + 1);
  p->private_base = BLIS_BLOCK_PRIVATE | (m->next_private += BLOCKS);
  blis_block_id path = 1;
  for (uint32_t k = 0; k < p->shared; k++) {
    path = path * 2 + (draw(m, 4) == 0);
    p->ids[k] = path;
  }
}

static blis_block_chain chain_of(const prompt *p) {
  return (blis_block_chain){p->ids, p->shared, p->blocks, p->private_base};
}

static uint32_t common_blocks(const prompt *a, const prompt *b) {
  blis_block_chain x = chain_of(a);
  blis_block_chain y = chain_of(b);
  uint32_t k = 0;
  while (k < a->blocks && k < b->blocks &&
         blis_block_chain_at(&x, k) == blis_block_chain_at(&y, k)) {
    k++;
  }
  return k;
}

/* Forgets what is neither in flight nor in the window. */
static void forget(model *m, int64_t now_us) {
  int kept = 0;
  for (int i = 0; i < m->count; i++) {
    const prompt *p = &m->live[i];
    if (p->is_in_flight || p->at_us >= now_us - WINDOW_US) {
      m->live[kept++] = *p;
    }
  }
  m->count = kept;
}

static void end_one(model *m) {
  prompt *p = &m->live[draw(m, m->count)];
  if (p->is_in_flight) {
    p->is_in_flight = false;
    blis__prompt_tree_ended(&m->tree, &p->ticket, p->instance);
  }
}

static void take_one(model *m) {
  prompt p;
  draw_prompt(m, &p);
  blis_block_chain chain = chain_of(&p);
  blis_routing_request request = fixture_request(1, p.blocks * 16, &chain, &p.ticket);
  blis__tree_match match;
  CHECK(blis__prompt_tree_look_up(&m->tree, &request, &m->f.view, &match) == BLIS_OK);
  forget(m, m->f.view.now_us);
  uint32_t known = 0;
  for (int i = 0; i < m->count; i++) {
    uint32_t common = common_blocks(&m->live[i], &p);
    known = common > known ? common : known;
  }
  CHECK_EQ_I64(match.known, known);
  CHECK_EQ_I64(match.total, p.blocks);
  CHECK((match.node == BLIS__TREE_NONE) == (known == 0));
  p.instance = (uint32_t)draw(m, INSTANCES);
  p.at_us = m->f.view.now_us;
  p.is_in_flight = true;
  CHECK(blis__prompt_tree_take(&m->tree, &request, &match, p.instance, p.at_us, 7) == BLIS_OK);
  m->live[m->count++] = p;
}

static void the_tree_knows_what_is_live(void) {
  static model m;
  m.alloc = blis_alloc_probed(&m.memory);
  fixture_init(&m.f, INSTANCES);
  blis_random_init(&m.random, 11);
  blis__prompt_tree_init(&m.tree, &m.alloc, 16, WINDOW_US, blis__prefill_ms_preble);
  for (int round = 0; round < ROUNDS; round++) {
    m.f.view.now_us += draw(&m, 5);
    if (m.count < LIVE_MAX) {
      take_one(&m);
    }
    if (m.count > 0 && draw(&m, 8) > 0) {
      end_one(&m);
    }
    if (round % 16 == 0) {
      CHECK(blis__prompt_tree_check(&m.tree));
    }
  }
  for (int i = 0; i < m.count; i++) {
    if (m.live[i].is_in_flight) {
      blis__prompt_tree_ended(&m.tree, &m.live[i].ticket, m.live[i].instance);
    }
  }
  m.f.view.now_us += WINDOW_US + 1;
  blis_ticket ticket;
  blis_block_chain none = {0};
  blis_routing_request request = fixture_request(1, 0, &none, &ticket);
  blis__tree_match match;
  CHECK(blis__prompt_tree_look_up(&m.tree, &request, &m.f.view, &match) == BLIS_OK);
  CHECK_EQ_I64(blis_map_count(&m.tree.by_first), 0);
  for (size_t i = 0; i < INSTANCES; i++) {
    CHECK_EQ_I64(m.tree.loads.items[i].prefill_ns, 0);
    CHECK_EQ_I64(m.tree.loads.items[i].decode_tokens, 0);
    CHECK_EQ_I64(m.tree.loads.items[i].nodes, 0);
    CHECK_EQ_I64(m.tree.loads.items[i].requests, 0);
  }
  blis__prompt_tree_deinit(&m.tree);
  CHECK_EQ_I64(m.memory.live_bytes, 0);
}

/* One node of 64 blocks, then a second request over its first half. */
static void shares_follow_their_formula(void) {
  blis_alloc alloc = blis_alloc_heap();
  static blis_block_id ids[64];
  for (size_t k = 0; k < 64; k++) {
    ids[k] = k + 1;
  }
  fixture f;
  fixture_init(&f, 2);
  blis__prompt_tree tree;
  blis__prompt_tree_init(&tree, &alloc, 16, WINDOW_US, blis__prefill_ms_a6000);
  for (uint32_t instance = 0; instance < 2; instance++) {
    blis_block_chain chain = {ids, 64, instance == 0 ? 64 : 32, BLIS_BLOCK_PRIVATE};
    blis_ticket ticket;
    blis_routing_request request = fixture_request(1, chain.prompt_blocks * 16, &chain, &ticket);
    blis__tree_match match;
    CHECK(blis__prompt_tree_look_up(&tree, &request, &f.view, &match) == BLIS_OK);
    CHECK(blis__prompt_tree_take(&tree, &request, &match, instance, 0, 10) == BLIS_OK);
    if (instance == 0) { /* nothing was known of 1024 tokens */
      CHECK_EQ_I64(tree.loads.items[0].prefill_ns,
                   (int64_t)(blis__prefill_ms_a6000(1024, 1024) * 1e6));
    }
  }
  /* Upper half: 2 requests at 2 places, 512 of 1536 tokens known. */
  double upper = (1 - 512.0 / 1536) * 2 * blis__prefill_ms_a6000(512, 512) / 2;
  double lower = blis__prefill_ms_a6000(512, 1024);
  CHECK_EQ_I64(tree.loads.items[1].prefill_ns, (int64_t)(upper * 1e6));
  CHECK_EQ_I64(tree.loads.items[0].prefill_ns, (int64_t)(upper * 1e6) + (int64_t)(lower * 1e6));
  CHECK_EQ_I64(tree.loads.items[0].nodes, 2);
  CHECK_EQ_I64(tree.loads.items[0].decode_tokens, 20); /* at both nodes */
  CHECK_EQ_I64(tree.loads.items[1].decode_tokens, 10);
  blis__prompt_tree_deinit(&tree);
}

/* Numbers of instances that fill an array to its end are among these. */
static void there_is_room_for_every_instance(void) {
  blis_alloc alloc = blis_alloc_heap();
  for (size_t count = 1; count <= FIXTURE_MAX; count++) {
    fixture f;
    fixture_init(&f, count);
    blis__prompt_tree tree;
    blis__prompt_tree_init(&tree, &alloc, 16, WINDOW_US, blis__prefill_ms_preble);
    blis_ticket ticket;
    blis_block_chain none = {0};
    blis_routing_request request = fixture_request(1, 0, &none, &ticket);
    blis__tree_match match;
    CHECK(blis__prompt_tree_look_up(&tree, &request, &f.view, &match) == BLIS_OK);
    CHECK_EQ_I64(tree.loads.count, count);
    CHECK(tree.loads.capacity >= count);
    blis__prompt_tree_deinit(&tree);
  }
}

static void prefill_times(void) {
  CHECK(fabs(blis__prefill_ms_a6000(512, 4096) - 66.871) < 5e-4);
  CHECK(fabs(blis__prefill_ms_a6000(4096, 8192) - 549.648) < 5e-4);
  CHECK(fabs(blis__prefill_ms_a6000(100, 500) - 24.8) < 1e-9);
  CHECK(fabs(blis__prefill_ms_preble(512, 4096) - 80.582) < 5e-4);
  CHECK(fabs(blis__prefill_ms_preble(4096, 8192) - 602.725) < 5e-4);
  CHECK(fabs(blis__prefill_ms_preble(100, 500) - 24.8) < 1e-9);
  /* (0.27106428 x 512 + 10.52444263 + (0.000465 x 4096 + 0.398) / 2) / 0.9 */
  CHECK(fabs(blis__prefill_ms_v100(512, 4096) - 167.178527) < 1e-6);
  CHECK(fabs(blis__prefill_ms_v100(100, 500) - 62) < 1e-9);
}

int main(void) {
  RUN(the_tree_knows_what_is_live);
  RUN(shares_follow_their_formula);
  RUN(there_is_room_for_every_instance);
  RUN(prefill_times);
  return check_done();
}
