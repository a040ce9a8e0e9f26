/*
 * dynamo_host.c - a router as a plugin sees it: loads the selector, asks it
 * about the decisions in a file, and prints what it chose, an index a line.
 *
 *   dynamo_host PLUGIN POLICY DECISIONS
 *
 * A line of DECISIONS: isl_tokens session block_size count, then worker_id,
 * cached_tokens, active_prefill_tokens, total_kv_blocks and
 * max_num_batched_tokens of each candidate; "-" is no session.
 */
#include <dlfcn.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "dynamo_selector.h"

enum { CANDIDATES_MAX = 64, SESSION_SIZE = 64 };

static int read_candidates(FILE *file, dynamo_candidate *candidates, size_t count) {
  for (size_t i = 0; i < count; i++) {
    candidates[i] = (dynamo_candidate){.taint_multiplier = 1};
    dynamo_candidate *c = &candidates[i];
    if (fscanf(file, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &c->worker_id,
               &c->cached_tokens, &c->active_prefill_tokens, &c->total_kv_blocks,
               &c->max_num_batched_tokens) != 5) {
      return 0;
    }
  }
  return 1;
}

static int ask_all(const dynamo_worker_selector_plugin *plugin, void *selector, FILE *file) {
  static dynamo_candidate candidates[CANDIDATES_MAX];
  char session[SESSION_SIZE];
  dynamo_request request = {0};
  size_t count = 0;
  while (fscanf(file, "%" SCNu64 " %63s %" SCNu32 " %zu", &request.isl_tokens, session,
                &request.block_size_tokens, &count) == 4) {
    if (count == 0 || count > CANDIDATES_MAX || !read_candidates(file, candidates, count)) {
      fprintf(stderr, "a decision is not as expected\n");
      return 1;
    }
    request.session_id = strcmp(session, "-") == 0 ? NULL : session;
    printf("%" PRId64 "\n", plugin->select(selector, &request, candidates, count));
  }
  return 0;
}

int main(int argc, char **argv) {
  if (argc != 4) {
    fprintf(stderr, "usage: dynamo_host PLUGIN POLICY DECISIONS\n");
    return 2;
  }
  void *library = dlopen(argv[1], RTLD_NOW | RTLD_LOCAL);
  if (library == NULL) {
    fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const dynamo_worker_selector_plugin *plugin = dlsym(library, "dynamo_worker_selector_plugin_v1");
  char error[256] = "there is no dynamo_worker_selector_plugin_v1";
  void *selector = plugin == NULL ? NULL : plugin->create(argv[2], error, sizeof error);
  FILE *file = fopen(argv[3], "r");
  int status = 1;
  if (selector == NULL) {
    fprintf(stderr, "%s\n", error);
  } else if (file == NULL) {
    fprintf(stderr, "cannot open %s\n", argv[3]);
  } else {
    status = ask_all(plugin, selector, file);
  }
  if (file != NULL) {
    fclose(file);
  }
  if (plugin != NULL) {
    plugin->destroy(selector);
  }
  dlclose(library);
  return status;
}
