#include <netinet/in.h>
#include <netinet/tcp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>

#include "base/time.h"
#include "http/server_priv.h"

enum { RETRY_MS = 50, LOOK_MS = 100, NANOS = 1000 };

static int64_t now_ns(void) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

const char *blis_http_library(void) {
  return event_get_version();
}

const char *blis_http_zmq_library(void) {
  return blis__publisher_library();
}

int64_t blis__http_wall_us(const blis__http *server) {
  return (now_ns() - server->started_ns) / NANOS;
}

/* Returns the current simulated time. */
static int64_t simulated_us(const blis__http *server) {
  return server->speed_us +
         (int64_t)((double)(now_ns() - server->speed_ns) / NANOS * server->speed);
}

void blis__http_set_speed(blis__http *server, double speed) {
  int64_t now_us = simulated_us(server);
  server->speed_us = now_us;
  server->speed_ns = now_ns();
  server->speed = speed;
}

static void note_lag(blis__http *server, int64_t lag_us) {
  server->lags_us[server->lag_count++ % BLIS__LAGS] = lag_us;
}

/* Records the lateness, in wall time, of tokens that were due before now. */
static void note_lateness(blis__http *server, int64_t now_us) {
  int64_t due_us = blis_live_desk_next_us(server->desk);
  if (due_us <= now_us) {
    note_lag(server, (int64_t)((double)(now_us - due_us) / server->speed));
  }
}

static void advance_to(blis__http *server, int64_t now_us) {
  if (server->status != BLIS_OK || now_us < blis_live_desk_now_us(server->desk)) {
    return;
  }
  note_lateness(server, now_us);
  server->status = blis_live_desk_advance(server->desk, now_us, &server->error);
  if (server->status != BLIS_OK) {
    event_base_loopbreak(server->base);
  }
}

void blis__http_advance(blis__http *server) {
  advance_to(server, simulated_us(server));
}

/* The loop reads the clock when it wakes. At that time, the kernel had the end of the request. */
void blis__http_advance_to_arrival(blis__http *server) {
  struct timeval woken;
  struct timeval now;
  event_base_gettimeofday_cached(server->base, &woken);
  evutil_gettimeofday(&now, NULL);
  int64_t age_us = (now.tv_sec - woken.tv_sec) * INT64_C(1000000) + now.tv_usec - woken.tv_usec;
  /* A change of the system clock must not move the arrival. */
  bool is_plausible = age_us >= 0 && age_us <= BLIS__ARRIVAL_AGE_MAX_US;
  advance_to(server,
             simulated_us(server) - (is_plausible ? (int64_t)((double)age_us * server->speed) : 0));
}

/* Waking. */

static void on_timer(evutil_socket_t fd, short what, void *ud) {
  (void)fd, (void)what;
  blis__http_advance(ud);
}

static void on_retry(evutil_socket_t fd, short what, void *ud) {
  (void)fd, (void)what;
  blis__calls_retry(ud);
}

static blis_status listen_at(blis__http *server, size_t i, blis_error *error) {
  const blis_http_endpoint *endpoint = &server->config->endpoints[i];
  blis__door *door = &server->doors[i];
  door->server = server;
  door->instance = endpoint->instance;
  door->port = endpoint->port;
  door->http = evhttp_new(server->base);
  BLIS_TRY_NEW(door->http, error);
  evhttp_set_max_body_size(door->http, BLIS__BODY_MAX);
  evhttp_set_max_headers_size(door->http, BLIS__HEAD_MAX);
  evhttp_set_timeout(door->http, BLIS__IDLE_SECONDS);
  evhttp_set_default_content_type(door->http, "application/json");
  evhttp_set_gencb(door->http, blis__http_on_request, door);
  door->socket = evhttp_bind_socket_with_handle(door->http, endpoint->address, endpoint->port);
  if (door->socket == NULL) {
    return blis_fail(error, BLIS_ERR_IO, "cannot listen on %s:%u: %s", endpoint->address,
                     (unsigned)endpoint->port,
                     evutil_socket_error_to_string(EVUTIL_SOCKET_ERROR()));
  }
  /* Connections inherit this: a token must not wait until the client acknowledges the previous
     one. */
  const int is_immediate = 1;
  (void)setsockopt(evhttp_bound_socket_get_fd(door->socket), IPPROTO_TCP, TCP_NODELAY,
                   &is_immediate, sizeof is_immediate);
  return BLIS_OK;
}

/* KV events. */

static void on_replay(evutil_socket_t fd, short what, void *ud) {
  (void)fd, (void)what;
  const blis__replay *replay = ud;
  blis__publisher_answer(replay->server->publisher, replay->instance);
}

static void publish(void *ud, uint32_t instance, uint64_t sequence, blis_slice payload) {
  const blis__http *server = ud;
  blis__publisher_send(server->publisher, instance, sequence, payload);
}

static blis_status open_feed(blis__http *server, uint32_t instance, blis_error *error) {
  BLIS_TRY(blis__publisher_open(server->publisher, instance, error));
  blis__replay *replay = &server->replays[instance];
  int descriptor = blis__publisher_descriptor(server->publisher, instance);
  if (descriptor < 0 || replay->readable != NULL) {
    return BLIS_OK;
  }
  *replay = (blis__replay){.server = server, .instance = instance};
  replay->readable = event_new(server->base, descriptor, EV_READ | EV_PERSIST, on_replay, replay);
  BLIS_TRY_NEW(replay->readable, error);
  event_add(replay->readable, NULL);
  return BLIS_OK;
}

/* Creates the publisher, without sockets. */
static blis_status open_publisher(blis__http *server, blis_error *error) {
  const blis_http_config *config = server->config;
  if (config->feeds == NULL) {
    return BLIS_OK;
  }
  server->replays = blis_alloc_zeroed(&server->alloc, config->feed_count, sizeof *server->replays);
  BLIS_TRY_NEW(server->replays, error);
  return blis__publisher_new(&server->alloc, config->feeds, config->feed_count, &server->publisher,
                             error);
}

static void close_publisher(blis__http *server) {
  for (size_t i = 0; server->replays != NULL && i < server->config->feed_count; i++) {
    if (server->replays[i].readable != NULL) {
      event_free(server->replays[i].readable);
    }
  }
  blis_alloc_free(&server->alloc, server->replays,
                  server->config->feed_count * sizeof *server->replays);
  blis__publisher_free(server->publisher);
}

/* Listens on the addresses of instances that exist and have no open address yet; in the first
   call, also of the gateway. */
static blis_status listen_for_new(blis__http *server, bool is_first, blis_error *error) {
  uint32_t count = blis_cluster_instance_count(blis_live_desk_cluster(server->desk));
  for (size_t i = 0; i < server->config->endpoint_count; i++) {
    int64_t instance = server->config->endpoints[i].instance;
    bool is_new = instance >= (int64_t)server->known_instances && instance < (int64_t)count;
    if (is_new || (is_first && instance < 0)) {
      BLIS_TRY(listen_at(server, i, error));
    }
  }
  for (uint32_t i = server->known_instances; i < count && server->publisher != NULL; i++) {
    if (i < server->config->feed_count) {
      BLIS_TRY(open_feed(server, i, error));
    }
  }
  server->known_instances = count;
  return BLIS_OK;
}

static uint64_t hash_services(const blis__http *server) {
  const blis_cluster *cluster = blis_live_desk_cluster(server->desk);
  uint64_t hash = 1;
  for (uint32_t i = 0; i < server->known_instances; i++) {
    hash = hash * 31 + (uint64_t)blis_cluster_instance_service(cluster, i);
  }
  return hash;
}

/* Checks whether instances were added or removed. */
static void on_look(evutil_socket_t fd, short what, void *ud) {
  (void)fd, (void)what;
  blis__http *server = ud;
  if (server->signal_count > 0 || server->status != BLIS_OK) {
    return;
  }
  server->status = listen_for_new(server, false, &server->error);
  /* libzmq reports only changes of a socket, so all pending messages must be handled. */
  for (uint32_t i = 0; i < server->config->feed_count; i++) {
    blis__publisher_answer(server->publisher, i);
  }
  uint64_t services = hash_services(server);
  if (services != server->services && server->config->changed != NULL) {
    server->config->changed(server->config->changed_ud);
  }
  server->services = services;
}

static void stop_listening(blis__http *server) {
  for (size_t i = 0; i < server->config->endpoint_count; i++) {
    blis__door *door = &server->doors[i];
    if (door->socket != NULL) {
      evhttp_del_accept_socket(door->http, door->socket);
      door->socket = NULL;
    }
  }
}

/* Starts shutdown: open streams get the grace period. A second call ends immediately. */
static void begin_end(blis__http *server) {
  server->signal_count++;
  server->deadline_us = blis__http_wall_us(server) + server->config->grace_us;
  stop_listening(server);
}

static void on_signal(evutil_socket_t number, short what, void *ud) {
  (void)what;
  blis__http *server = ud;
  server->outcome.signal = (int)number;
  begin_end(server);
  if (server->signal_count > 1) {
    event_base_loopbreak(server->base);
  }
}

/* Clients that read again get their outstanding tokens, even if the simulation is idle. */
static void plan_retry(blis__http *server) {
  if (server->blocked > 0 && !event_pending(server->retry, EV_TIMEOUT, NULL)) {
    const struct timeval retry = {.tv_usec = RETRY_MS * 1000};
    event_add(server->retry, &retry);
  }
}

/* Sets the timer for the next event, if any. */
static void plan(blis__http *server) {
  int64_t due_us = blis_live_desk_next_us(server->desk);
  int64_t wall_us = INT64_MAX;
  if (due_us != BLIS_TIME_NEVER_US) {
    double at_us = (double)(server->speed_ns - server->started_ns) / NANOS +
                   (double)(due_us - server->speed_us) / server->speed;
    wall_us = at_us > 9e15 ? INT64_MAX : (int64_t)at_us + 1;
  }
  wall_us = wall_us < server->deadline_us ? wall_us : server->deadline_us;
  if (wall_us == INT64_MAX) {
    event_del(server->timer);
    return;
  }
  int64_t wait_us = wall_us - blis__http_wall_us(server);
  wait_us = wait_us > 0 ? wait_us : 0;
  const struct timeval wait = {.tv_sec = wait_us / 1000000,
                               .tv_usec = (suseconds_t)(wait_us % 1000000)};
  event_add(server->timer, &wait);
}

static bool is_over(const blis__http *server) {
  if (server->status != BLIS_OK || server->signal_count > 1) {
    return true;
  }
  return server->signal_count > 0 &&
         (server->calls == NULL || blis__http_wall_us(server) >= server->deadline_us);
}

static void loop(blis__http *server) {
  int64_t duration_us = server->config->duration_us;
  server->deadline_us = duration_us > 0 ? duration_us : INT64_MAX;
  while (!is_over(server)) {
    plan_retry(server);
    plan(server);
    event_base_loop(server->base, EVLOOP_ONCE);
    blis__http_advance(server);
    if (server->signal_count == 0 && blis__http_wall_us(server) >= server->deadline_us) {
      begin_end(server);
    }
  }
}

/* Setting up. */

/* Raises the limit on open files to the maximum that the system allows. */
static void raise_file_limit(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur < limit.rlim_max) {
    limit.rlim_cur = limit.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &limit);
  }
}

static struct event_base *new_base(void) {
  struct event_config *config = event_config_new();
  if (config == NULL) {
    return NULL;
  }
  event_config_set_flag(config, EVENT_BASE_FLAG_PRECISE_TIMER);
  /* Each token starts and ends the wait for a writable socket; the changelist drops such pairs. */
  event_config_set_flag(config, EVENT_BASE_FLAG_EPOLL_USE_CHANGELIST);
  struct event_base *base = event_base_new_with_config(config);
  event_config_free(config);
  return base;
}

static blis_status open_server(blis__http *server, blis_error *error) {
  static const int numbers[] = {SIGINT, SIGTERM};
  raise_file_limit();
  server->base = new_base();
  BLIS_TRY_NEW(server->base, error);
  server->out = evbuffer_new();
  server->timer = evtimer_new(server->base, on_timer, server);
  server->retry = evtimer_new(server->base, on_retry, server);
  BLIS_TRY_NEW(server->out, error);
  BLIS_TRY_NEW(server->timer, error);
  BLIS_TRY_NEW(server->retry, error);
  BLIS_TRY(open_publisher(server, error));
  BLIS_TRY(listen_for_new(server, true, error));
  server->looks = event_new(server->base, -1, EV_PERSIST, on_look, server);
  BLIS_TRY_NEW(server->looks, error);
  const struct timeval interval = {.tv_usec = LOOK_MS * 1000};
  event_add(server->looks, &interval);
  for (int i = 0; i < 2; i++) {
    server->signals[i] = evsignal_new(server->base, numbers[i], on_signal, server);
    BLIS_TRY_NEW(server->signals[i], error);
    event_add(server->signals[i], NULL);
  }
  return BLIS_OK;
}

static void close_server(blis__http *server) {
  blis__calls_drop(server);
  for (size_t i = 0; i < server->config->endpoint_count; i++) {
    if (server->doors[i].http != NULL) {
      evhttp_free(server->doors[i].http);
    }
  }
  close_publisher(server);
  struct event *events[] = {server->timer, server->retry, server->looks, server->signals[0],
                            server->signals[1]};
  for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
    if (events[i] != NULL) {
      event_free(events[i]);
    }
  }
  if (server->out != NULL) {
    evbuffer_free(server->out);
  }
  if (server->base != NULL) {
    event_base_free(server->base);
  }
}

static int compare(const void *a, const void *b) {
  int64_t x = *(const int64_t *)a;
  int64_t y = *(const int64_t *)b;
  return (x > y) - (x < y);
}

static void count_lags(blis__http *server) {
  size_t count = server->lag_count < BLIS__LAGS ? (size_t)server->lag_count : BLIS__LAGS;
  if (count > 0) {
    qsort(server->lags_us, count, sizeof *server->lags_us, compare);
    server->outcome.lag_p50_us = server->lags_us[count / 2];
    server->outcome.lag_p99_us = server->lags_us[count * 99 / 100];
  }
}

static void run_server(blis__http *server) {
  const blis_http_config *config = server->config;
  const blis_live_caller caller = {
      .ud = server,
      .changed = blis__call_changed,
      .publisher = {.ud = server,
                    .publish = server->publisher == NULL ? NULL : publish,
                    .started_s = (double)time(NULL)}};
  blis_live_desk_open(server->desk, blis_live_desk_cluster(server->desk), &caller);
  server->started_ns = server->speed_ns = now_ns();
  server->speed = config->speed;
  if (config->ready != NULL) {
    config->ready(config->ready_ud);
  }
  loop(server);
  blis_live_desk_end(server->desk);
}

blis_status blis_http_serve(const blis_alloc *alloc, const blis_http_config *config,
                            blis_http_outcome *outcome, blis_error *error) {
  blis__http *server = blis_alloc_zeroed(alloc, 1, sizeof *server);
  BLIS_TRY_NEW(server, error);
  server->alloc = *alloc;
  server->config = config;
  server->desk = config->desk;
  server->id_seed = (uint64_t)now_ns();
  blis_live_ask_init(&server->ask, alloc);
  blis_buffer_init(&server->text, alloc);
  server->doors = blis_alloc_zeroed(alloc, config->endpoint_count, sizeof *server->doors);
  /* A client may have disconnected when its response is written. This must be an error of the
     connection, not a signal. */
  struct sigaction ignored = {.sa_handler = SIG_IGN};
  struct sigaction before;
  sigemptyset(&ignored.sa_mask);
  sigaction(SIGPIPE, &ignored, &before);
  blis_status status = server->doors == NULL ? blis_fail_nomem(error) : open_server(server, error);
  if (status == BLIS_OK) {
    run_server(server);
    status = server->status;
    if (status != BLIS_OK && error != NULL) {
      *error = server->error;
    }
  }
  if (server->doors != NULL) {
    close_server(server);
    blis_alloc_free(alloc, server->doors, config->endpoint_count * sizeof *server->doors);
  }
  sigaction(SIGPIPE, &before, NULL);
  count_lags(server);
  *outcome = server->outcome;
  blis_live_ask_deinit(&server->ask);
  blis_buffer_deinit(&server->text);
  blis_alloc_free(alloc, server, sizeof *server);
  return status;
}
