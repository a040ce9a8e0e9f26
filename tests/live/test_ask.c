/* Requests of the API: what is read of them, and why they are refused. */
#include "live/ask.h"

#include "base/random.h"
#include "check.h"

static const char *const models[] = {"qwen/qwen3-14b", "short"};
static const blis_live_limits limits = {.vocabulary = 128256,
                                        .max_model_len = 1000,
                                        .models = models,
                                        .model_count = 2,
                                        .media_tokens = 10};

static blis_live_ask ask;

static bool try_read(blis_live_api api, const char *body, blis_live_refusal *refusal) {
  return blis_live_ask_read(&ask, api, &limits, blis_slice_of(body), refusal);
}

static void must_read(blis_live_api api, const char *body) {
  blis_live_refusal refusal;
  if (!try_read(api, body, &refusal)) {
    check_fail(__FILE__, __LINE__, "%s: %s", body, refusal.message);
  }
}

static void start(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_live_ask_init(&ask, &heap);
}

static void test_prompts_have_four_forms(void) {
  start();
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"Hello world!\"}");
  CHECK_EQ_I64(ask.prompts.count, 1);
  CHECK_EQ_I64(ask.prompts.items[0].count, 3);
  CHECK_EQ_I64(ask.max_tokens, 16);
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": [\"Hello\", \"you\"], \"n\": 2}");
  CHECK_EQ_I64(ask.prompts.count, 2);
  CHECK_EQ_I64(ask.n, 2);
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": [1, 2, 3], \"max_tokens\": 5}");
  CHECK_EQ_I64(ask.prompts.items[0].count, 3);
  CHECK_EQ_I64(ask.tokens.items[2], 3);
  CHECK_EQ_I64(ask.max_tokens, 5);
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": [[1, 2], [3]], \"model\": \"short\"}");
  CHECK_EQ_I64(ask.prompts.items[1].first, 2);
  CHECK(ask.adapter == NULL);
  blis_live_ask_deinit(&ask);
}

static void test_chats_have_roles_and_parts(void) {
  start();
  must_read(BLIS_LIVE_CHAT, "{\"messages\": [{\"role\": \"user\", \"content\": \"12345678\"}]}");
  CHECK_EQ_I64(ask.tokens.count, 3 + 1 + 2 + 3 + 3);
  CHECK_EQ_I64(ask.max_tokens, 1000 - (int64_t)ask.tokens.count);
  must_read(BLIS_LIVE_CHAT, "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": "
                            "\"image_url\", \"image_url\": {\"url\": \"http://x\"}}, {\"type\": "
                            "\"text\", \"text\": \"1234\"}]}], \"max_completion_tokens\": 7, "
                            "\"max_tokens\": 3}");
  CHECK_EQ_I64(ask.tokens.count, 3 + 1 + 10 + 1 + 3 + 3);
  CHECK_EQ_I64(ask.max_tokens, 7);
  blis_live_ask_deinit(&ask);
}

static void test_stream_options_want_usage(void) {
  start();
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"stream\": true, \"stream_options\": {}}");
  CHECK(ask.streams && ask.includes_usage && !ask.continues_usage);
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"stream\": true, \"stream_options\": "
                                   "{\"include_usage\": false, \"continuous_usage_stats\": true}}");
  CHECK(!ask.includes_usage && ask.continues_usage);
  must_read(BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"stop\": [\"x\", \"yz\"]}");
  CHECK_EQ_I64(ask.stop_count, 2);
  CHECK(blis_slice_equals(ask.stops[1], "yz"));
  blis_live_ask_deinit(&ask);
}

static void test_generate_has_sampling_params(void) {
  start();
  must_read(BLIS_LIVE_GENERATE, "{\"input_ids\": [1, 2], \"sampling_params\": {\"max_new_tokens\": "
                                "9, \"ignore_eos\": true}, \"stream\": true}");
  CHECK(ask.streams && ask.ignores_eos);
  CHECK_EQ_I64(ask.max_tokens, 9);
  blis_live_ask_deinit(&ask);
}

/* body, status, type, param, a part of the message */
static const struct {
  blis_live_api api;
  const char *body;
  int status;
  const char *type;
  const char *param;
  const char *part;
} refused[] = {
    {BLIS_LIVE_CHAT, "{", 400, "Bad Request", "body", "JSON decode error: body:1: column 2"},
    {BLIS_LIVE_CHAT, "[]", 400, "Bad Request", "body", "no JSON object"},
    {BLIS_LIVE_CHAT, "{\"messages\": []}", 400, "Bad Request", "body.messages", "at least one"},
    {BLIS_LIVE_CHAT, "{\"messages\": [{}]}", 400, "Bad Request", "body.messages.role", "role"},
    {BLIS_LIVE_CHAT, "{\"messages\": [{\"role\": \"user\", \"content\": 1}]}", 400, "Bad Request",
     "body.messages.content", "valid string"},
    {BLIS_LIVE_COMPLETIONS, "{}", 400, "Bad Request", "body.prompt", "'prompt' is missing"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"\"}", 400, "BadRequestError", "prompt", "empty"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": []}", 400, "BadRequestError", "prompt", "empty"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": [-1]}", 400, "BadRequestError", "body.prompt",
     "out of vocabulary"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": {}}", 400, "Bad Request", "body.prompt", "prompt"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"model\": \"x\"}", 404, "NotFoundError", "model",
     "The model `x` does not exist."},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"max_tokens\": 1000}", 400, "BadRequestError",
     "max_tokens", "maximum context length is 1000 tokens. However, you requested 1001 tokens"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"max_tokens\": 0}", 400, "Bad Request",
     "body.max_tokens", "max_tokens"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"n\": 0}", 400, "Bad Request", "body.n", "'n'"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": [[1], [2]], \"n\": 100}", 400, "BadRequestError", "n",
     "200"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"min_tokens\": 17}", 400, "BadRequestError",
     "min_tokens", "min_tokens must be less than or equal to max_tokens=16, got 17."},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"stop\": \"\"}", 400, "BadRequestError",
     "body.stop", "empty string"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"stream_options\": {}}", 400, "Bad Request",
     "body.stream_options", "only be defined when `stream=True`"},
    {BLIS_LIVE_COMPLETIONS, "{\"prompt\": \"a\", \"ignore_eos\": 3}", 400, "Bad Request",
     "body.ignore_eos", "ignore_eos"},
};

static void test_refusals_say_why(void) {
  start();
  for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
    blis_live_refusal refusal = {0};
    CHECK(!try_read(refused[i].api, refused[i].body, &refusal));
    CHECK_CONTAINS(refusal.message, refused[i].part);
    CHECK_EQ_I64(refusal.status, refused[i].status);
    CHECK_STR(refusal.type, refused[i].type);
    CHECK_STR(refusal.param, refused[i].param);
  }
  blis_live_ask_deinit(&ask);
}

/* Broken bodies: valid ones with random changes. */
static void test_random_bodies_do_no_harm(void) {
  static const char *const bodies[] = {
      "{\"prompt\": [[1, 2], [3]], \"stop\": [\"a\"], \"n\": 3, \"stream\": true, "
      "\"stream_options\": {\"include_usage\": true}, \"cache_salt\": \"s\", \"seed\": 5}",
      "{\"messages\": [{\"role\": \"user\", \"content\": [{\"type\": \"text\", \"text\": "
      "\"hi\"}]}, "
      "{\"role\": \"assistant\", \"content\": null}], \"max_tokens\": 12}",
      "{\"text\": \"abc\", \"sampling_params\": {\"max_new_tokens\": 4, \"stop\": \"q\"}}"};
  blis_random random;
  blis_random_init(&random, 9);
  start();
  for (int c = 0; c < CASES(30000); c++) {
    char body[256];
    const char *from = bodies[c % 3];
    size_t length = strlen(from);
    memcpy(body, from, length);
    for (int k = blis_random_intn(&random, 4); k >= 0; k--) {
      size_t at = (size_t)blis_random_intn(&random, (int32_t)length);
      static const char pool[] = "{}[]\",:0-1.e\\ntfu \x80\xff";
      body[at] = pool[blis_random_intn(&random, (int32_t)sizeof pool - 1)];
    }
    length -= (size_t)blis_random_intn(&random, 3);
    blis_live_refusal refusal = {0};
    bool is_read = blis_live_ask_read(&ask, (blis_live_api)(c % 3), &limits,
                                      (blis_slice){body, length}, &refusal);
    CHECK(is_read == (refusal.status == 0));
    CHECK(!is_read || (ask.prompts.count > 0 && ask.max_tokens > 0));
  }
  blis_live_ask_deinit(&ask);
}

int main(void) {
  RUN(test_prompts_have_four_forms);
  RUN(test_chats_have_roles_and_parts);
  RUN(test_stream_options_want_usage);
  RUN(test_generate_has_sampling_params);
  RUN(test_refusals_say_why);
  RUN(test_random_bodies_do_no_harm);
  return check_done();
}
