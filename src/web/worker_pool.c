/*
 * A browser has no processes to fork, so the tasks of a pool run in sequence when the caller waits
 * for them. A task cannot be stopped from outside, so time and memory limits do not apply; a page
 * stops the whole program.
 */
#include "lua/workers/worker_pool.h"

typedef struct waiting_task {
  struct waiting_task *next;
  int64_t number;
} waiting_task;

struct blis_worker_pool {
  blis_alloc alloc;
  blis_worker_options options;
  waiting_task *first;
  waiting_task **end; /* link of the next task */
  size_t count;
  blis_buffer text; /* text of the last reported result */
};

blis_status blis_worker_pool_new(const blis_alloc *alloc, const blis_worker_options *options,
                                 blis_worker_pool **pool, blis_error *error) {
  *pool = NULL;
  if (options->jobs < 1 || options->jobs > BLIS_WORKERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "jobs is %d, expected 1 to %d", options->jobs,
                     BLIS_WORKERS_MAX);
  }
  blis_worker_pool *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  self->options = *options;
  self->end = &self->first;
  blis_buffer_init(&self->text, alloc);
  *pool = self;
  return BLIS_OK;
}

/* Removes the task to which *link points. */
static int64_t unlink_task(blis_worker_pool *pool, waiting_task **link) {
  waiting_task *task = *link;
  int64_t number = task->number;
  *link = task->next;
  if (*link == NULL) {
    pool->end = link;
  }
  pool->count--;
  blis_alloc_free(&pool->alloc, task, sizeof *task);
  return number;
}

void blis_worker_pool_free(blis_worker_pool *pool) {
  if (pool == NULL) {
    return;
  }
  while (pool->first != NULL) {
    (void)unlink_task(pool, &pool->first);
  }
  blis_buffer_deinit(&pool->text);
  blis_alloc alloc = pool->alloc;
  blis_alloc_free(&alloc, pool, sizeof *pool);
}

blis_status blis_worker_pool_submit(blis_worker_pool *pool, int64_t task, int64_t time_limit_us,
                                    blis_error *error) {
  (void)time_limit_us;
  waiting_task *added = blis_alloc_zeroed(&pool->alloc, 1, sizeof *added);
  BLIS_TRY_NEW(added, error);
  added->number = task;
  *pool->end = added;
  pool->end = &added->next;
  pool->count++;
  return BLIS_OK;
}

bool blis_worker_pool_cancel(blis_worker_pool *pool, int64_t task) {
  for (waiting_task **link = &pool->first; *link != NULL; link = &(*link)->next) {
    if ((*link)->number == task) {
      (void)unlink_task(pool, link);
      return true;
    }
  }
  return false;
}

size_t blis_worker_pool_pending(const blis_worker_pool *pool) {
  return pool->count;
}

blis_status blis_worker_pool_wait(blis_worker_pool *pool, int64_t timeout_us,
                                  const blis_worker_watch *watch, blis_worker_result *result,
                                  bool *has_result, blis_error *error) {
  (void)timeout_us;
  (void)watch;
  (void)error;
  *has_result = pool->count > 0;
  if (!*has_result) {
    return BLIS_OK;
  }
  blis_buffer_clear(&pool->text);
  *result = (blis_worker_result){.task = unlink_task(pool, &pool->first)};
  result->outcome = pool->options.work(pool->options.ud, result->task, &pool->text);
  result->text = blis_buffer_slice(&pool->text);
  return BLIS_OK;
}
