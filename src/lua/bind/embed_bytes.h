/*
 * embed_bytes.h - the bytes of a file as an array, embedded by the assembler.
 *
 * Only generated files include it (cmake/embed.cmake, cmake/compile_lua.c). The Lua files take 5
 * MB. A compiler takes seconds for a C array of this size after every change, whereas the assembler
 * copies the bytes immediately. Files that use this header are compiled without link-time
 * optimization, which cannot see the symbols.
 */
#ifndef BLIS_LUA_BIND_EMBED_BYTES_H
#define BLIS_LUA_BIND_EMBED_BYTES_H

#ifdef __APPLE__
#define BLIS_EMBED_SECTION ".const_data\n"
#define BLIS_EMBED_HIDDEN ".private_extern "
#define BLIS_EMBED_END ".text\n"
#else
#define BLIS_EMBED_SECTION ".section .rodata\n"
#define BLIS_EMBED_HIDDEN ".hidden "
#define BLIS_EMBED_END ".previous\n"
#endif

/* Declares `symbol` as the bytes of the file at `path` (a string literal), followed by a zero. */
#define BLIS_EMBED_BYTES(symbol, path)                                                             \
  __asm__(BLIS_EMBED_SECTION ".globl " #symbol "\n" BLIS_EMBED_HIDDEN #symbol "\n" #symbol         \
                             ":\n.incbin \"" path "\"\n.byte 0\n" BLIS_EMBED_END);                 \
  extern const char symbol[] __asm__(#symbol)

#endif
