/*
 * Configurations of public models against their publishers' totals and engines' cache sizes. The
 * table and the files are not part of this repository: without them, the test is skipped.
 */
#include "latency/config/model_reader.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check.h"
#include "latency/layers/totals.h"

enum { COLUMNS_MAX = 32, LINE_MAX_BYTES = 8192 };

/* Columns of the table by their titles. */
typedef struct table_row {
  char line[LINE_MAX_BYTES];
  const char *cells[COLUMNS_MAX];
  size_t count;
} table_row;

static table_row titles;
static table_row row;
static int64_t model_count;
static int64_t difference_count;

static void split(table_row *to) {
  to->line[strcspn(to->line, "\r\n")] = '\0';
  to->count = 0;
  for (char *at = to->line; at != NULL && to->count < COLUMNS_MAX;) {
    to->cells[to->count++] = at;
    at = strchr(at, '\t');
    if (at != NULL) {
      *at++ = '\0';
    }
  }
}

static const char *cell(const char *title) {
  for (size_t i = 0; i < titles.count && i < row.count; i++) {
    if (strcmp(titles.cells[i], title) == 0) {
      return row.cells[i];
    }
  }
  return "";
}

static void check_near(const char *what, double got, double tolerance) {
  char *end = NULL;
  double expected = strtod(cell(what), &end);
  if (end == cell(what)) {
    return;
  }
  if (fabs(got - expected) > tolerance * expected) {
    difference_count++;
    printf("# %s: %s: got %.8g, expected %.8g\n", cell("name"), what, got, expected);
  }
}

/* The file of this model states NVFP4 for its experts, and the table counts them in FP8. */
static const char *const IN_DOUBT = "RedHatAI/DeepSeek-V4-Flash-NVFP4-FP8";

static void check_weights(const char *what, double got) {
  if (strcmp(cell("name"), IN_DOUBT) != 0) {
    check_near(what, got, 0.03);
  }
}

static void check_model(const blis_layered_model *model) {
  blis_model_cache cache = blis_layered_cache(model, 1);
  check_near("total_G", blis_layered_parameters(model) / 1e9, 0.01);
  check_near("active_G", blis_layered_active_parameters(model) / 1e9, 0.02);
  check_weights("weight_GB", blis_layered_weight_bytes(model) / 1e9);
  check_near("kv_bytes_per_token", cache.token_bytes, 0.001);
  check_near("window_bytes_per_seq", cache.window_bytes, 0.01);
  check_near("state_bytes_per_seq", cache.state_bytes, 0.01);
  check_near("max_context", (double)model->max_tokens, 0.0);
  const blis_sharding eight = {8, 8};
  if (blis_layered_check_tp(model, 8, NULL) == BLIS_OK) {
    check_near("kv_per_gpu_tp8", blis_layered_cache(model, 8).token_bytes, 0.001);
    check_weights("weight_GB_per_gpu_tp8", blis_layered_weight_bytes_per_gpu(model, &eight) / 1e9);
  }
}

static void test_row(const char *shared) {
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/models/configs/%s", shared, cell("folder"));
  blis_layered_model model;
  blis_error error = {0};
  blis_alloc_probe probe = {0};
  blis_alloc alloc = blis_alloc_probed(&probe);
  model_count++;
  if (blis_model_read_path(&alloc, path, cell("folder"), NULL, &model, &error) != BLIS_OK) {
    difference_count++;
    printf("# %s: %s\n", cell("name"), error.message);
    return;
  }
  check_model(&model);
  blis_layered_model_free(&model);
  CHECK_EQ_I64(probe.live_bytes, 0);
}

static void test_all_rows(void) {
  const char *shared = getenv("BLIS_SHARED_DIR");
  char path[1024];
  (void)snprintf(path, sizeof path, "%s/models/models.tsv", shared != NULL ? shared : "../shared");
  FILE *file = fopen(path, "r");
  if (file == NULL) {
    SKIP("there is no table of models");
  }
  if (fgets(titles.line, sizeof titles.line, file) != NULL) {
    split(&titles);
  }
  while (fgets(row.line, sizeof row.line, file) != NULL) {
    split(&row);
    if (strncmp(cell("confidence"), "file seen", 9) == 0) {
      test_row(shared != NULL ? shared : "../shared");
    }
  }
  (void)fclose(file);
  CHECK(model_count > 0);
  CHECK_EQ_I64(difference_count, 0);
}

int main(void) {
  RUN(test_all_rows);
  return check_done();
}
