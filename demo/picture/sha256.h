/* SHA-256 (FIPS 180-4). Only for telling file contents apart in the demo's comparison. */
#ifndef PICTURE_SHA256_H
#define PICTURE_SHA256_H

#include <stddef.h>
#include <stdint.h>

struct sha256 {
    uint32_t state[8];
    uint64_t length; /* bytes taken in so far */
    unsigned char block[64];
    size_t filled; /* bytes waiting in block */
};

void sha256_init(struct sha256 *s);
void sha256_update(struct sha256 *s, const void *data, size_t length);
void sha256_final(struct sha256 *s, unsigned char digest[32]);

#endif
