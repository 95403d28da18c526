/* Fuzzes the splitting of bytes into frames. The frames do not depend on the segments, and no read
 * goes beyond the given bytes. */
#include <stdlib.h>
#include <string.h>

#include "artery/inlet.h"
#include "base/check.h"
#include "base/hash.h"
#include "base/rng.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct result {
    uint64_t hash;
    uint32_t frames;
    enum inlet_reason reason;
};

static struct result split(struct slice bytes, uint64_t seed, uint32_t max,
                           bool accept)
{
    static const struct inlet_options options = {.magics = {"AKKA", "PEKK"}};
    struct inlet *inlet = inlet_new(0, &options);
    struct result result = {0};
    struct rng rng;
    size_t at = 0;

    rng_init(&rng, seed);
    while (at < bytes.size) {
        size_t size = seed ? 1 + rng_below(&rng, 40) : bytes.size;
        struct slice frames[16];
        uint32_t count;
        uint8_t *segment;

        if (size > bytes.size - at)
            size = bytes.size - at;
        segment = malloc(size);
        memcpy(segment, bytes.data + at, size);
        inlet_receive(inlet, slice_of(segment, size));
        if (seed % 5 == 1 && !result.frames && inlet_first(inlet, frames))
            check(frames[0].size > 0);
        while ((count = inlet_batch(inlet, frames, max))) {
            check(count <= max);
            for (uint32_t i = 0; i < count; i++) {
                check(frames[i].size > 0 &&
                      frames[i].size <= FRAME_LARGE_SIZE);
                result.hash = result.hash * 31 + hash_bytes(frames[i]);
                result.frames++;
            }
            if (accept && !inlet_uid(inlet))
                inlet_accept(inlet, 1, 0, 0);
        }
        free(segment);
        at += size;
    }
    result.reason = inlet_reason(inlet);
    check(inlet_counts(inlet).frames == result.frames);
    inlet_free(inlet);
    return result;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice bytes;
    struct result whole;

    if (size < 2)
        return 0;
    bytes = slice_of(data + 2, size - 2);
    whole = split(bytes, 0, 1, data[1] & 1);
    for (uint64_t i = 1; i <= 3; i++) {
        struct result other = split(bytes, data[0] + i * 256,
                                    1 + (data[1] >> 1) % 16, data[1] & 1);

        check(other.hash == whole.hash);
        check(other.frames == whole.frames);
        check(other.reason == whole.reason);
    }
    return 0;
}
