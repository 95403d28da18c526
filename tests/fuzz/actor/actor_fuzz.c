/* Random operations on a lane's actors, chosen by the fuzzer (tests/unit/actor/random.h says what must hold). */
#include "random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= 4096)
        random_life(data, size);
    return 0;
}
