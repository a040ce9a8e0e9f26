/*
 * vLLM's admission of whole prompts, batch by batch (serving_scene.h): 100 blocks of 16, of which
 * the first request takes 32 now and 75 in all.
 */
#include "serving_scene.h"

#define FIRST AT(0, 0, 1200, 5)

static const scene scenes[] = {
    {.name = "75 blocks of the second one exceed the 68 free ones",
     .admits_whole_prompts = true,
     .requests = {FIRST, AT(1, 0, 1200, 5)},
     .trace = "{0:512} {0:512} {0:176} {0} {0} {0} {0} {1:512}"},
    {.name = "without the rule it starts",
     .requests = {FIRST, AT(1, 0, 1200, 5)},
     .trace = "{0:512,1:512}"},
    {.name = "63 blocks fit, although the first one needs 43 more: nothing is reserved",
     .admits_whole_prompts = true,
     .requests = {FIRST, AT(1, 0, 1000, 5)},
     .trace = "{0:512,1:512}"},
    {.name = "a cached prefix counts once",
     .admits_whole_prompts = true,
     .requests = {SHARING(0, 0, 480, 2, 1, 480), SHARING(1, 3, 1600, 2, 1, 480)},
     .trace = "{0:480} {0} {1:512}"},
};

static void test_scenes(void) {
  for (size_t i = 0; i < sizeof scenes / sizeof *scenes; i++) {
    scene s = scenes[i];
    s.backend = VLLM;
    s.kv_blocks = i == 3 ? 101 : 100;
    s.page = 16;
    s.threshold = 512;
    run_scene(&s);
  }
}

int main(void) {
  RUN(test_scenes);
  return check_done();
}
