/* Fuzzes passivation strategies: the input chooses a strategy and its operations, and the slow model
 * of tests/unit/actor checks each. */
#include "passivation_model.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size <= 4096)
        model_compare(data, size);
    return 0;
}
