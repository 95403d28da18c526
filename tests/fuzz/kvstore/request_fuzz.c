/* Fuzzes the requests of callers and of other brokers to a broker. Input: 1 byte kind, then the
 * body.
 *
 * Oracle: an accepted request is within the limits and encodes to the same bytes. So does a context
 * that is valid for the key. */
#include <stddef.h>
#include <stdint.h>

#include "base/check.h"
#include "base/limits.h"
#include "kvstore/request.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum kvstore_request kind;
    struct request request;
    struct buf again = { 0 }, context = { 0 };
    struct history seen = { 0 };

    if (!size)
        return 0;
    kind = (enum kvstore_request)(data[0] % (KVSTORE_CONFIRM + 1));
    if (!request_get(kind, slice_of(data + 1, size - 1), &request))
        return 0;
    check(request.key.size && request.key.size <= SHERD_STORE_KEY_MAX);
    check(request.level <= SHERD_STORE_REPLICAS_MAX);
    check(request.context.size <= KVSTORE_CONTEXT_SIZE_MAX);
    if (context_get(request.key, request.context, &seen)) {
        context_put(request.key, &seen, &context);
        check(slice_equal(buf_slice(&context), request.context));
    }
    history_fini(&seen);
    buf_fini(&context);
    request_put(kind, &request, &again);
    check(slice_equal(buf_slice(&again), slice_of(data + 1, size - 1)));
    buf_fini(&again);
    return 0;
}
