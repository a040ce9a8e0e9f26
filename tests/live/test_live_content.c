/* Tokens of texts, and the place of prompts in streams of content. */
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "live/content.h"
#include "live/text.h"
#include "workload/block_namer.h"

enum { VOCABULARY = 128256, BLOCK = 16 };

static void test_tokens_of_words_are_the_words(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_live_tokens tokens = {0};
  for (uint32_t token = 0; token < VOCABULARY; token += 1 + token % 7) {
    char word[BLIS_LIVE_WORD_BYTES];
    blis_live_word(token, word);
    tokens.count = 0;
    CHECK(blis_live_tokens_add(&heap, &tokens, VOCABULARY, (blis_slice){word, sizeof word}) ==
          BLIS_OK);
    CHECK_EQ_I64(tokens.count, 1);
    CHECK_EQ_I64(tokens.items[0], token);
  }
  blis_array_deinit(&heap, &tokens);
}

static void test_prefixes_of_texts_are_prefixes_of_tokens(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_live_tokens whole = {0};
  blis_live_tokens part = {0};
  const char *text = "You are a helpful assistant. ~zz9 abc 1234";
  CHECK(blis_live_tokens_add(&heap, &whole, 50000, blis_slice_of(text)) == BLIS_OK);
  for (size_t length = 0; length < strlen(text); length += BLIS_LIVE_WORD_BYTES) {
    part.count = 0;
    CHECK(blis_live_tokens_add(&heap, &part, 50000, (blis_slice){text, length}) == BLIS_OK);
    CHECK_EQ_I64(part.count, length / BLIS_LIVE_WORD_BYTES);
    CHECK(length == 0 || memcmp(part.items, whole.items, part.count * sizeof *part.items) == 0);
  }
  for (size_t i = 0; i < whole.count; i++) {
    CHECK(whole.items[i] < 50000);
  }
  blis_array_deinit(&heap, &whole);
  blis_array_deinit(&heap, &part);
}

/* A prompt with its reply, and the identities of its blocks. */
typedef struct placed {
  blis_request request;
  blis_block_chain chain;
} placed;

static void place(blis_live_content *content, blis_block_namer *namer,
                  const blis_live_prompt *prompt, placed *p) {
  blis_segment *segments;
  blis_error error;
  *p = (placed){.request = {.prompt_tokens = prompt->count,
                            .shared_tokens = prompt->count,
                            .output_tokens = prompt->reply_tokens,
                            .shares_output = true}};
  CHECK(blis_live_content_place(content, prompt, &segments, &p->request.segment_count) == BLIS_OK);
  p->request.segments = segments;
  uint64_t sum = 0;
  for (uint32_t i = 0; i < p->request.segment_count; i++) {
    sum += segments[i].length_tokens;
  }
  CHECK_EQ_I64(sum, prompt->count);
  CHECK_OK(blis_block_namer_chain(namer, &p->request, BLOCK, &p->chain, &error), &error);
}

static void drop(blis_block_namer *namer, placed *p) {
  blis_alloc heap = blis_alloc_heap();
  blis_block_namer_release(namer, &p->chain);
  blis_alloc_free(&heap, (void *)p->request.segments,
                  p->request.segment_count * sizeof *p->request.segments);
}

/* How many first blocks of the prompt b are those of a, its reply included. */
static uint32_t common_blocks(const placed *a, const placed *b) {
  uint32_t most = (b->request.prompt_tokens - 1) / BLOCK;
  uint32_t in_a = (a->request.prompt_tokens + a->request.output_tokens - 1) / BLOCK;
  uint32_t count = 0;
  while (count < most && count < in_a &&
         blis_block_chain_at(&a->chain, count) == blis_block_chain_at(&b->chain, count)) {
    count++;
  }
  return count;
}

/* A chat of random turns: each prompt is the one before, its reply, and a new message. */
static void test_history_is_found(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 3);
  blis_live_content *content = blis_live_content_new(&heap, BLOCK, 1 << 20);
  blis_block_namer *namer = blis_block_namer_new(&heap);
  for (int chat = 0; chat < CASES(60); chat++) {
    uint32_t tokens[4096];
    uint32_t count = 0;
    placed before = {0};
    for (int turn = 0; turn < 6; turn++) {
      uint32_t more = 1 + (uint32_t)blis_random_intn(&random, 100);
      for (uint32_t i = 0; i < more; i++) {
        tokens[count++] = (uint32_t)blis_random_intn(&random, VOCABULARY);
      }
      const blis_live_prompt prompt = {.tokens = tokens,
                                       .count = count,
                                       .reply_seed = (uint64_t)(chat * 10 + turn),
                                       .reply_tokens = 1 + (uint32_t)blis_random_intn(&random, 90)};
      placed now;
      place(content, namer, &prompt, &now);
      if (turn > 0) {
        uint32_t known = before.request.prompt_tokens + before.request.output_tokens - 1;
        uint32_t whole = (now.request.prompt_tokens - 1) / BLOCK;
        CHECK_EQ_I64(common_blocks(&before, &now), known / BLOCK < whole ? known / BLOCK : whole);
        drop(namer, &before);
      }
      before = now;
      for (uint32_t i = 0; i < prompt.reply_tokens; i++) {
        tokens[count++] = blis_live_reply_token(prompt.reply_seed, i);
      }
    }
    drop(namer, &before);
  }
  blis_block_namer_free(namer);
  blis_live_content_free(content);
}

/* Random prompts of few tokens: blocks are equal exactly when the tokens up to them are. */
static void test_equal_tokens_are_equal_blocks(void) {
  enum { PROMPTS = 60, MOST = 100 };
  blis_alloc heap = blis_alloc_heap();
  blis_random random;
  blis_random_init(&random, 4);
  blis_live_content *content = blis_live_content_new(&heap, BLOCK, 1 << 20);
  blis_block_namer *namer = blis_block_namer_new(&heap);
  static uint32_t tokens[PROMPTS][MOST];
  static placed made[PROMPTS];
  for (int p = 0; p < PROMPTS; p++) {
    uint32_t count = 1 + (uint32_t)blis_random_intn(&random, MOST);
    for (uint32_t i = 0; i < count; i++) {
      tokens[p][i] = i % BLOCK == 0 ? (uint32_t)blis_random_intn(&random, 2) : 7;
    }
    const blis_live_prompt prompt = {.tokens = tokens[p],
                                     .count = count,
                                     .salt = (uint64_t)(p % 2),
                                     .reply_seed = (uint64_t)p + 100,
                                     .reply_tokens = 1 + (uint32_t)p};
    place(content, namer, &prompt, &made[p]);
    for (int q = 0; q < p; q++) {
      uint32_t a = (made[p].request.prompt_tokens - 1) / BLOCK;
      uint32_t b = (made[q].request.prompt_tokens - 1) / BLOCK;
      uint32_t equal = 0;
      while (p % 2 == q % 2 && equal < a && equal < b &&
             memcmp(tokens[p], tokens[q], (equal + 1) * BLOCK * sizeof **tokens) == 0) {
        equal++;
      }
      uint32_t found = common_blocks(&made[q], &made[p]);
      found = found < b ? found : b; /* what follows is the reply */
      CHECK_EQ_I64(found, equal);
    }
  }
  for (int p = 0; p < PROMPTS; p++) {
    drop(namer, &made[p]);
  }
  blis_block_namer_free(namer);
  blis_live_content_free(content);
}

static void test_without_memory_it_fails(void) {
  uint32_t tokens[100] = {0};
  const blis_live_prompt prompt = {.tokens = tokens, .count = 100, .reply_tokens = 50};
  bool is_done = false;
  for (long fail_at = 1; !is_done; fail_at++) {
    blis_alloc_probe memory = {.fail_at = fail_at, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&memory);
    blis_live_content *content = blis_live_content_new(&alloc, BLOCK, 100);
    blis_segment *segments = NULL;
    uint32_t count = 0;
    if (content != NULL) {
      is_done = blis_live_content_place(content, &prompt, &segments, &count) == BLIS_OK;
    }
    if (is_done) {
      blis_alloc_free(&alloc, segments, count * sizeof *segments);
    }
    blis_live_content_free(content);
    CHECK_EQ_I64(memory.live_bytes, 0);
  }
}

int main(void) {
  RUN(test_tokens_of_words_are_the_words);
  RUN(test_prefixes_of_texts_are_prefixes_of_tokens);
  RUN(test_history_is_found);
  RUN(test_equal_tokens_are_equal_blocks);
  RUN(test_without_memory_it_fails);
  return check_done();
}
