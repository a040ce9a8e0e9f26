/*
 * Session graphs of every format and reading: graphs that keep their promises,
 * the same ones when they are read again, and that can be played to their end;
 * or an error.
 */
#include "workload/graph/file.h"

#include "base/array.h"
#include "base/containers/event_queue.h"
#include "fuzz_files.h"
#include "workload/graph/player.h"
#include "workload/workload.h"

enum { MAX_PLAYED = 2000 };

/* Pairs of these, for every input others. */
static blis_graph_file_options options_of(size_t size) {
  static const blis_graph_delays delays[] = {BLIS_GRAPH_DELAYS_USUAL, BLIS_GRAPH_DELAYS_USUAL,
                                             BLIS_GRAPH_DELAYS_STARTS, BLIS_GRAPH_DELAYS_THINK};
  static const char *const served[] = {"one", "two"};
  return (blis_graph_file_options){.reading =
                                       (blis_graph_reading)(size % (BLIS_GRAPH_AISIMULATE + 1)),
                                   .delays = delays[size / 7 % 4],
                                   .delay_cap_us = size % 5 == 0 ? 60000000 : 0,
                                   .idle_gap_cap_us = size % 3 == 0 ? 60000000 : 0,
                                   .models = {.served = served, .count = size % 4 == 0 ? 2 : 0}};
}

static void check_node(const blis_graph *graph, uint32_t index, uint32_t texts) {
  const blis_graph_node *node = &graph->nodes[index];
  const blis_request *request = &node->request;
  uint64_t shared = 0;
  FUZZ_NEED(node->delay_us >= 0 && node->tool_us >= 0 && node->tool_us <= node->delay_us);
  for (uint32_t i = 0; i < node->wait_count; i++) {
    FUZZ_NEED(graph->waits[node->first_wait + i] < index);
  }
  FUZZ_NEED(node->extends == BLIS_GRAPH_NO_NODE || node->extends < index);
  for (uint32_t i = 0; i < request->segment_count; i++) {
    const blis_segment *segment = &request->segments[i];
    FUZZ_NEED(segment->length_tokens > 0);
    FUZZ_NEED((segment->stream & BLIS_GRAPH_LOCAL) == 0 ||
              (segment->stream & ~BLIS_GRAPH_LOCAL) < graph->local_streams);
    shared += segment->length_tokens;
  }
  FUZZ_NEED(shared == request->shared_tokens);
  FUZZ_NEED(shared <= request->prompt_tokens);
  FUZZ_NEED(request->prompt_tokens <= BLIS_WORKLOAD_MAX_TOKENS);
  FUZZ_NEED(request->session < texts && node->parent_session < texts && request->model < texts);
}

/* All graphs from here on; returns how many requests they have. */
static int64_t check_graphs(blis_graph_file *file, const blis_intern *strings) {
  blis_graph_feed feed = blis_graph_file_feed(file);
  blis_error error = {0};
  int64_t requests = 0;
  for (int64_t count = 0;; count++) {
    blis_graph graph;
    bool done = false;
    FUZZ_NEED(feed.next(feed.state, &graph, &done, &error) == BLIS_OK);
    if (done) {
      FUZZ_NEED(count == blis_graph_file_count(file));
      return requests;
    }
    FUZZ_NEED(graph.node_count > 0 && graph.name < blis_intern_count(strings));
    for (uint32_t i = 0; i < graph.node_count; i++) {
      check_node(&graph, i, blis_intern_count(strings));
    }
    requests += graph.node_count;
  }
}

/* Requests on their way, by arrival. */
typedef struct way {
  const blis_alloc *alloc;
  blis_event_queue *queue;
  BLIS_ARRAY(blis_request) requests;
} way;

static void put(way *w, const blis_request *request) {
  const blis_event event = {.time_us = request->arrival_us, .number = w->requests.count};
  FUZZ_NEED(blis_array_push(w->alloc, &w->requests, *request) == BLIS_OK);
  FUZZ_NEED(blis_event_queue_push(w->queue, &event, NULL) == BLIS_OK);
}

/* Every request ends when it arrives; every seventh is given up. */
static void end_one(way *w, const blis_request_source *source, int ended) {
  blis_event event;
  blis_error error = {0};
  bool has_one = blis_event_queue_pop(w->queue, &event);
  FUZZ_NEED(has_one);
  const blis_request request = w->requests.items[event.number];
  if (source->is_due != NULL && !source->is_due(source->state, &request)) {
    return;
  }
  const blis_request_outcome outcome = {.end_us = event.time_us, .is_completed = ended % 7 != 6};
  blis_request follow_up;
  FUZZ_NEED(source->ended(source->state, &request, &outcome, &follow_up, &has_one, &error) ==
            BLIS_OK);
  while (has_one) {
    FUZZ_NEED(follow_up.arrival_us >= event.time_us);
    put(w, &follow_up);
    FUZZ_NEED(source->also(source->state, &follow_up, &has_one, &error) == BLIS_OK);
  }
  source->release(source->state, &request);
}

static blis_graph_play play_of(size_t size) {
  bool has_warm_up = size % 2 == 0;
  return (blis_graph_play){.concurrency = 2,
                           .speed = 1,
                           .grace_us = -1,
                           .duration_us = size % 4 < 2 ? 100000000 : 0,
                           .warm_up_requests = has_warm_up ? 3 : 0,
                           .has_primers = has_warm_up,
                           .tree_idle_cap_us = size % 3 == 0 ? 1000000 : 0,
                           .idle_cap_us = size % 5 < 2 ? 500000 : 0};
}

static void play(const blis_alloc *alloc, blis_graph_file *file, size_t size) {
  const blis_graph_play how = play_of(size);
  blis_graph_feed feed = blis_graph_file_feed(file);
  blis_graph_player *player;
  blis_error error = {0};
  FUZZ_NEED(blis_graph_player_new(alloc, &feed, &how, &player, &error) == BLIS_OK);
  blis_request_source source = blis_graph_player_source(player);
  way w = {.alloc = alloc, .queue = blis_event_queue_new(alloc)};
  FUZZ_NEED(w.queue != NULL);
  blis_request request;
  bool done = false;
  FUZZ_NEED(source.next(source.state, &request, &done, &error) == BLIS_OK);
  for (int ended = 0; ended < MAX_PLAYED; ended++) {
    while (!done && request.arrival_us <= blis_event_queue_next_us(w.queue)) {
      put(&w, &request);
      FUZZ_NEED(source.next(source.state, &request, &done, &error) == BLIS_OK);
    }
    if (blis_event_queue_count(w.queue) == 0) {
      break;
    }
    end_one(&w, &source, ended);
  }
  size_t tasks;
  (void)blis_graph_player_tasks(player, &tasks);
  blis_array_deinit(alloc, &w.requests);
  blis_event_queue_free(w.queue);
  blis_graph_player_free(player);
}

static blis_status read_as(const blis_alloc *alloc, const char *path,
                           const blis_graph_file_options *options, size_t size) {
  blis_error error = {0};
  blis_graph_file *file, *again;
  blis_intern *strings = blis_intern_new(alloc);
  FUZZ_NEED(strings != NULL);
  blis_status status = blis_graph_file_open(alloc, path, options, strings, &file, &error);
  fuzz_check(status, &error);
  if (status == BLIS_OK) {
    FUZZ_NEED(check_graphs(file, strings) == blis_graph_file_requests(file));
    FUZZ_NEED(blis_graph_file_open_again(file, alloc, strings, &again, &error) == BLIS_OK);
    play(alloc, again, size);
    blis_graph_file_close(again);
    blis_graph_file_close(file);
  }
  blis_intern_free(strings);
  return status;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  (void)fuzz_make_folder();
  const char *path = fuzz_path(0, "input");
  fuzz_write_file(path, data, size);
  blis_graph_file_options options = options_of(size);
  if (read_as(&alloc, path, &options, size) != BLIS_OK) {
    options.format = blis_graph_format_name(size % blis_graph_format_count());
    (void)read_as(&alloc, path, &options, size);
  }
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
