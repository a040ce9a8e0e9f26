#include "instance/request/instance_id.h"

#include <inttypes.h>
#include <stdio.h>

int blis_instance_id_digits(uint32_t count) {
  int digits = 1;
  for (uint32_t last = count == 0 ? 0 : count - 1; last >= 10; last /= 10) {
    digits++;
  }
  return digits;
}

const char *blis_instance_id(int64_t number, int digits, char id[BLIS_INSTANCE_ID_SIZE]) {
  snprintf(id, BLIS_INSTANCE_ID_SIZE, "instance_%0*" PRId64, digits, number);
  return id;
}
