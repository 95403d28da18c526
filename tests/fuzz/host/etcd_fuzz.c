/* Fuzzes the replies of etcd. The readers accept or refuse any bytes, and accepted replies have
 * valid fields. */
#include <string.h>

#include "base/check.h"
#include "host/etcd_reply.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct slice body = slice_of(data, size);
    char token[ETCD_TOKEN_MAX], text[64];
    uint64_t first, second;
    static const char *const keys[] = { "aw==", "bA==" };
    struct etcd_key key, found[2];
    struct buf bytes = { 0 };
    char *encoded;
    bool succeeded;

    if (etcd_read_range(body, "aw==", &key)) {
        check(key.found == (key.mod_revision > 0));
        check(memchr(key.value, 0, sizeof key.value) != NULL);
    } else {
        check(!key.found);
    }
    if (etcd_read_grant(body, &first, &second))
        check(first > 0 && first <= INT64_MAX && second > 0);
    if (etcd_read_txn(body, &succeeded, &first))
        check(first > 0);
    else
        check(!succeeded);
    if (etcd_read_token(body, token))
        check(token[0] && !strpbrk(token, "\r\n "));
    if (etcd_read_ranges(body, keys, 2, found))
        for (int i = 0; i < 2; i++)
            check(found[i].found == (found[i].mod_revision > 0));
    else
        check(!found[0].found && !found[1].found);
    encoded = mem_alloc(size + 1);
    memcpy(encoded, data, size);
    if (etcd_get_base64(&bytes, encoded))
        check(bytes.size <= size / 4 * 3);
    else
        check(!bytes.size);
    buf_fini(&bytes);
    mem_free(encoded);
    etcd_read_error(body, text, sizeof text);
    check(!strpbrk(text, "\r\n"));
    return 0;
}
