/*
 * source_id.h - a hash of the sources that the program was built from.
 */
#ifndef BLIS_LUA_WORKERS_SOURCE_ID_H
#define BLIS_LUA_WORKERS_SOURCE_ID_H

/*
 * 12 hexadecimal digits, made by the build: a hash of the C sources and of the files below data/
 * that results depend on, and of nothing else. Two programs with the same id compute the same
 * results, for any compiler and machine.
 */
extern const char blis_source_id[];

#endif
