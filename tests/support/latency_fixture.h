/*
 * latency_fixture.h - the shipped catalogue and the batches with known step
 * times, for the tests of src/latency. Run from the project folder.
 */
#ifndef BLIS_LATENCY_FIXTURE_H
#define BLIS_LATENCY_FIXTURE_H

#include "check.h"
#include "latency/catalogue/catalogue.h"
#include "latency/step/latency_model.h"

/* The text of a file, from the heap; fails the test when it is not there. */
static inline char *fixture_read(const char *path, size_t *size) {
  FILE *file = fopen(path, "rb");
  if (file == NULL) {
    check_fail(__FILE__, __LINE__, "cannot open %s", path);
  }
  char *text = NULL;
  *size = 0;
  for (size_t got = 1; got > 0; *size += got) {
    text = realloc(text, *size + 65537);
    CHECK(text != NULL);
    got = fread(text + *size, 1, 65536, file);
  }
  text[*size] = '\0';
  (void)fclose(file);
  return text;
}

static inline blis_catalogue *fixture_catalogue(const blis_alloc *alloc) {
  static const char *const FILES[] = {
      "data/models/dense.yaml",       "data/models/mixture-of-experts.yaml",
      "data/models/usual-gpu.yaml",   "data/hardware/gpus.yaml",
      "data/hardware/more_gpus.yaml", "data/latency/trained-physics.yaml",
      "data/latency/calibrated.yaml", "data/latency/blackbox.yaml",
  };
  blis_catalogue *catalogue = blis_catalogue_new(alloc);
  CHECK(catalogue != NULL);
  for (size_t i = 0; i < sizeof FILES / sizeof *FILES; i++) {
    blis_error error = {0};
    size_t size;
    char *text = fixture_read(FILES[i], &size);
    CHECK_OK(blis_catalogue_add_yaml(catalogue, FILES[i], text, size, &error), &error);
    free(text);
  }
  return catalogue;
}

static inline blis_model_spec fixture_model(const blis_catalogue *catalogue, const char *id) {
  const blis_model_spec *spec = NULL;
  blis_error error = {0};
  CHECK_OK(blis_catalogue_find_model_spec(catalogue, id, &spec, &error), &error);
  return *spec;
}

static inline blis_hardware_spec fixture_hardware(const blis_catalogue *catalogue,
                                                  const char *name) {
  const blis_catalogue_hardware *hardware = NULL;
  blis_error error = {0};
  CHECK_OK(blis_catalogue_find_hardware(catalogue, name, &hardware, &error), &error);
  return hardware->spec;
}

/* The default fit of trained-physics, and no alphas. */
static const double FIXTURE_ALPHA[] = {15563.199579, 777.3455, 45.907545};
static const double FIXTURE_BETA[] = {0.152128,    0.0,        1.36252915, 0.752037,
                                      32.09546717, 4.41684444, 126.024825, 481.8613888,
                                      0.0,         1.94710771, 0.752037};
static const blis_coefficients FIXTURE_FIT = {FIXTURE_ALPHA, 3, FIXTURE_BETA, 11};

/* {progress, new, prompt, output} */
static const blis_batch_item BATCH_DECODES[] = {
    {512, 1, 512, 128},   {600, 1, 512, 128},   {1024, 1, 1000, 256}, {1100, 1, 1000, 256},
    {2048, 1, 2000, 300}, {2200, 1, 2000, 300}, {4096, 1, 4000, 400}, {333, 1, 300, 64}};
static const blis_batch_item BATCH_PREFILLS[] = {{0, 1000, 1000, 100}, {512, 1048, 3000, 200}};
static const blis_batch_item BATCH_MIXED[] = {{0, 700, 700, 100},    {1024, 512, 2048, 100},
                                              {512, 1, 512, 128},    {600, 1, 512, 128},
                                              {1500, 1, 1000, 1000}, {3000, 1, 2000, 2000}};

#define COUNT_OF(array) (sizeof(array) / sizeof *(array))

/* The step time, after checking that both evaluations agree. */
static inline int64_t step_us(const blis_latency_model *model, const blis_batch_item *items,
                              size_t count) {
  int64_t plain = -1;
  int64_t from_sums = -1;
  blis_error error = {0};
  CHECK_OK(blis_latency_step_time(model, items, count, &plain, &error), &error);
  blis_batch_sums sums = blis_batch_sums_of(items, count);
  if (blis_latency_step_time_from_sums(model, &sums, &from_sums)) {
    CHECK_EQ_I64(from_sums, plain);
  }
  return plain;
}

#endif
