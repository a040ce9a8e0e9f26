#include "results/summary/tasks.h"

static int64_t task_of(const blis_task *task) {
  return task->end_us - task->start_us;
}

static int64_t delay_of(const blis_task *task) {
  return task->delay_us;
}

static int64_t tool_of(const blis_task *task) {
  return task->tool_us;
}

static int64_t queue_of(const blis_task *task) {
  return task->queue_us;
}

static int64_t prefill_of(const blis_task *task) {
  return task->prefill_us;
}

static int64_t decode_of(const blis_task *task) {
  return task->decode_us;
}

/* Computes the percentiles of a time over completed tasks. */
static void fill(blis_percentiles *times, blis_value_set *set, const blis_task *tasks, size_t count,
                 int64_t (*time_us)(const blis_task *task)) {
  blis_value_set_clear(set, false);
  for (size_t i = 0; i < count; i++) {
    if (tasks[i].state == BLIS_TASK_COMPLETED) {
      blis_value_set_add(set, time_us(&tasks[i]));
    }
  }
  blis_percentiles_of_set(times, set);
}

static void count_tasks(const blis_task *tasks, size_t count, int64_t duration_us,
                        blis_task_summary *s) {
  int64_t path_requests = 0;
  double prompt_tokens = 0;
  double cached_tokens = 0;
  double request_us = 0;
  double task_us = 0;
  s->started = (int64_t)count;
  for (size_t i = 0; i < count; i++) {
    const blis_task *task = &tasks[i];
    s->completed += task->state == BLIS_TASK_COMPLETED;
    s->broken += task->state == BLIS_TASK_BROKEN;
    s->unfinished += task->state == BLIS_TASK_UNFINISHED;
    s->requests += task->requests;
    prompt_tokens += (double)task->prompt_tokens;
    cached_tokens += (double)task->cached_tokens;
    s->never_sent += task->requests - task->submitted;
    if (task->state == BLIS_TASK_COMPLETED) {
      path_requests += task->path_requests;
      request_us += (double)task->request_us;
      task_us += (double)task_of(task);
    }
  }
  if (s->completed > 0) {
    s->path_requests = (double)path_requests / (double)s->completed;
  }
  s->cached_share = prompt_tokens > 0 ? cached_tokens / prompt_tokens : 0;
  s->parallelism = task_us > 0 ? request_us / task_us : 0;
  s->tasks_per_sec = duration_us > 0 ? (double)s->completed / ((double)duration_us / 1e6) : 0;
}

blis_status blis_tasks_summarise(const blis_alloc *alloc, const blis_task *tasks, size_t count,
                                 int64_t duration_us, blis_task_summary *summary) {
  *summary = (blis_task_summary){0};
  count_tasks(tasks, count, duration_us, summary);
  blis_value_set set;
  BLIS_TRY(blis_value_set_init(&set, alloc, count, false));
  fill(&summary->task_ms, &set, tasks, count, task_of);
  fill(&summary->queue_ms, &set, tasks, count, queue_of);
  fill(&summary->prefill_ms, &set, tasks, count, prefill_of);
  fill(&summary->decode_ms, &set, tasks, count, decode_of);
  fill(&summary->tool_ms, &set, tasks, count, tool_of);
  fill(&summary->delay_ms, &set, tasks, count, delay_of);
  blis_value_set_deinit(&set, alloc);
  return BLIS_OK;
}
