/* Fuzzes the text of references to entities. An accepted text is the one that its reference
 * writes. */
#include <stdlib.h>

#include "actor/entity_ref.h"
#include "base/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct sherd_entity_ref ref;
    char text[SHERD_ENTITY_REF_TEXT_MAX];

    if (sherd_entity_ref_parse(&ref, (struct sherd_bytes){ data, size }) != 0)
        return 0;
    check(entity_ref_is_valid(&ref));
    check(sherd_entity_ref_text(&ref, text, sizeof text) == (int)size);
    check(memcmp(text, data, size) == 0);
    return 0;
}
