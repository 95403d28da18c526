/* Fuzzes the messages of operations. An accepted one is the same after it is written and read
 * again. */
#include "base/check.h"
#include "base/limits.h"
#include "shard/operation_wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void request(struct slice payload)
{
    struct operation_request first, second;
    struct buf buf = { 0 }, again = { 0 };

    if (!operation_request_read(payload, &first))
        return;
    check(first.reason.size <= OPERATION_REASON_MAX && first.within_ms <= OPERATION_WITHIN_MAX_MS);
    operation_request_put(&buf, &first);
    check(operation_request_read(buf_slice(&buf), &second));
    operation_request_put(&again, &second);
    check(slice_equal(buf_slice(&buf), buf_slice(&again)));
    buf_fini(&buf);
    buf_fini(&again);
}

static void progress(struct slice payload)
{
    struct operation_progress first, second;
    struct buf buf = { 0 }, again = { 0 };

    if (!operation_progress_read(payload, &first))
        return;
    check(first.text.size <= OPERATION_TEXT_MAX);
    operation_progress_put(&buf, &first);
    check(operation_progress_read(buf_slice(&buf), &second));
    operation_progress_put(&again, &second);
    check(slice_equal(buf_slice(&buf), buf_slice(&again)));
    buf_fini(&buf);
    buf_fini(&again);
}

/* The first byte: which message. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size)
        return 0;
    if (data[0] % 2)
        progress(slice_of(data + 1, size - 1));
    else
        request(slice_of(data + 1, size - 1));
    return 0;
}
