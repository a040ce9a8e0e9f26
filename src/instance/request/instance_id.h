/*
 * instance_id.h - the IDs of instances: "instance_7", or "instance_07" in a cluster of 11 to 100
 * instances.
 *
 * With leading zeros, the byte order of the IDs of a cluster equals the order of the numbers.
 * Profiles with plain IDs (digits = 1) have no leading zeros, so instance_10 precedes instance_2.
 */
#ifndef BLIS_INSTANCE_REQUEST_INSTANCE_ID_H
#define BLIS_INSTANCE_REQUEST_INSTANCE_ID_H

#include <stdint.h>

enum { BLIS_INSTANCE_ID_SIZE = 32 };

/* Returns the number of digits in the IDs of `count` instances, 1 to 10. count may include
   instances that start later. */
int blis_instance_id_digits(uint32_t count);

/* Writes the ID of an instance with at least `digits` digits to id. Returns id. */
const char *blis_instance_id(int64_t number, int digits, char id[BLIS_INSTANCE_ID_SIZE]);

#endif
