/* calls.c - requests for tokens, from their arrival to the last byte of the response. */
#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <time.h>

#include "base/hash.h"
#include "http/server_priv.h"

/* The list of calls. */

static void link_call(blis__http *server, blis__call *call) {
  call->next = server->calls;
  if (server->calls != NULL) {
    server->calls->previous = call;
  }
  server->calls = call;
}

static void unlink_call(blis__http *server, blis__call *call) {
  *(call->previous == NULL ? &server->calls : &call->previous->next) = call->next;
  if (call->next != NULL) {
    call->next->previous = call->previous;
  }
}

static void close_prefill(blis__call *call) {
  blis__http *server = call->server;
  blis_error error = {0};
  blis_status status = call->prefill == NULL
                           ? BLIS_OK
                           : blis_live_desk_close_choice(server->desk, call->prefill, &error);
  call->prefill = NULL;
  if (status != BLIS_OK && server->status == BLIS_OK) {
    server->status = status;
    server->error = error;
  }
}

/* Frees a call whose request was answered or has gone. Choices that are not over are canceled. */
static void free_call(blis__call *call) {
  blis__http *server = call->server;
  const blis_alloc *alloc = &server->alloc;
  for (size_t i = 0; call->choices != NULL && i < call->count; i++) {
    blis_error error = {0};
    blis_status status = call->choices[i] == NULL
                             ? BLIS_OK
                             : blis_live_desk_close_choice(server->desk, call->choices[i], &error);
    if (status != BLIS_OK && server->status == BLIS_OK) {
      server->status = status;
      server->error = error;
    }
  }
  close_prefill(call);
  server->blocked -= call->blocked_since_us >= 0;
  unlink_call(server, call);
  blis_live_answer_deinit(&call->answer);
  if (call->choices != NULL) {
    blis_alloc_free(alloc, call->choices, call->count * sizeof *call->choices);
  }
  if (call->sent != NULL) {
    blis_alloc_free(alloc, call->sent, call->count * sizeof *call->sent);
  }
  if (call->is_told != NULL) {
    blis_alloc_free(alloc, call->is_told, call->count * sizeof *call->is_told);
  }
  blis_alloc_free(alloc, call, sizeof *call);
}

/* Handles a client that has disconnected. The request outlives its connection, so it is freed
   here. */
static void on_close(struct evhttp_connection *connection, void *ud) {
  (void)connection;
  blis__call *call = ud;
  struct evhttp_request *request = call->request;
  free_call(call);
  if (evhttp_request_get_connection(request) == NULL) {
    evhttp_request_free(request);
  }
}

/*
 * While a response is being sent, evhttp expects no data, and would abort the program if data
 * arrived. Data that the client sends in the meantime (pipelined requests) therefore remains in the
 * buffer, up to a limit. Also, a client that waits for a long response does not count as idle.
 */
static void hold_input(blis__call *call) {
  struct bufferevent *stream = evhttp_connection_get_bufferevent(call->connection);
  bufferevent_data_cb on_write;
  bufferevent_event_cb on_event;
  void *ud;
  bufferevent_getcb(stream, NULL, &on_write, &on_event, &ud);
  bufferevent_setcb(stream, NULL, on_write, on_event, ud);
  bufferevent_setwatermark(stream, EV_READ, 0, BLIS__INPUT_MAX);
  bufferevent_set_timeouts(stream, NULL, NULL);
  bufferevent_enable(stream, EV_READ); /* required to detect the end of the connection */
  evhttp_connection_set_closecb(call->connection, on_close, call);
}

/* Returns the connection to evhttp, so that it can carry another request. */
static void release_input(blis__call *call) {
  struct bufferevent *stream = evhttp_connection_get_bufferevent(call->connection);
  evhttp_connection_set_closecb(call->connection, NULL, NULL);
  bufferevent_setwatermark(stream, EV_READ, 0, 0);
  evhttp_connection_set_timeout(call->connection, BLIS__IDLE_SECONDS);
}

/* Sending. */

static void take_text(blis__http *server) {
  evbuffer_add(server->out, server->text.data, server->text.length);
  blis_buffer_clear(&server->text);
}

static void add_headers(blis__call *call, const char *type) {
  struct evkeyvalq *headers = evhttp_request_get_output_headers(call->request);
  char port[8];
  snprintf(port, sizeof port, "%u", (unsigned)call->door->port);
  evhttp_add_header(headers, "Content-Type", type);
  evhttp_add_header(headers, "x-inference-port", port);
  if (call->choices[0]->instance >= 0) {
    const blis_cluster *cluster = blis_live_desk_cluster(call->server->desk);
    evhttp_add_header(headers, "x-inference-pod",
                      blis_cluster_instance_id(cluster, (uint32_t)call->choices[0]->instance));
  }
  if (call->server->config->echoes_request_ids) {
    blis_slice id = blis__http_header(call->request, "X-Request-Id", BLIS_LIVE_ID_SIZE);
    if (id.length > 0) {
      evhttp_add_header(headers, "X-Request-Id", id.data);
    }
  }
}

/* Writes an id of an instance that is unique among all engines: a number of this server,
   followed by the id of the instance. */
static void write_engine(const blis__http *server, uint32_t instance, char *text, size_t size) {
  snprintf(text, size, "%016" PRIx64 "-%s", server->id_seed,
           blis_cluster_instance_id(blis_live_desk_cluster(server->desk), instance));
}

/* Returns the instance of this cluster with such an id; -1 = none. */
static int64_t find_engine(const blis__http *server, blis_slice engine) {
  uint32_t count = blis_cluster_instance_count(blis_live_desk_cluster(server->desk));
  for (uint32_t i = 0; i < count; i++) {
    char text[200];
    write_engine(server, i, text, sizeof text);
    if (blis_slice_equals(engine, text)) {
      return i;
    }
  }
  return -1;
}

/* Returns the address of an instance, or that of the call if the instance has none. */
static void find_address(const blis__call *call, int64_t instance, blis_live_transfer *transfer) {
  const blis_http_config *config = call->server->config;
  transfer->host = "127.0.0.1";
  transfer->port = call->door->port;
  for (size_t i = 0; i < config->endpoint_count; i++) {
    if (config->endpoints[i].instance == instance) {
      transfer->host = config->endpoints[i].address;
      transfer->port = config->endpoints[i].port;
    }
  }
}

/* Sends a response with the location of its prompt's KV, for the engine that continues. */
static void write_split(const blis__call *call) {
  blis__http *server = call->server;
  const blis_live_choice *choice = call->choices[0];
  const blis_cluster *cluster = blis_live_desk_cluster(server->desk);
  const blis_instance_facts *facts =
      blis_cluster_instance_facts(cluster, (uint32_t)choice->instance);
  char engine[200];
  uint32_t size = server->config->block_tokens;
  write_engine(server, (uint32_t)choice->instance, engine, sizeof engine);
  blis_live_transfer transfer = {.engine = engine,
                                 .tp = facts->tp < 1 ? 1 : (uint32_t)facts->tp,
                                 .blocks = (choice->prompt_tokens + size - 1) / size};
  find_address(call, choice->instance, &transfer);
  blis_live_write_split(&server->text, &call->answer,
                        (const blis_live_choice *const *)call->choices, call->count, &transfer);
}

/* Sends a complete response, or the error of a choice that failed before anything was sent. */
static void send_whole(blis__call *call, const blis_live_choice *failed) {
  blis__http *server = call->server;
  struct evhttp_request *request = call->request;
  blis_buffer_clear(&server->text);
  add_headers(call, "application/json");
  int status = 200;
  if (failed != NULL) {
    blis_live_refusal refusal;
    status = failed->instance < 0 ? 503 : 500;
    (void)blis_live_refuse(&refusal, status, "InternalServerError", NULL, "%s",
                           failed->failure == NULL ? "the request was aborted" : failed->failure);
    blis_live_write_refusal(&server->text, &refusal);
  } else if (call->keeps_kv && call->count == 1 && call->choices[0]->finish == BLIS_LIVE_LENGTH) {
    write_split(call);
  } else {
    blis_live_write_whole(&server->text, &call->answer,
                          (const blis_live_choice *const *)call->choices, call->count);
  }
  take_text(server);
  release_input(call);
  free_call(call);
  evhttp_send_reply(request, status, NULL, server->out);
  evbuffer_drain(server->out, evbuffer_get_length(server->out));
}

static size_t unsent_bytes(const blis__call *call) {
  struct bufferevent *stream = evhttp_connection_get_bufferevent(call->connection);
  return evbuffer_get_length(bufferevent_get_output(stream));
}

/* Appends the due tokens of all choices to the text, and counts them as sent. */
static void write_due(blis__call *call) {
  blis__http *server = call->server;
  for (size_t i = 0; i < call->count; i++) {
    const blis_live_choice *choice = call->choices[i];
    bool has_more = choice->due_tokens > call->sent[i];
    bool has_end = choice->is_over && !call->is_told[i];
    if (!has_more && !has_end) {
      continue;
    }
    /* The last token is due slightly before the end of the choice, so it is sent with the final
       chunk. */
    if (!choice->is_over && choice->due_tokens == choice->planned_tokens &&
        choice->due_tokens == call->sent[i] + 1 && choice->planned_tokens > 1) {
      continue;
    }
    blis_live_write_event(&server->text, &call->answer, choice, call->sent[i]);
    call->sent[i] = choice->due_tokens;
    if (choice->is_over) {
      call->is_told[i] = true;
      call->open--;
    }
  }
}

static void begin_stream(blis__call *call) {
  if (!call->has_begun) {
    call->has_begun = true;
    add_headers(call, "text/event-stream; charset=utf-8");
    evhttp_send_reply_start(call->request, 200, NULL);
  }
}

/*
 * Writes unsent data immediately instead of in the next iteration of the loop. One iteration may
 * add several events to a stream, and each event takes 1 KiB of a buffer until it is written. Data
 * that the socket does not accept, and errors, are left to libevent. Returns true if no data is
 * left.
 */
static bool write_now(struct bufferevent *stream) {
  struct evbuffer *output = bufferevent_get_output(stream);
  evbuffer_unfreeze(output, 1);
  int written = evbuffer_write(output, bufferevent_getfd(stream));
  evbuffer_freeze(output, 1);
  return written > 0 && evbuffer_get_length(output) == 0;
}

static void send_due(blis__call *call) {
  blis__http *server = call->server;
  bool is_blocked = call->has_begun && unsent_bytes(call) > BLIS__OUTPUT_MAX;
  if (is_blocked) {
    if (call->blocked_since_us < 0) {
      call->blocked_since_us = blis__http_wall_us(server);
      server->blocked++;
    }
    return;
  }
  server->blocked -= call->blocked_since_us >= 0;
  call->blocked_since_us = -1;
  blis_buffer_clear(&server->text);
  write_due(call);
  bool is_over = call->open == 0;
  if (is_over) {
    blis_live_write_end(&server->text, &call->answer,
                        (const blis_live_choice *const *)call->choices, call->count);
  }
  if (server->text.length == 0) {
    return;
  }
  begin_stream(call);
  take_text(server);
  struct evhttp_request *request = call->request;
  evhttp_send_reply_chunk(request, server->out);
  evbuffer_drain(server->out, evbuffer_get_length(server->out));
  struct bufferevent *stream = evhttp_connection_get_bufferevent(call->connection);
  if (is_over) {
    release_input(call);
    free_call(call);
    evhttp_send_reply_end(request);
    (void)write_now(stream); /* libevent ends the request in the next iteration */
  } else if (write_now(stream)) {
    bufferevent_disable(stream, EV_WRITE); /* until the next token; saves a callback for each */
  }
}

static void end_prefill(blis__call *call);

void blis__call_changed(void *ud, blis_live_choice *choice) {
  (void)ud;
  blis__call *call = choice->call;
  if (choice == call->prefill) {
    if (choice->is_over) {
      end_prefill(call);
    }
    return;
  }
  if (choice->is_over && choice->failure != NULL && !call->has_begun) {
    send_whole(call, choice);
    return;
  }
  if (call->streams) {
    send_due(call);
    return;
  }
  if (choice->is_over && --call->open == 0) {
    send_whole(call, NULL);
  }
}

void blis__calls_retry(blis__http *server) {
  int64_t now_us = blis__http_wall_us(server);
  for (blis__call *call = server->calls, *next; call != NULL; call = next) {
    next = call->next;
    if (call->blocked_since_us < 0) {
      continue;
    }
    if (now_us - call->blocked_since_us > server->config->stall_timeout_us) {
      server->outcome.dropped++;
      struct evhttp_connection *connection = call->connection;
      evhttp_connection_set_closecb(connection, NULL, NULL);
      free_call(call);
      evhttp_connection_free(connection);
    } else {
      send_due(call);
    }
  }
}

void blis__calls_drop(blis__http *server) {
  while (server->calls != NULL) {
    evhttp_connection_set_closecb(server->calls->connection, NULL, NULL);
    free_call(server->calls);
  }
}

/* Start. */

/* Chooses the id: X-Request-Id, or 32 hexadecimal digits. */
static void choose_id(blis__http *server, struct evhttp_request *request,
                      char id[BLIS_LIVE_ID_SIZE]) {
  blis_slice given = blis__http_header(request, "X-Request-Id", BLIS_LIVE_ID_SIZE - 32);
  bool is_plain = given.length > 0;
  for (size_t i = 0; i < given.length; i++) {
    is_plain &= isalnum((unsigned char)given.data[i]) || strchr("-_.:", given.data[i]) != NULL;
  }
  if (is_plain) {
    snprintf(id, BLIS_LIVE_ID_SIZE, "%.*s", (int)given.length, given.data);
    return;
  }
  uint64_t number = server->next_id++;
  blis_hash128_value hash = blis_hash128(&number, sizeof number, server->id_seed);
  snprintf(id, BLIS_LIVE_ID_SIZE, "%016" PRIx64 "%016" PRIx64, hash.high, hash.low);
}

static bool check_type(struct evhttp_request *request, blis_live_refusal *refusal) {
  static const char json[] = "application/json";
  const char *type = evhttp_find_header(evhttp_request_get_input_headers(request), "Content-Type");
  bool is_json = type != NULL && strncasecmp(type, json, sizeof json - 1) == 0 &&
                 strchr("; ", type[sizeof json - 1]) != NULL;
  return is_json ? true
                 : blis_live_refuse(refusal, 415, "Unsupported Media Type", NULL,
                                    "Unsupported Media Type: Only 'application/json' is allowed");
}

static bool check_service(const blis__door *door, blis_live_refusal *refusal) {
  const blis_cluster *cluster = blis_live_desk_cluster(door->server->desk);
  if (door->instance < 0 ||
      ((uint32_t)door->instance < blis_cluster_instance_count(cluster) &&
       blis_cluster_instance_service(cluster, (uint32_t)door->instance) == BLIS_SERVICE_ACTIVE)) {
    return true;
  }
  bool sleeps = blis_live_desk_sleep_level(door->server->desk, (uint32_t)door->instance) > 0;
  return blis_live_refuse(refusal, 503, "InternalServerError", NULL, "instance_%" PRId64 " is %s",
                          door->instance, sleeps ? "asleep" : "not in service");
}

/* Returns the KV of the prompt that another engine holds. */
static blis_pull pull_of(const blis__http *server) {
  const blis_live_split *split = &server->ask.split;
  if (!server->config->splits || !split->has_remote_prefill) {
    return (blis_pull){.holder = -1};
  }
  return (blis_pull){.tokens = split->blocks * server->config->block_tokens,
                     .holder = find_engine(server, split->engine)};
}

static blis_live_submission submission_of(blis__door *door, struct evhttp_request *request,
                                          blis__call *call) {
  blis_slice length = blis__http_header(request, "x-blis-output-tokens", 10);
  return (blis_live_submission){
      .ask = &door->server->ask,
      .call = call,
      .instance = door->instance,
      .output_tokens = length.length == 0 ? 0 : strtoll(length.data, NULL, 10),
      .pull = {.holder = -1},
      .tenant = blis__http_header(request, "x-llm-d-inference-fairness-id", 100),
      .slo_class = blis__http_header(request, "x-llm-d-inference-objective", 100),
      .session = blis__http_header(request, "x-session-id", 100)};
}

/* Creates a call with space for its choices; NULL = out of memory. */
static blis__call *new_call(blis__door *door, struct evhttp_request *request) {
  blis__http *server = door->server;
  const blis_live_ask *ask = &server->ask;
  const blis_alloc *alloc = &server->alloc;
  size_t count = ask->prompts.count * (size_t)ask->n;
  blis__call *call = blis_alloc_zeroed(alloc, 1, sizeof *call);
  if (call == NULL) {
    return NULL;
  }
  *call = (blis__call){.server = server,
                       .door = door,
                       .request = request,
                       .connection = evhttp_request_get_connection(request),
                       .count = count,
                       .open = count,
                       .blocked_since_us = -1,
                       .streams = ask->streams,
                       .keeps_kv = server->config->splits && ask->split.has_remote_decode};
  link_call(server, call);
  call->choices = blis_alloc_zeroed(alloc, count, sizeof *call->choices);
  call->sent = blis_alloc_zeroed(alloc, count, sizeof *call->sent);
  call->is_told = blis_alloc_zeroed(alloc, count, sizeof *call->is_told);
  char id[BLIS_LIVE_ID_SIZE];
  choose_id(server, request, id);
  if (call->choices == NULL || call->sent == NULL || call->is_told == NULL ||
      blis_live_answer_init(&call->answer, alloc, ask, id, (int64_t)time(NULL),
                            server->config->shows_cached) != BLIS_OK) {
    free_call(call);
    return NULL;
  }
  return call;
}

/* Submits all choices of a call. A failure ends the server. */
static bool submit(blis__call *call, blis_pull pull) {
  blis__http *server = call->server;
  blis_live_submission submission = submission_of(call->door, call->request, call);
  size_t count;
  submission.pull = pull;
  server->outcome.interventions += pull.tokens > 0;
  server->status =
      blis_live_desk_submit(server->desk, &submission, call->choices, &count, &server->error);
  if (server->status != BLIS_OK) {
    event_base_loopbreak(server->base);
  }
  return server->status == BLIS_OK;
}

/* Returns the instance of this server that the header of llm-d's sidecar specifies; -1 = none. */
static int64_t find_prefiller(const blis__http *server, struct evhttp_request *request) {
  const blis_http_config *config = server->config;
  blis_slice named = blis__http_header(request, "x-prefiller-host-port", 200);
  for (size_t i = 0; i < config->endpoint_count && config->splits && named.length > 0; i++) {
    const blis_http_endpoint *endpoint = &config->endpoints[i];
    char text[80];
    snprintf(text, sizeof text, "%s:%u", endpoint->address, (unsigned)endpoint->port);
    if (endpoint->instance >= 0 && blis_slice_equals(named, text)) {
      return endpoint->instance;
    }
  }
  return -1;
}

/* Lets another instance compute the prompt first, like the sidecar: one token, no choices. */
static bool begin_prefill(blis__call *call, int64_t instance) {
  blis__http *server = call->server;
  const blis_cluster *cluster = blis_live_desk_cluster(server->desk);
  if (instance >= blis_cluster_instance_count(cluster) ||
      blis_cluster_instance_service(cluster, (uint32_t)instance) != BLIS_SERVICE_ACTIVE) {
    return submit(call, (blis_pull){.holder = -1});
  }
  blis_live_submission submission = submission_of(call->door, call->request, call);
  size_t count;
  server->ask.n = 1;
  submission.instance = instance;
  submission.output_tokens = 1;
  server->status =
      blis_live_desk_submit(server->desk, &submission, &call->prefill, &count, &server->error);
  if (server->status != BLIS_OK) {
    event_base_loopbreak(server->base);
  }
  return server->status == BLIS_OK;
}

/* Frees the body of the request, which only end_prefill reads again. */
static void drop_body(const blis__call *call) {
  struct evbuffer *body = evhttp_request_get_input_buffer(call->request);
  if (call->prefill == NULL) {
    evbuffer_drain(body, evbuffer_get_length(body));
  }
}

void blis__call_begin(blis__door *door, struct evhttp_request *request, blis_live_api api) {
  blis__http *server = door->server;
  blis_live_refusal refusal = {0};
  if (!check_type(request, &refusal) || !check_service(door, &refusal) ||
      !blis_live_ask_read(&server->ask, api, blis_live_desk_limits(server->desk),
                          blis__http_body(request), &refusal)) {
    blis__http_refuse(server, request, &refusal);
    return;
  }
  blis__http_advance_to_arrival(server);
  if (server->status != BLIS_OK) {
    return;
  }
  blis__call *call = new_call(door, request);
  if (call == NULL) {
    (void)blis_live_refuse(&refusal, 500, "InternalServerError", NULL, "out of memory");
    blis__http_refuse(server, request, &refusal);
    return;
  }
  int64_t prefiller = find_prefiller(server, request);
  bool is_begun = prefiller >= 0 && server->ask.prompts.count == 1 ? begin_prefill(call, prefiller)
                                                                   : submit(call, pull_of(server));
  if (is_begun) {
    hold_input(call);
    drop_body(call);
  }
}

static void end_prefill(blis__call *call) {
  blis__http *server = call->server;
  struct evhttp_request *request = call->request;
  const blis_live_choice *done = call->prefill;
  blis_live_refusal refusal = {0};
  const blis_pull pull = {.tokens = done->failure == NULL ? done->prompt_tokens : 0,
                          .holder = done->instance};
  close_prefill(call);
  if (blis_live_ask_read(&server->ask, call->answer.api, blis_live_desk_limits(server->desk),
                         blis__http_body(request), &refusal)) {
    (void)submit(call, pull);
    return;
  }
  release_input(call); /* for example, its adapter is no longer served */
  free_call(call);
  blis__http_refuse(server, request, &refusal);
}
