/*
 * compile_lua ROOT LIST SYMBOL OUTPUT - run by the build: compiles the Lua
 * files below ROOT that LIST names, one a line, and writes a C file that
 * defines `const blis_embedded_table SYMBOL` with the chunks.
 *
 * Lines and names are kept, so that errors and tracebacks are those of the
 * text. A file with an error in it stops the build.
 */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 4096, BYTES_PER_LINE = 32 };

static _Noreturn void fail(const char *what, const char *about) {
  fprintf(stderr, "compile_lua: %s: %s\n", about, what);
  exit(EXIT_FAILURE);
}

static FILE *open_file(const char *path, const char *mode) {
  FILE *file = fopen(path, mode);
  if (file == NULL) {
    fail(strerror(errno), path);
  }
  return file;
}

/* The next name, without the end of its line; false at the end of the list. */
static int next_name(FILE *list, char name[NAME_MAX_BYTES]) {
  while (fgets(name, NAME_MAX_BYTES, list) != NULL) {
    name[strcspn(name, "\n")] = '\0';
    if (name[0] != '\0') {
      return 1;
    }
  }
  return 0;
}

/* Pushes the text of a file. */
static void push_text(lua_State *L, const char *path) {
  FILE *file = open_file(path, "rb");
  luaL_Buffer text;
  luaL_buffinit(L, &text);
  for (size_t size = 1; size > 0;) {
    char *room = luaL_prepbuffer(&text);
    size = fread(room, 1, LUAL_BUFFERSIZE, file);
    luaL_addsize(&text, size);
  }
  if (ferror(file)) {
    fail("cannot be read", path);
  }
  fclose(file);
  luaL_pushresult(&text);
}

typedef struct output {
  FILE *file;
  size_t size; /* of the chunk so far */
} output;

static int write_bytes(lua_State *L, const void *bytes, size_t size, void *ud) {
  (void)L;
  output *out = ud;
  for (size_t i = 0; i < size; i++, out->size++) {
    fprintf(out->file, "%u,%s", (unsigned)((const unsigned char *)bytes)[i],
            out->size % BYTES_PER_LINE == BYTES_PER_LINE - 1 ? "\n" : "");
  }
  return 0;
}

/* Returns the size of the chunk. */
static size_t write_chunk(lua_State *L, FILE *file, const char *root,
                          const char *name, int number) {
  int top = lua_gettop(L);
  push_text(L, lua_pushfstring(L, "%s/%s", root, name));
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  const char *chunk_name = lua_pushfstring(L, "@%s", name);
  if (luaL_loadbufferx(L, text, length, chunk_name, "t") != LUA_OK) {
    fail(lua_tostring(L, -1), name);
  }
  fprintf(file, "static const unsigned char chunk_%d[] = {\n", number);
  output out = {.file = file};
  lua_dump(L, write_bytes, &out, 0);
  fputs("0};\n", file);
  lua_settop(L, top);
  return out.size;
}

static void write_table(lua_State *L, char **argv, FILE *file) {
  FILE *list = open_file(argv[2], "r");
  char name[NAME_MAX_BYTES];
  int count = 0;
  lua_newtable(L); /* of the rows, which come behind the chunks */
  fputs("#include \"lua/bind/embedded.h\"\n\n", file);
  for (; next_name(list, name); count++) {
    size_t size = write_chunk(L, file, argv[1], name, count);
    lua_pushfstring(L, "  {\"%s\", (const char *)chunk_%d, %I, 0},\n", name,
                    count, (LUAI_UACINT)size);
    lua_rawseti(L, 1, count + 1);
  }
  fclose(list);
  fputs("\nstatic const blis_embedded_file files[] = {\n", file);
  for (int i = 0; i < count; i++) {
    lua_rawgeti(L, 1, i + 1);
    fputs(lua_tostring(L, -1), file);
    lua_pop(L, 1);
  }
  fprintf(file,
          "  {0, 0, 0, 0}};\n\n"
          "const blis_embedded_table %s = {files, %d};\n",
          argv[3], count);
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fail("expected ROOT LIST SYMBOL OUTPUT", argv[0]);
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fail("out of memory", argv[0]);
  }
  FILE *file = open_file(argv[4], "w");
  write_table(L, argv, file);
  int is_bad = ferror(file) != 0;
  if (fclose(file) != 0 || is_bad) {
    remove(argv[4]);
    fail("cannot be written", argv[4]);
  }
  lua_close(L);
  return EXIT_SUCCESS;
}
