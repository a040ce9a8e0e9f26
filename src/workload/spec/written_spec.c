#include "workload/spec/written_spec.h"

#include <stdio.h>
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "workload/spec/notes.h"
#include "workload/spec/sections.h"

enum { MAX_SIZE = 1 << 28 };

struct blis_written_spec {
  blis_alloc alloc;
  blis_arena arena; /* storage of everything that is read */
  blis__spec_top top;
  BLIS_ARRAY(const char *) notes;
};

void blis_written_spec_free(blis_written_spec *written) {
  if (written == NULL) {
    return;
  }
  blis_alloc alloc = written->alloc;
  blis_arena_deinit(&written->arena);
  blis_array_deinit(&alloc, &written->notes);
  blis_alloc_free(&alloc, written, sizeof *written);
}

const blis_workload_spec *blis_written_spec_get(const blis_written_spec *written) {
  return &written->top.spec;
}

size_t blis_written_spec_note_count(const blis_written_spec *written) {
  return written->notes.count;
}

const char *blis_written_spec_note(const blis_written_spec *written, size_t index) {
  return written->notes.items[index];
}

static blis_status add_note(void *ud, const char *text) {
  blis_written_spec *written = ud;
  const char *copy = blis_arena_text(&written->arena, text, strlen(text));
  return copy == NULL ? BLIS_ERR_NOMEM : blis_array_push(&written->alloc, &written->notes, copy);
}

/* Reading. */

typedef struct reading {
  blis_written_spec *written;
  const blis_yaml_node *root;
  const blis_spec_settings *settings;
  blis__spec_reader reader;
} reading;

/*
 * Starts a message with the position of its subject. For an omitted member, the position of its
 * section is used.
 */
static blis_status locate(const reading *r, const blis_spec_fault *fault, blis_status status,
                          blis_error *error) {
  if (status != BLIS_ERR_INVALID || error == NULL) {
    return status;
  }
  const blis_yaml_node *whole = blis__spec_find_struct(&r->reader, fault->whole);
  const blis_yaml_node *node = blis__spec_find(&r->reader, fault->member);
  bool is_left_out = fault->member != NULL && node == NULL && whole != NULL;
  node = node != NULL ? node : whole != NULL ? whole : r->root;
  char place[448];
  if (*blis_yaml_file(node) != '\0') {
    snprintf(place, sizeof place, "%.400s:%lld", blis_yaml_file(node),
             (long long)blis_yaml_line(node));
  } else {
    snprintf(place, sizeof place, "%s", blis_yaml_place_of(node).text);
    place[strlen(place) - 1] = '\0';
  }
  const blis_error cause = *error;
  return blis_fail(error, BLIS_ERR_PARSE, "%s: %s%s", place, cause.message,
                   is_left_out ? " (it was left out)" : "");
}

static bool has_version(const reading *r) {
  const char *version = r->written->top.version;
  return version != NULL && *version != '\0';
}

/* Checks the version. Keys with the names of all versions are accepted. */
static blis_status check_version(const reading *r, bool *is_old, blis_error *error) {
  const char *version = r->written->top.version;
  *is_old = !has_version(r) || strcmp(version, "1") == 0;
  if (*is_old || strcmp(version, "2") == 0) {
    return BLIS_OK;
  }
  const blis_yaml_node *node = blis__spec_find(&r->reader, &r->written->top.version);
  return blis_yaml_fail(node, "is not a workload version; known are 1 and 2", error);
}

/* Returns a client that may be changed; data in the arena is mutable until it is returned. */
static blis_client_spec *client_at(blis_workload_spec *spec, size_t index) {
  return (blis_client_spec *)blis_workload_spec_client(spec, index);
}

static size_t client_count(const blis_workload_spec *spec) {
  return spec->client_count + spec->cohort_count;
}

/*
 * Renames classes of version 1, which is assumed for files without a version. Version 2 also has a
 * class realtime. A script without a version keeps this name, so that its targets match.
 */
static blis_status upgrade_classes(reading *r) {
  static const char *const renamed[][2] = {{"realtime", "critical"}, {"interactive", "standard"}};
  int first = r->settings->is_script && !has_version(r) ? 1 : 0;
  blis_workload_spec *spec = &r->written->top.spec;
  bool is_noted[2] = {false, false};
  for (size_t i = 0; i < client_count(spec); i++) {
    blis_client_spec *client = client_at(spec, i);
    for (int j = first; client->slo_class != NULL && j < 2; j++) {
      if (strcmp(client->slo_class, renamed[j][0]) != 0) {
        continue;
      }
      client->slo_class = renamed[j][1];
      if (!is_noted[j]) {
        char text[96];
        snprintf(text, sizeof text, "slo_class %s is now named %s", renamed[j][0], renamed[j][1]);
        BLIS_TRY(add_note(r->written, text));
      }
      is_noted[j] = true;
    }
  }
  return BLIS_OK;
}

static void fill_defaults(reading *r) {
  blis_workload_spec *spec = &r->written->top.spec;
  for (size_t i = 0; i < client_count(spec); i++) {
    blis_client_spec *client = client_at(spec, i);
    if (client->concurrency != 0) {
      continue;
    }
    if (blis__spec_find(&r->reader, &client->rate_fraction) == NULL) {
      client->rate_fraction = 1;
    }
    if (blis__spec_find(&r->reader, &client->arrival) == NULL) {
      client->arrival.process = "poisson";
    }
  }
}

/* Applies the settings that do not affect clients. */
static void apply_totals(reading *r) {
  blis__spec_top *top = &r->written->top;
  const blis_spec_settings *s = r->settings;
  if (s->replaces_seed || !top->has_seed) {
    top->spec.seed = s->seed;
  }
  if (s->replaces_num_requests) {
    top->spec.num_requests = s->num_requests;
  }
  if (s->replaces_horizon || top->spec.horizon_us == 0) {
    top->spec.horizon_us = s->horizon_us;
  }
  if (s->replaces_tokens) {
    top->spec.lazy_tokens = s->lazy_tokens;
  }
  top->spec.keep_tokens = top->spec.keep_tokens || s->keep_tokens;
  top->spec.rules = s->rules;
  top->spec.keeps_group_prefixes = s->keeps_group_prefixes;
}

static void apply_timeout(reading *r) {
  blis_workload_spec *spec = &r->written->top.spec;
  spec->has_run_timeout = r->settings->replaces_timeout;
  for (size_t i = 0; spec->has_run_timeout && i < client_count(spec); i++) {
    client_at(spec, i)->timeout_us = r->settings->timeout_us;
    client_at(spec, i)->has_no_timeout = r->settings->timeout_us == 0;
  }
}

static blis_status check_adapters(const reading *r, blis_error *error) {
  const blis_workload_spec *spec = &r->written->top.spec;
  for (size_t i = 0; r->settings->refuses_adapters && i < client_count(spec); i++) {
    const blis_client_spec *client = blis_workload_spec_client(spec, i);
    if (client->adapter != NULL && *client->adapter != '\0') {
      char label[BLIS_CLIENT_LABEL_SIZE];
      blis_status status =
          blis_fail(error, BLIS_ERR_INVALID,
                    "%s: unknown adapter '%.100s': cluster.lora (--lora-config) has none",
                    blis_client_label(spec, i, label), client->adapter);
      const blis_spec_fault fault = {&client->adapter, client};
      return locate(r, &fault, status, error);
    }
  }
  return BLIS_OK;
}

static blis_status check_exclusive(const reading *r, blis_error *error) {
  const blis__spec_top *top = &r->written->top;
  const struct {
    bool is_there;
    const char *key;
  } kinds[] = {{top->spec.client_count > 0, "clients"},
               {top->servegen != NULL, "servegen_data"},
               {top->inference_perf != NULL, "inference_perf"}};
  for (size_t i = 0; i < 3; i++) {
    for (size_t j = 0; j < i; j++) {
      if (kinds[i].is_there && kinds[j].is_there) {
        blis_status status =
            blis_fail(error, BLIS_ERR_INVALID, "%s and %s exclude each other; remove one of them",
                      kinds[j].key, kinds[i].key);
        return locate(r, &(blis_spec_fault){0}, status, error);
      }
    }
  }
  return BLIS_OK;
}

static blis_status expand_inference_perf(reading *r, blis_error *error) {
  blis__spec_top *top = &r->written->top;
  double written_rate = top->spec.aggregate_rate;
  blis_spec_fault fault;
  blis_status status = blis_inference_perf_expand(top->inference_perf, &r->written->arena,
                                                  &top->spec, &fault, error);
  if (status != BLIS_OK) {
    return locate(r, &fault, status, error);
  }
  if (written_rate != 0 && written_rate != top->spec.aggregate_rate) {
    char text[128];
    snprintf(text, sizeof text, "aggregate_rate %g is overridden by that of inference_perf, %g",
             written_rate, top->spec.aggregate_rate);
    BLIS_TRY_MEM(add_note(r->written, text), error);
  }
  return BLIS_OK;
}

/* Expands servegen_data. A relative path starts in the folder of the file that contains it. */
static blis_status expand_servegen(reading *r, blis_error *error) {
  blis__spec_top *top = &r->written->top;
  blis_servegen_spec *servegen = (blis_servegen_spec *)top->servegen;
  const char *folder = r->settings->folder;
  bool is_relative = servegen->path != NULL && *servegen->path != '\0' && *servegen->path != '/';
  if (is_relative && folder != NULL) {
    size_t size = strlen(folder) + strlen(servegen->path) + 2;
    char *path = blis_arena_new(&r->written->arena, size);
    BLIS_TRY_NEW(path, error);
    snprintf(path, size, "%s/%s", folder, servegen->path);
    servegen->path = path;
  }
  blis_spec_fault fault;
  blis_status status = blis_servegen_expand(servegen, &r->written->alloc, &r->written->arena,
                                            &top->spec, add_note, r->written, &fault, error);
  return locate(r, &fault, status, error);
}

static blis_status expand(reading *r, blis_error *error) {
  BLIS_TRY(check_exclusive(r, error));
  if (r->written->top.inference_perf != NULL) {
    BLIS_TRY(expand_inference_perf(r, error));
  }
  return r->written->top.servegen != NULL ? expand_servegen(r, error) : BLIS_OK;
}

static blis_status keep_cohorts(const reading *r, blis_error *error) {
  const char *prefix = r->settings->cohort_prefix;
  if (prefix == NULL) {
    return BLIS_OK;
  }
  blis_workload_spec *spec = &r->written->top.spec;
  blis_cohort_spec *cohorts = (blis_cohort_spec *)spec->cohorts;
  size_t kept = 0;
  for (size_t i = 0; i < spec->cohort_count; i++) {
    const char *id = cohorts[i].client.id;
    if (id != NULL && strncmp(id, prefix, strlen(prefix)) == 0) {
      cohorts[kept++] = cohorts[i];
    }
  }
  spec->client_count = 0;
  spec->cohort_count = kept;
  return kept > 0 ? BLIS_OK
                  : blis_fail(error, BLIS_ERR_INVALID,
                              "no cohort has an id that starts with '%.100s'", prefix);
}

static blis_status read_all(reading *r, blis_error *error) {
  blis_written_spec *written = r->written;
  BLIS_TRY(blis__spec_read(&r->reader, r->root, &blis__spec_top_section, &written->top, error));
  bool is_old;
  BLIS_TRY(check_version(r, &is_old, error));
  if (r->settings->is_script) {
    fill_defaults(r);
  }
  apply_totals(r);
  BLIS_TRY(expand(r, error));
  BLIS_TRY(keep_cohorts(r, error));
  BLIS_TRY(check_adapters(r, error));
  apply_timeout(r);
  if (is_old && upgrade_classes(r) != BLIS_OK) {
    return blis_fail_nomem(error);
  }
  blis_spec_fault fault = {0};
  blis_error own_error;
  error = error != NULL ? error : &own_error;
  int64_t *num_requests = &written->top.spec.num_requests;
  bool lets_end = r->settings->may_be_endless && *num_requests == 0;
  *num_requests = lets_end ? 1 : *num_requests;
  blis_status status = blis_workload_spec_check(&written->top.spec, &fault, error);
  *num_requests = lets_end ? 0 : *num_requests;
  BLIS_TRY(locate(r, &fault, status, error));
  status = blis__spec_note_unused(&r->reader, &written->top, add_note, written);
  return status == BLIS_OK ? BLIS_OK : blis_fail_nomem(error);
}

static blis_written_spec *written_new(const blis_alloc *alloc) {
  blis_written_spec *written = blis_alloc_zeroed(alloc, 1, sizeof *written);
  if (written != NULL) {
    written->alloc = *alloc;
    blis_arena_init(&written->arena, alloc);
  }
  return written;
}

blis_status blis_written_spec_from(const blis_alloc *alloc, const blis_yaml_node *root,
                                   const blis_spec_settings *settings, blis_written_spec **written,
                                   blis_error *error) {
  const blis_spec_settings no_settings = {0};
  blis_written_spec *made = written_new(alloc);
  BLIS_TRY_NEW(made, error);
  reading r = {
      .written = made, .root = root, .settings = settings != NULL ? settings : &no_settings};
  blis__spec_reader_init(&r.reader, alloc, &made->arena, r.settings->is_script);
  blis_status status = read_all(&r, error);
  blis__spec_reader_deinit(&r.reader);
  if (status != BLIS_OK) {
    blis_written_spec_free(made);
    return status;
  }
  *written = made;
  return BLIS_OK;
}

/* Returns the folder of a path; NULL = the current folder, or out of memory. */
static char *folder_of(const blis_alloc *alloc, const char *path, size_t *size) {
  const char *slash = strrchr(path, '/');
  *size = slash != NULL ? (size_t)(slash - path) + 1 : 0;
  char *folder = *size > 0 ? blis_alloc_new(alloc, *size) : NULL;
  if (folder != NULL) {
    memcpy(folder, path, *size - 1);
    folder[*size - 1] = '\0';
  }
  return folder;
}

blis_status blis_written_spec_read(const blis_alloc *alloc, const char *path,
                                   const blis_spec_settings *settings, blis_written_spec **written,
                                   blis_error *error) {
  blis_spec_settings all = {0};
  if (settings != NULL) {
    all = *settings;
  }
  blis_yaml *yaml;
  BLIS_TRY(blis_yaml_read_file(alloc, path, MAX_SIZE, &yaml, error));
  size_t size;
  char *folder = folder_of(alloc, path, &size);
  blis_status status;
  if (size > 0 && folder == NULL) {
    status = blis_fail_nomem(error);
  } else {
    all.folder = all.folder != NULL ? all.folder : folder;
    status = blis_written_spec_from(alloc, blis_yaml_root(yaml), &all, written, error);
  }
  blis_alloc_free(alloc, folder, size);
  blis_yaml_free(yaml);
  return status;
}
