/* KV events over ZeroMQ: messages, and the replay of missed ones. */
#include "http/publisher.h"

#include <dlfcn.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/random.h"
#include "check.h"

/* As in zmq.h, which a build without libzmq lacks. */
enum {
  DEALER = 5,
  SUB = 2,
  SUBSCRIBE = 6,
  RCVTIMEO = 27,
  LINGER = 17,
  SNDMORE = 2,
  WAIT_MS = 10000
};

static void *(*context_new)(void);
static int (*context_term)(void *);
static void *(*open_socket)(void *, int);
static int (*close_socket)(void *);
static int (*connect_socket)(void *, const char *);
static int (*set_option)(void *, int, const void *, size_t);
static int (*receive)(void *, void *, size_t, int);
static int (*transmit)(void *, const void *, size_t, int);

static void load(void) {
  void *library = dlopen("libzmq.so.5", RTLD_NOW);
  if (library == NULL || blis__publisher_library() == NULL) {
    SKIP("no libzmq");
  }
  *(void **)&context_new = dlsym(library, "zmq_ctx_new");
  *(void **)&context_term = dlsym(library, "zmq_ctx_term");
  *(void **)&open_socket = dlsym(library, "zmq_socket");
  *(void **)&close_socket = dlsym(library, "zmq_close");
  *(void **)&connect_socket = dlsym(library, "zmq_connect");
  *(void **)&set_option = dlsym(library, "zmq_setsockopt");
  *(void **)&receive = dlsym(library, "zmq_recv");
  *(void **)&transmit = dlsym(library, "zmq_send");
}

static void *connect_to(void *context, int type, unsigned port) {
  char url[40];
  int wait_ms = WAIT_MS;
  int none = 0;
  void *made = open_socket(context, type);
  snprintf(url, sizeof url, "tcp://127.0.0.1:%u", port);
  CHECK(set_option(made, RCVTIMEO, &wait_ms, sizeof wait_ms) == 0);
  CHECK(set_option(made, LINGER, &none, sizeof none) == 0);
  CHECK(type != SUB || set_option(made, SUBSCRIBE, "kv@", 3) == 0);
  CHECK(connect_socket(made, url) == 0);
  return made;
}

/* A publisher with one instance at free ports. */
typedef struct stand {
  blis_http_feed feed;
  blis__publisher *publisher;
} stand;

static void open_stand(stand *s, const blis_alloc *heap) {
  blis_error error;
  blis_random random;
  blis_random_init(&random, (uint64_t)getpid());
  s->feed = (blis_http_feed){
      .address = "127.0.0.1", .replay_address = "127.0.0.1", .topic = "kv@127.0.0.1:8000@m"};
  CHECK_OK(blis__publisher_new(heap, &s->feed, 1, &s->publisher, &error), &error);
  for (int i = 0; i < 20; i++) {
    s->feed.port = (uint16_t)(20000 + blis_random_intn(&random, 20000));
    s->feed.replay_port = (uint16_t)(s->feed.port + 1);
    blis_status status = blis__publisher_open(s->publisher, 0, &error);
    if (status == BLIS_OK) {
      return;
    }
    CHECK_STATUS(status, BLIS_ERR_IO);
    CHECK_CONTAINS(error.message, "cannot publish KV events at tcp://127.0.0.1:");
    blis__publisher_free(s->publisher);
    CHECK_OK(blis__publisher_new(heap, &s->feed, 1, &s->publisher, &error), &error);
  }
  CHECK(false);
}

static uint64_t sequence_in(const unsigned char *bytes) {
  uint64_t value = 0;
  for (int i = 0; i < 8; i++) {
    value = value << 8 | bytes[i];
  }
  return value;
}

static void send_batch(const stand *s, uint64_t sequence) {
  char payload[40];
  int length = snprintf(payload, sizeof payload, "batch %d", (int)sequence);
  blis__publisher_send(s->publisher, 0, sequence, (blis_slice){payload, (size_t)length});
}

/* Receives a frame with this text. */
static void expect_text(void *socket, const char *text) {
  char frame[100] = {0};
  CHECK_EQ_I64(receive(socket, frame, sizeof frame - 1, 0), (int64_t)strlen(text));
  CHECK_STR(frame, text);
}

static void expect_batch(void *socket, const char *first, uint64_t sequence) {
  unsigned char number[8];
  char payload[40];
  expect_text(socket, first);
  CHECK_EQ_I64(receive(socket, number, sizeof number, 0), 8);
  CHECK_EQ_I64(sequence_in(number), sequence);
  snprintf(payload, sizeof payload, "batch %d", (int)sequence);
  expect_text(socket, sequence == UINT64_MAX ? "" : payload);
}

/* A subscription takes effect some time after the connection. */
static void test_subscribers_receive_batches(void) {
  blis_alloc heap = blis_alloc_heap();
  stand s;
  char topic[40];
  unsigned char number[8];
  open_stand(&s, &heap);
  void *context = context_new();
  void *socket = connect_to(context, SUB, s.feed.port);
  int wait_ms = 20;
  CHECK(set_option(socket, RCVTIMEO, &wait_ms, sizeof wait_ms) == 0);
  uint64_t sequence = 0;
  while (receive(socket, topic, sizeof topic, 0) < 0 && sequence < 1000) {
    send_batch(&s, sequence++);
  }
  wait_ms = WAIT_MS;
  CHECK(set_option(socket, RCVTIMEO, &wait_ms, sizeof wait_ms) == 0);
  CHECK(receive(socket, number, sizeof number, 0) == 8);
  uint64_t next = sequence_in(number);
  CHECK(receive(socket, topic, sizeof topic, 0) > 0);
  send_batch(&s, sequence++);
  while (++next < sequence) {
    expect_batch(socket, s.feed.topic, next);
  }
  close_socket(socket);
  context_term(context);
  blis__publisher_free(s.publisher);
}

static void ask(void *socket, uint64_t start, size_t bytes) {
  unsigned char number[8];
  for (int i = 0; i < 8; i++) {
    number[i] = (unsigned char)(start >> (8 * (7 - i)));
  }
  CHECK(transmit(socket, "", 0, SNDMORE) == 0);
  CHECK(transmit(socket, number, bytes, 0) == (int)bytes);
}

/* Answers until the client has its data. */
static void answer_within(const stand *s, int tries) {
  for (int i = 0; i < tries; i++) {
    struct pollfd readable = {.fd = blis__publisher_descriptor(s->publisher, 0), .events = POLLIN};
    (void)poll(&readable, 1, 50);
    blis__publisher_answer(s->publisher, 0);
  }
}

static void test_missed_batches_are_sent_again(void) {
  blis_alloc heap = blis_alloc_heap();
  stand s;
  open_stand(&s, &heap);
  for (uint64_t i = 0; i < 10020; i++) {
    send_batch(&s, i);
  }
  void *context = context_new();
  void *socket = connect_to(context, DEALER, s.feed.replay_port);
  ask(socket, 10017, 7); /* no request: ignored */
  ask(socket, 10017, 8);
  ask(socket, 20000, 8);
  ask(socket, 0, 8); /* the first 20 are no longer kept */
  answer_within(&s, 10);
  for (uint64_t i = 10017; i < 10020; i++) {
    expect_batch(socket, "", i);
  }
  expect_batch(socket, "", UINT64_MAX);
  expect_batch(socket, "", UINT64_MAX);
  for (uint64_t i = 20; i < 10020; i++) {
    expect_batch(socket, "", i);
  }
  expect_batch(socket, "", UINT64_MAX);
  close_socket(socket);
  context_term(context);
  blis__publisher_free(s.publisher);
}

static void test_kept_batches_are_bounded(void) {
  blis_alloc_probe probe = {0};
  blis_alloc heap = blis_alloc_probed(&probe);
  stand s;
  static char payload[1 << 20];
  open_stand(&s, &heap);
  for (uint64_t i = 0; i < 100; i++) {
    blis__publisher_send(s.publisher, 0, i, (blis_slice){payload, sizeof payload});
  }
  CHECK(probe.live_bytes < (size_t)34 << 20);
  blis__publisher_free(s.publisher);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

static void test_what_is_closed_does_nothing(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_error error;
  blis__publisher *publisher;
  const blis_http_feed feed = {.address = "nowhere", .topic = ""};
  CHECK_OK(blis__publisher_new(&heap, &feed, 1, &publisher, &error), &error);
  blis__publisher_send(publisher, 0, 0, (blis_slice){"", 0});
  blis__publisher_answer(publisher, 0);
  CHECK_EQ_I64(blis__publisher_descriptor(publisher, 0), -1);
  CHECK_STATUS(blis__publisher_open(publisher, 0, &error), BLIS_ERR_IO);
  CHECK_CONTAINS(error.message, "tcp://nowhere:0");
  CHECK_STATUS(blis__publisher_open(publisher, 1, &error), BLIS_OK);
  blis__publisher_free(publisher);
}

int main(void) {
  load();
  RUN(test_subscribers_receive_batches);
  RUN(test_missed_batches_are_sent_again);
  RUN(test_kept_batches_are_bounded);
  RUN(test_what_is_closed_does_nothing);
  return check_done();
}
