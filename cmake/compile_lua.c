/*
 * compile_lua ROOT LIST SYMBOL OUTPUT - run by the build: compiles the Lua
 * files below ROOT that LIST names, one a line. Writes their chunks to the file
 * OUTPUT.bin, and to OUTPUT a C file that includes these bytes and defines
 * `const blis_embedded_table SYMBOL`.
 *
 * Lines and names are kept, so that errors and tracebacks are those of the
 * text. A file with an error in it stops the build.
 */
#include <errno.h>
#include <lauxlib.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { NAME_MAX_BYTES = 4096 };

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

static int write_bytes(lua_State *L, const void *bytes, size_t size, void *ud) {
  (void)L;
  return fwrite(bytes, 1, size, ud) != size;
}

/* Appends the chunk of a file and a zero to chunks. */
static void write_chunk(lua_State *L, FILE *chunks, const char *root, const char *name) {
  int top = lua_gettop(L);
  push_text(L, lua_pushfstring(L, "%s/%s", root, name));
  size_t length;
  const char *text = lua_tolstring(L, -1, &length);
  const char *chunk_name = lua_pushfstring(L, "@%s", name);
  if (luaL_loadbufferx(L, text, length, chunk_name, "t") != LUA_OK) {
    fail(lua_tostring(L, -1), name);
  }
  lua_dump(L, write_bytes, chunks, 0);
  fputc('\0', chunks);
  lua_settop(L, top);
}

static void write_table(lua_State *L, char **argv, FILE *file, FILE *chunks) {
  FILE *list = open_file(argv[2], "r");
  const char *symbol = argv[3];
  char name[NAME_MAX_BYTES];
  int count = 0;
  fprintf(file,
          "#include \"lua/bind/embed_bytes.h\"\n#include \"lua/bind/embedded.h\"\n\n"
          "BLIS_EMBED_BYTES(%s_bytes, \"%s.bin\");\n\n"
          "static const blis_embedded_file files[] = {\n",
          symbol, argv[4]);
  for (; next_name(list, name); count++) {
    long start = ftell(chunks);
    write_chunk(L, chunks, argv[1], name);
    fprintf(file, "  {\"%s\", %s_bytes + %ld, %ld, 0},\n", name, symbol, start,
            ftell(chunks) - start - 1);
  }
  fclose(list);
  fprintf(file,
          "  {0, 0, 0, 0}};\n\n"
          "const blis_embedded_table %s = {files, %d};\n",
          symbol, count);
}

/* Closes a file that was written; if that fails, ends the program. */
static void close_file(FILE *file, const char *path) {
  int is_bad = ferror(file) != 0;
  if (fclose(file) != 0 || is_bad) {
    remove(path);
    fail("cannot be written", path);
  }
}

int main(int argc, char **argv) {
  if (argc != 5) {
    fail("expected ROOT LIST SYMBOL OUTPUT", argv[0]);
  }
  lua_State *L = luaL_newstate();
  if (L == NULL) {
    fail("out of memory", argv[0]);
  }
  char chunks_path[NAME_MAX_BYTES];
  int length = snprintf(chunks_path, sizeof chunks_path, "%s.bin", argv[4]);
  if (length < 0 || length >= NAME_MAX_BYTES) {
    fail("the name is too long", argv[4]);
  }
  FILE *chunks = open_file(chunks_path, "wb");
  FILE *file = open_file(argv[4], "w");
  write_table(L, argv, file, chunks);
  close_file(chunks, chunks_path);
  close_file(file, argv[4]);
  lua_close(L);
  return EXIT_SUCCESS;
}
