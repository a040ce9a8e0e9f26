#include "instance/sglang/sglang.h"

#include <inttypes.h>

#include "base/invariant.h"
#include "base/minmax.h"

int64_t blis__sglang_max_new(const blis__stepwise *engine, const blis_live_request *request) {
  const blis_instance_config *config = engine->config;
  int64_t page = config->block_size_tokens;
  int64_t pages = (request->prompt_tokens + page - 1) / page;
  int64_t alone = (config->kv_blocks - pages - 1) * page - 1;
  int64_t given = request->output_budget_tokens > 0
                      ? request->output_budget_tokens
                      : config->max_model_len_tokens - request->prompt_tokens;
  return blis_max_i64(blis_min_i64(given, alone), 0);
}

int64_t blis__sglang_outputs(const blis_live_request *request) {
  int64_t kv_tokens = blis_max_i64(request->progress_tokens, request->prefill_tokens);
  int64_t decoded = request->progress_tokens >= request->prefill_tokens;
  return kv_tokens - request->prompt_tokens + decoded;
}

int64_t blis__sglang_rest(const blis__stepwise *engine, const blis_live_request *request) {
  int64_t rest = blis__sglang_max_new(engine, request) - blis__sglang_outputs(request);
  return blis_max_i64(blis_min_i64(rest, BLIS__SGLANG_CLIP), 0);
}

static blis_status check_values(const blis_instance_config *config, blis_error *error) {
  const blis_sglang_config *sglang = config->sglang;
  bool is_ratio = sglang->init_ratio >= 0 && sglang->init_ratio <= 1 && sglang->min_ratio >= 0 &&
                  sglang->min_ratio <= sglang->init_ratio;
  if (sglang->chunk_tokens != 0 && sglang->chunk_tokens < config->block_size_tokens) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "chunked_prefill_size is %" PRId64 "; expected at least %" PRId64
                     ", the page size, or -1 for no chunks",
                     sglang->chunk_tokens, config->block_size_tokens);
  }
  if (sglang->max_prefill_tokens < 1 || sglang->decay_steps < 1 ||
      sglang->prefill_decode_interval < 0 || !is_ratio) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "SGLang's limits are max_prefill_tokens %" PRId64
                     ", ratios %g to %g in %" PRId64 " steps, interval %" PRId64
                     "; expected at least 1, 0 to 1, at least 1, and at least 0",
                     sglang->max_prefill_tokens, sglang->init_ratio, sglang->min_ratio,
                     sglang->decay_steps, sglang->prefill_decode_interval);
  }
  if (config->kv_blocks < 3) {
    return blis_fail(error, BLIS_ERR_INVALID,
                     "kv_blocks is %" PRId64 "; expected at least 3 pages for backend \"sglang\"",
                     config->kv_blocks);
  }
  return BLIS_OK;
}

blis_status blis__sglang_check(const blis_instance_config *config, blis_error *error) {
  BLIS_TRY(blis__serving_check(config, "sglang", error));
  return check_values(config, error);
}

int64_t blis__sglang_longest(const blis_instance_config *config) {
  int64_t alone = (config->kv_blocks - 1) * config->block_size_tokens;
  int64_t given = config->max_model_len_tokens;
  return given > 0 ? blis_min_i64(given, alone) : alone;
}

static int64_t count_running(const blis__stepwise *engine) {
  int64_t running = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    running += engine->batch.items[i]->tree.runs;
  }
  return running;
}

/* From now on, the prompts of the last batch decode, except a prompt with further chunks. */
static blis_status merge(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  bool was_empty = count_running(engine) + s->ended == 0;
  bool has_left = s->has_shrunk || s->chunked != NULL || s->config->mixes;
  bool has_joined = false;
  for (size_t i = 0; i < engine->batch.count; i++) {
    blis__sequence *sequence = engine->batch.items[i];
    if (!sequence->tree.joins) {
      continue;
    }
    BLIS_TRY(blis__sglang_publish(engine, sequence));
    if (sequence != s->chunked) {
      sequence->tree.joins = false;
      sequence->tree.runs = true;
      has_joined = true;
    }
  }
  s->is_full = s->is_full && !has_left && !(was_empty && has_joined);
  s->was_prefill = false;
  s->has_shrunk = false;
  return BLIS_OK;
}

/* Makes a request decode a token, for which there is a page. */
static void decode(blis__stepwise *engine, blis__sequence *sequence) {
  blis__sglang *s = blis__sglang_of(engine);
  blis_live_request *request = sequence->place.request;
  const blis_radix_path path = {sequence->tree.node, sequence->tree.tree_pages};
  int64_t pages = blis__sglang_pages_of(s, request->progress_tokens + 1);
  blis__sglang_hold(s, sequence, &path, pages - path.pages);
  request->new_tokens = 1;
  request->computed_tokens++;
}

/* All running requests decode. Rows of ended requests are computed once more. */
static blis_status decode_all(blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  for (size_t i = 0; i < engine->batch.count; i++) {
    if (engine->batch.items[i]->tree.runs) {
      decode(engine, engine->batch.items[i]);
    }
  }
  for (size_t i = 0; i < s->rows.count; i++) {
    const blis__sglang_row *row = &s->rows.items[i];
    const blis_batch_item item = {.progress_tokens = row->kv_tokens,
                                  .new_tokens = 1,
                                  .prompt_tokens = row->prompt_tokens,
                                  .output_tokens = row->output_tokens};
    BLIS_TRY(blis_array_push(&engine->alloc, &engine->wasted, item));
  }
  return BLIS_OK;
}

static void decay(blis__sglang *s) {
  const blis_sglang_config *config = s->config;
  double step = (config->init_ratio - config->min_ratio) / (double)config->decay_steps;
  s->ratio = s->ratio - step > config->min_ratio ? s->ratio - step : config->min_ratio;
}

/* Forms a step without prompts. *is_formed is false if nothing is running. */
static blis_status form_decodes(blis__stepwise *engine, bool *is_formed, blis_error *error) {
  blis__sglang *s = blis__sglang_of(engine);
  bool can = true;
  int64_t before = count_running(engine);
  bool has_left = s->ended > 0;
  s->ended = 0;
  s->ended_rest = 0;
  *is_formed = before + (int64_t)s->rows.count > 0;
  if (!*is_formed) {
    s->is_full = false;
    return BLIS_OK;
  }
  BLIS_TRY_MEM(blis__sglang_can_decode(engine, &can), error);
  if (can) {
    decay(s);
  } else {
    BLIS_TRY(blis__sglang_retract(engine, error));
    has_left = true;
  }
  s->is_full = s->is_full && !has_left;
  BLIS_TRY_MEM(decode_all(engine), error);
  *is_formed = count_running(engine) + (int64_t)engine->wasted.count > 0;
  return BLIS_OK;
}

/* Adds the decodes to a prefill batch, if allowed. */
static blis_status mix(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  bool can = false;
  s->ended = 0;
  s->ended_rest = 0;
  BLIS_TRY(blis__sglang_can_decode(engine, &can));
  return can ? decode_all(engine) : BLIS_OK;
}

static blis_status form_prefill(blis__stepwise *engine, bool *is_formed, blis_error *error) {
  blis__sglang *s = blis__sglang_of(engine);
  int64_t running = count_running(engine) + s->ended + (int64_t)s->rows.count;
  *is_formed = false;
  if (s->decodes_due > 0 && running > 0) {
    s->decodes_due--;
    return BLIS_OK;
  }
  BLIS_TRY(blis__sglang_prefill(engine, running, is_formed, error));
  if (*is_formed) {
    s->was_prefill = true;
    s->decodes_due = s->config->prefill_decode_interval;
    BLIS_TRY_MEM(s->config->mixes ? mix(engine) : BLIS_OK, error);
  }
  return BLIS_OK;
}

/* The results of rows arrive once the batch has been launched. */
static void take_results(blis__sglang *s) {
  for (size_t i = 0; i < s->rows.count; i++) {
    const blis__sglang_row *row = &s->rows.items[i];
    blis_radix_tree_unlock(s->tree, row->node);
    s->own_pages -= row->own_pages;
    s->ended_rest += row->rest_tokens;
  }
  s->ended += (int64_t)s->rows.count;
  s->rows.count = 0;
}

static blis_status form(blis__stepwise *engine, blis_error *error) {
  blis__sglang *s = blis__sglang_of(engine);
  bool is_formed = false;
  engine->budget_tokens = INT64_MAX;
  engine->defers_prefills = false;
  engine->has_preempted = false;
  engine->batch_size = (int64_t)engine->batch.count;
  engine->wasted.count = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    engine->batch.items[i]->place.request->new_tokens = 0;
  }
  if (s->was_prefill) {
    BLIS_TRY_MEM(merge(engine), error);
  }
  /* An idle pass takes no time. It only resets the conditions that kept prompts out. */
  for (int pass = 0; pass < 2 && !is_formed; pass++) {
    BLIS_TRY(form_prefill(engine, &is_formed, error));
    if (!is_formed) {
      BLIS_TRY(form_decodes(engine, &is_formed, error));
    }
    if (!is_formed) {
      s->ratio = s->config->init_ratio;
    }
  }
  engine->has_preempted |= engine->wasted.count > 0; /* so that the step is run */
  take_results(s);
  return BLIS_OK;
}

static blis_status add_row(blis__stepwise *engine, const blis__sequence *sequence) {
  blis__sglang *s = blis__sglang_of(engine);
  const blis_live_request *request = sequence->place.request;
  const blis__sglang_row row = {.node = sequence->tree.node,
                                .own_pages = sequence->tree.own_pages,
                                .kv_tokens = request->progress_tokens,
                                .prompt_tokens = request->prompt_tokens,
                                .output_tokens = request->output_tokens,
                                .rest_tokens = blis__sglang_rest(engine, request)};
  BLIS_TRY(blis_array_push(&engine->alloc, &s->rows, row));
  blis_radix_tree_lock(s->tree, row.node);
  s->own_pages += row.own_pages;
  return BLIS_OK;
}

static blis_status release(blis__stepwise *engine, blis__sequence *sequence) {
  blis__sglang *s = blis__sglang_of(engine);
  const blis__tree_kv *kv = &sequence->tree;
  if (kv->runs || kv->joins) {
    BLIS_TRY(blis__sglang_publish(engine, sequence));
    bool is_row = s->config->overlaps && sequence != s->chunked;
    if (is_row) {
      BLIS_TRY(add_row(engine, sequence));
    } else if (kv->joins) {
      s->has_shrunk = true;
    } else {
      s->ended++;
      s->ended_rest += blis__sglang_rest(engine, sequence->place.request);
    }
  }
  s->chunked = s->chunked == sequence ? NULL : s->chunked;
  blis__sglang_drop(s, sequence);
  return BLIS_OK;
}

static void rest(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  take_results(s);
  s->ended = 0;
  s->ended_rest = 0;
  s->is_full = false;
  s->was_prefill = false;
  s->has_shrunk = false;
  s->ratio = s->config->init_ratio;
}

static blis_status init(blis__stepwise *engine, blis_error *error) {
  const blis_sglang_config *config = engine->config->sglang;
  blis__sglang *s = blis_alloc_zeroed(&engine->alloc, 1, sizeof *s);
  BLIS_TRY_NEW(s, error);
  engine->serving_state = s;
  s->config = config;
  s->page_tokens = engine->config->block_size_tokens;
  s->ratio = config->init_ratio;
  blis_random_init(&s->random, config->seed);
  s->tree = blis_radix_tree_new(&engine->alloc);
  BLIS_TRY_NEW(s->tree, error);
  return BLIS_OK;
}

static void deinit(blis__stepwise *engine) {
  blis__sglang *s = blis__sglang_of(engine);
  if (s == NULL) {
    return;
  }
  blis_radix_tree_free(s->tree);
  blis_radix_tree_free(s->scratch);
  blis_array_deinit(&engine->alloc, &s->rows);
  blis_array_deinit(&engine->alloc, &s->prompts);
  blis_array_deinit(&engine->alloc, &s->places);
  blis_array_deinit(&engine->alloc, &s->merged);
  blis_array_deinit(&engine->alloc, &s->weights);
  blis_array_deinit(&engine->alloc, &s->firsts);
  blis_alloc_free(&engine->alloc, s, sizeof *s);
}

static void get_kv(const blis__stepwise *engine, blis_kv_cache_stats *stats) {
  const blis__sglang *s = blis__sglang_of(engine);
  *stats = (blis_kv_cache_stats){
      .blocks = engine->config->kv_blocks,
      .free_blocks = blis__sglang_free_pages(engine) + blis_radix_tree_evictable(s->tree),
      .references = s->references,
  };
}

static uint32_t cached_blocks(const blis__stepwise *engine, const blis_block_chain *chain) {
  return (uint32_t)blis_radix_tree_count(blis__sglang_of(engine)->tree, chain,
                                         chain->prompt_blocks);
}

static uint32_t cached_blocks_at_mark(const blis__stepwise *engine, const blis_block_chain *chain) {
  return (uint32_t)blis_radix_tree_count_at_mark(blis__sglang_of(engine)->tree, chain,
                                                 chain->prompt_blocks);
}

static void set_journal(blis__stepwise *engine, blis_block_journal *journal) {
  blis_radix_tree_set_journal(blis__sglang_of(engine)->tree, journal);
}

static blis_status forget(blis__stepwise *engine) {
  int64_t evicted;
  return blis_radix_tree_evict(blis__sglang_of(engine)->tree, INT64_MAX, &evicted);
}

static bool check(const blis__stepwise *engine) {
  const blis__sglang *s = blis__sglang_of(engine);
  int64_t own = 0;
  for (size_t i = 0; i < engine->batch.count; i++) {
    const blis__sequence *sequence = engine->batch.items[i];
    const blis_live_request *request = sequence->place.request;
    own += sequence->tree.own_pages;
    if (sequence->tree.runs == sequence->tree.joins ||
        blis__kv_held(sequence) != blis__sglang_pages_of(s, request->progress_tokens)) {
      return false;
    }
  }
  for (size_t i = 0; i < s->rows.count; i++) {
    own += s->rows.items[i].own_pages;
  }
  return own == s->own_pages && blis__sglang_free_pages(engine) >= 0 &&
         blis_radix_tree_check(s->tree);
}

const blis__serving_ops blis__serving_sglang = {
    .name = "sglang",
    .init = init,
    .deinit = deinit,
    .form = form,
    .release = release,
    .rest = rest,
    .get_kv = get_kv,
    .cached_blocks = cached_blocks,
    .cached_blocks_at_mark = cached_blocks_at_mark,
    .set_journal = set_journal,
    .forget = forget,
    .check = check,
};
