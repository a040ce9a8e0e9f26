/*
 * commit.h - which commit the program was built from.
 */
#ifndef BLIS_HOST_COMMIT_H
#define BLIS_HOST_COMMIT_H

/*
 * Made by the build (cmake/commit.cmake): 12 hexadecimal digits, with '+' when
 * files differ from it; "unknown" outside of a checkout.
 */
extern const char host_commit[];

#endif
