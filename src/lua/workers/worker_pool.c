#include "lua/workers/worker_pool.h"

#include <errno.h>
#include <poll.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/invariant.h"
#include "lua/workers/worker_process.h"

/* Standard input and output are the first polled descriptors. */
enum { WATCHED = 2 };

typedef struct waiting_task {
  int64_t number;
  int64_t time_limit_us; /* 0 = none */
} waiting_task;

/* Waiting tasks, as a ring. */
typedef struct queue {
  waiting_task *tasks;
  size_t capacity; /* a power of two, or 0 */
  size_t first;
  size_t count;
} queue;

struct blis_worker_pool {
  blis_alloc alloc;
  blis_worker_options options;
  pid_t owner; /* a forked copy of the pool must not kill any process */
  queue waiting;
  size_t busy;
  blis__worker *workers; /* options.jobs of them */
  struct pollfd *polled; /* WATCHED, then workers */
  int *polled_worker;
  int reported; /* worker whose text the caller may still read, or -1 */
};

static int64_t now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return (int64_t)time.tv_sec * 1000000 + time.tv_nsec / 1000;
}

blis_status blis_worker_pool_new(const blis_alloc *alloc, const blis_worker_options *options,
                                 blis_worker_pool **pool, blis_error *error) {
  *pool = NULL;
  if (options->jobs < 1 || options->jobs > BLIS_WORKERS_MAX) {
    return blis_fail(error, BLIS_ERR_INVALID, "jobs is %d, expected 1 to %d", options->jobs,
                     BLIS_WORKERS_MAX);
  }
  size_t jobs = (size_t)options->jobs;
  blis_worker_pool *self = blis_alloc_zeroed(alloc, 1, sizeof *self);
  BLIS_TRY_NEW(self, error);
  self->alloc = *alloc;
  self->options = *options;
  self->owner = getpid();
  self->reported = -1;
  self->workers = blis_alloc_zeroed(alloc, jobs, sizeof *self->workers);
  self->polled = blis_alloc_zeroed(alloc, jobs + WATCHED, sizeof *self->polled);
  self->polled_worker = blis_alloc_zeroed(alloc, jobs, sizeof *self->polled_worker);
  if (self->workers == NULL || self->polled == NULL || self->polled_worker == NULL) {
    blis_worker_pool_free(self);
    return blis_fail_nomem(error);
  }
  for (size_t i = 0; i < jobs; i++) {
    blis_buffer_init(&self->workers[i].input, alloc);
  }
  *pool = self;
  return BLIS_OK;
}

static void free_workers(blis_worker_pool *pool) {
  int detail = 0;
  bool is_owner = pool->owner == getpid();
  for (int i = 0; pool->workers != NULL && i < pool->options.jobs; i++) {
    blis__worker *worker = &pool->workers[i];
    if (worker->process != 0 && is_owner) {
      (void)blis__worker_stop(worker, &detail);
    }
    blis_buffer_deinit(&worker->input);
  }
}

void blis_worker_pool_free(blis_worker_pool *pool) {
  if (pool == NULL) {
    return;
  }
  free_workers(pool);
  size_t jobs = (size_t)pool->options.jobs;
  blis_alloc alloc = pool->alloc;
  blis_alloc_free(&alloc, pool->workers, jobs * sizeof *pool->workers);
  blis_alloc_free(&alloc, pool->polled, (jobs + WATCHED) * sizeof *pool->polled);
  blis_alloc_free(&alloc, pool->polled_worker, jobs * sizeof *pool->polled_worker);
  blis_alloc_free(&alloc, pool->waiting.tasks,
                  pool->waiting.capacity * sizeof *pool->waiting.tasks);
  blis_alloc_free(&alloc, pool, sizeof *pool);
}

static blis_status grow(blis_worker_pool *pool, blis_error *error) {
  queue *waiting = &pool->waiting;
  size_t capacity = waiting->capacity == 0 ? 64 : waiting->capacity * 2;
  waiting_task *tasks = blis_alloc_zeroed(&pool->alloc, capacity, sizeof *tasks);
  BLIS_TRY_NEW(tasks, error);
  for (size_t i = 0; i < waiting->count; i++) {
    tasks[i] = waiting->tasks[(waiting->first + i) & (waiting->capacity - 1)];
  }
  blis_alloc_free(&pool->alloc, waiting->tasks, waiting->capacity * sizeof *waiting->tasks);
  waiting->tasks = tasks;
  waiting->capacity = capacity;
  waiting->first = 0;
  return BLIS_OK;
}

blis_status blis_worker_pool_submit(blis_worker_pool *pool, int64_t task, int64_t time_limit_us,
                                    blis_error *error) {
  queue *waiting = &pool->waiting;
  if (waiting->count == waiting->capacity) {
    BLIS_TRY(grow(pool, error));
  }
  size_t end = (waiting->first + waiting->count) & (waiting->capacity - 1);
  BLIS_ASSERT(waiting->count < waiting->capacity);
  waiting->tasks[end] = (waiting_task){
      .number = task,
      .time_limit_us = time_limit_us > 0 ? time_limit_us : pool->options.time_limit_us};
  waiting->count++;
  return BLIS_OK;
}

/* Removes a task from the queue, which keeps its order. */
static bool forget_waiting(queue *waiting, int64_t task) {
  size_t mask = waiting->capacity - 1, kept = 0;
  for (size_t i = 0; i < waiting->count; i++) {
    waiting_task one = waiting->tasks[(waiting->first + i) & mask];
    if (one.number != task) {
      waiting->tasks[(waiting->first + kept++) & mask] = one;
    }
  }
  bool was_there = kept < waiting->count;
  waiting->count = kept;
  return was_there;
}

bool blis_worker_pool_cancel(blis_worker_pool *pool, int64_t task) {
  if (forget_waiting(&pool->waiting, task)) {
    return true;
  }
  for (int i = 0; i < pool->options.jobs; i++) {
    blis__worker *worker = &pool->workers[i];
    if (worker->is_busy && worker->task == task) {
      int detail = 0;
      (void)blis__worker_stop(worker, &detail);
      BLIS_ASSERT(pool->busy > 0);
      pool->busy--;
      return true;
    }
  }
  return false;
}

size_t blis_worker_pool_pending(const blis_worker_pool *pool) {
  return pool->waiting.count + pool->busy;
}

/* Sends the next task to a worker; returns false if the worker is dead. */
static bool hand_over(blis_worker_pool *pool, blis__worker *worker) {
  queue *waiting = &pool->waiting;
  const waiting_task task = waiting->tasks[waiting->first];
  if (!blis__worker_send(worker, task.number)) {
    return false;
  }
  waiting->first = (waiting->first + 1) & (waiting->capacity - 1);
  waiting->count--;
  pool->busy++;
  BLIS_ASSERT(pool->busy <= (size_t)pool->options.jobs);
  worker->deadline_us = task.time_limit_us > 0 ? now_us() + task.time_limit_us : INT64_MAX;
  return true;
}

/* Sends the next task to a worker, and starts its process if it has none. */
static blis_status hand_out(blis_worker_pool *pool, blis__worker *worker, blis_error *error) {
  int detail = 0;
  /* An idle worker that died is replaced silently. */
  while (worker->process == 0 || !hand_over(pool, worker)) {
    if (worker->process != 0) {
      (void)blis__worker_stop(worker, &detail);
    }
    BLIS_TRY(blis__worker_start(worker, &pool->options, pool->workers, pool->options.jobs, error));
  }
  return BLIS_OK;
}

/* Hands out all tasks. If only some processes can be started, the pool continues with these. */
static blis_status hand_out_all(blis_worker_pool *pool, blis_error *error) {
  for (int i = 0; pool->waiting.count > 0 && i < pool->options.jobs; i++) {
    if (pool->workers[i].is_busy) {
      continue;
    }
    blis_status status = hand_out(pool, &pool->workers[i], error);
    if (status != BLIS_OK) {
      return pool->busy > 0 ? BLIS_OK : status;
    }
  }
  return BLIS_OK;
}

/* Lists the other watched descriptors; poll skips negative ones. */
static void list_watched(blis_worker_pool *pool, const blis_worker_watch *watch) {
  pool->polled[0] = (struct pollfd){.fd = watch->for_input ? STDIN_FILENO : -1, .events = POLLIN};
  pool->polled[1] =
      (struct pollfd){.fd = watch->for_output ? STDOUT_FILENO : -1, .events = POLLOUT};
}

static bool has_watched(const blis_worker_pool *pool) {
  return pool->polled[0].revents != 0 || pool->polled[1].revents != 0;
}

/* Fills pool->polled. Returns the number of busy workers, and sets the first deadline. */
static int list_busy(blis_worker_pool *pool, int64_t *deadline_us) {
  int count = 0;
  for (int i = 0; i < pool->options.jobs; i++) {
    const blis__worker *worker = &pool->workers[i];
    if (!worker->is_busy) {
      continue;
    }
    pool->polled[WATCHED + count] = (struct pollfd){.fd = worker->socket, .events = POLLIN};
    pool->polled_worker[count] = i;
    count++;
    if (worker->deadline_us < *deadline_us) {
      *deadline_us = worker->deadline_us;
    }
  }
  BLIS_ASSERT((size_t)count == pool->busy);
  return count;
}

/* Returns the milliseconds from now until until_us, rounded up, as poll needs them. */
static int poll_timeout(int64_t until_us) {
  if (until_us == INT64_MAX) {
    return -1;
  }
  int64_t left_us = until_us - now_us();
  if (left_us <= 0) {
    return 0;
  }
  int64_t ms = left_us / 1000 + 1;
  return ms > 60000 ? 60000 : (int)ms;
}

static void set_idle(blis_worker_pool *pool, int index) {
  BLIS_ASSERT(pool->busy > 0 && pool->reported < 0);
  pool->workers[index].is_busy = false;
  pool->busy--;
  pool->reported = index;
}

/* Handles output or the death of a worker. Returns true if *result contains the result of its
   task. */
static bool hear(blis_worker_pool *pool, int index, blis_worker_result *result) {
  blis__worker *worker = &pool->workers[index];
  blis__worker_news news = blis__worker_receive(worker);
  if (news == BLIS__WORKER_SILENT) {
    return false;
  }
  int detail = 0;
  if (news == BLIS__WORKER_ANSWERED) {
    blis__worker_result(worker, result);
    BLIS_ASSERT(result->task == worker->task);
    if (result->outcome == BLIS_WORKER_NO_MEMORY || pool->options.is_fresh) {
      (void)blis__worker_stop(worker, &detail);
    }
  } else {
    result->task = worker->task;
    result->text = (blis_slice){.data = "", .length = 0};
    result->outcome = blis__worker_stop(worker, &result->detail);
  }
  set_idle(pool, index);
  return true;
}

/* Ends the first overdue worker. Returns true if *result describes its task. */
static bool end_overdue(blis_worker_pool *pool, blis_worker_result *result) {
  int64_t now = now_us();
  for (int i = 0; i < pool->options.jobs; i++) {
    blis__worker *worker = &pool->workers[i];
    if (worker->is_busy && worker->deadline_us <= now) {
      result->task = worker->task;
      (void)blis__worker_stop(worker, &result->detail);
      result->outcome = BLIS_WORKER_TIMEOUT;
      result->text = (blis_slice){.data = "", .length = 0};
      set_idle(pool, i);
      return true;
    }
  }
  return false;
}

static bool hear_all(blis_worker_pool *pool, int count, blis_worker_result *result) {
  for (int i = 0; i < count; i++) {
    if (pool->polled[WATCHED + i].revents != 0 && hear(pool, pool->polled_worker[i], result)) {
      return true;
    }
  }
  return end_overdue(pool, result);
}

static void forget_reported(blis_worker_pool *pool) {
  if (pool->reported >= 0) {
    blis_buffer_clear(&pool->workers[pool->reported].input);
    pool->reported = -1;
  }
}

blis_status blis_worker_pool_wait(blis_worker_pool *pool, int64_t timeout_us,
                                  const blis_worker_watch *watch, blis_worker_result *result,
                                  bool *has_result, blis_error *error) {
  static const blis_worker_watch nothing = {0};
  watch = watch == NULL ? &nothing : watch;
  bool is_watching = watch->for_input || watch->for_output;
  *has_result = false;
  forget_reported(pool);
  int64_t end_us = timeout_us < 0 ? INT64_MAX : now_us() + timeout_us;
  BLIS_TRY(hand_out_all(pool, error));
  while ((pool->busy > 0 || is_watching) && !*has_result) {
    int64_t until_us = end_us;
    list_watched(pool, watch);
    int count = list_busy(pool, &until_us);
    int ready = poll(pool->polled, (nfds_t)(WATCHED + count), poll_timeout(until_us));
    if (ready < 0) {
      return errno == EINTR ? BLIS_OK : blis_fail(error, BLIS_ERR_IO, "poll: %s", strerror(errno));
    }
    *has_result = hear_all(pool, count, result);
    bool is_over = end_us != INT64_MAX && now_us() >= end_us;
    if (!*has_result && (is_over || has_watched(pool))) {
      return BLIS_OK;
    }
  }
  /* A free worker gets the next task while the caller processes the result. */
  if (*has_result && pool->waiting.count > 0 && pool->workers[pool->reported].process != 0) {
    (void)hand_over(pool, &pool->workers[pool->reported]);
  }
  return BLIS_OK;
}
