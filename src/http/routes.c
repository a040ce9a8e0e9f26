/* routes.c - maps the paths of a server to functions, and handles paths with immediate
   responses. */
#include <event2/keyvalq_struct.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/format/json_writer.h"
#include "cluster/tiers/kv_tiers.h"
#include "http/server_priv.h"
#include "live/metrics.h"

/* Requests. */

blis_slice blis__http_header(struct evhttp_request *request, const char *name, size_t most) {
  const char *value = evhttp_find_header(evhttp_request_get_input_headers(request), name);
  size_t length = value == NULL ? 0 : strlen(value);
  if (length > most) {
    return (blis_slice){0};
  }
  for (size_t i = 0; i < length; i++) {
    if ((unsigned char)value[i] < ' ' || (unsigned char)value[i] > '~') {
      return (blis_slice){0};
    }
  }
  return (blis_slice){value, length};
}

blis_slice blis__http_body(struct evhttp_request *request) {
  struct evbuffer *input = evhttp_request_get_input_buffer(request);
  size_t length = evbuffer_get_length(input);
  return (blis_slice){length == 0 ? "" : (const char *)evbuffer_pullup(input, -1), length};
}

/* Answers. */

static void reply(blis__http *server, struct evhttp_request *request, int status,
                  const char *type) {
  struct evkeyvalq *headers = evhttp_request_get_output_headers(request);
  if (type != NULL) {
    evhttp_add_header(headers, "Content-Type", type);
  }
  evhttp_send_reply(request, status, NULL, server->out);
  evbuffer_drain(server->out, evbuffer_get_length(server->out));
}

void blis__http_send_text(blis__http *server, struct evhttp_request *request, int status,
                          const char *type) {
  evbuffer_add(server->out, server->text.data, server->text.length);
  blis_buffer_clear(&server->text);
  reply(server, request, status, type == NULL ? "application/json" : type);
}

void blis__http_refuse(blis__http *server, struct evhttp_request *request,
                       const blis_live_refusal *refusal) {
  blis_buffer_clear(&server->text);
  blis_live_write_refusal(&server->text, refusal);
  blis__http_send_text(server, request, refusal->status, NULL);
}

static void send_string(blis__http *server, struct evhttp_request *request, int status,
                        const char *json) {
  blis_buffer_clear(&server->text);
  blis_buffer_string(&server->text, json);
  blis__http_send_text(server, request, status, NULL);
}

/* Routes. */

typedef void handler(blis__door *door, struct evhttp_request *request);

static void on_completions(blis__door *door, struct evhttp_request *request) {
  blis__call_begin(door, request, BLIS_LIVE_COMPLETIONS);
}

static void on_chat(blis__door *door, struct evhttp_request *request) {
  blis__call_begin(door, request, BLIS_LIVE_CHAT);
}

static void on_generate(blis__door *door, struct evhttp_request *request) {
  blis__call_begin(door, request, BLIS_LIVE_GENERATE);
}

static bool is_in_service(const blis__door *door) {
  const blis_cluster *cluster = blis_live_desk_cluster(door->server->desk);
  uint32_t count = blis_cluster_instance_count(cluster);
  if (door->instance >= 0) {
    return (uint32_t)door->instance < count &&
           blis_cluster_instance_service(cluster, (uint32_t)door->instance) == BLIS_SERVICE_ACTIVE;
  }
  for (uint32_t i = 0; i < count; i++) {
    if (blis_cluster_instance_service(cluster, i) == BLIS_SERVICE_ACTIVE) {
      return true;
    }
  }
  return false;
}

/* A sleeping engine is healthy. */
static void on_health(blis__door *door, struct evhttp_request *request) {
  bool sleeps = door->instance >= 0 &&
                blis_live_desk_sleep_level(door->server->desk, (uint32_t)door->instance) > 0;
  reply(door->server, request, is_in_service(door) || sleeps ? 200 : 503, NULL);
}

static void on_version(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_json_writer writer;
  blis_buffer_clear(&server->text);
  blis_json_writer_init(&writer, &server->text, 0);
  blis_json_writer_begin_object(&writer);
  blis_json_writer_key(&writer, "version");
  blis_json_writer_string(&writer, server->config->version);
  blis_json_writer_end_object(&writer);
  blis__http_send_text(server, request, 200, NULL);
}

static void on_load(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_buffer_clear(&server->text);
  blis_buffer_format(&server->text, "{\"server_load\":%" PRId64 "}",
                     blis_live_desk_load(server->desk, door->instance));
  blis__http_send_text(server, request, 200, NULL);
}

/* Writes a model, or an adapter with its parent. */
static void write_model(blis_json_writer *w, const blis_live_limits *limits, const char *name,
                        const char *parent) {
  const char *pairs[][2] = {
      {"id", name}, {"object", "model"}, {"owned_by", "vllm"}, {"root", name}};
  blis_json_writer_begin_object(w);
  for (size_t k = 0; k < sizeof pairs / sizeof *pairs; k++) {
    blis_json_writer_key(w, pairs[k][0]);
    blis_json_writer_string(w, pairs[k][1]);
  }
  blis_json_writer_key(w, "created");
  blis_json_writer_int64(w, 0);
  blis_json_writer_key(w, "parent");
  if (parent == NULL) {
    blis_json_writer_null(w);
  } else {
    blis_json_writer_string(w, parent);
  }
  blis_json_writer_key(w, "max_model_len");
  blis_json_writer_int64(w, limits->max_model_len);
  blis_json_writer_key(w, "permission");
  blis_json_writer_begin_array(w);
  blis_json_writer_end_array(w);
  blis_json_writer_end_object(w);
}

static void on_models(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  const blis_live_limits *limits = blis_live_desk_limits(server->desk);
  blis_json_writer w;
  blis_buffer_clear(&server->text);
  blis_json_writer_init(&w, &server->text, 0);
  blis_json_writer_begin_object(&w);
  blis_json_writer_key(&w, "object");
  blis_json_writer_string(&w, "list");
  blis_json_writer_key(&w, "data");
  blis_json_writer_begin_array(&w);
  for (size_t i = 0; i < limits->model_count; i++) {
    write_model(&w, limits, limits->models[i], NULL);
  }
  for (size_t i = 0; i < limits->adapter_count; i++) {
    if (limits->adapters[i].name[0] != '\0') {
      write_model(&w, limits, limits->adapters[i].name, limits->models[0]);
    }
  }
  blis_json_writer_end_array(&w);
  blis_json_writer_end_object(&w);
  blis__http_send_text(server, request, 200, NULL);
}

static void write_ids(blis_buffer *buffer, const blis_live_tokens *tokens) {
  blis_buffer_char(buffer, '[');
  for (size_t i = 0; i < tokens->count; i++) {
    blis_buffer_string(buffer, i == 0 ? "" : ",");
    blis_buffer_int64(buffer, tokens->items[i]);
  }
  blis_buffer_char(buffer, ']');
}

static void on_tokenize(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_live_refusal refusal;
  const blis_live_limits *limits = blis_live_desk_limits(server->desk);
  if (!blis_live_ask_read_text(&server->ask, limits, blis__http_body(request), &refusal)) {
    blis__http_refuse(server, request, &refusal);
    return;
  }
  blis_buffer_clear(&server->text);
  blis_buffer_format(&server->text, "{\"count\":%zu,\"max_model_len\":%" PRId64 ",\"tokens\":",
                     server->ask.tokens.count, limits->max_model_len);
  write_ids(&server->text, &server->ask.tokens);
  blis_buffer_string(&server->text, ",\"token_strs\":null}");
  blis__http_send_text(server, request, 200, NULL);
}

static void on_detokenize(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_live_refusal refusal;
  const blis_live_limits *limits = blis_live_desk_limits(server->desk);
  if (!blis_live_ask_read_tokens(&server->ask, limits, blis__http_body(request), &refusal)) {
    blis__http_refuse(server, request, &refusal);
    return;
  }
  blis_buffer_clear(&server->text);
  blis_buffer_string(&server->text, "{\"prompt\":\"");
  for (size_t i = 0; i < server->ask.tokens.count; i++) {
    char word[BLIS_LIVE_WORD_BYTES];
    blis_live_word(server->ask.tokens.items[i], word);
    blis_buffer_bytes(&server->text, word, sizeof word);
  }
  blis_buffer_string(&server->text, "\"}");
  blis__http_send_text(server, request, 200, NULL);
}

/* Writes the tokens that a request would have: a list for completions, an object for chats. */
static void render(blis__door *door, struct evhttp_request *request, blis_live_api api) {
  blis__http *server = door->server;
  blis_live_ask *ask = &server->ask;
  blis_live_refusal refusal;
  bool is_chat = api == BLIS_LIVE_CHAT;
  if (!blis_live_ask_read(ask, api, blis_live_desk_limits(server->desk), blis__http_body(request),
                          &refusal)) {
    blis__http_refuse(server, request, &refusal);
    return;
  }
  blis_buffer_clear(&server->text);
  blis_buffer_string(&server->text, is_chat ? "" : "[");
  for (size_t i = 0; i < ask->prompts.count; i++) {
    const blis_live_prompt_part *part = &ask->prompts.items[i];
    const blis_live_tokens tokens = {.items = ask->tokens.items + part->first,
                                     .count = part->count};
    blis_buffer_string(&server->text, i == 0 ? "" : ",");
    blis_buffer_string(&server->text, "{\"token_ids\":");
    write_ids(&server->text, &tokens);
    blis_buffer_string(&server->text, ",\"features\":null}");
  }
  blis_buffer_string(&server->text, is_chat ? "" : "]");
  blis__http_send_text(server, request, 200, NULL);
}

static void on_render(blis__door *door, struct evhttp_request *request) {
  render(door, request, BLIS_LIVE_COMPLETIONS);
}

static void on_render_chat(blis__door *door, struct evhttp_request *request) {
  render(door, request, BLIS_LIVE_CHAT);
}

/* Adds up the transfers of all tiers. */
static void add_tiers(const blis_cluster *cluster, blis_live_page *page) {
  size_t tiers = blis_cluster_kv_tier_count(cluster);
  page->has_tiers = tiers > 0 && page->count == blis_cluster_instance_count(cluster);
  for (size_t i = 0; i < tiers; i++) {
    const blis_kv_tier_counts counts = blis_cluster_kv_tier(cluster, i);
    page->tier_loaded_bytes += counts.loaded_bytes;
    page->tier_saved_bytes += counts.saved_bytes;
    page->tier_load_s += counts.load_us / 1e6;
    page->tier_save_s += counts.write_busy_us / 1e6;
  }
}

static void on_metrics(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  const blis_cluster *cluster = blis_live_desk_cluster(server->desk);
  uint32_t all = blis_cluster_instance_count(cluster);
  uint32_t first = door->instance < 0 ? 0 : (uint32_t)door->instance;
  uint32_t count = door->instance < 0 ? all : 1;
  blis_live_metered *metered = blis_alloc_zeroed(&server->alloc, count, sizeof *metered);
  if (metered == NULL) {
    reply(server, request, 500, NULL);
    return;
  }
  for (uint32_t i = 0; i < count; i++) {
    metered[i] =
        (blis_live_metered){.meter = blis_live_desk_meter(server->desk, first + i),
                            .instance = blis_cluster_instance(cluster, first + i),
                            .engine = door->instance < 0 ? i : 0,
                            .sleep_level = blis_live_desk_sleep_level(server->desk, first + i)};
  }
  uint64_t last = server->lag_count;
  const blis_live_limits *limits = blis_live_desk_limits(server->desk);
  blis_live_page page = {
      .flavor = blis_live_desk_flavor(server->desk),
      .model = limits->models[0],
      .instances = metered,
      .count = count,
      .adapters = limits->adapters,
      .adapter_count = (uint32_t)limits->adapter_count,
      .is_gateway = door->instance < 0,
      .max_model_len = limits->max_model_len,
      .in_flight = blis_live_desk_load(server->desk, -1),
      .now_us = blis_live_desk_now_us(server->desk),
      .unix_time = (double)time(NULL),
      .time_scale = server->speed,
      .lag_seconds = last == 0 ? 0 : (double)server->lags_us[(last - 1) % BLIS__LAGS] / 1e6};
  page.has_pulls = server->config->splits;
  add_tiers(cluster, &page);
  blis_buffer_clear(&server->text);
  blis_live_write_metrics(&server->text, &page);
  blis_alloc_free(&server->alloc, metered, count * sizeof *metered);
  blis__http_send_text(server, request, 200, "text/plain; version=0.0.4; charset=utf-8");
}

/* SGLang. */

static void on_model_info(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_json_writer writer;
  blis_buffer_clear(&server->text);
  blis_json_writer_init(&writer, &server->text, 0);
  blis_json_writer_begin_object(&writer);
  blis_json_writer_key(&writer, "model_path");
  blis_json_writer_string(&writer, blis_live_desk_limits(server->desk)->models[0]);
  blis_json_writer_key(&writer, "is_generation");
  blis_json_writer_bool(&writer, true);
  blis_json_writer_end_object(&writer);
  blis__http_send_text(server, request, 200, NULL);
}

static void on_server_info(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  const blis_live_limits *limits = blis_live_desk_limits(server->desk);
  blis_json_writer writer;
  blis_buffer_clear(&server->text);
  blis_json_writer_init(&writer, &server->text, 0);
  blis_json_writer_begin_object(&writer);
  blis_json_writer_key(&writer, "model_path");
  blis_json_writer_string(&writer, limits->models[0]);
  blis_json_writer_key(&writer, "served_model_name");
  blis_json_writer_string(&writer, limits->models[0]);
  blis_json_writer_key(&writer, "context_length");
  blis_json_writer_int64(&writer, limits->max_model_len);
  blis_json_writer_key(&writer, "dp_size");
  blis_json_writer_int64(&writer, 1);
  blis_json_writer_key(&writer, "version");
  blis_json_writer_string(&writer, server->config->version);
  blis_json_writer_end_object(&writer);
  blis__http_send_text(server, request, 200, NULL);
}

/* Clears the prefix cache of an instance, or of all instances. */
static void on_reset_cache(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  blis_cluster *cluster = blis_live_desk_cluster(server->desk);
  uint32_t first = door->instance < 0 ? 0 : (uint32_t)door->instance;
  uint32_t end = door->instance < 0 ? blis_cluster_instance_count(cluster) : first + 1;
  blis__http_advance(server);
  for (uint32_t i = first; i < end && server->status == BLIS_OK; i++) {
    if (blis_cluster_instance_service(cluster, i) == BLIS_SERVICE_ACTIVE) {
      server->status = blis_cluster_instance_lose_cache(cluster, i, &server->error);
    }
  }
  server->outcome.interventions++;
  reply(server, request, server->status == BLIS_OK ? 200 : 500, NULL);
}

/* LoRA adapters. */

static void change_adapter(blis__door *door, struct evhttp_request *request, bool is_load) {
  blis__http *server = door->server;
  blis_slice name;
  blis_live_refusal refusal;
  if (!blis_live_ask_read_adapter(&server->ask, blis__http_body(request), is_load, &name,
                                  &refusal) ||
      !(is_load ? blis_live_desk_load_adapter : blis_live_desk_unload_adapter)(server->desk, name,
                                                                               &refusal)) {
    blis__http_refuse(server, request, &refusal);
    return;
  }
  blis_buffer_clear(&server->text);
  blis_buffer_format(&server->text, "Success: LoRA adapter '%.*s' %s successfully.",
                     (int)name.length, name.data, is_load ? "added" : "removed");
  blis__http_send_text(server, request, 200, "text/plain; charset=utf-8");
}

static void on_load_adapter(blis__door *door, struct evhttp_request *request) {
  change_adapter(door, request, true);
}

static void on_unload_adapter(blis__door *door, struct evhttp_request *request) {
  change_adapter(door, request, false);
}

/* Sleep. */

/* Returns the first instance of an address, and sets the end of its range. */
static uint32_t instances_of(const blis__door *door, uint32_t *end) {
  uint32_t first = door->instance < 0 ? 0 : (uint32_t)door->instance;
  *end = door->instance < 0
             ? blis_cluster_instance_count(blis_live_desk_cluster(door->server->desk))
             : first + 1;
  return first;
}

/* Sets the sleep level of the instances of an address; 0 wakes them. */
static void set_sleep(blis__door *door, struct evhttp_request *request, int level) {
  blis__http *server = door->server;
  uint32_t end;
  blis_error error = {0};
  blis_status status = BLIS_OK;
  blis__http_advance(server);
  for (uint32_t i = instances_of(door, &end); i < end && status == BLIS_OK; i++) {
    status = blis_live_desk_sleep(server->desk, i, level, &error);
  }
  server->outcome.interventions++;
  if (status == BLIS_ERR_INVALID) {
    blis_live_refusal refusal;
    (void)blis_live_refuse(&refusal, 409, "BadRequestError", NULL, "%s", error.message);
    blis__http_refuse(server, request, &refusal);
    return;
  }
  if (status != BLIS_OK && server->status == BLIS_OK) {
    server->status = status;
    server->error = error;
  }
  reply(server, request, server->status == BLIS_OK ? 200 : 500, NULL);
}

static void on_sleep(blis__door *door, struct evhttp_request *request) {
  const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
  bool is_deep = query != NULL && strstr(query, "level=2") != NULL;
  set_sleep(door, request, is_deep ? 2 : 1);
}

static void on_wake(blis__door *door, struct evhttp_request *request) {
  set_sleep(door, request, 0);
}

static void on_is_sleeping(blis__door *door, struct evhttp_request *request) {
  uint32_t end;
  bool sleeps = true;
  for (uint32_t i = instances_of(door, &end); i < end; i++) {
    sleeps &= blis_live_desk_sleep_level(door->server->desk, i) > 0;
  }
  send_string(door->server, request, 200,
              sleeps ? "{\"is_sleeping\":true}" : "{\"is_sleeping\":false}");
}

/* Control. */

static bool is_local(struct evhttp_request *request) {
  char *address = NULL;
  ev_uint16_t port;
  evhttp_connection_get_peer(evhttp_request_get_connection(request), &address, &port);
  return address != NULL && (strncmp(address, "127.", 4) == 0 || strcmp(address, "::1") == 0);
}

/* Handles /admin/ACTION, only from the local machine. */
static void administer(blis__door *door, struct evhttp_request *request, const char *action) {
  blis__http *server = door->server;
  const blis_http_config *config = server->config;
  const char *query = evhttp_uri_get_query(evhttp_request_get_evhttp_uri(request));
  enum evhttp_cmd_type method = evhttp_request_get_command(request);
  blis_live_refusal refusal;
  if (!is_local(request)) {
    (void)blis_live_refuse(&refusal, 403, "Forbidden", NULL,
                           "/admin answers only requests from this machine");
    blis__http_refuse(server, request, &refusal);
    return;
  }
  if (config->control == NULL || (method != EVHTTP_REQ_GET && method != EVHTTP_REQ_POST)) {
    send_string(server, request, 405, "{\"detail\":\"Method Not Allowed\"}");
    return;
  }
  blis__http_advance(server);
  if (server->status != BLIS_OK) {
    return;
  }
  blis_http_control control = {.method = method == EVHTTP_REQ_GET ? "GET" : "POST",
                               .action = action,
                               .query = query == NULL ? "" : query,
                               .body = blis__http_body(request),
                               .speed = server->speed};
  blis_buffer_clear(&server->text);
  int status = config->control(config->control_ud, &control, &server->text);
  server->outcome.interventions += !control.is_read_only;
  if (control.speed != server->speed) {
    blis__http_set_speed(server, control.speed);
  }
  blis__http_send_text(server, request, status, NULL);
}

typedef struct route {
  const char *path;
  enum evhttp_cmd_type method;
  handler *handle;
} route;

static const route routes[] = {
    {"/v1/completions", EVHTTP_REQ_POST, on_completions},
    {"/v1/chat/completions", EVHTTP_REQ_POST, on_chat},
    {"/v1/completions/render", EVHTTP_REQ_POST, on_render},
    {"/v1/chat/completions/render", EVHTTP_REQ_POST, on_render_chat},
    {"/generate", EVHTTP_REQ_POST, on_generate},
    {"/v1/models", EVHTTP_REQ_GET, on_models},
    {"/health", EVHTTP_REQ_GET, on_health},
    {"/health/ready", EVHTTP_REQ_GET, on_health},
    {"/health_generate", EVHTTP_REQ_GET, on_health},
    {"/ping", EVHTTP_REQ_GET, on_health},
    {"/ping", EVHTTP_REQ_POST, on_health},
    {"/version", EVHTTP_REQ_GET, on_version},
    {"/load", EVHTTP_REQ_GET, on_load},
    {"/metrics", EVHTTP_REQ_GET, on_metrics},
    {"/tokenize", EVHTTP_REQ_POST, on_tokenize},
    {"/detokenize", EVHTTP_REQ_POST, on_detokenize},
    {"/v1/load_lora_adapter", EVHTTP_REQ_POST, on_load_adapter},
    {"/v1/unload_lora_adapter", EVHTTP_REQ_POST, on_unload_adapter},
    {"/sleep", EVHTTP_REQ_POST, on_sleep},
    {"/wake_up", EVHTTP_REQ_POST, on_wake},
    {"/is_sleeping", EVHTTP_REQ_GET, on_is_sleeping},
    {"/reset_prefix_cache", EVHTTP_REQ_POST, on_reset_cache},
    {"/flush_cache", EVHTTP_REQ_POST, on_reset_cache},
    {"/get_model_info", EVHTTP_REQ_GET, on_model_info},
    {"/get_server_info", EVHTTP_REQ_GET, on_server_info},
};

/* Returns the route of a path. *is_known is set if the path exists for a different method. HEAD
   is handled like GET. */
static const route *find(const char *path, enum evhttp_cmd_type method, bool *is_known) {
  enum evhttp_cmd_type wanted = method == EVHTTP_REQ_HEAD ? EVHTTP_REQ_GET : method;
  *is_known = false;
  for (size_t i = 0; i < sizeof routes / sizeof *routes; i++) {
    if (strcmp(path, routes[i].path) == 0) {
      *is_known = true;
      if (routes[i].method == wanted) {
        return &routes[i];
      }
    }
  }
  return NULL;
}

/* Returns the error that the header X-Return-Error: STATUS requests, as in llm-d-inference-sim. */
static bool answer_wanted_error(blis__door *door, struct evhttp_request *request) {
  const char *text =
      evhttp_find_header(evhttp_request_get_input_headers(request), "X-Return-Error");
  int status = 0;
  if (text == NULL || sscanf(text, "%3d", &status) != 1 || status < 400 || status > 599) {
    return false;
  }
  blis_live_refusal refusal;
  const char *type = status == 429  ? "RateLimitError"
                     : status < 500 ? "BadRequestError"
                                    : "InternalServerError";
  (void)blis_live_refuse(&refusal, status, type, NULL,
                         "the request header X-Return-Error requests this error");
  blis__http_refuse(door->server, request, &refusal);
  return true;
}

void blis__http_on_request(struct evhttp_request *request, void *ud) {
  blis__door *door = ud;
  blis__http *server = door->server;
  const struct evhttp_uri *uri = evhttp_request_get_evhttp_uri(request);
  const char *path = uri == NULL ? NULL : evhttp_uri_get_path(uri);
  bool is_known;
  const route *found =
      find(path == NULL ? "" : path, evhttp_request_get_command(request), &is_known);
  server->outcome.requests++;
  if (server->status != BLIS_OK || server->signal_count > 0) {
    blis_live_refusal refusal;
    (void)blis_live_refuse(&refusal, 503, "InternalServerError", NULL,
                           "the server is shutting down");
    blis__http_refuse(server, request, &refusal);
  } else if (path != NULL && strncmp(path, "/admin/", 7) == 0) {
    administer(door, request, path + 7);
  } else if (found == NULL) {
    send_string(server, request, is_known ? 405 : 404,
                is_known ? "{\"detail\":\"Method Not Allowed\"}" : "{\"detail\":\"Not Found\"}");
  } else if (!answer_wanted_error(door, request)) {
    found->handle(door, request);
  }
}
