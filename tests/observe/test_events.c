/* Events of streamed answers, cut anywhere, and the bodies of requests. */
#include "observe/events.h"

#include "base/random.h"
#include "check.h"
#include "observe/body.h"

static const char stream[] =
    ": a comment\n"
    "data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\"},"
    "\"finish_reason\":null}]}\n\n"
    "event: nothing\r\n"
    "data: "
    "{\"choices\":[{\"index\":0,\"delta\":{\"content\":\"a\\u00e9\"}}],\"usage\":null}\r\n\r\n"
    "data:{\"choices\":[{\"index\":0,\"text\":\"b\",\"finish_reason\":\"length\"}]}\n\n"
    "data: {\"choices\":[],\"usage\":{\"prompt_tokens\":12,\"completion_tokens\":7,"
    "\"prompt_tokens_details\":{\"cached_tokens\":8}}}\n\n"
    "data: [DONE]\n\n";

static void check_read(const blis__answer *answer, uint32_t choices) {
  CHECK(answer->is_done && !answer->is_broken);
  CHECK_EQ_I64(choices, 3);
  CHECK_EQ_I64(answer->prompt_tokens, 12);
  CHECK_EQ_I64(answer->output_tokens, 7);
  CHECK_EQ_I64(answer->cached_tokens, 8);
  CHECK_STR(answer->finish, "length");
  CHECK_STR(answer->problem, "");
}

static void test_a_stream_may_be_cut_anywhere(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_random random;
  blis_json json;
  blis__answer answer;
  blis_random_init(&random, 3);
  blis_json_init(&json, &heap);
  blis__answer_init(&answer, &heap);
  for (int c = 0; c < CASES(300); c++) {
    uint32_t choices = 0;
    blis__answer_clear(&answer);
    for (size_t at = 0; at < sizeof stream - 1;) {
      size_t left = sizeof stream - 1 - at;
      size_t part = 1 + (size_t)blis_random_intn(&random, c % 40 + 1);
      part = part < left ? part : left;
      answer.choices = 0;
      CHECK(blis__answer_read(&answer, &json, stream + at, part) == BLIS_OK);
      choices += answer.choices;
      at += part;
    }
    check_read(&answer, choices);
  }
  blis__answer_deinit(&answer);
  blis_json_deinit(&json);
}

static void read_all(blis__answer *answer, blis_json *json, const char *text) {
  blis__answer_clear(answer);
  CHECK(blis__answer_read(answer, json, text, strlen(text)) == BLIS_OK);
}

static void test_problems_have_words(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_json json;
  blis__answer answer;
  blis_json_init(&json, &heap);
  blis__answer_init(&answer, &heap);
  read_all(&answer, &json, "data: {\"error\":{\"message\":\"too\\nlong\",\"code\":400}}\n\n");
  CHECK_STR(answer.problem, "too long");
  read_all(&answer, &json, "data: {\"choices\":\n\n");
  CHECK_STR(answer.problem, "an event is no JSON");
  CHECK(!answer.is_done);
  read_all(&answer, &json, "{\"error\":{\"message\":\"The model `x` does not exist.\"}}");
  blis__answer_refused(&answer, &json, 404);
  CHECK_STR(answer.problem, "The model `x` does not exist.");
  read_all(&answer, &json, "<html>");
  blis__answer_refused(&answer, &json, 502);
  CHECK_STR(answer.problem, "<html>");
  read_all(&answer, &json, "");
  blis__answer_refused(&answer, &json, 503);
  CHECK_STR(answer.problem, "status 503");
  read_all(&answer, &json, "data: {\"choices\":{},\"usage\":{\"completion_tokens\":-1}}\n\n");
  CHECK_EQ_I64(answer.choices + answer.output_tokens, 0);
  blis__answer_deinit(&answer);
  blis_json_deinit(&json);
}

/* Any bytes: no crash, and nothing is read beyond them. */
static void test_noise(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_random random;
  blis_json json;
  blis__answer answer;
  blis_random_init(&random, 9);
  blis_json_init(&json, &heap);
  blis__answer_init(&answer, &heap);
  for (int c = 0; c < CASES(300); c++) {
    char text[sizeof stream];
    memcpy(text, stream, sizeof stream);
    for (int k = 0; k < 1 + c % 9; k++) {
      text[blis_random_intn(&random, (int32_t)sizeof stream - 1)] =
          (char)blis_random_intn(&random, 256);
    }
    blis__answer_clear(&answer);
    CHECK(blis__answer_read(&answer, &json, text, sizeof stream - 1) == BLIS_OK);
  }
  blis__answer_deinit(&answer);
  blis_json_deinit(&json);
}

static void write_body(blis_buffer *buffer, const blis_observe_config *config,
                       const blis_request *request) {
  blis_alloc heap = blis_alloc_heap();
  blis_json json;
  blis_error error;
  blis_buffer_clear(buffer);
  blis__write_body(buffer, config, request);
  blis_json_init(&json, &heap);
  CHECK_OK(blis_json_parse(&json, "body", 1, blis_buffer_slice(buffer), &error), &error);
  blis_json_value prompt = blis_json_member(blis_json_root(&json), "prompt");
  if (!config->is_chat) {
    CHECK_EQ_I64((int64_t)blis_json_count(prompt), request->prompt_tokens);
  }
  blis_json_deinit(&json);
}

static void test_equal_content_has_equal_ids(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_buffer one;
  blis_buffer two;
  blis_buffer_init(&one, &heap);
  blis_buffer_init(&two, &heap);
  const blis_segment whole = {.stream = 7, .length_tokens = 20};
  const blis_segment parts[] = {{.stream = 7, .length_tokens = 5},
                                {.stream = 7, .offset_tokens = 5, .length_tokens = 15}};
  const blis_observe_config config = {.vocabulary = 30000, .model = "a\"b", .ignores_eos = true};
  blis_request request = {.number = 3,
                          .prompt_tokens = 24,
                          .output_tokens = 9,
                          .segments = &whole,
                          .segment_count = 1,
                          .shared_tokens = 20};
  write_body(&one, &config, &request);
  CHECK_CONTAINS(blis_buffer_text(&one), "{\"model\":\"a\\\"b\",\"prompt\":[");
  CHECK_CONTAINS(blis_buffer_text(&one), "],\"max_tokens\":9,");
  CHECK_CONTAINS(blis_buffer_text(&one), "\"ignore_eos\":true}");
  request.segments = parts;
  request.segment_count = 2;
  write_body(&two, &config, &request);
  CHECK_STR(blis_buffer_text(&one), blis_buffer_text(&two));
  request.number = 4; /* other tokens of its own */
  write_body(&two, &config, &request);
  CHECK(strcmp(blis_buffer_text(&one), blis_buffer_text(&two)) != 0);
  const blis_observe_config chat = {.vocabulary = 30000, .is_chat = true};
  write_body(&two, &chat, &request);
  CHECK_CONTAINS(blis_buffer_text(&two), "{\"messages\":[{\"role\":\"user\",\"content\":\" ");
  for (uint32_t i = 0; i < 1000; i++) {
    uint32_t id = blis__token_id(i, i * 7, 2000);
    CHECK(id >= BLIS__FIRST_ID && id < 2000);
  }
  blis_buffer_deinit(&one);
  blis_buffer_deinit(&two);
}

int main(void) {
  RUN(test_a_stream_may_be_cut_anywhere);
  RUN(test_problems_have_words);
  RUN(test_noise);
  RUN(test_equal_content_has_equal_ids);
  return check_done();
}
