/* The cluster's messages as JVM nodes wrote them: bytes taken from a network between real nodes (tests/interop). */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "member/compat.h"
#include "member/wire.h"
#include "values.h"

static const struct identity interop = {
    .protocol = "akka",
    .system = "Interop",
    .node = { { "127.0.0.1", 37811 }, UINT64_C(0x86b553d8a366e87) },
};

static struct buf bytes_of(const char *hex)
{
    static const char digits[] = "0123456789abcdef";
    struct buf buf = { 0 };

    for (; *hex; hex += 2)
        buf_put_u8(&buf,
                   (uint8_t)((strchr(digits, hex[0]) - digits) * 16 +
                             (strchr(digits, hex[1]) - digits)));
    return buf;
}

/* InitJoin of Akka 2.6.21 with typed sharding on its class path. */
static const char init_join[] =
    "0af5017b22616b6b61223a7b22636c7573746572223a7b22646f776e696e672d70726f"
    "76696465722d636c617373223a22222c227368617264696e67223a7b226e756d626572"
    "2d6f662d736861726473223a313030302c2273746174652d73746f72652d6d6f646522"
    "3a226464617461227d2c2273706c69742d627261696e2d7265736f6c766572223a7b22"
    "6163746976652d7374726174656779223a226b6565702d6d616a6f72697479227d2c22"
    "7479706564223a7b22726563657074696f6e697374223a7b2264697374726962757465"
    "642d6b65792d636f756e74223a357d7d7d2c2276657273696f6e223a22322e362e3231"
    "227d7d";

/* A joiner needs our values of those settings only that it does not do without. */
static void a_jvm_joiner_is_answered(void **state)
{
    static const char own[] =
        "{\"akka\":{\"cluster\":{\"downing-provider-class\":\"\","
        "\"sharding\":{\"state-store-mode\":\"ddata\","
        "\"number-of-shards\":1000}}}}";
    struct buf payload = bytes_of(init_join);
    struct buf config = { 0 };
    struct buf reply = { 0 };
    struct compat ours;
    struct compat theirs;
    (void)state;

    assert_int_equal(
        wire_get_init_join(&interop, buf_slice(&payload), &config), WIRE_OK);
    assert_true(compat_parse(&theirs, buf_slice(&config)));
    assert_true(compat_parse(&ours, slice_text(own)));
    assert_int_equal(compat_answer(&ours, &theirs, &reply), CONFIG_COMPATIBLE);
    buf_put_u8(&reply, 0);
    assert_string_equal((const char *)reply.data, own);
    compat_fini(&ours);
    compat_fini(&theirs);
    buf_fini(&payload);
    buf_fini(&config);
    buf_fini(&reply);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_jvm_joiner_is_answered),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
