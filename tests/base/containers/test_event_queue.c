/* The queue of event_queue.h against a list kept in order by insertion. */
#include "base/containers/event_queue.h"

#include "base/random.h"
#include "base/time.h"
#include "check.h"

enum { MOST = 300 };

typedef struct pending {
  blis_event event;
  blis_event_handle handle;
} pending;

/* In order; each event stands behind those that are not after it. */
typedef struct model {
  pending items[MOST];
  size_t count;
} model;

static void model_insert(model *m, const pending *added) {
  size_t i = m->count++;
  for (; i > 0; i--) {
    const blis_event *before = &m->items[i - 1].event;
    bool is_after =
        before->time_us > added->event.time_us ||
        (before->time_us == added->event.time_us && before->event_class > added->event.event_class);
    if (!is_after) {
      break;
    }
    m->items[i] = m->items[i - 1];
  }
  m->items[i] = *added;
}

static pending model_remove(model *m, size_t i) {
  pending removed = m->items[i];
  m->count--;
  memmove(m->items + i, m->items + i + 1, (m->count - i) * sizeof *m->items);
  return removed;
}

static void check_event(const blis_event *got, const blis_event *expected) {
  CHECK_EQ_I64(got->time_us, expected->time_us);
  CHECK_EQ_I64(got->event_class, expected->event_class);
  CHECK_EQ_I64(got->number, expected->number);
  CHECK(got->object == expected->object);
}

static void push_both(blis_event_queue *queue, model *m, blis_random *random) {
  pending added = {.event = {.time_us = blis_random_intn(random, 40),
                             .event_class = blis_random_intn(random, 5) - 2,
                             .number = blis_random_uint64(random) >> 1,
                             .object = &m->items[m->count]}};
  CHECK(blis_event_queue_push(queue, &added.event, &added.handle) == BLIS_OK);
  CHECK(added.handle != BLIS_EVENT_NONE);
  model_insert(m, &added);
}

static void pop_both(blis_event_queue *queue, model *m) {
  blis_event peeked;
  blis_event popped;
  if (m->count == 0) {
    CHECK(blis_event_queue_next_us(queue) == BLIS_TIME_NEVER_US);
    CHECK(!blis_event_queue_peek(queue, &peeked));
    CHECK(!blis_event_queue_pop(queue, &popped));
    return;
  }
  pending expected = model_remove(m, 0);
  CHECK_EQ_I64(blis_event_queue_next_us(queue), expected.event.time_us);
  CHECK(blis_event_queue_peek(queue, &peeked));
  CHECK(blis_event_queue_pop(queue, &popped));
  check_event(&peeked, &expected.event);
  check_event(&popped, &expected.event);
  CHECK(!blis_event_queue_cancel(queue, expected.handle));
  CHECK(!blis_event_queue_reschedule(queue, expected.handle, 0));
}

static void change_one_of_both(blis_event_queue *queue, model *m, blis_random *random) {
  if (m->count == 0) {
    return;
  }
  size_t i = (size_t)blis_random_intn(random, (int32_t)m->count);
  pending changed = model_remove(m, i);
  if (blis_random_intn(random, 2) == 0) {
    CHECK(blis_event_queue_cancel(queue, changed.handle));
    CHECK(!blis_event_queue_cancel(queue, changed.handle));
    return;
  }
  changed.event.time_us = blis_random_intn(random, 40);
  CHECK(blis_event_queue_reschedule(queue, changed.handle, changed.event.time_us));
  model_insert(m, &changed);
}

static void behaves_like_an_ordered_list(void) {
  static model m;
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_event_queue *queue = blis_event_queue_new(&alloc);
  blis_random random;
  blis_random_init(&random, 17);
  for (int round = 0; round < 30000; round++) {
    int32_t action = blis_random_intn(&random, 8);
    /* Grows in the first half of every 4000 rounds, shrinks in the other. */
    int32_t pushes = round / 2000 % 2 == 0 ? 4 : 2;
    if (action < pushes && m.count < MOST) {
      push_both(queue, &m, &random);
    } else if (action < 6) {
      pop_both(queue, &m);
    } else {
      change_one_of_both(queue, &m, &random);
    }
    CHECK_EQ_I64(blis_event_queue_count(queue), m.count);
    CHECK(blis_event_queue_check(queue));
  }
  blis_event_queue_free(queue);
  CHECK(memory.live_bytes == 0);
}

static void unknown_handles_are_refused(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_event_queue *queue = blis_event_queue_new(&alloc);
  CHECK(!blis_event_queue_cancel(queue, BLIS_EVENT_NONE));
  CHECK(!blis_event_queue_cancel(queue, UINT64_MAX));
  const blis_event event = {.time_us = 1};
  CHECK(blis_event_queue_push(queue, &event, NULL) == BLIS_OK);
  CHECK(!blis_event_queue_cancel(queue, BLIS_EVENT_NONE));
  CHECK(!blis_event_queue_reschedule(queue, UINT64_MAX, 1));
  blis_event_queue_free(queue);
  blis_event_queue_free(NULL);
}

static bool fill_with_failure_at(long request) {
  blis_alloc_probe memory = {.fail_at = request};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_event_queue *queue = blis_event_queue_new(&alloc);
  bool done = queue != NULL;
  for (int64_t i = 0; done && i < 200; i++) {
    const blis_event event = {.time_us = 200 - i};
    size_t count = blis_event_queue_count(queue);
    done = blis_event_queue_push(queue, &event, NULL) == BLIS_OK;
    CHECK(blis_event_queue_count(queue) == count + done);
    CHECK(blis_event_queue_check(queue));
  }
  blis_event_queue_free(queue);
  CHECK(memory.live_bytes == 0);
  return done;
}

static void no_memory_leaves_the_queue_unchanged(void) {
  long request = 1;
  while (!fill_with_failure_at(request)) {
    request++;
  }
  CHECK(request > 5);
}

static void reserved_room_is_enough(void) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_event_queue *queue = blis_event_queue_new(&alloc);
  CHECK(blis_event_queue_reserve(queue, 1000) == BLIS_OK);
  long requests = memory.requests;
  for (int i = 0; i < 1000; i++) {
    const blis_event event = {.time_us = i};
    CHECK(blis_event_queue_push(queue, &event, NULL) == BLIS_OK);
  }
  CHECK(memory.requests == requests);
  CHECK(blis_event_queue_reserve(queue, SIZE_MAX) == BLIS_ERR_NOMEM);
  blis_event_queue_free(queue);
}

static void every_event_can_be_looked_at(void) {
  blis_alloc alloc = blis_alloc_heap();
  blis_event_queue *queue = blis_event_queue_new(&alloc);
  uint64_t seen = 0;
  uint64_t last_sequence = 0;
  for (uint64_t i = 0; i < 20; i++) {
    const blis_event event = {.time_us = (int64_t)(100 - i), .number = i};
    CHECK(blis_event_queue_push(queue, &event, NULL) == BLIS_OK);
  }
  for (size_t i = 0; i < blis_event_queue_count(queue); i++) {
    uint64_t sequence = 0;
    blis_event event = blis_event_queue_look(queue, i, &sequence);
    CHECK_EQ_I64(event.time_us, 100 - (int64_t)event.number);
    CHECK((seen >> event.number & 1) == 0);
    seen |= UINT64_C(1) << event.number;
    last_sequence = event.number == 19 ? sequence : last_sequence;
  }
  CHECK(seen == (UINT64_C(1) << 20) - 1);
  for (size_t i = 0; i < blis_event_queue_count(queue); i++) {
    uint64_t sequence = 0;
    (void)blis_event_queue_look(queue, i, &sequence);
    CHECK(sequence <= last_sequence);
  }
  blis_event_queue_free(queue);
}

static void times_saturate(void) {
  CHECK_EQ_I64(blis_time_after_us(5, 7), 12);
  CHECK_EQ_I64(blis_time_after_us(INT64_MAX - 5, 6), BLIS_TIME_NEVER_US);
  CHECK_EQ_I64(blis_time_after_us(INT64_MAX - 5, 5), INT64_MAX);
  CHECK_EQ_I64(blis_time_after_us(0, INT64_MAX), INT64_MAX);
  CHECK_EQ_I64(blis_time_after_us(-5, INT64_MAX), INT64_MAX - 5);
}

int main(void) {
  RUN(behaves_like_an_ordered_list);
  RUN(unknown_handles_are_refused);
  RUN(no_memory_leaves_the_queue_unchanged);
  RUN(reserved_room_is_enough);
  RUN(every_event_can_be_looked_at);
  RUN(times_saturate);
  return check_done();
}
