/*
 * Step times recorded from BLIS in Go: every integer, by the plain evaluation
 * and by the one from sums. Skipped without the recorded cases.
 */
#include "base/format/json.h"
#include "base/format/text.h"
#include "latency/step/roofline.h"
#include "latency/step/trained_physics.h"
#include "latency_fixture.h"

enum { REQUESTS_MAX = 64 };

static blis_alloc heap;
static blis_catalogue *catalogue;
static int line_count;

static double number(blis_json_value value) {
  double result = 0.0;
  blis_error error = {0};
  CHECK_OK(blis_json_double(value, -1e300, 1e300, &result, &error), &error);
  return result;
}

static int64_t whole(blis_json_value value) {
  int64_t result = 0;
  blis_error error = {0};
  CHECK_OK(blis_json_int64(value, INT64_MIN, INT64_MAX, &result, &error), &error);
  return result;
}

static const char *text(blis_json_value value) {
  blis_slice result = {0};
  blis_error error = {0};
  CHECK_OK(blis_json_text(value, &result, &error), &error);
  return result.data;
}

static void override(blis_model_spec *spec, blis_json_value fields) {
  const char *key = NULL;
  blis_json_value value;
  while (blis_json_next(fields, &key, &value)) {
    if (strcmp(key, "weight_bytes_per_param") == 0) {
      spec->weight_bytes_per_param = number(value);
    } else if (strcmp(key, "shared_expert_intermediate_size") == 0) {
      spec->shared_expert_intermediate_size = whole(value);
    } else if (strcmp(key, "interleave_moe_layer_step") == 0) {
      spec->interleave_moe_layer_step = whole(value);
    } else {
      CHECK_STR(key, "intermediate_size_mlp");
      spec->dense_intermediate_size = whole(value);
    }
  }
}

static size_t read_batch(blis_json_value requests, blis_batch_item items[REQUESTS_MAX]) {
  size_t count = blis_json_count(requests);
  CHECK(count <= REQUESTS_MAX);
  for (size_t i = 0; i < count; i++) {
    blis_json_value request = blis_json_item(requests, i);
    items[i] =
        (blis_batch_item){whole(blis_json_item(request, 0)), whole(blis_json_item(request, 1)),
                          whole(blis_json_item(request, 2)), whole(blis_json_item(request, 3))};
  }
  return count;
}

static void check_model(blis_latency_model *model, blis_json_value requests, int64_t expected_us) {
  blis_batch_item items[REQUESTS_MAX];
  size_t count = read_batch(requests, items);
  CHECK_EQ_I64(step_us(model, items, count), expected_us);
  blis_latency_free(model);
}

static void check_case(blis_json_value root) {
  blis_model_spec spec = fixture_model(catalogue, text(blis_json_member(root, "model")));
  override(&spec, blis_json_member(root, "override"));
  blis_hardware_spec hardware = fixture_hardware(catalogue, text(blis_json_member(root, "gpu")));
  blis_parallelism parallelism = {.tp = whole(blis_json_member(root, "tp")),
                                  .dp = whole(blis_json_member(root, "dp")),
                                  .moe_comm_backend = text(blis_json_member(root, "comm"))};
  blis_json_value betas = blis_json_member(root, "beta");
  double beta[BLIS_TRAINED_PHYSICS_BETA_MAX];
  CHECK(blis_json_count(betas) <= COUNT_OF(beta));
  for (size_t i = 0; i < blis_json_count(betas); i++) {
    beta[i] = number(blis_json_item(betas, i));
  }
  blis_coefficients coefficients = {FIXTURE_ALPHA, 3, beta, blis_json_count(betas)};
  blis_json_value requests = blis_json_member(root, "reqs");
  blis_latency_model model;
  blis_error error = {0};
  CHECK_OK(
      blis_roofline_new(&heap, &spec, &hardware, parallelism.tp, &coefficients, &model, &error),
      &error);
  check_model(&model, requests, whole(blis_json_member(root, "roofline_us")));
  int64_t trained_us = whole(blis_json_member(root, "trained_us"));
  blis_status status = blis_trained_physics_new(&heap, &spec, &hardware, &parallelism,
                                                &coefficients, &model, &error);
  CHECK_STATUS(status, trained_us == -1 ? BLIS_ERR_INVALID : BLIS_OK);
  if (status == BLIS_OK) {
    check_model(&model, requests, trained_us);
  }
}

static void test_recorded_steps(void) {
  const char *folder = getenv("BLIS_SHARED_DIR");
  char path[4096];
  (void)snprintf(path, sizeof path, "%s/vectors/latency.jsonl",
                 folder == NULL ? "../shared" : folder);
  blis_text *file;
  blis_error error = {0};
  if (blis_text_open(&heap, path, &file, &error) != BLIS_OK) {
    SKIP(error.message);
  }
  blis_text_line line;
  bool has_line;
  blis_json json;
  blis_json_init(&json, &heap);
  for (;;) {
    CHECK_OK(blis_text_next(file, &line, &has_line, &error), &error);
    if (!has_line) {
      break;
    }
    CHECK_OK(blis_json_parse(&json, path, line.number, line.content, &error), &error);
    check_case(blis_json_root(&json));
    line_count++;
  }
  blis_json_deinit(&json);
  blis_text_close(file);
  CHECK(line_count > 0);
}

int main(void) {
  heap = blis_alloc_heap();
  catalogue = fixture_catalogue(&heap);
  RUN(test_recorded_steps);
  printf("# %d recorded batches\n", line_count);
  blis_catalogue_free(catalogue);
  return check_done();
}
