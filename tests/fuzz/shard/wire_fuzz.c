/* Fuzzes the messages of sharding. An accepted message is the same after it is written and read
 * again. */
#include <stdlib.h>

#include "base/check.h"
#include "shard/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct identity identity = { .protocol = "akka", .system = "S" };

/* The first byte is the kind, the rest the payload. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum shard_message_kind kind;
    struct shard_message first;
    struct shard_message second;
    struct buf buf = { 0 };
    struct buf again = { 0 };

    if (!size)
        return 0;
    kind = (enum shard_message_kind)(data[0] % (SHARD_MARKER + 1));
    if (!shard_message_read(&first, shard_message_serializer(kind),
                            slice_text(shard_message_manifest(kind)),
                            slice_of(data + 1, size - 1)))
        return 0;
    check(first.kind == kind);
    shard_message_put(&buf, &first, &identity);
    check(shard_message_read(&second, shard_message_serializer(kind),
                             slice_text(shard_message_manifest(kind)),
                             buf_slice(&buf)));
    shard_message_put(&again, &second, &identity);
    check(slice_equal(buf_slice(&buf), buf_slice(&again)));
    check(first.home_count == second.home_count);
    check(first.hosted_count == second.hosted_count);
    check(first.stat_count == second.stat_count);
    check(fence_compare(first.fence, second.fence) == 0);
    check(first.attempt == second.attempt);
    shard_message_fini(&second);
    shard_message_fini(&first);
    buf_fini(&again);
    buf_fini(&buf);
    return 0;
}
