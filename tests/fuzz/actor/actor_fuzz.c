/* Fuzzes a lane's actors: the input chooses the operations. tests/unit/actor/random.h checks the
 * rules. */
#include "random.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= 4096)
        random_life(data, size);
    return 0;
}
