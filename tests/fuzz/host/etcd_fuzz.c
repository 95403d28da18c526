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
    struct etcd_key key;
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
    etcd_read_error(body, text, sizeof text);
    check(!strpbrk(text, "\r\n"));
    return 0;
}
