/* Which nodes of a graph have ended when another begins. */
#include <string.h>

#include "base/random.h"
#include "check.h"
#include "workload/graph/graph.h"

static blis_error error;

static void add(blis_graph_builder *b, const uint32_t *waits, uint32_t count) {
  const blis_graph_node node = {.request = {.prompt_tokens = 1, .output_tokens = 1},
                                .extends = BLIS_GRAPH_NO_NODE};
  CHECK_OK(blis_graph_builder_add(b, &node, true, waits, count, &error), &error);
}

static bool has_ended(blis_graph_builder *b, uint32_t node, const uint32_t *waits, uint32_t count) {
  bool answer;
  CHECK(blis_graph_builder_has_ended(b, node, waits, count, &answer) == BLIS_OK);
  return answer;
}

enum { NODES = 40 };

/* Against a table of who comes behind whom; questions in any order, as they
   are remembered, of graphs that are sparse or not, one after the other. */
static void random_graphs(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_graph_builder b;
  blis_graph_builder_init(&b, &heap);
  blis_random random;
  blis_random_init(&random, 5);
  int64_t answers[2] = {0, 0};
  for (int graph = 0; graph < 400; graph++) {
    static bool is_behind[NODES][NODES];
    memset(is_behind, 0, sizeof is_behind);
    blis_graph_builder_clear(&b);
    int32_t near = 1 + blis_random_intn(&random, NODES);
    int32_t most = 1 + blis_random_intn(&random, 3);
    for (uint32_t i = 0; i < NODES; i++) {
      uint32_t waits[3];
      uint32_t count = 0;
      int32_t wanted = blis_random_intn(&random, most + 1);
      for (int32_t k = 0; k < wanted && i > 0; k++) {
        int32_t reach = near < (int32_t)i ? near : (int32_t)i;
        uint32_t other = i - 1 - (uint32_t)blis_random_intn(&random, reach);
        waits[count++] = other;
        is_behind[i][other] = true;
        for (uint32_t n = 0; n < other; n++) {
          is_behind[i][n] |= is_behind[other][n];
        }
      }
      for (int asked = 0; asked < 3 && i > 0; asked++) {
        uint32_t node = (uint32_t)blis_random_intn(&random, (int32_t)i);
        bool answer = has_ended(&b, node, waits, count);
        CHECK(answer == is_behind[i][node]);
        answers[answer]++;
      }
      add(&b, waits, count);
    }
  }
  CHECK(answers[0] > 1000);
  CHECK(answers[1] > 1000);
  blis_graph_builder_deinit(&b);
}

enum { LONG = 300000 };

/* Every node of chains, one beside the other, asks for the first of its own: to
   go all the way each time would take many minutes. */
static void long_chains(void) {
  blis_alloc heap = blis_alloc_heap();
  for (uint32_t beside = 1; beside <= 3; beside++) {
    blis_graph_builder b;
    blis_graph_builder_init(&b, &heap);
    bool have_ended = true;
    for (uint32_t i = 0; i < LONG; i++) {
      const uint32_t waits[] = {i - beside};
      have_ended &= i < beside || has_ended(&b, i % beside, waits, 1);
      add(&b, waits, i < beside ? 0 : 1);
    }
    CHECK(have_ended);
    blis_graph_builder_deinit(&b);
  }
}

/* Likewise, where no first wait leads to the first node of all. */
static void a_long_chain_behind_two(void) {
  blis_alloc heap = blis_alloc_heap();
  blis_graph_builder b;
  blis_graph_builder_init(&b, &heap);
  bool have_ended = true;
  for (uint32_t i = 0; i < LONG; i++) {
    const uint32_t waits[] = {i - 1, 0};
    uint32_t count = i < 2 ? 0 : i == 2 ? 2 : 1;
    have_ended &= i < 2 || has_ended(&b, 0, waits, count);
    add(&b, waits, count);
  }
  CHECK(have_ended);
  blis_graph_builder_deinit(&b);
}

int main(void) {
  RUN(random_graphs);
  RUN(long_chains);
  RUN(a_long_chain_behind_two);
  return check_done();
}
