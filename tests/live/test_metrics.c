/* The pages of metrics: what each engine exports, which readers need, and what the numbers are. */
#include "live/metrics.h"

#include <stdio.h>
#include <stdlib.h>

#include "live_scene.h"

/* Writes the page of a scene after three requests of four tokens. */
static void write_page(scene *sc, blis_buffer *text, blis_live_page page) {
  submit(sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": [1, 2, 3], \"max_tokens\": 4, \"ignore_eos\": true, \"n\": 3}", -1);
  advance(sc, 5000000);
  blis_live_metered metered[2];
  for (uint32_t i = 0; i < 2; i++) {
    metered[i] = (blis_live_metered){.meter = blis_live_desk_meter(sc->desk, i),
                                     .instance = blis_cluster_instance(sc->s.cluster, i),
                                     .engine = i};
  }
  page.flavor = blis_live_desk_flavor(sc->desk);
  page.instances = metered;
  page.count = page.is_gateway ? 2 : 1;
  page.max_model_len = 5000;
  page.now_us = blis_live_desk_now_us(sc->desk);
  blis_live_write_metrics(text, &page);
}

static void check_lines(blis_live_flavor flavor, bool is_gateway, const char *const *lines,
                        size_t count) {
  scene sc;
  blis_buffer text;
  blis_alloc heap = blis_alloc_heap();
  open_scene_of(&sc, 2, flavor);
  blis_buffer_init(&text, &heap);
  write_page(&sc, &text, (blis_live_page){.model = "m", .is_gateway = is_gateway});
  for (size_t i = 0; i < count; i++) {
    CHECK_CONTAINS(blis_buffer_text(&text), lines[i]);
  }
  blis_buffer_deinit(&text);
  close_all(&sc);
  close_scene(&sc);
}

#define CHECK_LINES(flavor, is_gateway, ...)                                                       \
  do {                                                                                             \
    static const char *const lines[] = {__VA_ARGS__};                                              \
    check_lines(flavor, is_gateway, lines, sizeof lines / sizeof *lines);                          \
  } while (0)

static void test_numbers_are_what_happened(void) {
  scene sc;
  blis_buffer text;
  blis_alloc heap = blis_alloc_heap();
  open_scene(&sc, 1);
  blis_buffer_init(&text, &heap);
  submit(&sc, BLIS_LIVE_COMPLETIONS,
         "{\"prompt\": [1, 2, 3], \"max_tokens\": 4, \"ignore_eos\": true, \"n\": 3}", -1);
  advance(&sc, 5000000);
  const blis_live_metered metered = {.meter = blis_live_desk_meter(sc.desk, 0),
                                     .instance = blis_cluster_instance(sc.s.cluster, 0)};
  const blis_live_page page = {.model = "a\"b\\c\nd",
                               .instances = &metered,
                               .count = 1,
                               .max_model_len = 5000,
                               .time_scale = 2};
  blis_live_write_metrics(&text, &page);
#define OF "{engine=\"0\",model_name=\"a\\\"b\\\\c\\nd\""
  static const char *const lines[] = {
      "# TYPE vllm:num_requests_running gauge\n",
      "vllm:generation_tokens_total" OF "} 12.0\n",
      "vllm:request_success_total" OF ",finished_reason=\"length\"} 3.0\n",
      "vllm:request_prompt_tokens_bucket" OF ",le=\"2.0\"} 0.0\n",
      "vllm:request_prompt_tokens_bucket" OF ",le=\"5.0\"} 3.0\n",
      "vllm:inter_token_latency_seconds_count" OF "} 9.0\n",
      "vllm:request_prefill_kv_computed_tokens_sum" OF "} 9.0\n",
      "vllm:prompt_tokens_by_source_total" OF ",source=\"local_compute\"} 9.0\n",
      "vllm:iteration_tokens_total_sum" OF "} 18.0\n",
      ",le=\"+Inf\"} 9.0\n",
      "blis:live_time_scale 2.0\n"};
  for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
    CHECK_CONTAINS(blis_buffer_text(&text), lines[i]);
  }
  CHECK(strstr(blis_buffer_text(&text), "request_prompt_tokens_bucket" OF ",le=\"10000.0\"}") ==
        NULL);
#undef OF
  blis_buffer_deinit(&text);
  close_all(&sc);
  close_scene(&sc);
}

/* What EPP, WVA, KEDA's recipes, AIBrix, and vLLM's dashboards read. */
static void test_vllm(void) {
#define L "{engine=\"0\",model_name=\"m\""
  CHECK_LINES(BLIS_LIVE_VLLM, false,
              "# TYPE vllm:num_requests_waiting gauge\nvllm:num_requests_waiting" L,
              "# TYPE vllm:num_requests_running gauge\n", "# TYPE vllm:kv_cache_usage_perc gauge\n",
              "# TYPE vllm:prefix_cache_hits_total counter\n",
              "# TYPE vllm:prefix_cache_queries_total counter\n",
              "# TYPE vllm:external_prefix_cache_hits_total counter\n",
              "# TYPE vllm:external_prefix_cache_queries_total counter\n",
              "# TYPE vllm:time_to_first_token_seconds histogram\n",
              "# TYPE vllm:inter_token_latency_seconds histogram\n",
              "# TYPE vllm:e2e_request_latency_seconds histogram\n",
              "# TYPE vllm:request_queue_time_seconds histogram\n",
              "# TYPE vllm:request_prompt_tokens histogram\n",
              "# TYPE vllm:request_generation_tokens histogram\n",
              "# TYPE vllm:iteration_tokens_total histogram\n",
              "vllm:engine_sleep_state" L ",sleep_state=\"awake\"} 1.0\n",
              "vllm:num_requests_waiting_by_reason" L ",reason=\"capacity\"} 0.0\n",
              "vllm:request_success_total" L ",finished_reason=\"abort\"} 0.0\n",
              "vllm:cache_config_info{block_size=\"16\",cache_dtype=\"auto\",enable_prefix_caching="
              "\"True\",engine=\"0\",gpu_memory_utilization=\"0.9\",num_gpu_blocks=\"",
              "vllm:time_to_first_token_seconds_bucket" L ",le=\"2560.0\"}",
              "vllm:time_to_first_token_seconds_bucket" L ",le=\"0.001\"}",
              "vllm:iteration_tokens_total_bucket" L ",le=\"16384.0\"}",
              "vllm:e2e_request_latency_seconds_bucket" L ",le=\"7680.0\"}");
#undef L
}

/* What the router of production-stack reads. */
static void test_vllm_0_8(void) {
  CHECK_LINES(BLIS_LIVE_VLLM_0_8, false, "# TYPE vllm:num_requests_running gauge\n",
              "# TYPE vllm:num_requests_waiting gauge\n",
              "# TYPE vllm:gpu_cache_usage_perc gauge\n",
              "# TYPE vllm:gpu_prefix_cache_hits_total counter\n",
              "# TYPE vllm:gpu_prefix_cache_queries_total counter\n",
              "# TYPE vllm:time_per_output_token_seconds histogram\n");
}

static void test_sglang(void) {
#define L "{model_name=\"m\",engine_type=\"unified\",tp_rank=\"0\",pp_rank=\"0\""
  CHECK_LINES(BLIS_LIVE_SGLANG, false, "sglang:num_queue_reqs" L "} 0.0\n",
              "sglang:num_running_reqs" L "} 0.0\n", "sglang:token_usage" L "} 0.0\n",
              "sglang:num_requests_total" L "} 2.0\n", "sglang:generation_tokens_total" L "} 8.0\n",
              "sglang:cache_config_info" L ",page_size=\"16\",num_pages=\"",
              "sglang:time_to_first_token_seconds_bucket" L ",le=\"400.0\"} 2.0\n",
              "sglang:inter_token_latency_seconds_bucket" L ",le=\"0.002\"}",
              "sglang:e2e_request_latency_seconds_bucket" L ",le=\"800.0\"} 2.0\n");
#undef L
}

static void test_trtllm(void) {
#define L "{model_name=\"m\",engine_type=\"trtllm\""
  CHECK_LINES(BLIS_LIVE_TRTLLM, false, "trtllm_num_requests_waiting" L "} 0.0\n",
              "trtllm_num_requests_running" L "} 0.0\n", "trtllm_kv_cache_utilization" L "} 0.0\n",
              "trtllm_kv_cache_tokens_per_block" L "} 16.0\n", "trtllm_kv_cache_max_blocks" L "}",
              "trtllm_request_success_total" L ",finished_reason=\"length\"} 2.0\n",
              "trtllm_request_prefill_time_seconds_bucket" L ",le=\"0.025\"}");
#undef L
}

/* A gateway has all instances, and what Dynamo's planner reads. */
static void test_gateway(void) {
  CHECK_LINES(BLIS_LIVE_VLLM, true, "vllm:generation_tokens_total{engine=\"0\",model_name=\"m\"} 8",
              "vllm:generation_tokens_total{engine=\"1\",model_name=\"m\"} 4.0\n",
              "dynamo_frontend_requests_total{model=\"m\",status=\"success\"} 3.0\n",
              "dynamo_frontend_inflight_requests{model=\"m\"} 0.0\n",
              "dynamo_frontend_time_to_first_token_seconds_count{model=\"m\"} 3.0\n",
              "dynamo_frontend_inter_token_latency_seconds_count{model=\"m\"} 9.0\n",
              "dynamo_frontend_request_duration_seconds_count{model=\"m\"} 3.0\n",
              "dynamo_frontend_input_sequence_tokens_sum{model=\"m\"} 9.0\n",
              "dynamo_frontend_output_sequence_tokens_sum{model=\"m\"} 12.0\n");
  CHECK_LINES(BLIS_LIVE_SGLANG, true, "dp_rank=\"1\"} ");
  CHECK_LINES(BLIS_LIVE_TRTLLM, true, "engine=\"1\"} ");
}

/* Every line is a comment, or a sample of the metric whose type the last comment has; buckets do
   not decrease, and the last one is the count. */
static void check_format(const char *text) {
  char name[128] = "";
  double below = 0;
  for (const char *line = text; *line != '\0'; line = strchr(line, '\n') + 1) {
    const char *end = strchr(line, '\n');
    CHECK(end != NULL);
    if (strncmp(line, "# TYPE ", 7) == 0) {
      sscanf(line + 7, "%127s", name);
      below = 0;
    } else if (line[0] != '#') {
      const char *value = end;
      while (value[-1] != ' ') {
        value--;
      }
      CHECK(strncmp(line, name, strlen(name)) == 0);
      double number = strtod(value, NULL);
      if (strncmp(line + strlen(name), "_bucket{", 8) == 0) {
        bool is_first = strstr(line, "le=\"") != NULL && number < below;
        below = is_first ? 0 : number; /* the next engine begins anew */
      } else if (strncmp(line + strlen(name), "_count{", 7) == 0) {
        CHECK(number == below);
        below = 0;
      }
    }
  }
}

static void test_pages_are_well_formed(void) {
  blis_alloc heap = blis_alloc_heap();
  for (int flavor = 0; flavor < BLIS_LIVE_FLAVOR_COUNT; flavor++) {
    for (int is_gateway = 0; is_gateway < 2; is_gateway++) {
      scene sc;
      blis_buffer text;
      open_scene_of(&sc, 2, (blis_live_flavor)flavor);
      blis_buffer_init(&text, &heap);
      write_page(&sc, &text, (blis_live_page){.model = "m", .is_gateway = is_gateway});
      check_format(blis_buffer_text(&text));
      blis_buffer_deinit(&text);
      close_all(&sc);
      close_scene(&sc);
    }
  }
}

static void test_bounds_ascend(void) {
  for (int flavor = 0; flavor < BLIS_LIVE_FLAVOR_COUNT; flavor++) {
    for (int kind = 0; kind < BLIS_LIVE_HISTOGRAM_COUNT; kind++) {
      blis_live_bounds bounds =
          blis_live_bounds_of((blis_live_flavor)flavor, (blis_live_histogram_kind)kind);
      CHECK(bounds.count >= 1 && bounds.count < BLIS_LIVE_BUCKETS_MAX);
      for (int i = 1; i < bounds.count; i++) {
        CHECK(bounds.values[i] > bounds.values[i - 1]);
      }
    }
  }
}

static void test_flavors_have_names(void) {
  blis_live_flavor flavor;
  CHECK(blis_live_find_flavor("vllm-0.8", &flavor) && flavor == BLIS_LIVE_VLLM_0_8);
  CHECK(!blis_live_find_flavor("vllm-", &flavor));
}

static void test_throughput_is_of_the_last_whole_second(void) {
  blis_live_meter meter = {.flavor = BLIS_LIVE_VLLM};
  blis_live_meter_first_token(&meter, 1200000, 5);
  blis_live_meter_token(&meter, 1900000, 5);
  CHECK(blis_live_meter_throughput(&meter, 1950000) == 0);
  CHECK(blis_live_meter_throughput(&meter, 2100000) == 2);
  CHECK(blis_live_meter_throughput(&meter, 3100000) == 0);
  blis_live_meter_token(&meter, 2500000, 5);
  CHECK(blis_live_meter_throughput(&meter, 2600000) == 2);
  CHECK(blis_live_meter_throughput(&meter, 3000000) == 1);
}

/* A request arrived at 2 s, waited for 0.25 s, had its first token after 1 s, and ended at 5 s. */
static void test_an_end_adds_its_times(void) {
  static const struct {
    blis_live_flavor flavor;
    const char *lines[5];
  } cases[] = {
      {BLIS_LIVE_VLLM,
       {"e2e_request_latency_seconds_sum{engine=\"0\",model_name=\"m\"} 3.0\n",
        "request_decode_time_seconds_sum{engine=\"0\",model_name=\"m\"} 2.0\n",
        "request_prefill_time_seconds_sum{engine=\"0\",model_name=\"m\"} 0.75\n",
        "request_inference_time_seconds_sum{engine=\"0\",model_name=\"m\"} 2.75\n",
        "source=\"external_kv_transfer\"} 20.0\n"}},
      {BLIS_LIVE_SGLANG, {"} 50.0\n"}},
  };
  for (size_t c = 0; c < sizeof cases / sizeof *cases; c++) {
    scene sc;
    blis_buffer text;
    blis_alloc heap = blis_alloc_heap();
    open_scene_of(&sc, 1, cases[c].flavor);
    blis_buffer_init(&text, &heap);
    blis_live_meter meter = {.flavor = cases[c].flavor};
    blis_live_meter_end(&meter, &(blis_live_ending){.arrival_us = 2000000,
                                                    .end_us = 5000000,
                                                    .ttft_us = 1000000,
                                                    .queued_us = 250000,
                                                    .prompt_tokens = 100,
                                                    .cached_tokens = 30,
                                                    .external_tokens = 20,
                                                    .output_tokens = 5});
    const blis_live_metered metered = {.meter = &meter,
                                       .instance = blis_cluster_instance(sc.s.cluster, 0)};
    blis_live_write_metrics(&text, &(blis_live_page){.model = "m",
                                                     .flavor = cases[c].flavor,
                                                     .instances = &metered,
                                                     .count = 1,
                                                     .max_model_len = 5000});
    for (size_t i = 0; i < 5 && cases[c].lines[i] != NULL; i++) {
      CHECK_CONTAINS(blis_buffer_text(&text), cases[c].lines[i]);
    }
    blis_buffer_deinit(&text);
    close_all(&sc);
    close_scene(&sc);
  }
}

int main(void) {
  RUN(test_numbers_are_what_happened);
  RUN(test_vllm);
  RUN(test_vllm_0_8);
  RUN(test_sglang);
  RUN(test_trtllm);
  RUN(test_gateway);
  RUN(test_pages_are_well_formed);
  RUN(test_bounds_ascend);
  RUN(test_flavors_have_names);
  RUN(test_an_end_adds_its_times);
  RUN(test_throughput_is_of_the_last_whole_second);
  return check_done();
}
