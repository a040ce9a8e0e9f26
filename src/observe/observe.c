#include "observe/observe.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/containers/event_queue.h"
#include "base/containers/map.h"
#include "base/minmax.h"
#include "observe/body.h"
#include "observe/curl_library.h"
#include "observe/events.h"
#include "observe/waiter.h"

enum { NANOS = 1000, NONE = -1, ID_SIZE = 40, URL_SIZE = 2048, KEY_SIZE = 8192 };

/* A request in flight. */
typedef struct flight {
  struct client *client;
  CURL *handle;
  struct curl_slist *headers;
  size_t place; /* in the list */
  blis_buffer body;
  blis__answer answer;
  BLIS_ARRAY(int64_t) events;
  char error[CURL_ERROR_SIZE];
  struct flight *next; /* next idle flight */
} flight;

typedef struct client {
  blis_alloc alloc;
  const blis_observe_config *config;
  const blis_workload *workload;
  blis_observations *made;
  const blis__curl *curl;
  CURLM *multi;
  blis__waiter waiter;
  blis_event_queue *due; /* requests that wait for their send time */
  int32_t *next_round;   /* by index: the request that follows its end; NULL = no request follows
                            another */
  flight *idle;
  BLIS_ARRAY(flight *) flights; /* all flights */
  size_t outstanding;
  int64_t started_ns;
  int64_t curl_due_us; /* time of the next call that curl requested, or NEVER */
  blis_json json;
  blis_intern *strings;
  char url[URL_SIZE];
  char authorization[KEY_SIZE];
  blis_status status;
  blis_error error;
} client;

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static int64_t now_us(const client *c) {
  return (now_ns() - c->started_ns) / NANOS;
}

static void fail(client *c, blis_status status) {
  if (c->status == BLIS_OK) {
    c->status = status;
  }
}

/* Callbacks of curl. */

static int on_socket(CURL *handle, curl_socket_t socket, int what, void *ud, void *known) {
  (void)handle;
  client *c = ud;
  bool was_known = known != NULL;
  if (what == CURL_POLL_REMOVE) {
    blis__waiter_remove(&c->waiter, socket);
    c->curl->multi_assign(c->multi, socket, NULL);
    return 0;
  }
  blis__waiter_set(&c->waiter, socket, was_known, what != CURL_POLL_OUT, what != CURL_POLL_IN);
  c->curl->multi_assign(c->multi, socket, c);
  return 0;
}

static int on_timeout(CURLM *multi, long timeout_ms, void *ud) {
  (void)multi;
  client *c = ud;
  c->curl_due_us = timeout_ms < 0 ? BLIS__WAIT_FOREVER : now_us(c) + timeout_ms * 1000;
  return 0;
}

static size_t on_data(char *data, size_t size, size_t count, void *ud) {
  flight *f = ud;
  client *c = f->client;
  blis_observation *seen = &c->made->items[f->place];
  int64_t at_us = now_us(c);
  f->answer.choices = 0;
  if (blis__answer_read(&f->answer, &c->json, data, size * count) != BLIS_OK) {
    return 0;
  }
  for (uint32_t i = 0; i < f->answer.choices; i++) {
    if (c->config->keeps_events && blis_array_push(&c->alloc, &f->events, at_us) != BLIS_OK) {
      return 0; /* the request fails; events remains the number of stored times */
    }
    seen->first_us = seen->first_us < 0 ? at_us : seen->first_us;
    seen->last_us = at_us;
    seen->events++;
  }
  return size * count;
}

/* Sending. */

static void free_flight(client *c, flight *f) {
  if (f->handle != NULL) {
    c->curl->easy_cleanup(f->handle);
  }
  c->curl->slist_free_all(f->headers);
  blis_buffer_deinit(&f->body);
  blis__answer_deinit(&f->answer);
  blis_array_deinit(&c->alloc, &f->events);
  blis_alloc_free(&c->alloc, f, sizeof *f);
}

static flight *take_flight(client *c) {
  flight *f = c->idle;
  if (f != NULL) {
    c->idle = f->next;
    c->curl->easy_reset(f->handle);
    return f;
  }
  f = blis_alloc_zeroed(&c->alloc, 1, sizeof *f);
  if (f == NULL) {
    return NULL;
  }
  f->client = c;
  blis_buffer_init(&f->body, &c->alloc);
  blis__answer_init(&f->answer, &c->alloc);
  f->handle = c->curl->easy_init();
  if (f->handle == NULL || blis_array_push(&c->alloc, &c->flights, f) != BLIS_OK) {
    free_flight(c, f);
    return NULL;
  }
  return f;
}

static bool set_headers(client *c, flight *f, const blis_request *request) {
  char id[ID_SIZE];
  snprintf(id, sizeof id, "x-request-id: blis-%" PRId64, request->number);
  const char *const texts[] = {"Content-Type: application/json", "Accept: text/event-stream",
                               "Expect:", id, c->authorization};
  c->curl->slist_free_all(f->headers);
  f->headers = NULL;
  for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
    struct curl_slist *list =
        texts[i][0] == '\0' ? f->headers : c->curl->slist_append(f->headers, texts[i]);
    if (list == NULL) {
      return false;
    }
    f->headers = list;
  }
  return true;
}

static void set_options(client *c, flight *f) {
  const blis__curl *curl = c->curl;
  CURL *h = f->handle;
  f->error[0] = '\0';
  curl->easy_setopt(h, CURLOPT_URL, c->url);
  curl->easy_setopt(h, CURLOPT_HTTPHEADER, f->headers);
  curl->easy_setopt(h, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)f->body.length);
  curl->easy_setopt(h, CURLOPT_POSTFIELDS, f->body.data);
  curl->easy_setopt(h, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl->easy_setopt(h, CURLOPT_WRITEFUNCTION, on_data);
  curl->easy_setopt(h, CURLOPT_WRITEDATA, f);
  curl->easy_setopt(h, CURLOPT_PRIVATE, f);
  curl->easy_setopt(h, CURLOPT_ERRORBUFFER, f->error);
  curl->easy_setopt(h, CURLOPT_NOSIGNAL, 1L);
  curl->easy_setopt(h, CURLOPT_PROXY, "");
  curl->easy_setopt(h, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl->easy_setopt(h, CURLOPT_LOW_SPEED_TIME, (long)c->config->stall_seconds);
}

static void send_one(client *c, size_t place, int64_t due_us) {
  const blis_request *request = blis_workload_request(c->workload, place);
  blis_observation *seen = &c->made->items[place];
  if (c->outstanding >= c->config->most_outstanding) {
    fail(c, blis_fail(&c->error, BLIS_ERR_IO,
                      "request %zu: the limit of outstanding requests (--max-connections %zu) is "
                      "reached; the server is slower than the arrivals",
                      place + 1, c->outstanding));
    return;
  }
  flight *f = take_flight(c);
  if (f == NULL) {
    fail(c, blis_fail_nomem(&c->error));
    return;
  }
  f->place = place;
  f->events.count = 0;
  blis__answer_clear(&f->answer);
  blis_buffer_clear(&f->body);
  blis__write_body(&f->body, c->config, request);
  if (blis_buffer_status(&f->body) != BLIS_OK || !set_headers(c, f, request)) {
    fail(c, blis_fail_nomem(&c->error));
    return;
  }
  set_options(c, f);
  seen->due_us = due_us;
  seen->sent_us = now_us(c);
  c->outstanding++;
  c->made->sent++;
  c->curl->multi_add_handle(c->multi, f->handle);
}

/* Schedules the next round of the session after its think time. */
static void plan_next(client *c, size_t place) {
  int32_t next = c->next_round == NULL ? NONE : c->next_round[place];
  if (next == NONE || c->made->was_interrupted) {
    return;
  }
  const blis_request *request = blis_workload_request(c->workload, (size_t)next);
  int64_t think_us = (int64_t)((double)request->think_us / c->config->speed);
  const blis_event event = {.time_us = now_us(c) + think_us, .number = (uint64_t)next};
  if (blis_event_queue_push(c->due, &event, NULL) != BLIS_OK) {
    fail(c, blis_fail_nomem(&c->error));
  }
}

/* Ends. */

static const char *keep(client *c, const char *text) {
  uint32_t id;
  if (blis_intern_add(c->strings, text, strlen(text), &id) != BLIS_OK) {
    return "out of memory";
  }
  return blis_intern_text(c->strings, id);
}

static void note_answer(client *c, flight *f, CURLcode code, blis_observation *seen) {
  blis__answer *answer = &f->answer;
  long status = 0;
  c->curl->easy_getinfo(f->handle, CURLINFO_RESPONSE_CODE, &status);
  seen->status = (int)status;
  seen->prompt_tokens = answer->prompt_tokens;
  seen->cached_tokens = answer->cached_tokens;
  seen->output_tokens = answer->output_tokens > 0 ? answer->output_tokens : seen->events;
  seen->finish = keep(c, answer->finish);
  if (code != CURLE_OK) {
    seen->problem = keep(c, f->error[0] != '\0' ? f->error : c->curl->easy_strerror(code));
  } else if (status != 200) {
    blis__answer_refused(answer, &c->json, seen->status);
    seen->problem = keep(c, answer->problem);
  } else if (answer->problem[0] != '\0') {
    seen->problem = keep(c, answer->problem);
  } else if (!answer->is_done || seen->events == 0) {
    seen->problem = seen->events == 0 ? "the answer has no events" : "the answer has no end";
  }
}

/* Stops the run after errors that would affect every later request. */
static void check_fatal(client *c, const blis_observation *seen, CURLcode code) {
  bool is_refused = seen->status == 401 || seen->status == 403 || seen->status == 404;
  if (is_refused) {
    fail(c, blis_fail(&c->error, BLIS_ERR_IO, "%s: status %d: %s", c->url, seen->status,
                      seen->problem));
  } else if (code == CURLE_COULDNT_CONNECT || code == CURLE_COULDNT_RESOLVE_HOST ||
             code == CURLE_URL_MALFORMAT || code == CURLE_UNSUPPORTED_PROTOCOL) {
    fail(c, blis_fail(&c->error, BLIS_ERR_IO, "%s: %s", c->url, seen->problem));
  }
}

static void finish(client *c, flight *f, CURLcode code) {
  blis_observation *seen = &c->made->items[f->place];
  note_answer(c, f, code, seen);
  c->curl->multi_remove_handle(c->multi, f->handle);
  if (f->events.count > 0) {
    seen->event_us = blis_alloc_new(&c->alloc, f->events.count * sizeof *seen->event_us);
    if (seen->event_us != NULL) {
      memcpy(seen->event_us, f->events.items, f->events.count * sizeof *seen->event_us);
    } else {
      fail(c, blis_fail_nomem(&c->error));
    }
  }
  c->outstanding--;
  f->next = c->idle;
  c->idle = f;
  check_fatal(c, seen, code);
  plan_next(c, f->place);
}

static void finish_those_that_ended(client *c) {
  int left;
  for (CURLMsg *message; (message = c->curl->multi_info_read(c->multi, &left)) != NULL;) {
    if (message->msg == CURLMSG_DONE) {
      flight *f = NULL;
      CURLcode code = message->data.result;
      c->curl->easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, (char **)&f);
      finish(c, f, code);
    }
  }
}

/* The loop. */

static void send_due(client *c) {
  blis_event event;
  while (c->status == BLIS_OK && blis_event_queue_peek(c->due, &event) &&
         event.time_us <= now_us(c) && blis_event_queue_pop(c->due, &event)) {
    send_one(c, (size_t)event.number, event.time_us);
  }
}

static void call_curl(client *c) {
  int running;
  if (c->curl_due_us <= now_us(c)) {
    c->curl_due_us = BLIS__WAIT_FOREVER;
    c->curl->multi_socket_action(c->multi, CURL_SOCKET_TIMEOUT, 0, &running);
  }
}

static void on_ready(void *ud, int socket, bool reads, bool writes, bool fails) {
  client *c = ud;
  int running;
  int flags = (reads ? CURL_CSELECT_IN : 0) | (writes ? CURL_CSELECT_OUT : 0) |
              (fails ? CURL_CSELECT_ERR : 0);
  c->curl->multi_socket_action(c->multi, socket, flags, &running);
}

static void loop(client *c) {
  blis_event event;
  while (c->status == BLIS_OK) {
    if (!c->made->was_interrupted && c->config->interrupted != NULL &&
        c->config->interrupted(c->config->interrupted_ud)) {
      c->made->was_interrupted = true;
      while (blis_event_queue_pop(c->due, &event)) {
      }
    }
    send_due(c);
    call_curl(c);
    finish_those_that_ended(c);
    if (c->outstanding == 0 && blis_event_queue_count(c->due) == 0) {
      return;
    }
    int64_t due_us = blis_event_queue_next_us(c->due);
    due_us = blis_min_i64(blis_min_i64(due_us, c->curl_due_us), now_us(c) + 100000);
    blis__waiter_wait(&c->waiter, c->started_ns + due_us * NANOS, on_ready, c);
  }
}

/* Preparation. */

/* Finds the previous round of each round with a think time; schedules all other requests. */
static blis_status plan(client *c, blis_error *error) {
  size_t count = blis_workload_count(c->workload);
  blis_map last; /* last request so far + 1, by session */
  blis_map_init(&last, &c->alloc);
  BLIS_TRY_MEM(blis_event_queue_reserve(c->due, count), error);
  blis_status status = BLIS_OK;
  for (size_t i = 0; i < count && status == BLIS_OK; i++) {
    const blis_request *request = blis_workload_request(c->workload, i);
    uint64_t before = 0;
    bool follows = request->session != 0 && request->has_think_time &&
                   blis_map_get(&last, request->session, &before);
    if (request->session != 0) {
      status = blis_map_put(&last, request->session, i + 1);
    }
    if (follows) {
      c->next_round[before - 1] = (int32_t)i;
    } else if (status == BLIS_OK) {
      int64_t at_us = (int64_t)((double)request->arrival_us / c->config->speed);
      const blis_event event = {.time_us = at_us, .number = i};
      status = blis_event_queue_push(c->due, &event, NULL);
    }
  }
  blis_map_deinit(&last);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

/* Checks the length, because a server would reject a truncated address without a clear reason. */
static blis_status write_address(client *c, blis_error *error) {
  const blis_observe_config *config = c->config;
  int length = snprintf(c->url, sizeof c->url, "%s/v1/%s", config->url,
                        config->is_chat ? "chat/completions" : "completions");
  if ((size_t)length >= sizeof c->url) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "observe.target: the address has %d characters, expected at most %zu", length,
                     sizeof c->url - 1);
  }
  if (config->key == NULL) {
    return BLIS_OK;
  }
  length =
      snprintf(c->authorization, sizeof c->authorization, "Authorization: Bearer %s", config->key);
  return (size_t)length < sizeof c->authorization
             ? BLIS_OK
             : blis_fail(error, BLIS_ERR_INVALID,
                         "observe.key_variable: the header with the API key has %d characters, "
                         "expected at most %zu",
                         length, sizeof c->authorization - 1);
}

static blis_status open_client(client *c, blis_error *error) {
  const blis_observe_config *config = c->config;
  BLIS_TRY(blis__curl_load(&c->curl, error));
  BLIS_TRY(write_address(c, error));
  size_t count = blis_workload_count(c->workload);
  c->due = blis_event_queue_new(&c->alloc);
  c->strings = blis_intern_new(&c->alloc);
  c->next_round = blis_alloc_zeroed(&c->alloc, count + 1, sizeof *c->next_round);
  c->made->items = blis_alloc_zeroed(&c->alloc, count + 1, sizeof *c->made->items);
  if (c->due == NULL || c->strings == NULL || c->next_round == NULL || c->made->items == NULL) {
    return blis_fail_nomem(error);
  }
  c->made->count = count;
  c->made->strings = c->strings;
  for (size_t i = 0; i < count; i++) {
    c->next_round[i] = NONE;
    c->made->items[i] = (blis_observation){
        .due_us = -1, .sent_us = -1, .first_us = -1, .last_us = -1, .finish = ""};
  }
  BLIS_TRY(plan(c, error));
  c->multi = c->curl->multi_init();
  BLIS_TRY_NEW(c->multi, error);
  c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETFUNCTION, on_socket);
  c->curl->multi_setopt(c->multi, CURLMOPT_SOCKETDATA, c);
  c->curl->multi_setopt(c->multi, CURLMOPT_TIMERFUNCTION, on_timeout);
  c->curl->multi_setopt(c->multi, CURLMOPT_TIMERDATA, c);
  c->curl->multi_setopt(c->multi, CURLMOPT_MAXCONNECTS, (long)config->most_outstanding);
  return blis__waiter_open(&c->waiter, &c->alloc, error);
}

static void close_client(client *c) {
  for (size_t i = 0; i < c->flights.count; i++) {
    if (c->multi != NULL) {
      c->curl->multi_remove_handle(c->multi, c->flights.items[i]->handle);
    }
    free_flight(c, c->flights.items[i]);
  }
  blis_array_deinit(&c->alloc, &c->flights);
  if (c->multi != NULL) {
    c->curl->multi_cleanup(c->multi);
  }
  blis__waiter_close(&c->waiter);
  blis_json_deinit(&c->json);
  blis_event_queue_free(c->due);
  if (c->next_round != NULL) {
    blis_alloc_free(&c->alloc, c->next_round,
                    (blis_workload_count(c->workload) + 1) * sizeof *c->next_round);
  }
}

blis_status blis_observe(const blis_alloc *alloc, const blis_observe_config *config,
                         const blis_workload *workload, blis_observations *made,
                         blis_error *error) {
  *made = (blis_observations){.alloc = *alloc};
  client *c = blis_alloc_zeroed(alloc, 1, sizeof *c);
  BLIS_TRY_NEW(c, error);
  c->alloc = *alloc;
  c->config = config;
  c->workload = workload;
  c->made = made;
  c->curl_due_us = BLIS__WAIT_FOREVER;
  blis_json_init(&c->json, alloc);
  blis_json_allow_any_number(&c->json);
  blis__waiter_init(&c->waiter);
  blis_status status = open_client(c, error);
  if (status == BLIS_OK) {
    struct timespec unix_now;
    clock_gettime(CLOCK_REALTIME, &unix_now);
    made->started_unix_us = (int64_t)unix_now.tv_sec * 1000000 + unix_now.tv_nsec / NANOS;
    c->started_ns = now_ns();
    loop(c);
    made->ended_us = now_us(c);
    status = c->status;
    if (status != BLIS_OK && error != NULL) {
      *error = c->error;
    }
  }
  close_client(c);
  blis_alloc_free(alloc, c, sizeof *c);
  return status;
}

void blis_observations_free(blis_observations *observations) {
  const blis_alloc *alloc = &observations->alloc;
  for (size_t i = 0; observations->items != NULL && i < observations->count; i++) {
    blis_observation *seen = &observations->items[i];
    if (seen->event_us != NULL) {
      blis_alloc_free(alloc, seen->event_us, seen->events * sizeof *seen->event_us);
    }
  }
  if (observations->items != NULL) {
    blis_alloc_free(alloc, observations->items,
                    (observations->count + 1) * sizeof *observations->items);
  }
  if (observations->strings != NULL) {
    blis_intern_free(observations->strings);
  }
  observations->items = NULL;
  observations->strings = NULL;
}

const char *blis_observe_library(void) {
  const blis__curl *curl;
  blis_error ignored;
  return blis__curl_load(&curl, &ignored) == BLIS_OK ? curl->version() : NULL;
}
