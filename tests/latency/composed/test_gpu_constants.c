/* The constants of GPUs: the shipped file, wrong values of every key, and the choice by format. */
#include <math.h>

#include "check.h"
#include "latency/composed/gpu_constants.h"
#include "latency_fixture.h"

static blis_alloc heap;

typedef struct loaded {
  blis_arena arena;
  blis__gpu_constants gpus[32];
  size_t count;
} loaded;

static blis_status load(const char *text, size_t size, loaded *out, blis_error *error) {
  blis_yaml *yaml = NULL;
  *out = (loaded){0};
  blis_arena_init(&out->arena, &heap);
  BLIS_TRY(blis_yaml_parse(&heap, "composed.yaml", (blis_slice){text, size}, &yaml, error));
  const blis_yaml_node *list = blis_yaml_get(blis_yaml_root(yaml), "composed");
  blis_status status = BLIS_OK;
  for (size_t i = 0; i < blis_yaml_count(list) && status == BLIS_OK; i++) {
    status = blis__gpu_constants_read(&out->arena, blis_yaml_item(list, i), &out->gpus[i], error);
    out->count = i + 1;
  }
  blis_yaml_free(yaml);
  return status;
}

static const blis__gpu_constants *find(const loaded *all, const char *gpu) {
  for (size_t i = 0; i < all->count; i++) {
    if (strcmp(all->gpus[i].gpu, gpu) == 0) {
      return &all->gpus[i];
    }
  }
  check_fail(__FILE__, __LINE__, "no constants of %s", gpu);
  return NULL;
}

static void test_shipped_constants(void) {
  size_t size;
  char *text = fixture_read("data/latency/composed.yaml", &size);
  loaded all;
  blis_error error = {0};
  CHECK_OK(load(text, size, &all, &error), &error);
  free(text);

  blis__composed_constants c;
  blis__composed_class dense = {
      .attention = BLIS_KIND_FP8, .mlp = BLIS_KIND_FP8, .has_fp8_kv = true};
  CHECK(blis__composed_constants_of(find(&all, "H200"), &dense, 989.5, 4.8, &c));
  CHECK(c.bandwidth == 4.8e6 && c.peak == 989.5e6);
  CHECK(c.scales.decode == 1.023 && c.scales.prefill == 1.045);
  CHECK(c.layer_us == 14.25 && c.kv_efficiency == 0.4165 && c.engine_scale == 1);
  CHECK(c.product_speedup[BLIS_KIND_FP8] == 2 && c.product_speedup[BLIS_KIND_INT4] == 1);

  blis__composed_class experts = {.mlp = BLIS_KIND_FP8_BLOCK,
                                  .has_experts = true,
                                  .attention = BLIS_KIND_FP8_BLOCK,
                                  .engine_scale = 1.25};
  CHECK(blis__composed_constants_of(find(&all, "B200"), &experts, 2250, 7.7, &c));
  CHECK(c.bandwidth == 8.0e6 && c.engine_scale == 1.25);
  CHECK(c.expert_slowdown[BLIS_KIND_FP8_BLOCK] == 1.6);
  CHECK(c.scales.prefill == 1.734);

  /* NVFP4 was not measured on Hopper: the kernels of 16 bits, and no fit. */
  blis__composed_class absent = {.attention = BLIS_KIND_NVFP4, .mlp = BLIS_KIND_NVFP4};
  CHECK(!blis__composed_constants_of(find(&all, "H100"), &absent, 989.5, 3.35, &c));
  CHECK(c.products[BLIS_KIND_NVFP4].t0_us == 4.59 && c.scales.prefill == 1.05);

  blis_arena_deinit(&all.arena);
}

/* Kernel tables have constants of their own, which replace some of the others. */
static void test_constants_with_tables(void) {
  size_t size;
  char *text = fixture_read("data/latency/composed.yaml", &size);
  loaded all;
  blis_error error = {0};
  CHECK_OK(load(text, size, &all, &error), &error);
  free(text);
  const blis__gpu_constants *b200 = find(&all, "B200");
  CHECK(b200->kernels_of_count == 0 && b200->with_tables != NULL);
  const blis__gpu_constants *other = b200->with_tables;
  CHECK(other->kernels_of_count == 1 && strcmp(other->kernels_of[0].name, "B200") == 0);
  CHECK(other->kernels_of[0].bandwidth == 8e6 && other->kernels_of[0].peak == 2250e6);
  CHECK(other->dense_scales[BLIS_KIND_FP8].decode == 0.947);
  CHECK(other->dense_scales[BLIS_KIND_NVFP4].prefill ==
        b200->dense_scales[BLIS_KIND_NVFP4].prefill);
  CHECK(other->step_us == 591 && b200->step_us == 645 && other->attention_us == 7);
  CHECK(strcmp(b200->allreduce_of, "B200") == 0);

  /* MXFP4 experts were measured on H200, and take the same time on H100. */
  const blis__gpu_constants *h100 = find(&all, "H100")->with_tables;
  const blis__gpu_constants *h200 = find(&all, "H200")->with_tables;
  CHECK(h200->expert_scales[BLIS_KIND_MXFP4].decode == 0.695);
  CHECK(h100->expert_scales[BLIS_KIND_MXFP4].decode == 0.695);
  CHECK(h100->kernels_of[1].bandwidth == 3.35e6 && h200->kernels_of[1].bandwidth == 4.8e6);
  double rate = 4.8 * h200->experts[BLIS_KIND_MXFP4].memory_efficiency;
  CHECK(fabs(3.35 * h100->experts[BLIS_KIND_MXFP4].memory_efficiency / rate - 1) < 0.005);

  /* No tables of these GPUs. */
  const char *const without[] = {"A100-SXM", "A100-PCIe-80", "L40S", "MI300X", "other"};
  for (size_t i = 0; i < sizeof without / sizeof *without; i++) {
    CHECK(find(&all, without[i])->with_tables == NULL);
  }
  CHECK(find(&all, "A100-PCIe-80")->allreduce_of == NULL);
  CHECK(find(&all, "A100-SXM")->allreduce_factor == 1.5);
  blis_arena_deinit(&all.arena);
}

/* The first entry of the shipped file with one piece exchanged. */
static void check_fault(const char *from, const char *to, const char *expected) {
  size_t size;
  char *text = fixture_read("data/latency/composed.yaml", &size);
  char *place = strstr(text, from);
  CHECK(place != NULL);
  size_t length = size - strlen(from) + strlen(to);
  char *changed = malloc(length + 1);
  CHECK(changed != NULL);
  memcpy(changed, text, (size_t)(place - text));
  strcpy(changed + (place - text), to);
  strcat(changed, place + strlen(from));
  loaded all;
  blis_error error = {0};
  CHECK_STATUS(load(changed, length, &all, &error), BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, expected);
  CHECK_CONTAINS(error.message, "composed.yaml:");
  blis_arena_deinit(&all.arena);
  free(changed);
  free(text);
}

static void test_faults_name_the_key(void) {
  check_fault("bf16: [4.59, 0.8815, 0.8068, 5.152]", "bf16: [4.59, 0.8815]", "four numbers");
  check_fault("bf16: [4.59, 0.8815, 0.8068, 5.152]", "bf16: [4.59, 1.5, 0.8068, 5.152]",
              "shares above 0 and at most 1");
  check_fault("bf16: [4.59, 0.8815, 0.8068, 5.152]", "bf16: [4.59, 0.8, 0.8068, 0.5]",
              "sharpness of at least 1");
  check_fault("fp8: [5.82", "fp9: [5.82", "must be one of bf16");
  check_fault("fp8: [1.023, 1.045]", "fp8: [1.023]", "two numbers");
  check_fault("    step_us: 645", "    stepus: 645", "unknown key 'stepus'");
  check_fault("    step_us: 645\n", "", "needs the key 'step_us'");
  check_fault("    step_us: 645", "    step_us: many", "step_us");
  check_fault("H100: [3.35, 989.5]", "H100: [3.35]", "two numbers");
  check_fault("H100: [3.35, 989.5]", "H100: [3.35, 0]", "two rates above 0");
  check_fault("{H100: [3.35, 989.5],", "{a: [1, 1], b: [1, 1], c: [1, 1], d: [1, 1],",
              "at most four names");
  check_fault("      step_us: 591", "      stepus: 598", "unknown key 'stepus'");
  check_fault("      fp8: [1.052, 1.129]", "      fp8: [1.052]", "two numbers");
  check_fault("    also: [H20, GH200]", "    also: H20", "is not a list");
  check_fault("    also: [H20, GH200]", "    also: [1, 2, 3, 4, 5, 6, 7, 8, 9]",
              "at most eight names");
  check_fault("    gpu: H100\n", "", "needs the key 'gpu'");
}

/* A later file replaces the constants of a GPU; a file may not state them twice. */
static void test_catalogue_of_constants(void) {
  blis_catalogue *catalogue = fixture_catalogue(&heap);
  size_t size;
  char *text = fixture_read("data/latency/composed.yaml", &size);
  blis_error error = {0};
  CHECK_OK(blis_catalogue_add_yaml(catalogue, "composed.yaml", text, size, &error), &error);
  const blis__gpu_constants *h100 = blis__catalogue_composed(catalogue, "h100");
  CHECK(h100 != NULL && h100->step_us == 645);
  CHECK(blis__catalogue_composed(catalogue, "Z80") == NULL);
  const blis__gpu_constants *gh200 = blis__catalogue_composed(catalogue, "gh200");
  CHECK(gh200 != NULL && gh200 == blis__catalogue_composed(catalogue, "H200"));
  CHECK_OK(blis_catalogue_add_yaml(catalogue, "composed.yaml", text, size, &error), &error);
  CHECK(blis__catalogue_composed(catalogue, "H100") != NULL);
  char *place = strstr(text, "gpu: H200");
  CHECK(place != NULL);
  memcpy(place, "gpu: H100", 9);
  CHECK_STATUS(blis_catalogue_add_yaml(catalogue, "composed.yaml", text, size, &error),
               BLIS_ERR_PARSE);
  CHECK_CONTAINS(error.message, "'H100' is given twice");
  free(text);
  blis_catalogue_free(catalogue);
}

int main(void) {
  heap = blis_alloc_heap();
  RUN(test_shipped_constants);
  RUN(test_constants_with_tables);
  RUN(test_faults_name_the_key);
  RUN(test_catalogue_of_constants);
  return check_done();
}
