#include "live/answer.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "base/format/json_writer.h"

static const char *object_of(blis_live_api api, bool is_chunk) {
  if (api == BLIS_LIVE_CHAT) {
    return is_chunk ? "chat.completion.chunk" : "chat.completion";
  }
  return "text_completion";
}

/* Moves the text of a buffer to a separate block, with a terminating zero. */
static blis_status keep(const blis_alloc *alloc, blis_buffer *buffer, char **text, size_t *size) {
  BLIS_TRY(blis_buffer_status(buffer));
  *text = blis_alloc_new(alloc, buffer->length + 1);
  if (*text == NULL) {
    return BLIS_ERR_NOMEM;
  }
  memcpy(*text, blis_buffer_text(buffer), buffer->length + 1);
  *size = buffer->length + 1;
  blis_buffer_clear(buffer);
  return BLIS_OK;
}

static void write_json_text(blis_buffer *buffer, blis_slice text) {
  blis_json_writer writer;
  blis_json_writer_init(&writer, buffer, 0);
  blis_json_writer_text(&writer, text);
}

static blis_status make_parts(blis_live_answer *answer, const blis_live_ask *ask, int64_t created,
                              blis_buffer *buffer) {
  blis_buffer_format(buffer, "{\"id\":\"%s\",\"object\":\"%s\",\"created\":%" PRId64 ",\"model\":",
                     answer->id, object_of(ask->api, ask->streams), created);
  write_json_text(buffer, blis_slice_of(ask->model));
  blis_buffer_char(buffer, ',');
  size_t size;
  BLIS_TRY(keep(&answer->alloc, buffer, &answer->head, &size));
  answer->head_length = size - 1;
  for (size_t i = 0; i < ask->stop_count; i++) {
    write_json_text(buffer, ask->stops[i]);
    blis_buffer_char(buffer, '\0');
  }
  BLIS_TRY(keep(&answer->alloc, buffer, &answer->stops, &answer->stops_size));
  if (ask->echoes && ask->echo.length > 0) {
    write_json_text(buffer, ask->echo);
    buffer->length--; /* the closing quote */
    BLIS_TRY(keep(&answer->alloc, buffer, &answer->echo, &answer->echo_size));
  }
  return BLIS_OK;
}

blis_status blis_live_answer_init(blis_live_answer *answer, const blis_alloc *alloc,
                                  const blis_live_ask *ask, const char *id, int64_t created,
                                  bool shows_cached) {
  const char *prefix = ask->api == BLIS_LIVE_CHAT ? "chatcmpl-" : "cmpl-";
  answer->alloc = *alloc;
  answer->api = ask->api;
  answer->n = (uint32_t)ask->n;
  answer->includes_usage = ask->includes_usage;
  answer->continues_usage = ask->continues_usage;
  answer->shows_cached = shows_cached;
  answer->returns_token_ids = ask->returns_token_ids;
  snprintf(answer->id, sizeof answer->id, "%s%.*s", ask->api == BLIS_LIVE_GENERATE ? "" : prefix,
           BLIS_LIVE_ID_SIZE - 16, id);
  blis_buffer buffer;
  blis_buffer_init(&buffer, alloc);
  blis_status status = make_parts(answer, ask, created, &buffer);
  blis_buffer_deinit(&buffer);
  return status;
}

void blis_live_answer_deinit(blis_live_answer *answer) {
  if (answer->head != NULL) {
    blis_alloc_free(&answer->alloc, answer->head, answer->head_length + 1);
  }
  if (answer->stops != NULL) {
    blis_alloc_free(&answer->alloc, answer->stops, answer->stops_size);
  }
  if (answer->echo != NULL) {
    blis_alloc_free(&answer->alloc, answer->echo, answer->echo_size);
  }
  answer->head = answer->stops = answer->echo = NULL;
}

/* Appends the words of the tokens from `from` up to, but not including, `to`, limited to the
   text of the choice. */
static void write_words(blis_buffer *buffer, const blis_live_choice *choice, uint32_t from,
                        uint32_t to) {
  for (uint32_t i = from; i < to; i++) {
    uint32_t first = i * BLIS_LIVE_WORD_BYTES;
    if (first >= choice->text_bytes) {
      return;
    }
    char word[BLIS_LIVE_WORD_BYTES];
    blis_live_word(blis_live_reply_token(choice->seed, i), word);
    uint32_t left = choice->text_bytes - first;
    blis_buffer_bytes(buffer, word, left < BLIS_LIVE_WORD_BYTES ? left : BLIS_LIVE_WORD_BYTES);
  }
}

static void write_ids(blis_buffer *buffer, const blis_live_choice *choice, uint32_t from,
                      uint32_t to) {
  blis_buffer_string(buffer, ",\"token_ids\":[");
  for (uint32_t i = from; i < to; i++) {
    blis_buffer_string(buffer, i == from ? "" : ",");
    blis_buffer_int64(buffer, blis_live_reply_token(choice->seed, i));
  }
  blis_buffer_char(buffer, ']');
}

static const char *stop_text(const blis_live_answer *answer, int32_t stop) {
  const char *text = answer->stops;
  if (stop < 0) {
    return "null";
  }
  for (int32_t i = 0; i < stop; i++) {
    text += strlen(text) + 1;
  }
  return text;
}

static void write_reason(blis_buffer *buffer, const blis_live_answer *answer,
                         const blis_live_choice *choice) {
  if (!choice->is_over) {
    blis_buffer_string(buffer, ",\"logprobs\":null,\"finish_reason\":null");
    return;
  }
  blis_buffer_format(buffer, ",\"logprobs\":null,\"finish_reason\":\"%s\",\"stop_reason\":%s",
                     blis_live_finish_name(choice->finish), stop_text(answer, choice->stop));
}

static void write_usage(blis_buffer *buffer, const blis_live_answer *answer, uint64_t prompt,
                        uint64_t output, uint64_t cached) {
  blis_buffer_format(buffer,
                     "\"usage\":{\"prompt_tokens\":%" PRIu64 ",\"total_tokens\":%" PRIu64
                     ",\"completion_tokens\":%" PRIu64,
                     prompt, prompt + output, output);
  if (answer->shows_cached && cached > 0) {
    blis_buffer_format(buffer, ",\"prompt_tokens_details\":{\"cached_tokens\":%" PRIu64 "}",
                       cached);
  }
  blis_buffer_char(buffer, '}');
}

/* Writes the usage summed over all choices; the n choices of a prompt share its prompt tokens. */
static void write_sum(blis_buffer *buffer, const blis_live_answer *answer,
                      const blis_live_choice *const *choices, size_t count) {
  uint64_t prompt = 0;
  uint64_t output = 0;
  uint64_t cached = 0;
  for (size_t i = 0; i < count; i++) {
    bool is_first = choices[i]->index % answer->n == 0;
    prompt += is_first ? choices[i]->prompt_tokens : 0;
    cached += is_first ? choices[i]->cached_tokens : 0;
    output += choices[i]->due_tokens;
  }
  write_usage(buffer, answer, prompt, output, cached);
}

static void begin_event(blis_buffer *buffer, const blis_live_answer *answer,
                        const blis_live_choice *choice) {
  blis_buffer_string(buffer, "data: ");
  blis_buffer_bytes(buffer, answer->head, answer->head_length);
  blis_buffer_format(buffer, "\"choices\":[{\"index\":%" PRIu32, choice->index);
}

static void end_event(blis_buffer *buffer, const blis_live_answer *answer,
                      const blis_live_choice *choice) {
  blis_buffer_string(buffer, "}]");
  if (answer->continues_usage) {
    blis_buffer_char(buffer, ',');
    write_usage(buffer, answer, choice->prompt_tokens, choice->due_tokens, 0);
  }
  blis_buffer_string(buffer, "}\n\n");
}

static void write_role(blis_buffer *buffer, const blis_live_answer *answer,
                       const blis_live_choice *choice) {
  begin_event(buffer, answer, choice);
  blis_buffer_string(buffer,
                     ",\"delta\":{\"role\":\"assistant\",\"content\":\"\"},\"logprobs\":null,"
                     "\"finish_reason\":null");
  end_event(buffer, answer, choice);
}

static void write_failure(blis_buffer *buffer, const blis_live_choice *choice) {
  blis_live_refusal refusal;
  (void)blis_live_refuse(&refusal, 500, "InternalServerError", NULL, "%s",
                         choice->failure == NULL ? "the request was aborted" : choice->failure);
  blis_buffer_string(buffer, "data: ");
  blis_live_write_refusal(buffer, &refusal);
  blis_buffer_string(buffer, "\n\n");
}

/* Writes the object of SGLang: all text so far, and metadata of the request. */
static void write_generated(blis_buffer *buffer, const blis_live_answer *answer,
                            const blis_live_choice *choice) {
  blis_buffer_string(buffer, "{\"text\":\"");
  write_words(buffer, choice, 0, choice->due_tokens);
  blis_buffer_format(buffer, "\",\"index\":%" PRIu32 ",\"meta_info\":{\"id\":\"%s\"", choice->index,
                     answer->id);
  if (!choice->is_over) {
    blis_buffer_string(buffer, ",\"finish_reason\":null");
  } else if (choice->finish == BLIS_LIVE_LENGTH) {
    blis_buffer_format(buffer, ",\"finish_reason\":{\"type\":\"length\",\"length\":%" PRIu32 "}",
                       choice->due_tokens);
  } else {
    blis_buffer_format(buffer, ",\"finish_reason\":{\"type\":\"%s\",\"matched\":%s}",
                       blis_live_finish_name(choice->finish), stop_text(answer, choice->stop));
  }
  blis_buffer_format(buffer,
                     ",\"prompt_tokens\":%" PRIu32 ",\"completion_tokens\":%" PRIu32
                     ",\"cached_tokens\":%" PRIu32 ",\"e2e_latency\":",
                     choice->prompt_tokens, choice->due_tokens, choice->cached_tokens);
  blis_buffer_double(buffer, (double)(choice->last_us - choice->arrival_us) / 1e6,
                     BLIS_DOUBLE_JSON);
  blis_buffer_string(buffer, "}}");
}

void blis_live_write_event(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *choice, uint32_t from) {
  if (choice->is_over && choice->failure != NULL) {
    write_failure(buffer, choice);
    return;
  }
  if (answer->api == BLIS_LIVE_GENERATE) {
    blis_buffer_string(buffer, "data: ");
    write_generated(buffer, answer, choice);
    blis_buffer_string(buffer, "\n\n");
    return;
  }
  bool is_chat = answer->api == BLIS_LIVE_CHAT;
  if (is_chat && from == 0) {
    write_role(buffer, answer, choice);
  }
  begin_event(buffer, answer, choice);
  blis_buffer_string(buffer, is_chat ? ",\"delta\":{\"content\":\"" : ",\"text\":\"");
  if (from == 0 && answer->echo != NULL) {
    blis_buffer_string(buffer, answer->echo + 1);
  }
  write_words(buffer, choice, from, choice->due_tokens);
  blis_buffer_string(buffer, is_chat ? "\"}" : "\"");
  write_reason(buffer, answer, choice);
  if (answer->returns_token_ids) {
    write_ids(buffer, choice, from, choice->due_tokens);
  }
  end_event(buffer, answer, choice);
}

void blis_live_write_end(blis_buffer *buffer, const blis_live_answer *answer,
                         const blis_live_choice *const *choices, size_t count) {
  if (answer->includes_usage && answer->api != BLIS_LIVE_GENERATE) {
    blis_buffer_string(buffer, "data: ");
    blis_buffer_bytes(buffer, answer->head, answer->head_length);
    blis_buffer_string(buffer, "\"choices\":[],");
    write_sum(buffer, answer, choices, count);
    blis_buffer_string(buffer, "}\n\n");
  }
  blis_buffer_string(buffer, "data: [DONE]\n\n");
}

static void write_choice(blis_buffer *buffer, const blis_live_answer *answer,
                         const blis_live_choice *choice) {
  bool is_chat = answer->api == BLIS_LIVE_CHAT;
  blis_buffer_format(buffer, "{\"index\":%" PRIu32, choice->index);
  blis_buffer_string(buffer, is_chat ? ",\"message\":{\"role\":\"assistant\",\"content\":\""
                                     : ",\"text\":\"");
  if (answer->echo != NULL) {
    blis_buffer_string(buffer, answer->echo + 1);
  }
  write_words(buffer, choice, 0, choice->due_tokens);
  blis_buffer_string(buffer, is_chat ? "\",\"tool_calls\":[]}" : "\"");
  write_reason(buffer, answer, choice);
  if (answer->returns_token_ids) {
    write_ids(buffer, choice, 0, choice->due_tokens);
  }
  blis_buffer_char(buffer, '}');
}

void blis_live_write_whole(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *const *choices, size_t count) {
  if (answer->api == BLIS_LIVE_GENERATE) {
    bool is_list = count > 1;
    blis_buffer_string(buffer, is_list ? "[" : "");
    for (size_t i = 0; i < count; i++) {
      blis_buffer_string(buffer, i > 0 ? "," : "");
      write_generated(buffer, answer, choices[i]);
    }
    blis_buffer_string(buffer, is_list ? "]" : "");
    return;
  }
  blis_buffer_bytes(buffer, answer->head, answer->head_length);
  blis_buffer_string(buffer, "\"choices\":[");
  for (size_t i = 0; i < count; i++) {
    blis_buffer_string(buffer, i > 0 ? "," : "");
    write_choice(buffer, answer, choices[i]);
  }
  blis_buffer_string(buffer, "],");
  write_sum(buffer, answer, choices, count);
  blis_buffer_char(buffer, '}');
}

void blis_live_write_split(blis_buffer *buffer, const blis_live_answer *answer,
                           const blis_live_choice *const *choices, size_t count,
                           const blis_live_transfer *transfer) {
  blis_live_write_whole(buffer, answer, choices, count);
  if (buffer->length == 0 || answer->api == BLIS_LIVE_GENERATE) {
    return;
  }
  buffer->length--; /* the end of the object */
  blis_buffer_string(buffer, ",\"kv_transfer_params\":{\"do_remote_prefill\":true,"
                             "\"do_remote_decode\":false,\"remote_block_ids\":[");
  for (uint32_t i = 0; i < transfer->blocks; i++) {
    blis_buffer_string(buffer, i > 0 ? "," : "");
    blis_buffer_int64(buffer, i);
  }
  blis_buffer_format(buffer,
                     "],\"remote_engine_id\":\"%s\",\"remote_request_id\":\"%s\","
                     "\"remote_host\":\"%s\",\"remote_port\":%u,\"tp_size\":%" PRIu32 "}}",
                     transfer->engine, answer->id, transfer->host, (unsigned)transfer->port,
                     transfer->tp);
}

void blis_live_write_refusal(blis_buffer *buffer, const blis_live_refusal *refusal) {
  blis_json_writer writer;
  blis_json_writer_init(&writer, buffer, 0);
  blis_json_writer_begin_object(&writer);
  blis_json_writer_key(&writer, "error");
  blis_json_writer_begin_object(&writer);
  blis_json_writer_key(&writer, "message");
  blis_json_writer_string(&writer, refusal->message);
  blis_json_writer_key(&writer, "type");
  blis_json_writer_string(&writer, refusal->type);
  blis_json_writer_key(&writer, "param");
  if (refusal->param == NULL) {
    blis_json_writer_null(&writer);
  } else {
    blis_json_writer_string(&writer, refusal->param);
  }
  blis_json_writer_key(&writer, "code");
  blis_json_writer_int64(&writer, refusal->status);
  blis_json_writer_end_object(&writer);
  blis_json_writer_end_object(&writer);
}
