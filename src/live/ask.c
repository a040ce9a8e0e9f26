#include "live/ask.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/hash.h"

static const char bad_request[] = "Bad Request";
static const char bad_value[] = "BadRequestError";

void blis_live_ask_init(blis_live_ask *ask, const blis_alloc *alloc) {
  memset(ask, 0, sizeof *ask);
  ask->alloc = *alloc;
  blis_json_init(&ask->json, alloc);
}

void blis_live_ask_deinit(blis_live_ask *ask) {
  blis_json_deinit(&ask->json);
  blis_array_deinit(&ask->alloc, &ask->tokens);
  blis_array_deinit(&ask->alloc, &ask->prompts);
}

bool blis_live_refuse(blis_live_refusal *refusal, int status, const char *type, const char *param,
                      const char *format, ...) {
  refusal->status = status;
  refusal->type = type;
  refusal->param = param;
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(refusal->message, sizeof refusal->message, format, arguments);
  va_end(arguments);
  return false;
}

static bool refuse_memory(blis_live_refusal *refusal) {
  return blis_live_refuse(refusal, 500, "InternalServerError", NULL, "out of memory");
}

#define NEED_MEMORY(expression, refusal)                                                           \
  do {                                                                                             \
    if ((expression) != BLIS_OK) {                                                                 \
      return refuse_memory(refusal);                                                               \
    }                                                                                              \
  } while (0)

static bool refuse_field(blis_live_refusal *refusal, const char *param, const blis_error *error) {
  return blis_live_refuse(refusal, 400, bad_request, param, "%s", error->message);
}

/* Field names with the prefix "body.", for param of an error. */
#define BODY(name) "body." name

static bool parse(blis_live_ask *ask, blis_slice body, blis_live_refusal *refusal) {
  blis_error error = {0};
  blis_status status = blis_json_parse(&ask->json, "body", 1, body, &error);
  if (status == BLIS_ERR_NOMEM) {
    return refuse_memory(refusal);
  }
  if (status != BLIS_OK) {
    return blis_live_refuse(refusal, 400, bad_request, "body", "JSON decode error: %s",
                            error.message);
  }
  if (blis_json_type_of(blis_json_root(&ask->json)) != BLIS_JSON_OBJECT) {
    return blis_live_refuse(refusal, 400, bad_request, "body",
                            "Input should be a valid dictionary: the body is no JSON object");
  }
  return true;
}

static bool read_whole(blis_json_value root, const char *key, const char *param, int64_t min,
                       int64_t max, int64_t *value, blis_live_refusal *refusal) {
  blis_json_value member = blis_json_member(root, key);
  blis_error error = {0};
  if (!blis_json_has(member)) {
    return true;
  }
  return blis_json_int64(member, min, max, value, &error) == BLIS_OK
             ? true
             : refuse_field(refusal, param, &error);
}

static bool read_flag(blis_json_value root, const char *key, const char *param, bool *value,
                      blis_live_refusal *refusal) {
  blis_json_value member = blis_json_member(root, key);
  blis_error error = {0};
  if (!blis_json_has(member)) {
    return true;
  }
  return blis_json_bool(member, value, &error) == BLIS_OK ? true
                                                          : refuse_field(refusal, param, &error);
}

/* Prompts. */

static bool begin_prompt(blis_live_ask *ask, blis_live_refusal *refusal) {
  const blis_live_prompt_part part = {.first = ask->tokens.count};
  NEED_MEMORY(blis_array_push(&ask->alloc, &ask->prompts, part), refusal);
  return true;
}

static bool end_prompt(blis_live_ask *ask, blis_live_refusal *refusal) {
  blis_live_prompt_part *part = &ask->prompts.items[ask->prompts.count - 1];
  part->count = ask->tokens.count - part->first;
  return part->count > 0 ? true
                         : blis_live_refuse(refusal, 400, bad_value, "prompt",
                                            "The decoder prompt cannot be empty");
}

static bool add_text(blis_live_ask *ask, const blis_live_limits *limits, blis_slice text,
                     blis_live_refusal *refusal) {
  NEED_MEMORY(blis_live_tokens_add(&ask->alloc, &ask->tokens, limits->vocabulary, text), refusal);
  return true;
}

/* Appends token ids, count of them. */
static bool add_ids(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value list,
                    const char *param, blis_live_refusal *refusal) {
  size_t count = blis_json_count(list);
  NEED_MEMORY(blis_array_reserve(&ask->alloc, &ask->tokens, ask->tokens.count + count), refusal);
  blis_error error = {0};
  for (size_t i = 0; i < count; i++) {
    int64_t token;
    if (blis_json_int64(blis_json_item(list, i), 0, (int64_t)limits->vocabulary - 1, &token,
                        &error) != BLIS_OK) {
      return blis_live_refuse(refusal, 400, bad_value, param, "Token id out of vocabulary: %s",
                              error.message);
    }
    ask->tokens.items[ask->tokens.count++] = (uint32_t)token;
  }
  return true;
}

static bool add_one_prompt(blis_live_ask *ask, const blis_live_limits *limits,
                           blis_json_value value, blis_live_refusal *refusal) {
  blis_error error = {0};
  blis_slice text;
  bool is_done;
  if (!begin_prompt(ask, refusal)) {
    return false;
  }
  if (blis_json_type_of(value) == BLIS_JSON_ARRAY) {
    is_done = add_ids(ask, limits, value, BODY("prompt"), refusal);
  } else if (blis_json_text(value, &text, &error) == BLIS_OK) {
    ask->echo = text;
    is_done = add_text(ask, limits, text, refusal);
  } else {
    return refuse_field(refusal, BODY("prompt"), &error);
  }
  return is_done && end_prompt(ask, refusal);
}

/* Reads a prompt: a string, token ids, or a list of either. */
static bool read_prompt(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value value,
                        blis_live_refusal *refusal) {
  blis_json_type first = blis_json_type_of(blis_json_item(value, 0));
  bool is_list = blis_json_type_of(value) == BLIS_JSON_ARRAY &&
                 (first == BLIS_JSON_TEXT || first == BLIS_JSON_ARRAY);
  if (!blis_json_has(value)) {
    return blis_live_refuse(refusal, 400, bad_request, BODY("prompt"),
                            "Field required: 'prompt' is missing");
  }
  if (!is_list) {
    return add_one_prompt(ask, limits, value, refusal);
  }
  size_t count = blis_json_count(value);
  if (count > BLIS_LIVE_CHOICES_MAX) {
    return blis_live_refuse(refusal, 400, bad_value, BODY("prompt"),
                            "%zu prompts in one request, expected at most %d", count,
                            BLIS_LIVE_CHOICES_MAX);
  }
  for (size_t i = 0; i < count; i++) {
    if (!add_one_prompt(ask, limits, blis_json_item(value, i), refusal)) {
      return false;
    }
  }
  return true;
}

/* Adds a part without text (such as an image), which counts as a fixed number of tokens. Fetches
   nothing. */
static bool add_media(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value part,
                      blis_live_refusal *refusal) {
  blis_slice url = {0};
  blis_json_value image = blis_json_member(part, "image_url");
  if (blis_json_text(blis_json_member(image, "url"), &url, NULL) != BLIS_OK) {
    url = blis_slice_of("media");
  }
  uint64_t seed = blis_hash64(url.data, url.length, 1);
  size_t count = (size_t)limits->media_tokens;
  NEED_MEMORY(blis_array_reserve(&ask->alloc, &ask->tokens, ask->tokens.count + count), refusal);
  for (size_t i = 0; i < count; i++) {
    uint32_t token = blis_live_reply_token(seed, (uint32_t)i);
    ask->tokens.items[ask->tokens.count++] = token % limits->vocabulary;
  }
  return true;
}

static bool add_content(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value content,
                        blis_live_refusal *refusal) {
  blis_slice text;
  blis_error error = {0};
  if (!blis_json_has(content)) {
    return true; /* a message of an assistant that calls a tool */
  }
  if (blis_json_type_of(content) == BLIS_JSON_TEXT) {
    return blis_json_text(content, &text, &error) == BLIS_OK &&
           add_text(ask, limits, text, refusal);
  }
  if (blis_json_type_of(content) != BLIS_JSON_ARRAY) {
    return blis_live_refuse(refusal, 400, bad_request, BODY("messages.content"),
                            "Input should be a valid string or a list of parts");
  }
  for (size_t i = 0; i < blis_json_count(content); i++) {
    blis_json_value part = blis_json_item(content, i);
    bool is_text = blis_json_text(blis_json_member(part, "text"), &text, NULL) == BLIS_OK;
    if (!(is_text ? add_text(ask, limits, text, refusal) : add_media(ask, limits, part, refusal))) {
      return false;
    }
  }
  return true;
}

static bool add_message(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value message,
                        blis_live_refusal *refusal) {
  blis_slice role;
  blis_error error = {0};
  if (blis_json_text(blis_json_member(message, "role"), &role, &error) != BLIS_OK) {
    return refuse_field(refusal, BODY("messages.role"), &error);
  }
  NEED_MEMORY(blis_live_tokens_add_role(&ask->alloc, &ask->tokens, limits->vocabulary, role),
              refusal);
  return add_content(ask, limits, blis_json_member(message, "content"), refusal);
}

static bool read_messages(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value list,
                          blis_live_refusal *refusal) {
  if (blis_json_type_of(list) != BLIS_JSON_ARRAY || blis_json_count(list) == 0) {
    return blis_live_refuse(refusal, 400, bad_request, BODY("messages"),
                            "'messages' should be a list with at least one message");
  }
  if (!begin_prompt(ask, refusal)) {
    return false;
  }
  for (size_t i = 0; i < blis_json_count(list); i++) {
    if (!add_message(ask, limits, blis_json_item(list, i), refusal)) {
      return false;
    }
  }
  NEED_MEMORY(blis_live_tokens_add_role(&ask->alloc, &ask->tokens, limits->vocabulary,
                                        blis_slice_of("assistant")),
              refusal);
  return end_prompt(ask, refusal);
}

/* Other fields. */

static bool read_model(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value root,
                       blis_live_refusal *refusal) {
  blis_slice name;
  blis_json_value member = blis_json_member(root, "model");
  blis_error error = {0};
  ask->adapter = NULL;
  snprintf(ask->model, sizeof ask->model, "%s", limits->models[0]);
  if (!blis_json_has(member)) {
    return true; /* only the first value is used, as in vLLM */
  }
  if (blis_json_text(member, &name, &error) != BLIS_OK) {
    return refuse_field(refusal, BODY("model"), &error);
  }
  for (size_t i = 0; i < limits->model_count; i++) {
    if (blis_slice_equals(name, limits->models[i])) {
      snprintf(ask->model, sizeof ask->model, "%s", limits->models[i]);
      return true;
    }
  }
  for (size_t i = 0; i < limits->adapter_count && name.length > 0; i++) {
    const blis_live_adapter *adapter = &limits->adapters[i];
    if (blis_slice_equals(name, adapter->name)) {
      ask->adapter = adapter->own_name;
      snprintf(ask->model, sizeof ask->model, "%s", adapter->name);
      return true;
    }
  }
  int shown = name.length < 200 ? (int)name.length : 200;
  return blis_live_refuse(refusal, 404, "NotFoundError", "model",
                          "The model `%.*s` does not exist.", shown, name.data);
}

static bool read_stops(blis_live_ask *ask, blis_json_value stop, blis_live_refusal *refusal) {
  blis_error error = {0};
  bool is_list = blis_json_type_of(stop) == BLIS_JSON_ARRAY;
  size_t count = is_list ? blis_json_count(stop) : 1;
  ask->stop_count = 0;
  if (!blis_json_has(stop)) {
    return true;
  }
  if (count > BLIS_LIVE_STOPS_MAX) {
    return blis_live_refuse(refusal, 400, bad_value, BODY("stop"),
                            "stop has %zu texts, expected at most %d", count, BLIS_LIVE_STOPS_MAX);
  }
  for (size_t i = 0; i < count; i++) {
    blis_json_value value = is_list ? blis_json_item(stop, i) : stop;
    if (blis_json_text(value, &ask->stops[i], &error) != BLIS_OK) {
      return refuse_field(refusal, BODY("stop"), &error);
    }
    if (ask->stops[i].length == 0) {
      return blis_live_refuse(refusal, 400, bad_value, BODY("stop"),
                              "stop cannot contain an empty string.");
    }
  }
  ask->stop_count = count;
  return true;
}

static bool read_stream(blis_live_ask *ask, blis_json_value root, blis_live_refusal *refusal) {
  blis_json_value options = blis_json_member(root, "stream_options");
  ask->streams = ask->includes_usage = ask->continues_usage = false;
  if (!read_flag(root, "stream", BODY("stream"), &ask->streams, refusal)) {
    return false;
  }
  if (!blis_json_has(options)) {
    return true;
  }
  if (!ask->streams) {
    return blis_live_refuse(refusal, 400, bad_request, BODY("stream_options"),
                            "Stream options can only be defined when `stream=True`.");
  }
  ask->includes_usage = true;
  return read_flag(options, "include_usage", BODY("stream_options.include_usage"),
                   &ask->includes_usage, refusal) &&
         read_flag(options, "continuous_usage_stats", BODY("stream_options.continuous_usage_stats"),
                   &ask->continues_usage, refusal);
}

static void read_salt(blis_live_ask *ask, blis_json_value root) {
  blis_slice text;
  ask->salt = 0;
  ask->cache_salt = (blis_slice){0};
  if (blis_json_text(blis_json_member(root, "cache_salt"), &text, NULL) == BLIS_OK) {
    ask->salt = blis_hash64(text.data, text.length, 2);
    ask->cache_salt = text;
  }
}

/* Counts the blocks of KV group 0 if the list contains a list for each group. */
static int64_t count_blocks(blis_json_value ids) {
  blis_json_value first = blis_json_item(ids, 0);
  bool is_nested =
      blis_json_type_of(ids) == BLIS_JSON_ARRAY && blis_json_type_of(first) == BLIS_JSON_ARRAY;
  blis_json_value list = is_nested ? first : ids;
  return blis_json_type_of(list) == BLIS_JSON_ARRAY ? (int64_t)blis_json_count(list) : 0;
}

/* Unknown values are ignored, as in vLLM without a connector. */
static void read_split(blis_live_ask *ask, blis_json_value root) {
  blis_live_refusal ignored;
  blis_json_value given = blis_json_member(root, "kv_transfer_params");
  ask->split = (blis_live_split){.engine = {.data = ""}};
  if (blis_json_type_of(given) != BLIS_JSON_OBJECT) {
    return;
  }
  bool is_read =
      read_flag(given, "do_remote_decode", "", &ask->split.has_remote_decode, &ignored) &&
      read_flag(given, "do_remote_prefill", "", &ask->split.has_remote_prefill, &ignored);
  if (is_read && ask->split.has_remote_prefill) {
    blis_json_value engine = blis_json_member(given, "remote_engine_id");
    ask->split.blocks = count_blocks(blis_json_member(given, "remote_block_ids"));
    if (blis_json_text(engine, &ask->split.engine, NULL) != BLIS_OK) {
      ask->split.engine = (blis_slice){.data = ""};
    }
  }
}

/* Returns the length of the longest prompt, in tokens. */
static int64_t longest(const blis_live_ask *ask) {
  size_t most = 0;
  for (size_t i = 0; i < ask->prompts.count; i++) {
    most = ask->prompts.items[i].count > most ? ask->prompts.items[i].count : most;
  }
  return (int64_t)most;
}

static bool check_length(blis_live_ask *ask, const blis_live_limits *limits,
                         blis_live_refusal *refusal) {
  int64_t most = longest(ask);
  int64_t left = limits->max_model_len - most;
  const char *where = ask->api == BLIS_LIVE_CHAT ? "messages" : "prompt";
  if (left < 1) {
    return blis_live_refuse(refusal, 400, bad_value, "input_tokens",
                            "This model's maximum context length is %" PRId64
                            " tokens. However, your request has %" PRId64
                            " input tokens. Please reduce the length of the input %s.",
                            limits->max_model_len, most, where);
  }
  if (ask->max_tokens == 0) {
    ask->max_tokens = ask->api == BLIS_LIVE_CHAT ? left : left < 16 ? left : 16;
  }
  if (ask->max_tokens > left) {
    return blis_live_refuse(
        refusal, 400, bad_value, "max_tokens",
        "This model's maximum context length is %" PRId64 " tokens. However, you requested %" PRId64
        " tokens (%" PRId64 " in the %s, %" PRId64
        " in the completion). Please reduce the length of the %s or completion.",
        limits->max_model_len, most + ask->max_tokens, most, where, ask->max_tokens, where);
  }
  return true;
}

static bool check_counts(blis_live_ask *ask, blis_live_refusal *refusal) {
  int64_t choices = ask->n * (int64_t)ask->prompts.count;
  if (ask->min_tokens > ask->max_tokens) {
    return blis_live_refuse(refusal, 400, bad_value, "min_tokens",
                            "min_tokens must be less than or equal to max_tokens=%" PRId64
                            ", got %" PRId64 ".",
                            ask->max_tokens, ask->min_tokens);
  }
  if (choices > BLIS_LIVE_CHOICES_MAX) {
    return blis_live_refuse(refusal, 400, bad_value, "n",
                            "n times the number of prompts is %" PRId64 ", expected at most %d",
                            choices, BLIS_LIVE_CHOICES_MAX);
  }
  return true;
}

static bool read_lengths(blis_live_ask *ask, blis_json_value root, blis_live_refusal *refusal) {
  ask->max_tokens = ask->min_tokens = 0;
  ask->n = 1;
  int64_t seed = 0;
  const int64_t most = 1000000000;
  bool is_read =
      read_whole(root, "max_tokens", BODY("max_tokens"), 1, most, &ask->max_tokens, refusal) &&
      read_whole(root, "max_completion_tokens", BODY("max_completion_tokens"), 1, most,
                 &ask->max_tokens, refusal) &&
      read_whole(root, "min_tokens", BODY("min_tokens"), 0, most, &ask->min_tokens, refusal) &&
      read_whole(root, "n", BODY("n"), 1, BLIS_LIVE_CHOICES_MAX, &ask->n, refusal) &&
      read_whole(root, "seed", BODY("seed"), INT64_MIN, INT64_MAX, &seed, refusal);
  ask->seed = (uint64_t)seed;
  return is_read;
}

static bool read_switches(blis_live_ask *ask, blis_json_value root, blis_live_refusal *refusal) {
  ask->ignores_eos = ask->echoes = ask->returns_token_ids = false;
  return read_flag(root, "ignore_eos", BODY("ignore_eos"), &ask->ignores_eos, refusal) &&
         read_flag(root, "echo", BODY("echo"), &ask->echoes, refusal) &&
         read_flag(root, "return_token_ids", BODY("return_token_ids"), &ask->returns_token_ids,
                   refusal);
}

static void start(blis_live_ask *ask, blis_live_api api) {
  ask->api = api;
  ask->tokens.count = 0;
  ask->prompts.count = 0;
  ask->echo = (blis_slice){0};
}

static bool read_generate(blis_live_ask *ask, const blis_live_limits *limits, blis_json_value root,
                          blis_live_refusal *refusal) {
  blis_json_value given = blis_json_member(root, "sampling_params");
  blis_json_value ids = blis_json_member(root, "input_ids");
  ask->includes_usage = ask->continues_usage = ask->streams = false;
  return read_flag(root, "stream", BODY("stream"), &ask->streams, refusal) &&
         read_lengths(ask, given, refusal) &&
         read_whole(given, "max_new_tokens", BODY("sampling_params.max_new_tokens"), 1, 1000000000,
                    &ask->max_tokens, refusal) &&
         read_switches(ask, given, refusal) &&
         read_stops(ask, blis_json_member(given, "stop"), refusal) &&
         read_prompt(ask, limits, blis_json_has(ids) ? ids : blis_json_member(root, "text"),
                     refusal);
}

bool blis_live_ask_read(blis_live_ask *ask, blis_live_api api, const blis_live_limits *limits,
                        blis_slice body, blis_live_refusal *refusal) {
  start(ask, api);
  refusal->status = 0;
  if (!parse(ask, body, refusal)) {
    return false;
  }
  blis_json_value root = blis_json_root(&ask->json);
  read_salt(ask, root);
  read_split(ask, root);
  if (!read_model(ask, limits, root, refusal)) {
    return false;
  }
  bool is_read =
      api == BLIS_LIVE_GENERATE
          ? read_generate(ask, limits, root, refusal)
          : read_stream(ask, root, refusal) && read_lengths(ask, root, refusal) &&
                read_switches(ask, root, refusal) &&
                read_stops(ask, blis_json_member(root, "stop"), refusal) &&
                (api == BLIS_LIVE_CHAT
                     ? read_messages(ask, limits, blis_json_member(root, "messages"), refusal)
                     : read_prompt(ask, limits, blis_json_member(root, "prompt"), refusal));
  return is_read && check_length(ask, limits, refusal) && check_counts(ask, refusal);
}

bool blis_live_ask_read_text(blis_live_ask *ask, const blis_live_limits *limits, blis_slice body,
                             blis_live_refusal *refusal) {
  start(ask, BLIS_LIVE_COMPLETIONS);
  refusal->status = 0;
  if (!parse(ask, body, refusal)) {
    return false;
  }
  blis_json_value root = blis_json_root(&ask->json);
  blis_json_value messages = blis_json_member(root, "messages");
  return blis_json_has(messages)
             ? read_messages(ask, limits, messages, refusal)
             : read_prompt(ask, limits, blis_json_member(root, "prompt"), refusal);
}

/* Returns the string of a member; empty if the member is not a string. */
static blis_slice text_member(blis_json_value root, const char *name) {
  blis_slice text = {.data = ""};
  blis_error ignored;
  blis_json_value member = blis_json_member(root, name);
  if (blis_json_type_of(member) == BLIS_JSON_TEXT &&
      blis_json_text(member, &text, &ignored) != BLIS_OK) {
    return (blis_slice){.data = ""};
  }
  return text;
}

bool blis_live_ask_read_adapter(blis_live_ask *ask, blis_slice body, bool needs_path,
                                blis_slice *name, blis_live_refusal *refusal) {
  refusal->status = 0;
  if (!parse(ask, body, refusal)) {
    return false;
  }
  blis_json_value root = blis_json_root(&ask->json);
  *name = text_member(root, "lora_name");
  if (name->length == 0 || (needs_path && text_member(root, "lora_path").length == 0)) {
    return blis_live_refuse(refusal, 400, "InvalidUserInput", NULL,
                            needs_path ? "Both 'lora_name' and 'lora_path' must be provided."
                                       : "'lora_name' must be provided.");
  }
  return true;
}

bool blis_live_ask_read_tokens(blis_live_ask *ask, const blis_live_limits *limits, blis_slice body,
                               blis_live_refusal *refusal) {
  start(ask, BLIS_LIVE_COMPLETIONS);
  refusal->status = 0;
  if (!parse(ask, body, refusal)) {
    return false;
  }
  blis_json_value list = blis_json_member(blis_json_root(&ask->json), "tokens");
  if (blis_json_type_of(list) != BLIS_JSON_ARRAY) {
    return blis_live_refuse(refusal, 400, bad_request, BODY("tokens"),
                            "Input should be a valid list: 'tokens'");
  }
  return add_ids(ask, limits, list, BODY("tokens"), refusal);
}
