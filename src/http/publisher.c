#include "http/publisher.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#ifdef BLIS_HAVE_ZMQ

#include "http/zmq_library.h"

enum {
  KEPT_BATCHES = 10000,
  KEPT_BYTES = 32 << 20,
  HIGH_WATER = 100000,
  MOST_SOCKETS = 4096,
  SEQUENCE_BYTES = 8,
  IDENTITY_MAX = 256
};

/* A stored batch, for replay. */
typedef struct kept {
  char *data; /* NULL = none */
  size_t length;
  uint64_t sequence;
} kept;

typedef struct outlet {
  void *events; /* sockets; NULL = not open */
  void *replay;
  kept *ring; /* KEPT_BATCHES, by sequence number; NULL without replay */
  uint64_t first;
  uint64_t end; /* sequence number after the last one */
  size_t bytes;
} outlet;

struct blis__publisher {
  blis_alloc alloc;
  const blis__zmq *zmq;
  void *context;
  const blis_http_feed *feeds;
  outlet *outlets;
  size_t count;
};

blis_status blis__publisher_new(const blis_alloc *alloc, const blis_http_feed *feeds, size_t count,
                                blis__publisher **made, blis_error *error) {
  const blis__zmq *zmq;
  BLIS_TRY(blis__zmq_load(&zmq, error));
  blis__publisher *p = blis_alloc_zeroed(alloc, 1, sizeof *p);
  BLIS_TRY_NEW(p, error);
  *p = (blis__publisher){.alloc = *alloc, .zmq = zmq, .feeds = feeds, .count = count};
  p->outlets = blis_alloc_zeroed(alloc, count, sizeof *p->outlets);
  p->context = zmq->ctx_new_();
  if (p->outlets == NULL || p->context == NULL) {
    blis__publisher_free(p);
    return blis_fail_nomem(error);
  }
  (void)zmq->ctx_set_(p->context, ZMQ_MAX_SOCKETS, MOST_SOCKETS);
  *made = p;
  return BLIS_OK;
}

static void forget_batch(const blis__publisher *p, outlet *o, kept *batch) {
  if (batch->data != NULL) {
    o->bytes -= batch->length;
    blis_alloc_free(&p->alloc, batch->data, batch->length);
    *batch = (kept){.data = NULL};
  }
}

static void close_outlet(const blis__publisher *p, outlet *o) {
  for (size_t i = 0; o->ring != NULL && i < KEPT_BATCHES; i++) {
    forget_batch(p, o, &o->ring[i]);
  }
  blis_alloc_free(&p->alloc, o->ring, o->ring == NULL ? 0 : KEPT_BATCHES * sizeof *o->ring);
  void *sockets[] = {o->events, o->replay};
  for (size_t i = 0; i < 2; i++) {
    if (sockets[i] != NULL) {
      p->zmq->close_(sockets[i]);
    }
  }
}

void blis__publisher_free(blis__publisher *publisher) {
  if (publisher == NULL) {
    return;
  }
  blis_alloc alloc = publisher->alloc;
  for (size_t i = 0; publisher->outlets != NULL && i < publisher->count; i++) {
    close_outlet(publisher, &publisher->outlets[i]);
  }
  if (publisher->context != NULL) {
    publisher->zmq->ctx_term_(publisher->context);
  }
  blis_alloc_free(&alloc, publisher->outlets, publisher->count * sizeof *publisher->outlets);
  blis_alloc_free(&alloc, publisher, sizeof *publisher);
}

/* Returns a bound socket; NULL on failure, with the reason in *error. */
static void *bind_socket(const blis__publisher *p, int type, const char *address, uint16_t port,
                         blis_error *error) {
  const blis__zmq *zmq = p->zmq;
  bool is_ipv6 = strchr(address, ':') != NULL;
  int ipv6 = is_ipv6;
  int none = 0;
  int high_water = HIGH_WATER;
  char url[128];
  snprintf(url, sizeof url, is_ipv6 ? "tcp://[%s]:%u" : "tcp://%s:%u", address, (unsigned)port);
  void *made = zmq->socket_(p->context, type);
  if (made != NULL && zmq->setsockopt_(made, ZMQ_IPV6, &ipv6, sizeof ipv6) == 0 &&
      zmq->setsockopt_(made, ZMQ_LINGER, &none, sizeof none) == 0 &&
      zmq->setsockopt_(made, ZMQ_SNDHWM, &high_water, sizeof high_water) == 0 &&
      zmq->bind_(made, url) == 0) {
    return made;
  }
  (void)blis_fail(error, BLIS_ERR_IO, "cannot publish KV events at %s: %s", url,
                  zmq->strerror_(zmq->errno_()));
  if (made != NULL) {
    zmq->close_(made);
  }
  return NULL;
}

blis_status blis__publisher_open(blis__publisher *publisher, uint32_t instance, blis_error *error) {
  if (instance >= publisher->count || publisher->outlets[instance].events != NULL) {
    return BLIS_OK;
  }
  const blis_http_feed *feed = &publisher->feeds[instance];
  outlet *o = &publisher->outlets[instance];
  o->events = bind_socket(publisher, ZMQ_PUB, feed->address, feed->port, error);
  if (o->events == NULL) {
    return BLIS_ERR_IO;
  }
  if (feed->replay_address == NULL) {
    return BLIS_OK;
  }
  o->ring = blis_alloc_zeroed(&publisher->alloc, KEPT_BATCHES, sizeof *o->ring);
  BLIS_TRY_NEW(o->ring, error);
  o->replay = bind_socket(publisher, ZMQ_ROUTER, feed->replay_address, feed->replay_port, error);
  return o->replay == NULL ? BLIS_ERR_IO : BLIS_OK;
}

int blis__publisher_descriptor(const blis__publisher *publisher, uint32_t instance) {
  int descriptor = -1;
  size_t size = sizeof descriptor;
  if (instance < publisher->count && publisher->outlets[instance].replay != NULL) {
    (void)publisher->zmq->getsockopt_(publisher->outlets[instance].replay, ZMQ_FD, &descriptor,
                                      &size);
  }
  return descriptor;
}

static void write_sequence(uint64_t sequence, unsigned char bytes[SEQUENCE_BYTES]) {
  for (int i = 0; i < SEQUENCE_BYTES; i++) {
    bytes[i] = (unsigned char)(sequence >> (8 * (SEQUENCE_BYTES - 1 - i)));
  }
}

/* Stores a batch. A batch that cannot be stored for lack of memory is missing from replays. */
static void keep(const blis__publisher *p, outlet *o, uint64_t sequence, blis_slice payload) {
  kept *place = &o->ring[sequence % KEPT_BATCHES];
  forget_batch(p, o, place);
  while (o->first < sequence && o->bytes + payload.length > KEPT_BYTES) {
    forget_batch(p, o, &o->ring[o->first++ % KEPT_BATCHES]);
  }
  char *copy = blis_alloc_new(&p->alloc, payload.length);
  if (copy != NULL) {
    memcpy(copy, payload.data, payload.length);
    *place = (kept){.data = copy, .length = payload.length, .sequence = sequence};
    o->bytes += payload.length;
  }
  o->end = sequence + 1;
  if (o->end - o->first > KEPT_BATCHES) {
    o->first = o->end - KEPT_BATCHES;
  }
}

void blis__publisher_send(blis__publisher *publisher, uint32_t instance, uint64_t sequence,
                          blis_slice payload) {
  if (instance >= publisher->count || publisher->outlets[instance].events == NULL) {
    return;
  }
  const blis__zmq *zmq = publisher->zmq;
  outlet *o = &publisher->outlets[instance];
  const char *topic = publisher->feeds[instance].topic;
  unsigned char number[SEQUENCE_BYTES];
  write_sequence(sequence, number);
  (void)zmq->send_(o->events, topic, strlen(topic), ZMQ_SNDMORE | ZMQ_DONTWAIT);
  (void)zmq->send_(o->events, number, sizeof number, ZMQ_SNDMORE | ZMQ_DONTWAIT);
  (void)zmq->send_(o->events, payload.data, payload.length, ZMQ_DONTWAIT);
  if (o->ring != NULL) {
    keep(publisher, o, sequence, payload);
  }
}

/* Replay. */

/* A request: its sender, and the first missing batch. */
typedef struct replay_request {
  char identity[IDENTITY_MAX];
  int identity_length;
  uint64_t start;
} replay_request;

static bool has_more(const blis__publisher *p, void *socket) {
  int more = 0;
  size_t size = sizeof more;
  return p->zmq->getsockopt_(socket, ZMQ_RCVMORE, &more, &size) == 0 && more != 0;
}

/* Reads a whole message. *is_valid is set if it is a request. Returns whether there was a
   message. */
static bool read_request(const blis__publisher *p, void *socket, replay_request *request,
                         bool *is_valid) {
  unsigned char number[SEQUENCE_BYTES];
  char delimiter[1];
  const blis__zmq *zmq = p->zmq;
  request->identity_length =
      zmq->recv_(socket, request->identity, sizeof request->identity, ZMQ_DONTWAIT);
  if (request->identity_length < 0) {
    return false;
  }
  bool has_delimiter =
      has_more(p, socket) && zmq->recv_(socket, delimiter, sizeof delimiter, ZMQ_DONTWAIT) == 0;
  *is_valid = has_delimiter && has_more(p, socket) &&
              zmq->recv_(socket, number, sizeof number, ZMQ_DONTWAIT) == SEQUENCE_BYTES &&
              !has_more(p, socket) && request->identity_length <= IDENTITY_MAX;
  while (has_more(p, socket)) {
    (void)zmq->recv_(socket, delimiter, sizeof delimiter, ZMQ_DONTWAIT);
  }
  request->start = 0;
  for (int i = 0; i < SEQUENCE_BYTES && *is_valid; i++) {
    request->start = request->start << 8 | number[i];
  }
  return true;
}

static void answer(const blis__publisher *p, void *socket, const replay_request *request,
                   uint64_t sequence, const char *data, size_t length) {
  const blis__zmq *zmq = p->zmq;
  unsigned char number[SEQUENCE_BYTES];
  write_sequence(sequence, number);
  (void)zmq->send_(socket, request->identity, (size_t)request->identity_length,
                   ZMQ_SNDMORE | ZMQ_DONTWAIT);
  (void)zmq->send_(socket, "", 0, ZMQ_SNDMORE | ZMQ_DONTWAIT);
  (void)zmq->send_(socket, number, sizeof number, ZMQ_SNDMORE | ZMQ_DONTWAIT);
  (void)zmq->send_(socket, data, length, ZMQ_DONTWAIT);
}

static void replay_from(const blis__publisher *p, const outlet *o, const replay_request *request) {
  uint64_t start = request->start > o->first ? request->start : o->first;
  for (uint64_t sequence = start; sequence < o->end; sequence++) {
    const kept *batch = &o->ring[sequence % KEPT_BATCHES];
    if (batch->data != NULL && batch->sequence == sequence) {
      answer(p, o->replay, request, sequence, batch->data, batch->length);
    }
  }
  answer(p, o->replay, request, UINT64_MAX, "", 0);
}

void blis__publisher_answer(blis__publisher *publisher, uint32_t instance) {
  if (instance >= publisher->count || publisher->outlets[instance].replay == NULL) {
    return;
  }
  outlet *o = &publisher->outlets[instance];
  replay_request request;
  bool is_valid;
  while (read_request(publisher, o->replay, &request, &is_valid)) {
    if (is_valid) {
      replay_from(publisher, o, &request);
    }
  }
}

const char *blis__publisher_library(void) {
  static char text[32];
  const blis__zmq *zmq;
  int major;
  int minor;
  int patch;
  if (blis__zmq_load(&zmq, NULL) != BLIS_OK) {
    return NULL;
  }
  zmq->version_(&major, &minor, &patch);
  snprintf(text, sizeof text, "%d.%d.%d", major, minor, patch);
  return text;
}

#else

blis_status blis__publisher_new(const blis_alloc *alloc, const blis_http_feed *feeds, size_t count,
                                blis__publisher **made, blis_error *error) {
  (void)alloc, (void)feeds, (void)count, (void)made;
  return blis_fail(error, BLIS_ERR_INVALID,
                   "live.kv_events: this build has no libzmq; install libzmq3-dev and build blis "
                   "again");
}

void blis__publisher_free(blis__publisher *publisher) {
  (void)publisher;
}

blis_status blis__publisher_open(blis__publisher *publisher, uint32_t instance, blis_error *error) {
  (void)publisher, (void)instance, (void)error;
  return BLIS_OK;
}

int blis__publisher_descriptor(const blis__publisher *publisher, uint32_t instance) {
  (void)publisher, (void)instance;
  return -1;
}

void blis__publisher_send(blis__publisher *publisher, uint32_t instance, uint64_t sequence,
                          blis_slice payload) {
  (void)publisher, (void)instance, (void)sequence, (void)payload;
}

void blis__publisher_answer(blis__publisher *publisher, uint32_t instance) {
  (void)publisher, (void)instance;
}

const char *blis__publisher_library(void) {
  return NULL;
}

#endif
