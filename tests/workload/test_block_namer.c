/* Identities of blocks against prompts written out token by token. */
#include "workload/block_namer.h"

#include "base/random.h"
#include "check.h"

enum { MAX_SEGMENTS = 6, MAX_TOKENS = 256, PROMPTS = CASES(300), STREAMS = 3, OOM_ATTEMPTS = 1000 };

/* A prompt as the reader of a trace gives it, and as it is. */
typedef struct prompt {
  blis_segment segments[MAX_SEGMENTS];
  blis_request request;
  uint64_t tokens[MAX_TOKENS]; /* equal exactly when the tokens are */
  blis_block_chain chain;
} prompt;

static blis_error error;

static uint32_t draw(blis_random *random, int32_t n) {
  return (uint32_t)blis_random_intn(random, n);
}

/*
 * Few streams, small offsets and lengths, and segments that often go on where
 * the last one ended, so that prompts agree for a while in many ways.
 */
static void make_prompt(blis_random *random, uint64_t number, prompt *p) {
  uint32_t own_tokens = draw(random, 40);
  p->request = (blis_request){.segments = p->segments,
                              .segment_count = draw(random, MAX_SEGMENTS + 1),
                              .prefix_group = draw(random, 2),
                              .output_tokens = draw(random, 100)};
  uint32_t count = 0;
  for (uint32_t i = 0; i < p->request.segment_count; i++) {
    blis_segment *segment = &p->segments[i];
    *segment = (blis_segment){.stream = draw(random, STREAMS),
                              .offset_tokens = 4 * draw(random, 3),
                              .length_tokens = draw(random, 9) * 4};
    if (i > 0 && draw(random, 2) == 0) {
      segment->stream = segment[-1].stream;
      segment->offset_tokens = segment[-1].offset_tokens + segment[-1].length_tokens;
    }
    if (draw(random, 4) == 0) {
      segment->length_tokens++;
    }
    for (uint32_t t = 0; t < segment->length_tokens; t++) {
      p->tokens[count++] = segment->stream << 32 | (segment->offset_tokens + t);
    }
  }
  p->request.shared_tokens = count;
  for (uint32_t t = 0; t < own_tokens; t++) {
    p->tokens[count++] = (number + 1) << 48 | t;
  }
  p->request.prompt_tokens = count;
}

static uint32_t common_blocks(const prompt *a, const prompt *b, uint32_t block_size) {
  uint32_t common = 0;
  while (common < a->request.prompt_tokens && common < b->request.prompt_tokens &&
         a->tokens[common] == b->tokens[common]) {
    common++;
  }
  return common / block_size;
}

static uint32_t all_blocks(const prompt *p, uint32_t block_size) {
  return (p->request.prompt_tokens + p->request.output_tokens) / block_size;
}

static void check_pair(const prompt *a, const prompt *b, uint32_t block_size) {
  uint32_t common = common_blocks(a, b, block_size);
  uint32_t blocks_a = all_blocks(a, block_size);
  uint32_t blocks_b = all_blocks(b, block_size);
  for (uint32_t k = 0; k < blocks_a; k++) {
    blis_block_id id = blis_block_chain_at(&a->chain, k);
    for (uint32_t j = 0; j < blocks_b; j++) {
      bool is_same = id == blis_block_chain_at(&b->chain, j);
      CHECK(is_same == (j == k && k < common));
    }
  }
}

static void check_chain(const prompt *p, uint32_t block_size) {
  CHECK_EQ_I64(p->chain.shared_count, p->request.shared_tokens / block_size);
  CHECK_EQ_I64(p->chain.prompt_blocks, p->request.prompt_tokens / block_size);
  for (uint32_t k = 0; k < all_blocks(p, block_size) + 2; k++) {
    blis_block_id id = blis_block_chain_at(&p->chain, k);
    CHECK(id != BLIS_BLOCK_NONE && (id & BLIS_BLOCK_OFF_CHAIN) == 0);
    CHECK(((id & BLIS_BLOCK_PRIVATE) != 0) == (k >= p->chain.shared_count));
  }
}

static prompt prompts[PROMPTS];

static void identities_are_equal_when_the_tokens_before_are(void) {
  static const uint32_t block_sizes[] = {1, 3, 4, 7, 8, 16, 64};
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_random random;
  blis_random_init(&random, 5);
  for (size_t s = 0; s < sizeof block_sizes / sizeof *block_sizes; s++) {
    uint32_t block_size = block_sizes[s];
    blis_block_namer *namer = blis_block_namer_new(&alloc);
    for (size_t i = 0; i < PROMPTS; i++) {
      make_prompt(&random, i, &prompts[i]);
      CHECK_OK(
          blis_block_namer_chain(namer, &prompts[i].request, block_size, &prompts[i].chain, &error),
          &error);
      check_chain(&prompts[i], block_size);
      for (size_t j = i < 100 ? 0 : i - 100; j < i; j++) {
        check_pair(&prompts[i], &prompts[j], block_size);
      }
    }
    blis_block_namer_free(namer);
  }
  CHECK_EQ_I64(memory.live_bytes, 0);
}

static void names_count_up_in_the_order_of_first_sight(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  blis_random random;
  blis_random_init(&random, 6);
  uint64_t highest = 0;
  for (size_t i = 0; i < PROMPTS; i++) {
    make_prompt(&random, i, &prompts[i]);
    blis_block_chain chain;
    CHECK_OK(blis_block_namer_chain(namer, &prompts[i].request, 4, &chain, &error), &error);
    for (uint32_t k = 0; k < chain.shared_count; k++) {
      CHECK(chain.shared[k] <= highest + 1);
      highest = chain.shared[k] > highest ? chain.shared[k] : highest;
    }
    CHECK(blis_block_namer_shared_count(namer) == highest);
    blis_block_namer_release(namer, &chain);
    CHECK(chain.shared == NULL && chain.shared_count == 0);
  }
  blis_block_namer_free(namer);
}

static void block_sizes_have_different_identities(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  blis_segment segment = {7, 0, 64};
  blis_request request = {
      .segments = &segment, .segment_count = 1, .shared_tokens = 64, .prompt_tokens = 80};
  blis_block_chain chains[2];
  CHECK_OK(blis_block_namer_chain(namer, &request, 16, &chains[0], &error), &error);
  CHECK_OK(blis_block_namer_chain(namer, &request, 32, &chains[1], &error), &error);
  for (uint32_t i = 0; i < 5; i++) {
    for (uint32_t j = 0; j < 2; j++) {
      CHECK(blis_block_chain_at(&chains[0], i) != blis_block_chain_at(&chains[1], j));
    }
  }
  blis_block_namer_free(namer);
}

static void a_group_prefix_is_shared_by_pointer(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  blis_segment segment = {3, 0, 1024};
  blis_request request = {.segments = &segment,
                          .segment_count = 1,
                          .shared_tokens = 1024,
                          .prompt_tokens = 1500,
                          .prefix_group = 1};
  blis_block_chain first;
  /* A container of tiny capacity may have to grow the second time. */
  for (int i = 0; i < 2; i++) {
    CHECK_OK(blis_block_namer_chain(namer, &request, 16, &first, &error), &error);
  }
  long requests = memory.requests;
  for (int i = 0; i < 1000; i++) {
    blis_block_chain chain;
    CHECK_OK(blis_block_namer_chain(namer, &request, 16, &chain, &error), &error);
    CHECK(chain.shared == first.shared && chain.shared_count == 64);
  }
  CHECK_EQ_I64(memory.requests, requests);
  blis_block_namer_free(namer);
}

/* A block that ends with the last token is known when it was planned. */
static void output_that_is_shared_has_names(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  const blis_segment content = {.stream = 7, .length_tokens = 12};
  blis_request request = {.segments = &content,
                          .segment_count = 1,
                          .shared_tokens = 12,
                          .prompt_tokens = 12,
                          .output_tokens = 4};
  static const uint32_t named[] = {1, 1, 2};
  for (int i = 0; i < 3; i++) {
    blis_block_chain chain;
    request.shares_output = i > 0;
    request.shares_last_output = i > 1;
    CHECK_OK(blis_block_namer_chain(namer, &request, 8, &chain, &error), &error);
    CHECK_EQ_I64(chain.shared_count, named[i]);
    blis_block_namer_release(namer, &chain);
  }
  blis_block_namer_free(namer);
}

static void nothing_is_allocated_in_steady_state(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  long requests = 0;
  for (int round = 0; round < 4; round++) {
    blis_random random;
    blis_random_init(&random, 8);
    for (size_t i = 0; i < PROMPTS; i++) {
      make_prompt(&random, i, &prompts[i]);
      CHECK_OK(blis_block_namer_chain(namer, &prompts[i].request, 4, &prompts[i].chain, &error),
               &error);
      if (i >= 10) {
        blis_block_namer_release(namer, &prompts[i - 10].chain);
      }
    }
    for (size_t i = PROMPTS - 10; i < PROMPTS; i++) {
      blis_block_namer_release(namer, &prompts[i].chain);
    }
    CHECK(round == 0 || memory.requests == requests);
    requests = memory.requests;
  }
  blis_block_namer_free(namer);
}

static bool name_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_block_namer *namer = blis_block_namer_new(&alloc);
  bool failed = namer == NULL;
  blis_random random;
  blis_random_init(&random, 4);
  for (size_t i = 0; namer != NULL && i < 60; i++) {
    make_prompt(&random, i, &prompts[i]);
    blis_status status;
    while ((status = blis_block_namer_chain(namer, &prompts[i].request, 4, &prompts[i].chain,
                                            &error)) != BLIS_OK) {
      CHECK_STATUS(status, BLIS_ERR_NOMEM);
      failed = true; /* only once: the next attempt must succeed */
    }
    for (size_t j = 0; j < i; j++) {
      check_pair(&prompts[i], &prompts[j], 4);
    }
  }
  blis_block_namer_free(namer);
  CHECK_EQ_I64(memory.live_bytes, 0);
  return failed;
}

static void out_of_memory_leaves_the_names_alone(void) {
  long request = 1;
  while (name_with_failure_at(request)) {
    request++;
    CHECK(request < OOM_ATTEMPTS);
  }
  CHECK(request > 5);
}

int main(void) {
  RUN(identities_are_equal_when_the_tokens_before_are);
  RUN(names_count_up_in_the_order_of_first_sight);
  RUN(block_sizes_have_different_identities);
  RUN(a_group_prefix_is_shared_by_pointer);
  RUN(output_that_is_shared_has_names);
  RUN(nothing_is_allocated_in_steady_state);
  RUN(out_of_memory_leaves_the_names_alone);
  return check_done();
}
