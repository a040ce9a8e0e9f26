/* sha256.h - SHA-256 (FIPS 180-4) for tests that know a table by its sum. */
#ifndef BLIS_TESTS_SHA256_H
#define BLIS_TESTS_SHA256_H

#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

typedef struct sha256 {
  uint32_t state[8];
  uint32_t round[64];
} sha256;

/* The first 32 bits of the fractional part of a root of a prime. */
static uint32_t sha256__fraction(double root) {
  return (uint32_t)((root - floor(root)) * 4294967296.0);
}

static void sha256__start(sha256 *sum) {
  int count = 0;
  for (int n = 2; count < 64; n++) {
    int is_prime = 1;
    for (int d = 2; d * d <= n; d++) {
      is_prime = is_prime && n % d != 0;
    }
    if (is_prime && count < 8) {
      sum->state[count] = sha256__fraction(sqrt(n));
    }
    if (is_prime) {
      sum->round[count++] = sha256__fraction(cbrt(n));
    }
  }
}

static uint32_t sha256__rotate(uint32_t x, int bits) {
  return x >> bits | x << (32 - bits);
}

static void sha256__block(sha256 *sum, const unsigned char *block) {
  uint32_t w[64];
  for (int i = 0; i < 64; i++) {
    if (i < 16) {
      const unsigned char *b = block + (size_t)i * 4;
      w[i] = (uint32_t)b[0] << 24 | (uint32_t)b[1] << 16 | (uint32_t)b[2] << 8 | b[3];
    } else {
      uint32_t a = w[i - 15];
      uint32_t b = w[i - 2];
      w[i] = w[i - 16] + w[i - 7] + (sha256__rotate(a, 7) ^ sha256__rotate(a, 18) ^ a >> 3) +
             (sha256__rotate(b, 17) ^ sha256__rotate(b, 19) ^ b >> 10);
    }
  }
  uint32_t s[8];
  memcpy(s, sum->state, sizeof s);
  for (int i = 0; i < 64; i++) {
    uint32_t e = s[4];
    uint32_t a = s[0];
    uint32_t first = s[7] + sum->round[i] + w[i] +
                     (sha256__rotate(e, 6) ^ sha256__rotate(e, 11) ^ sha256__rotate(e, 25)) +
                     ((e & s[5]) ^ (~e & s[6]));
    uint32_t second = (sha256__rotate(a, 2) ^ sha256__rotate(a, 13) ^ sha256__rotate(a, 22)) +
                      ((a & s[1]) ^ (a & s[2]) ^ (s[1] & s[2]));
    memmove(s + 1, s, 7 * sizeof *s);
    s[4] += first;
    s[0] = first + second;
  }
  for (int i = 0; i < 8; i++) {
    sum->state[i] += s[i];
  }
}

/* Writes the sum of size bytes as 64 hexadecimal digits. */
static void sha256_hex(const void *data, size_t size, char text[65]) {
  sha256 sum;
  sha256__start(&sum);
  const unsigned char *bytes = data;
  size_t done = 0;
  for (; size - done >= 64; done += 64) {
    sha256__block(&sum, bytes + done);
  }
  unsigned char last[128] = {0};
  size_t rest = size - done;
  memcpy(last, bytes + done, rest);
  last[rest] = 0x80;
  size_t padded = rest < 56 ? 64 : 128;
  for (size_t i = 0; i < 8; i++) {
    last[padded - 1 - i] = (unsigned char)((uint64_t)size * 8 >> i * 8);
  }
  for (size_t i = 0; i < padded; i += 64) {
    sha256__block(&sum, last + i);
  }
  for (size_t i = 0; i < 8; i++) {
    snprintf(text + i * 8, 9, "%08x", (unsigned)sum.state[i]);
  }
}

#endif
