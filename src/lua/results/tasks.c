#include "lua/results/record_methods.h"

#include "lua/bind/bind.h"
#include "lua/results/figures.h"
#include "results/summary/tasks.h"

/* Raises if the tasks are unknown, because records do not contain the outcomes of tasks. */
static void check_is_known(lua_State *L, const bind_records *records) {
  if (records->source.graphs.player == NULL &&
      blis_recorder_has(records->recorder, BLIS_EXTRA_program)) {
    blis_error error = {0};
    blis_fail(&error, BLIS_ERR_INVALID,
              "requests:tasks(): files of results do not keep the tasks of "
              "session graphs; the result of the run has them, and its "
              "export_tasks writes them");
    bind_raise(L, &error);
  }
}

/* Returns the tasks; NULL without graphs. Raises if memory is exhausted. */
static const blis_task *check_tasks(lua_State *L, const bind_records *records, size_t *count) {
  *count = 0;
  if (records->source.graphs.player == NULL) {
    return NULL;
  }
  const blis_task *tasks = blis_graph_player_tasks(records->source.graphs.player, count);
  if (tasks == NULL && *count > 0) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return tasks;
}

bool push_tasks(lua_State *L, const bind_records *records, int64_t duration_us) {
  if (records->source.graphs.player == NULL) {
    return false;
  }
  size_t count;
  const blis_task *tasks = check_tasks(L, records, &count);
  int64_t from_us, to_us;
  if (blis_graph_player_measured(records->source.graphs.player, &from_us, &to_us)) {
    duration_us = (to_us < duration_us ? to_us : duration_us) - from_us;
  }
  blis_alloc alloc = bind_alloc(L);
  blis_task_summary summary;
  check_status(L, blis_tasks_summarise(&alloc, tasks, count, duration_us, &summary), NULL);
  lua_createtable(L, 0, 16);
  set_figures(L, BLIS_FIGURES_TASKS, &summary);
  return true;
}

static void push_task(lua_State *L, const blis_task *task, const blis_intern *strings) {
  static const char *const states[] = {[BLIS_TASK_COMPLETED] = "completed",
                                       [BLIS_TASK_BROKEN] = "broken",
                                       [BLIS_TASK_UNFINISHED] = "unfinished"};
  lua_createtable(L, 0, 22);
  set_field_text(L, "program", strings, task->program);
  set_field_integer(L, "play", task->play);
  set_field_string(L, "state", states[task->state]);
  set_field_integer(L, "requests", task->requests);
  set_field_integer(L, "submitted", task->submitted);
  set_field_integer(L, "completed", task->completed);
  set_field_integer(L, "path_requests", task->path_requests);
  set_field_integer(L, "start_us", task->start_us);
  set_field_integer(L, "end_us", task->end_us);
  set_field_integer(L, "queue_us", task->queue_us);
  set_field_integer(L, "prefill_us", task->prefill_us);
  set_field_integer(L, "decode_us", task->decode_us);
  set_field_integer(L, "tool_us", task->tool_us);
  set_field_integer(L, "delay_us", task->delay_us);
  set_field_integer(L, "request_us", task->request_us);
  set_field_integer(L, "waited_us", task->waited_us);
  set_field_integer(L, "prompt_tokens", task->prompt_tokens);
  set_field_integer(L, "cached_tokens", task->cached_tokens);
  set_field_number(
      L, "cached_share",
      task->prompt_tokens > 0 ? (double)task->cached_tokens / (double)task->prompt_tokens : 0);
  set_field_integer(L, "output_tokens", task->output_tokens);
}

int bind_records_tasks(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  size_t count;
  check_is_known(L, records);
  const blis_task *tasks = check_tasks(L, records, &count);
  lua_createtable(L, (int)count, 0);
  for (size_t i = 0; i < count; i++) {
    push_task(L, &tasks[i], records->source.source.strings);
    lua_rawseti(L, -2, (lua_Integer)i + 1);
  }
  return 1;
}

int bind_records_measured(lua_State *L) {
  const bind_records *records = check_records(L, 1);
  const blis_graph_player *player = records->source.graphs.player;
  int64_t from_us, to_us;
  if (player == NULL || !blis_graph_player_measured(player, &from_us, &to_us)) {
    lua_pushnil(L);
    return 1;
  }
  lua_pushinteger(L, from_us);
  lua_pushinteger(L, to_us);
  return 2;
}
