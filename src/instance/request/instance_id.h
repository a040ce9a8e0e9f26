/*
 * instance_id.h - the ids of instances: "instance_7", or "instance_07" among 11 to 100 instances.
 *
 * Leading zeros make the byte order of the ids of a cluster equal to the order of the numbers.
 * Profiles with plain ids (digits = 1) have no leading zeros: instance_10 is before instance_2.
 */
#ifndef BLIS_INSTANCE_REQUEST_INSTANCE_ID_H
#define BLIS_INSTANCE_REQUEST_INSTANCE_ID_H

#include <stdint.h>

enum { BLIS_INSTANCE_ID_SIZE = 32 };

/* Returns the number of digits of the ids of count instances, 1 to 10; count may include instances
   that are started later. */
int blis_instance_id_digits(uint32_t count);

/* Writes the id of an instance with at least `digits` digits. Returns id. */
const char *blis_instance_id(int64_t number, int digits, char id[BLIS_INSTANCE_ID_SIZE]);

#endif
