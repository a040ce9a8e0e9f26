#include "lua/simulation/event_queue.h"

#include "base/containers/event_queue.h"
#include "lua/bind/bind.h"

#define EVENT_QUEUE_TYPE "blis.event_queue"

/*
 * User values. One table contains the value of event n at n and its handle at -n. Another table
 * contains n at the handle. Popping and canceling therefore remove all references to an event.
 */
enum { VALUES = 1, NUMBERS };

typedef struct event_queue {
  blis_event_queue *queue; /* NULL once closed */
  uint64_t last_number;
} event_queue;

static event_queue *check_queue(lua_State *L) {
  event_queue *self = luaL_checkudata(L, 1, EVENT_QUEUE_TYPE);
  luaL_argcheck(L, self->queue != NULL, 1, "the event queue is closed");
  return self;
}

int bind_event_queue_new(lua_State *L) {
  event_queue *self = lua_newuserdatauv(L, sizeof *self, 2);
  *self = (event_queue){0};
  luaL_setmetatable(L, EVENT_QUEUE_TYPE);
  lua_newtable(L);
  lua_setiuservalue(L, -2, VALUES);
  lua_newtable(L);
  lua_setiuservalue(L, -2, NUMBERS);
  blis_alloc alloc = bind_alloc(L);
  self->queue = blis_event_queue_new(&alloc);
  if (self->queue == NULL) {
    check_status(L, BLIS_ERR_NOMEM, NULL);
  }
  return 1;
}

static int queue_close(lua_State *L) {
  event_queue *self = luaL_checkudata(L, 1, EVENT_QUEUE_TYPE);
  blis_event_queue_free(self->queue);
  self->queue = NULL;
  return 0;
}

static void set_at(lua_State *L, int table, lua_Integer key, int value) {
  lua_pushvalue(L, value);
  lua_rawseti(L, table, key);
}

/* Forgets event n and its handle; pushes its value. */
static void push_forgotten(lua_State *L, lua_Integer n) {
  lua_getiuservalue(L, 1, VALUES);
  int values = lua_gettop(L);
  lua_getiuservalue(L, 1, NUMBERS);
  lua_rawgeti(L, values, n);
  lua_rawgeti(L, values, -n);
  lua_Integer handle = lua_tointeger(L, -1);
  lua_pop(L, 1);
  lua_pushnil(L);
  set_at(L, values, n, -1);
  set_at(L, values, -n, -1);
  set_at(L, values + 1, handle, -1);
  lua_pop(L, 1); // [.., values, numbers, value]
}

/* push(time_us, value [, class]): returns a handle. */
static int queue_push(lua_State *L) {
  enum { VALUE = 3, TABLE = 5 };
  event_queue *self = check_queue(L);
  blis_event event = {.time_us = luaL_checkinteger(L, 2)};
  luaL_checkany(L, VALUE);
  lua_Integer event_class = luaL_optinteger(L, 4, 0);
  luaL_argcheck(L, event_class >= INT32_MIN && event_class <= INT32_MAX, 4, "out of range");
  event.event_class = (int32_t)event_class;
  event.number = ++self->last_number;
  lua_Integer n = (lua_Integer)event.number;
  blis_event_handle handle = BLIS_EVENT_NONE;
  lua_settop(L, 4);
  lua_getiuservalue(L, 1, VALUES);
  lua_getiuservalue(L, 1, NUMBERS);
  set_at(L, TABLE, n, VALUE);
  check_status(L, blis_event_queue_push(self->queue, &event, &handle), NULL);
  lua_pushinteger(L, (lua_Integer)handle);
  set_at(L, TABLE, -n, -1);
  lua_pushinteger(L, n);
  lua_rawseti(L, TABLE + 1, (lua_Integer)handle);
  return 1;
}

/* pop(): returns time_us, value, and class of the next event; nil if the queue is empty. */
static int queue_pop(lua_State *L) {
  event_queue *self = check_queue(L);
  blis_event event;
  if (!blis_event_queue_pop(self->queue, &event)) {
    lua_pushnil(L);
    return 1;
  }
  push_forgotten(L, (lua_Integer)event.number);
  lua_pushinteger(L, event.time_us);
  lua_insert(L, -2);
  lua_pushinteger(L, event.event_class);
  return 3;
}

/* next_us(): returns the time of the next event, or nil. */
static int queue_next_us(lua_State *L) {
  const event_queue *self = check_queue(L);
  blis_event event;
  if (blis_event_queue_peek(self->queue, &event)) {
    lua_pushinteger(L, event.time_us);
  } else {
    lua_pushnil(L);
  }
  return 1;
}

/* cancel(handle): returns false if the event is no longer pending. */
static int queue_cancel(lua_State *L) {
  event_queue *self = check_queue(L);
  blis_event_handle handle = (blis_event_handle)luaL_checkinteger(L, 2);
  bool is_cancelled = blis_event_queue_cancel(self->queue, handle);
  if (is_cancelled) {
    lua_getiuservalue(L, 1, NUMBERS);
    lua_rawgeti(L, -1, (lua_Integer)handle);
    push_forgotten(L, lua_tointeger(L, -1));
  }
  lua_pushboolean(L, is_cancelled);
  return 1;
}

/* reschedule(handle, time_us): returns false if the event is no longer pending. */
static int queue_reschedule(lua_State *L) {
  event_queue *self = check_queue(L);
  blis_event_handle handle = (blis_event_handle)luaL_checkinteger(L, 2);
  int64_t time_us = luaL_checkinteger(L, 3);
  lua_pushboolean(L, blis_event_queue_reschedule(self->queue, handle, time_us));
  return 1;
}

static int queue_len(lua_State *L) {
  const event_queue *self = check_queue(L);
  lua_pushinteger(L, (lua_Integer)blis_event_queue_count(self->queue));
  return 1;
}

static int queue_tostring(lua_State *L) {
  const event_queue *self = luaL_checkudata(L, 1, EVENT_QUEUE_TYPE);
  if (self->queue == NULL) {
    lua_pushliteral(L, "event queue (closed)");
  } else {
    lua_pushfstring(L, "event queue (%I events)", (LUAI_UACINT)blis_event_queue_count(self->queue));
  }
  return 1;
}

static const luaL_Reg queue_meta[] = {
    {"__gc", queue_close}, {"__close", queue_close},
    {"__len", queue_len},  {"__tostring", queue_tostring},
    {NULL, NULL},
};

static const luaL_Reg queue_methods[] = {
    {"push", queue_push},
    {"pop", queue_pop},
    {"next_us", queue_next_us},
    {"cancel", queue_cancel},
    {"close", queue_close},
    {"reschedule", queue_reschedule},
    {NULL, NULL},
};

void bind_open_event_queues(lua_State *L) {
  push_new_type(L, EVENT_QUEUE_TYPE, queue_meta, queue_methods);
  lua_pop(L, 1);
}
