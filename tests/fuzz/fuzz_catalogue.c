/*
 * YAML files of models, GPUs and coefficients: they are refused and leave the
 * catalogue alone, or every entry can be found by its name.
 */
#include "latency/catalogue/catalogue.h"

#include "fuzz.h"

static void find_models(const blis_catalogue *catalogue) {
  for (size_t i = 0; i < blis_catalogue_model_count(catalogue); i++) {
    const blis_catalogue_model *model = blis_catalogue_model_at(catalogue, i);
    const blis_catalogue_model *found = NULL;
    const blis_model_spec *spec = NULL;
    blis_error error = {0};
    fuzz_check(blis_catalogue_find_model(catalogue, model->id, &found, &error), &error);
    FUZZ_NEED(found != NULL);
    fuzz_check(blis_catalogue_find_model_spec(catalogue, model->id, &spec, &error), &error);
    if (model->has_dimensions) {
      FUZZ_NEED(blis_model_spec_validate(&model->spec, &error) == BLIS_OK);
    }
  }
}

static void find_hardware(const blis_catalogue *catalogue) {
  for (size_t i = 0; i < blis_catalogue_hardware_count(catalogue); i++) {
    const blis_catalogue_hardware *gpu = blis_catalogue_hardware_at(catalogue, i);
    const blis_catalogue_hardware *found = NULL;
    blis_error error = {0};
    fuzz_check(blis_catalogue_find_hardware(catalogue, gpu->name, &found, &error), &error);
    FUZZ_NEED(found != NULL);
    FUZZ_NEED(blis_hardware_spec_validate(&gpu->spec, &error) == BLIS_OK);
  }
}

static void find_coefficients(const blis_catalogue *catalogue) {
  for (size_t i = 0; i < blis_catalogue_coefficients_count(catalogue); i++) {
    const blis_catalogue_coefficients *entry = blis_catalogue_coefficients_at(catalogue, i);
    const blis_catalogue_coefficients *found = NULL;
    blis_error error = {0};
    fuzz_check(blis_catalogue_find_coefficients(catalogue, &entry->key, &found, &error), &error);
    FUZZ_NEED(found != NULL);
    blis_coefficients_key unknown = {.kind = "blackbox", .model = "none"};
    fuzz_check(blis_catalogue_find_coefficients(catalogue, &unknown, &found, &error), &error);
  }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
  blis_alloc_probe memory = {0};
  blis_alloc alloc = blis_alloc_probed(&memory);
  blis_error error = {0};
  blis_catalogue *catalogue = blis_catalogue_new(&alloc);
  FUZZ_NEED(catalogue != NULL);
  blis_status status =
      blis_catalogue_add_yaml(catalogue, "fuzz.yaml", (const char *)data, size, &error);
  fuzz_check(status, &error);
  if (status != BLIS_OK) {
    FUZZ_NEED(blis_catalogue_model_count(catalogue) == 0);
    FUZZ_NEED(blis_catalogue_hardware_count(catalogue) == 0);
    FUZZ_NEED(blis_catalogue_coefficients_count(catalogue) == 0);
  }
  find_models(catalogue);
  find_hardware(catalogue);
  find_coefficients(catalogue);
  blis_catalogue_free(catalogue);
  FUZZ_NEED(memory.live_bytes == 0);
  return 0;
}
