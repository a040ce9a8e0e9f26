/* Session graphs against a server that serves everything at once. */
#include "workload/graph/player.h"

#include "base/containers/event_queue.h"
#include "base/random.h"
#include "check.h"

enum { SENT_MAX = 4096, FAILS = -1 };

static blis_error error;
static blis_alloc heap;

/* A list of graphs as a feed. */
typedef struct listed {
  const blis_graph *graphs;
  size_t count;
  size_t next;
} listed;

static blis_status list_next(void *state, blis_graph *graph, bool *done, blis_error *problem) {
  (void)problem;
  listed *l = state;
  *done = l->next == l->count;
  if (!*done) {
    *graph = l->graphs[l->next++];
  }
  return BLIS_OK;
}

static blis_status list_rewind(void *state, blis_error *problem) {
  (void)problem;
  listed *l = state;
  l->next = 0;
  return BLIS_OK;
}

/*
 * A server without queues: a request takes 1 us per output token, half of it
 * prefill; one with FAILS as number of input images is refused at once.
 */
typedef struct sent {
  blis_request request;
  const blis_segment *segments;
} sent;

typedef struct served {
  sent sent[SENT_MAX];
  size_t count;
  size_t most_live; /* requests on their way at the same time */
} served;

static bool is_refused(const blis_request *request) {
  return request->image_tokens > 0;
}

static void send(served *s, blis_event_queue *ends, const blis_request *request) {
  CHECK(s->count < SENT_MAX);
  int64_t took_us = is_refused(request) ? 0 : request->output_tokens;
  const blis_event end = {.time_us = request->arrival_us + took_us, .number = s->count};
  s->sent[s->count++].request = *request;
  CHECK_STATUS(blis_event_queue_push(ends, &end, NULL), BLIS_OK);
  size_t live = blis_event_queue_count(ends);
  s->most_live = live > s->most_live ? live : s->most_live;
}

static void end_one(served *s, blis_event_queue *ends, const blis_request_source *source) {
  blis_event end;
  CHECK(blis_event_queue_pop(ends, &end));
  const blis_request request = s->sent[end.number].request;
  bool is_completed = !is_refused(&request);
  int64_t took_us = end.time_us - request.arrival_us;
  const blis_request_outcome outcome = {.end_us = end.time_us,
                                        .produced_tokens = request.output_tokens,
                                        .is_completed = is_completed,
                                        .scheduling_delay_us = is_completed ? took_us / 4 : -1,
                                        .ttft_us = is_completed ? took_us / 2 : -1};
  blis_request follow_up;
  bool has_follow_up = false;
  CHECK_OK(source->ended(source->state, &request, &outcome, &follow_up, &has_follow_up, &error),
           &error);
  while (has_follow_up) {
    CHECK(follow_up.arrival_us >= end.time_us);
    send(s, ends, &follow_up);
    CHECK_OK(source->also(source->state, &follow_up, &has_follow_up, &error), &error);
  }
  source->release(source->state, &request);
}

/* Follow-ups arrive behind everything that ends before; ends go first. */
static void serve(blis_graph_player *player, served *s) {
  blis_request_source source = blis_graph_player_source(player);
  blis_event_queue *ends = blis_event_queue_new(&heap);
  CHECK(ends != NULL);
  blis_request request;
  bool done = false;
  CHECK_OK(source.next(source.state, &request, &done, &error), &error);
  while (!done || blis_event_queue_count(ends) > 0) {
    if (!done && request.arrival_us <= blis_event_queue_next_us(ends)) {
      send(s, ends, &request);
      CHECK_OK(source.next(source.state, &request, &done, &error), &error);
    } else {
      end_one(s, ends, &source);
    }
  }
  blis_event_queue_free(ends);
}

static blis_graph_player *new_player(listed *list, blis_intern *strings,
                                     const blis_graph_play *play) {
  const blis_graph_feed feed = {
      .next = list_next, .rewind = list_rewind, .state = list, .strings = strings};
  blis_graph_player *player;
  CHECK_OK(blis_graph_player_new(&heap, &feed, play, &player, &error), &error);
  return player;
}

static const blis_graph_play as_recorded = {.speed = 1};

/* A node of the tests. */
typedef struct spec {
  uint32_t prompt, output;
  int64_t delay_us, tool_us;
  uint32_t extends;
  uint32_t waits[2];
  uint32_t wait_count;
  bool is_background, fails;
} spec;

static void build(blis_graph_builder *builder, const spec *specs, size_t count) {
  blis_graph_builder_init(builder, &heap);
  for (size_t i = 0; i < count; i++) {
    const spec *s = &specs[i];
    const blis_graph_node node = {.request = {.prompt_tokens = s->prompt,
                                              .output_tokens = s->output,
                                              .image_tokens = s->fails,
                                              .round_index = (int32_t)i},
                                  .delay_us = s->delay_us,
                                  .tool_us = s->tool_us,
                                  .is_background = s->is_background,
                                  .extends = s->extends};
    CHECK_OK(blis_graph_builder_add(builder, &node, true, s->waits, s->wait_count, &error), &error);
  }
}

/* The request of a node of the only graph. */
static const blis_request *request_of(const served *s, int32_t node) {
  for (size_t i = 0; i < s->count; i++) {
    if (s->sent[i].request.round_index == node) {
      return &s->sent[i].request;
    }
  }
  return NULL;
}

static const blis_task *only_task(blis_graph_player *player) {
  size_t count;
  const blis_task *task = blis_graph_player_tasks(player, &count);
  CHECK_EQ_I64(count, 1);
  return task;
}

#define NONE BLIS_GRAPH_NO_NODE

/* A (2 s), then B (1 s) and C (4 s), then D. */
static const spec diamond[] = {
    {.prompt = 100, .output = 2000000, .extends = NONE},
    {.prompt = 10, .output = 1000000, .delay_us = 500000, .wait_count = 1},
    {.prompt = 20, .output = 4000000, .wait_count = 1},
    {.prompt = 5,
     .output = 8,
     .delay_us = 250000,
     .tool_us = 250000,
     .extends = 2,
     .waits = {1, 2},
     .wait_count = 2},
};

static void a_join_waits_for_the_last_one(void) {
  blis_graph_builder builder;
  build(&builder, diamond, 4);
  blis_intern *strings = blis_intern_new(&heap);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 0);
  listed list = {.graphs = &graph, .count = 1};
  blis_graph_player *player = new_player(&list, strings, &as_recorded);
  static served s;
  s.count = 0;
  serve(player, &s);
  CHECK_EQ_I64(s.count, 4);
  CHECK_EQ_I64(request_of(&s, 0)->arrival_us, 0);
  CHECK_EQ_I64(request_of(&s, 1)->arrival_us, 2500000);
  CHECK_EQ_I64(request_of(&s, 2)->arrival_us, 2000000);
  CHECK_EQ_I64(request_of(&s, 3)->arrival_us, 6250000);
  const blis_task *task = only_task(player);
  CHECK_EQ_I64(task->state, BLIS_TASK_COMPLETED);
  CHECK_EQ_I64(task->end_us, 6250008);
  CHECK_EQ_I64(task->path_requests, 3); /* A, C, D */
  CHECK_EQ_I64(task->tool_us, 250000);
  CHECK_EQ_I64(task->delay_us, 0);
  CHECK_EQ_I64(task->queue_us, 500000 + 1000000 + 2);
  CHECK_EQ_I64(task->prefill_us, 500000 + 1000000 + 2);
  CHECK_EQ_I64(task->decode_us, 1000000 + 2000000 + 4);
  CHECK_EQ_I64(task->request_us, 7000008);
  CHECK_EQ_I64(task->waited_us, 750000);
  blis_graph_player_free(player);
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

/* Half the time, half the waits. */
static void speed_divides_waits(void) {
  blis_graph_builder builder;
  build(&builder, diamond, 4);
  blis_intern *strings = blis_intern_new(&heap);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 3000000);
  listed list = {.graphs = &graph, .count = 1};
  const blis_graph_play play = {.speed = 2};
  blis_graph_player *player = new_player(&list, strings, &play);
  static served s;
  s.count = 0;
  serve(player, &s);
  CHECK_EQ_I64(request_of(&s, 0)->arrival_us, 1500000);
  CHECK_EQ_I64(request_of(&s, 1)->arrival_us, 1500000 + 2250000);
  CHECK_EQ_I64(only_task(player)->tool_us, 125000);
  blis_graph_player_free(player);
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

/* The first one that extends a node goes on in its stream, others branch. */
static void prompts_chain(void) {
  blis_graph_builder builder;
  build(&builder, diamond, 4);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 0);
  const blis_request *a = &graph.nodes[0].request;
  const blis_request *b = &graph.nodes[1].request;
  const blis_request *c = &graph.nodes[2].request;
  const blis_request *d = &graph.nodes[3].request;
  CHECK_EQ_I64(a->prompt_tokens, 100);
  CHECK_EQ_I64(b->prompt_tokens, 2000110);
  CHECK_EQ_I64(c->prompt_tokens, 2000120);
  CHECK_EQ_I64(d->prompt_tokens, 2000120 + 4000000 + 5);
  CHECK_EQ_I64(b->segment_count, 1);
  CHECK(b->segments[0].stream == a->segments[0].stream);
  CHECK_EQ_I64(c->segment_count, 2);
  CHECK(c->segments[0].stream == a->segments[0].stream);
  CHECK_EQ_I64(c->segments[0].length_tokens, 2000100);
  CHECK(c->segments[1].stream != a->segments[0].stream);
  CHECK(d->segments[1].stream == c->segments[1].stream);
  CHECK(a->shares_output && c->shares_output && !b->shares_output);
  CHECK(!d->shares_output && d->shared_tokens == d->prompt_tokens);
  blis_graph_builder_deinit(&builder);
}

/* B is refused: D is never sent, C goes on; or, with continues, D is sent. */
static void check_failure(bool continues) {
  spec specs[4];
  memcpy(specs, diamond, sizeof specs);
  specs[1].fails = true;
  blis_graph_builder builder;
  build(&builder, specs, 4);
  blis_intern *strings = blis_intern_new(&heap);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 0);
  listed list = {.graphs = &graph, .count = 1};
  const blis_graph_play play = {.speed = 1, .continues = continues};
  blis_graph_player *player = new_player(&list, strings, &play);
  static served s;
  s.count = 0;
  serve(player, &s);
  const blis_task *task = only_task(player);
  CHECK_EQ_I64(s.count, continues ? 4 : 3);
  CHECK_EQ_I64(task->submitted, s.count);
  CHECK_EQ_I64(task->completed, s.count - 1);
  CHECK_EQ_I64(task->state, BLIS_TASK_BROKEN);
  blis_graph_player_free(player);
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

static void what_waits_for_a_failure(void) {
  check_failure(false);
  check_failure(true);
}

/* Two at a time, five plays of two graphs; the background does not hold room.
 */
static void concurrency_counts_graphs(void) {
  const spec specs[] = {
      {.prompt = 4, .output = 100, .extends = NONE},
      {.prompt = 4, .output = 1000, .wait_count = 1, .is_background = true},
      {.prompt = 4, .output = 50, .delay_us = 10, .wait_count = 1},
  };
  blis_graph_builder builder;
  build(&builder, specs, 3);
  blis_intern *strings = blis_intern_new(&heap);
  const blis_graph one = blis_graph_builder_get(&builder, 0, -1);
  const blis_graph graphs[] = {one, one};
  listed list = {.graphs = graphs, .count = 2};
  const blis_graph_play play = {.speed = 1, .concurrency = 2, .count = 5};
  blis_graph_player *player = new_player(&list, strings, &play);
  static served s;
  s.count = 0;
  serve(player, &s);
  CHECK_EQ_I64(s.count, 15);
  size_t count;
  const blis_task *tasks = blis_graph_player_tasks(player, &count);
  CHECK_EQ_I64(count, 5);
  int64_t starts[5];
  for (size_t i = 0; i < count; i++) {
    CHECK_EQ_I64(tasks[i].end_us - tasks[i].start_us, 160);
    starts[i] = tasks[i].start_us;
  }
  const int64_t expected[5] = {0, 0, 160, 160, 320};
  CHECK(memcmp(starts, expected, sizeof starts) == 0);
  /* Every play has content of its own. */
  for (size_t i = 0; i < s.count; i++) {
    for (size_t j = 0; j < i; j++) {
      const blis_request *a = &s.sent[i].request;
      const blis_request *b = &s.sent[j].request;
      CHECK(a->number != b->number);
    }
  }
  blis_graph_player_free(player);
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

/* Random graphs: nobody goes before what it waits for; sums add up. */
static void check_random(int64_t seed) {
  blis_random random;
  blis_random_init(&random, seed);
  size_t count = 1 + (size_t)blis_random_intn(&random, 40);
  spec specs[40];
  blis_graph_builder builder;
  for (size_t i = 0; i < count; i++) {
    uint32_t waits = i == 0 ? 0 : (uint32_t)blis_random_intn(&random, 3);
    waits = waits > i ? (uint32_t)i : waits;
    specs[i] = (spec){.prompt = 1 + (uint32_t)blis_random_intn(&random, 50),
                      .output = (uint32_t)blis_random_intn(&random, 300),
                      .delay_us = blis_random_intn(&random, 200),
                      .extends = NONE,
                      .wait_count = waits,
                      .is_background = blis_random_intn(&random, 5) == 0,
                      .fails = blis_random_intn(&random, 12) == 0};
    for (uint32_t w = 0; w < waits; w++) {
      specs[i].waits[w] = (uint32_t)blis_random_intn(&random, (int32_t)i);
    }
    if (waits > 0 && blis_random_intn(&random, 2) == 0) {
      specs[i].extends = specs[i].waits[0];
    }
  }
  build(&builder, specs, count);
  blis_intern *strings = blis_intern_new(&heap);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 0);
  listed list = {.graphs = &graph, .count = 1};
  const blis_graph_play play = {
      .speed = 1, .count = 3, .concurrency = blis_random_intn(&random, 3)};
  blis_graph_player *player = new_player(&list, strings, &play);
  static served s;
  s.count = 0;
  serve(player, &s);
  size_t tasks_count;
  const blis_task *tasks = blis_graph_player_tasks(player, &tasks_count);
  CHECK_EQ_I64(tasks_count, 3);
  int64_t submitted = 0;
  for (size_t i = 0; i < tasks_count; i++) {
    const blis_task *t = &tasks[i];
    submitted += t->submitted;
    CHECK_EQ_I64(t->delay_us + t->tool_us + t->queue_us + t->prefill_us + t->decode_us,
                 t->end_us - t->start_us);
    CHECK(t->state != BLIS_TASK_UNFINISHED);
    CHECK(t->completed <= t->submitted && t->submitted <= t->requests);
  }
  CHECK_EQ_I64(submitted, s.count);
  for (size_t i = 0; i < count && play.concurrency == 1; i++) {
    const blis_request *r = request_of(&s, (int32_t)i);
    for (uint32_t w = 0; r != NULL && w < specs[i].wait_count; w++) {
      const blis_request *other = request_of(&s, (int32_t)specs[i].waits[w]);
      CHECK(other != NULL && !is_refused(other));
      CHECK(r->arrival_us >=
            other->arrival_us + (int64_t)specs[specs[i].waits[w]].output + specs[i].delay_us);
    }
  }
  blis_graph_player_free(player);
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

static void random_graphs(void) {
  for (int64_t seed = 1; seed <= 500; seed++) {
    check_random(seed);
  }
}

/* Nothing leaks or breaks wherever memory runs out. */
static void memory_may_run_out(void) {
  blis_graph_builder builder;
  build(&builder, diamond, 4);
  const blis_graph graph = blis_graph_builder_get(&builder, 0, 0);
  blis_intern *strings = blis_intern_new(&heap);
  blis_status status = BLIS_ERR_NOMEM;
  for (long fail_at = 1; status != BLIS_OK; fail_at++) {
    CHECK(fail_at < 100);
    blis_alloc_probe probe = {.fail_at = fail_at, .fail_forever = 1};
    blis_alloc alloc = blis_alloc_probed(&probe);
    listed list = {.graphs = &graph, .count = 1};
    const blis_graph_feed feed = {.next = list_next, .state = &list, .strings = strings};
    blis_graph_player *player = NULL;
    status = blis_graph_player_new(&alloc, &feed, &as_recorded, &player, NULL);
    blis_request request;
    bool done;
    blis_request_source source = {0};
    if (status == BLIS_OK) {
      source = blis_graph_player_source(player);
      status = source.next(source.state, &request, &done, NULL);
    }
    if (status == BLIS_OK) {
      const blis_request_outcome outcome = {.end_us = 5, .is_completed = true};
      bool has;
      status = source.ended(source.state, &request, &outcome, &request, &has, NULL);
    }
    blis_graph_player_free(player);
    CHECK_EQ_I64(probe.live_bytes, 0);
  }
  blis_graph_builder_deinit(&builder);
  blis_intern_free(strings);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(a_join_waits_for_the_last_one);
  RUN(speed_divides_waits);
  RUN(prompts_chain);
  RUN(what_waits_for_a_failure);
  RUN(concurrency_counts_graphs);
  RUN(random_graphs);
  RUN(memory_may_run_out);
  return check_done();
}
