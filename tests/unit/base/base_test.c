/* Tests the base: order of maps and timers, ends of cursors, hashes that agree with the JVM. */
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include <cmocka.h>
#include <sherd/error.h>

#include "base/address.h"
#include "base/bytes.h"
#include "base/check.h"
#include "base/gzip.h"
#include "base/hash.h"
#include "base/limits.h"
#include "base/line.h"
#include "base/map.h"
#include "base/outbox.h"
#include "base/probe.h"
#include "base/rng.h"
#include "base/sort.h"
#include "base/sorted.h"
#include "base/timers.h"
#include "base/trace.h"
#include "base/vec.h"

static jmp_buf hook_back;
static char hook_text[256];

static void keep_hook_text(const char *text)
{
    (void)snprintf(hook_text, sizeof hook_text, "%s", text);
    longjmp(hook_back, 1);
}

/* The hook that prints it adds the name of the library. */
static void a_broken_invariant_names_its_place(void **state)
{
    (void)state;

    check_set_hook(keep_hook_text);
    if (setjmp(hook_back) == 0)
        check_failed("src/file.c", 7, "a thing holds");
    check_set_hook(NULL);
    assert_string_equal(hook_text,
                        "broken invariant at src/file.c:7: a thing holds");
}

static void lack_of_memory_is_no_broken_invariant(void **state)
{
    volatile size_t size = SIZE_MAX / 4;
    (void)state;

#if defined(__SANITIZE_ADDRESS__)
    skip(); /* it ends the process first */
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
    skip();
#endif
#endif
    check_set_hook(keep_hook_text);
    if (setjmp(hook_back) == 0)
        mem_free(mem_resize(NULL, size));
    check_set_hook(NULL);
    assert_non_null(strstr(hook_text, "out of memory: no 4611686018427387903 bytes"));
}

static void hashes_agree_with_the_jvm(void **state)
{
    (void)state;
    /* Results of Java: "entity-1".hashCode() and others. */
    assert_int_equal(hash_java(slice_text("entity-1")), -2102100793);
    assert_int_equal(hash_shard(slice_text("entity-1"), 1000), 793);
    assert_int_equal(hash_shard(slice_text("a"), 1000), 97);
    assert_int_equal(hash_shard(slice_text("polygenelubricants"), 1000), -648);
    assert_int_equal(hash_java(slice_text("")), 0);
    /* U+1D11E is two UTF-16 units: 0xD834 0xDD1E. */
    assert_int_equal(hash_java(slice_text("\xf0\x9d\x84\x9e")),
                     (int32_t)(31u * 0xd834u + 0xdd1eu));
}

/* Akka's results: entity, hash, shard of 10, 100 and 1000. A hash of -2^31 stays negative, and so
 * does its shard. */
static void shards_agree_with_the_reference(void **state)
{
    static const struct {
        const char *id;
        int32_t hash, of_10, of_100, of_1000;
    } rows[] = {
        { "", 0, 0, 0, 0 },
        { "a", 97, 7, 97, 97 },
        { "1", 49, 9, 49, 49 },
        { "2", 50, 0, 50, 50 },
        { "10", 1567, 7, 67, 567 },
        { "foo", 101574, 4, 74, 574 },
        { "bar", 97299, 9, 99, 299 },
        { "baz", 97307, 7, 7, 307 },
        { "id1", 104054, 4, 54, 54 },
        { "entity-1", -2102100793, 3, 93, 793 },
        { "entity-42", -740615000, 0, 0, 0 },
        { "shopping-cart-1", -1168782135, 5, 35, 135 },
        { "customer/0042", 2104924175, 5, 75, 175 },
        { "h\xc3\xa9llo", 103094734, 4, 34, 734 },
        { "\xe2\x82\xac", 8364, 4, 64, 364 },
        { "\xf0\x9f\x98\x80", 1772899, 9, 99, 899 },
        { "polygenelubricants", INT32_MIN, -8, -48, -648 },
        { "GydZG_", INT32_MIN, -8, -48, -648 },
        { "DESIGNING WORKHOUSES", INT32_MIN, -8, -48, -648 },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct slice id = slice_text(rows[i].id);

        assert_int_equal(hash_java(id), rows[i].hash);
        assert_int_equal(hash_shard(id, 10), rows[i].of_10);
        assert_int_equal(hash_shard(id, 100), rows[i].of_100);
        assert_int_equal(hash_shard(id, 1000), rows[i].of_1000);
    }
}

/* Kafka's results: entity, hash, shard of 10 and 1000. */
static void shards_by_murmur2_agree_with_kafka(void **state)
{
    static const struct {
        const char *id;
        int32_t hash, of_10, of_1000;
    } rows[] = {
        { "", 275646681, 1, 681 },
        { "a", -1563381124, 4, 524 },
        { "1", -1993445489, 9, 159 },
        { "2", 648968168, 8, 168 },
        { "10", 1164287326, 6, 326 },
        { "foo", 597841616, 6, 616 },
        { "bar", 988958145, 5, 145 },
        { "baz", 1973573280, 0, 280 },
        { "id1", 170753339, 9, 339 },
        { "entity-1", -1211370600, 8, 48 },
        { "entity-42", -725795506, 2, 142 },
        { "shopping-cart-1", 1243783143, 3, 143 },
        { "customer/0042", 1063824606, 6, 606 },
        { "h\xc3\xa9llo", 614509002, 2, 2 },
        { "\xe2\x82\xac", -1352192002, 6, 646 },
        { "\xf0\x9f\x98\x80", 131881617, 7, 617 },
        { "polygenelubricants", 342343466, 6, 466 },
        { "GydZG_", -2144987184, 4, 464 },
        { "DESIGNING WORKHOUSES", 961938196, 6, 196 },
    };
    static const struct {
        const char *id;
        int32_t hash;
    } upstream[] = { { "12", 126087238 }, { "123", -267702483 },
                     { "1234", -1614185708 }, { "12345", -1188365604 } };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct slice id = slice_text(rows[i].id);

        assert_int_equal((int32_t)hash_murmur2(id), rows[i].hash);
        assert_int_equal(hash_murmur2_shard(id, 10), rows[i].of_10);
        assert_int_equal(hash_murmur2_shard(id, 1000), rows[i].of_1000);
    }
    for (size_t i = 0; i < sizeof upstream / sizeof *upstream; i++)
        assert_int_equal((int32_t)hash_murmur2(slice_text(upstream[i].id)), upstream[i].hash);
}

/* Texts of all lengths, with a two-byte character at each place or none, hash as if read one
 * character at a time. */
static void a_hash_does_not_depend_on_how_much_is_read_at_once(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 3);
    for (uint32_t size = 0; size < 40; size++)
        for (uint32_t place = 0; place <= size; place++) {
            uint8_t text[48];
            uint32_t hash = 0;
            uint32_t at = 0;

            for (uint32_t i = 0; i < size; i++) {
                uint32_t unit = i == place ? 0xe9 : rng_below(&rng, 128);

                hash = 31 * hash + unit;
                if (unit == 0xe9)
                    text[at++] = 0xc3;
                text[at++] = (uint8_t)(unit == 0xe9 ? 0xa9 : unit);
            }
            assert_int_equal(hash_java(slice_of(text, at)), (int32_t)hash);
        }
}

static void short_bytes_are_compared_and_copied_whole(void **state)
{
    (void)state;
    for (uint32_t size = 0; size < 70; size++) {
        uint8_t *left = mem_alloc(size + 1);
        uint8_t *right = mem_alloc(size + 1);

        for (uint32_t i = 0; i < size; i++)
            left[i] = (uint8_t)(i + 1);
        right[size] = 99;
        bytes_copy(right, left, size);
        assert_memory_equal(left, right, size);
        assert_int_equal(right[size], 99);
        assert_true(bytes_same(left, right, size));
        for (uint32_t i = 0; i < size; i++) {
            right[i] ^= 0x40;
            assert_false(bytes_same(left, right, size));
            right[i] ^= 0x40;
        }
        mem_free(left);
        mem_free(right);
    }
}

static void numbers_survive_a_round_trip(void **state)
{
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (int i = 0; i < 1000; i++) {
        struct buf buf = { 0 };
        uint64_t value = rng_next(&rng) >> rng_below(&rng, 64);
        struct cursor cursor;

        buf_put_varint(&buf, value);
        buf_put_u8(&buf, (uint8_t)value);
        buf_put_u16(&buf, (uint16_t)value);
        buf_put_u32(&buf, (uint32_t)value);
        buf_put_u64(&buf, value);
        cursor = cursor_of(buf_slice(&buf));
        assert_true(cursor_varint(&cursor) == value);
        assert_int_equal(cursor_u8(&cursor), (uint8_t)value);
        assert_int_equal(cursor_u16(&cursor), (uint16_t)value);
        assert_int_equal(cursor_u32(&cursor), (uint32_t)value);
        assert_true(cursor_u64(&cursor) == value);
        assert_false(cursor.failed);
        assert_int_equal(cursor_left(&cursor), 0);
        assert_int_equal(cursor_u8(&cursor), 0);
        assert_true(cursor.failed);
        buf_fini(&buf);
    }
}

static void a_cursor_stops_at_its_end(void **state)
{
    uint8_t endless[12];
    struct cursor cursor;
    (void)state;

    memset(endless, 0xff, sizeof endless);
    cursor = cursor_of(slice_of(endless, sizeof endless));
    cursor_varint(&cursor);
    assert_true(cursor.failed);
    cursor = cursor_of(slice_of(endless, 3));
    assert_int_equal(cursor_slice(&cursor, 4).size, 0);
    assert_true(cursor.failed);
}

static void a_map_keeps_the_order_of_insertion(void **state)
{
    struct map map = { 0 };
    struct rng rng;
    static int values[500];
    uint64_t last = 0;
    uint32_t at = 0;
    uint32_t seen = 0;
    struct map_entry entry;
    (void)state;

    rng_init(&rng, 2);
    for (uint64_t i = 0; i < 500; i++)
        assert_null(map_put(&map, map_u64(&i), &values[i]));
    for (uint64_t i = 0; i < 500; i++)
        if (i % 3)
            assert_ptr_equal(map_take(&map, map_u64(&i)), &values[i]);
    for (uint64_t i = 0; i < 500; i++)
        assert_ptr_equal(map_get(&map, map_u64(&i)),
                         i % 3 ? NULL : &values[i]);
    while (map_next(&map, &at, &entry)) {
        uint64_t key;

        memcpy(&key, entry.key.data, sizeof key);
        assert_true(!seen || key > last);
        last = key;
        seen++;
    }
    assert_int_equal(seen, map.count);
    assert_int_equal(seen, 167);
    for (int round = 0; round < 10000; round++) { /* holes are reused */
        uint64_t key = 1000 + rng_below(&rng, 50);

        if (map_get(&map, map_u64(&key)))
            map_take(&map, map_u64(&key));
        else
            map_put(&map, map_u64(&key), &values[0]);
    }
    assert_true(map.capacity < 2048);
    map_fini(&map);
}

static void timers_of_one_moment_fire_in_the_order_they_were_set(void **state)
{
    struct timers timers = { 0 };
    struct timer timer;
    struct timer last = { 0 };
    struct rng rng;
    (void)state;

    rng_init(&rng, 3);
    assert_true(timers_deadline(&timers) == NEVER);
    for (uint32_t i = 0; i < 1000; i++)
        timers_put(&timers, rng_below(&rng, 20), 1, i, 0);
    assert_false(timers_take(&timers, 0, &timer) && timer.at > 0);
    while (timers_take(&timers, 20, &timer)) {
        assert_true(timer.at > last.at ||
                    (timer.at == last.at && timer.order >= last.order));
        last = timer;
    }
    assert_int_equal(timers.count, 0);
    timers_fini(&timers);
}

static void addresses_order_as_text_then_port(void **state)
{
    char bare[HOST_MAX + 1], longest[HOST_MAX];
    struct address ten, nine, other;
    (void)state;

    assert_true(address_parse(&ten, "akka://C@10.0.0.10:2551", "akka", "C"));
    assert_true(address_parse(&nine, "10.0.0.9:2551", "akka", "C"));
    assert_true(address_compare(&ten, &nine) < 0);
    assert_true(address_parse(&other, "C@10.0.0.9:2552", "akka", "C"));
    assert_true(address_compare(&nine, &other) < 0);
    assert_false(address_parse(&other, "pekko://C@h:1", "akka", "C"));
    assert_false(address_parse(&other, "akka://D@h:1", "akka", "C"));
    assert_true(address_parse(&other, "a_b.c-d.org:1", NULL, NULL));
    assert_true(address_parse(&other, "[fe80::1%eth0]:1", NULL, NULL));
    assert_string_equal(other.host, "[fe80::1%eth0]");
    assert_true(address_parse(&other, "C@fe80::1:77", NULL, NULL));
    assert_string_equal(other.host, "[fe80::1]");
    assert_int_equal(other.port, 77);
    address_bare_host(bare, other.host);
    assert_string_equal(bare, "fe80::1");
    address_bare_host(bare, "h.org");
    assert_string_equal(bare, "h.org");
    memset(longest, ':', sizeof longest);
    assert_true(address_set_named(&other, longest, HOST_MAX - 2, 1));
    assert_int_equal(strlen(other.host), HOST_MAX);
    assert_false(address_set_named(&other, longest, HOST_MAX - 1, 1));
    assert_true(address_parse(&other, "docker_host:1", NULL, NULL));
    assert_string_equal(other.host, "docker_host");
    assert_true(address_parse(&other, "a.docker_host:1", NULL, NULL));
    assert_false(address_parse(&other, "ho st:1", NULL, NULL));
    assert_false(address_parse(&other, "h$st:1", NULL, NULL));
    assert_false(address_parse(&other, "h\xc3\xb6st:1", NULL, NULL));
    assert_false(address_parse(&other, "h:0", NULL, NULL));
    assert_false(address_parse(&other, "h:65536", NULL, NULL));
    assert_false(address_parse(&other, "h:", NULL, NULL));
    assert_false(address_parse(&other, "h", NULL, NULL));
    assert_false(address_parse(&other, ":1", NULL, NULL));
}

static void an_outbox_returns_its_messages_unchanged(void **state)
{
    struct outbox outbox = { 0 };
    struct outbound message = { .serializer = 5, .stream = STREAM_CONTROL };
    struct outbound out;
    (void)state;

    message.recipient = slice_text("/system/x");
    message.manifest = slice_text("HB");
    for (int i = 0; i < 100; i++) {
        message.serializer = i;
        outbox_put(&outbox, &message);
    }
    for (int i = 0; i < 100; i++) {
        assert_true(outbox_next(&outbox, &out));
        assert_int_equal(out.serializer, i);
        assert_true(slice_is(out.recipient, "/system/x"));
        assert_true(slice_is(out.manifest, "HB"));
        assert_int_equal(out.payload.size, 0);
    }
    assert_false(outbox_next(&outbox, &out));
    outbox_fini(&outbox);
}

/* A payload for several receivers is stored once and returned for each. */
static void an_outbox_keeps_a_payload_once(void **state)
{
    struct outbox outbox = { 0 };
    struct outbound message = { .stream = STREAM_CONTROL };
    struct outbound out;
    uint8_t payload[1000];
    (void)state;

    message.recipient = slice_text("/system/x");
    for (int i = 0; i < 100; i++) {
        memset(payload, i / 30, sizeof payload);
        payload[999] = (uint8_t)(i / 15);
        message.payload = slice_of(payload, i % 15 == 7 ? 0 : sizeof payload);
        message.to.uid = (uint64_t)i + 1;
        outbox_put(&outbox, &message);
    }
    assert_in_range(outbox.bytes.size, 7 * sizeof payload,
                    14 * sizeof payload + 100 * 9);
    for (int i = 0; i < 100; i++) {
        assert_true(outbox_next(&outbox, &out));
        assert_int_equal(out.to.uid, i + 1);
        assert_true(slice_is(out.recipient, "/system/x"));
        assert_int_equal(out.payload.size, i % 15 == 7 ? 0 : sizeof payload);
        for (size_t at = 0; at < out.payload.size; at++)
            assert_int_equal(out.payload.data[at],
                             at < 999 ? i / 30 : i / 15);
    }
    assert_false(outbox_next(&outbox, &out));
    outbox_fini(&outbox);
}

static void an_outbox_names_the_receivers_of_the_next_messages(void **state)
{
    struct outbox outbox = { 0 };
    struct outbound message = { .stream = STREAM_CONTROL };
    struct outbound out;
    (void)state;

    assert_null(outbox_to(&outbox, 0));
    for (uint64_t uid = 1; uid <= 3; uid++) {
        message.to.uid = uid;
        outbox_put(&outbox, &message);
    }
    assert_int_equal(outbox_to(&outbox, 2)->uid, 3);
    assert_null(outbox_to(&outbox, 3));
    assert_true(outbox_next(&outbox, &out));
    assert_int_equal(outbox_to(&outbox, 0)->uid, 2);
    assert_null(outbox_to(&outbox, 2));
    outbox_fini(&outbox);
}

static void refs_split_into_address_and_path(void **state)
{
    struct identity self = { .protocol = "akka", .system = "C" };
    struct address address;
    struct slice path;
    struct buf buf = { 0 };
    (void)state;

    assert_true(ref_parse(&self, slice_text("akka://C@[::1]:77/user/a#-5"),
                          &address, &path));
    assert_string_equal(address.host, "[::1]");
    assert_int_equal(address.port, 77);
    assert_true(slice_is(path, "/user/a#-5"));
    assert_true(slice_is(path_plain(path), "/user/a"));
    ref_put(&buf, &self, &address, path);
    assert_true(
        slice_is(buf_slice(&buf), "akka://C@[::1]:77/user/a#-5"));
    buf_fini(&buf);
    assert_true(ref_at(&self, slice_text("akka://C@[::1]:77/user/a#-5"),
                       &address, &path));
    assert_true(slice_is(path, "/user/a#-5"));
    assert_false(ref_at(&self, slice_text("akka://C@[::1]:077/user/a"),
                        &address, &path));
    assert_false(ref_at(&self, slice_text("akka://C@[::1]:778/user/a"),
                        &address, &path));
    assert_false(ref_at(&self, slice_text("akka://C@[::1]:77"), &address, &path));
    assert_false(ref_at(&self, slice_text("akka://D@[::1]:77/a"), &address,
                        &path));
    assert_false(ref_parse(&self, slice_text("akka://D@h:1/x"), &address, &path));
    assert_false(ref_parse(&self, slice_text("akka://C@h/x"), &address, &path));
    assert_false(ref_parse(&self, slice_text("akka://C@h:1"), &address, &path));
    assert_false(ref_parse(&self, slice_text("akka://C@"), &address, &path));
}

static void a_line_of_a_trace_is_cut(void **state)
{
    struct trace *trace = trace_new(TRACE_INFO);
    char text[TRACE_TEXT_MAX + 1];
    struct trace_line line;
    (void)state;

    memset(text, 'x', sizeof text);
    text[TRACE_TEXT_MAX - 1] = 0;
    trace_put(trace, TRACE_INFO, "base", "%s", text);
    text[TRACE_TEXT_MAX - 1] = 'x';
    text[TRACE_TEXT_MAX] = 0;
    trace_put(trace, TRACE_INFO, "base", "%s", text);
    for (int i = 0; i < 2; i++) {
        assert_true(trace_next(trace, &line));
        assert_int_equal(strlen(line.text), TRACE_TEXT_MAX - 1);
    }
    trace_free(trace);
}

#define assert_text(expected, ...)                          \
    do {                                                    \
        char text_[TRACE_TEXT_MAX];                         \
        line_format(text_, sizeof text_, __VA_ARGS__);      \
        assert_string_equal(text_, expected);               \
    } while (0)

static void a_value_stays_one_value(void **state)
{
    (void)state;
    assert_text("ends id=a-b.c shard=-3", "ends id=%s shard=%d", "a-b.c", -3);
    assert_text("ends id=\"a b=c node=evil\" shard=7",
                "ends id=%.*s shard=%d", 15, "a b=c node=evil, cut", 7);
    assert_text("id=\"a=b\" x=1", "id=%s x=1", "a=b");
    assert_text("id=\"say \\\"x\\\" node=evil\" x=1", "id=%s x=1",
                "say \"x\" node=evil");
    assert_text("id=\"\\\\\" x=1", "id=%s x=1", "\\");
    assert_text("id=\"a\\nlevel=error\\u001b[2J\\u007f\" x=1", "id=%s x=1",
                "a\nlevel=error\x1b[2J\x7f");
    assert_text("id=\xc3\xa4 x=1", "id=%s x=1", "\xc3\xa4");
    assert_text("id= x=1", "id=%s x=1", "");
    assert_text("why=\"it is \\\"so\\\" x=2\" y=3", "why=\"%s\" y=%d",
                "it is \"so\" x=2", 3);
    assert_text("why=\"\" file=\"a b-wal\"", "why=\"%s\" file=\"%s-wal\"", "",
                "a b");
    assert_text("peer=h:25520 at=\"x y:1\"", "peer=%s:%u at=%s:%u", "h", 25520u,
                "x y", 1u);
    assert_text("as it is a=b c", "%s", "as it is a=b c");
}

static void a_line_is_formatted_as_by_printf(void **state)
{
    char expected[TRACE_TEXT_MAX];
    void *pointer = &expected;

    (void)state;
    assert_text("-1 4294967295 ff FF 17 c % 100%", "%d %u %x %X %o %c %% 100%%",
                -1, UINT32_MAX, 255u, 255u, 15u, 'c');
    assert_text("18446744073709551615 -9223372036854775808 7 -8 9",
                "%llu %lld %zu %ld %jd", ULLONG_MAX, LLONG_MIN, (size_t)7, -8L,
                (intmax_t)9);
    assert_text("[   a][b   ][00c][ab][  d]", "[%4s][%-4s][%03x][%.2s][%*s]",
                "a", "b", 12u, "abc", 3, "d");
    assert_text("[ ab] 1.50 2 3", "[%*.*s] %.2f %hd %hhu", 3, 2, "abc", 1.5,
                (short)2, (unsigned char)3);
    snprintf(expected, sizeof expected, "%p", pointer);
    assert_text(expected, "%p", pointer);
    assert_text("wide x=w", "wide x=%ls", L"w"); /* left to printf */
}

static void a_line_is_cut_after_a_value(void **state)
{
    char text[16];

    (void)state;
    memset(text, '!', sizeof text);
    line_format(text, sizeof text, "x id=%s more=%d", "a node=evil longer", 1);
    assert_string_equal(text, "x id=\"a node=e\"");
    line_format(text, sizeof text, "x id=\"%s\" more=%d", "a\n\n\n\n\n", 1);
    assert_string_equal(text, "x id=\"a\\n\\n\\n\"");
    line_format(text, sizeof text, "123456 key=%s b=c", "\x01\x01");
    assert_string_equal(text, "123456 key=\"\"");
    line_format(text, sizeof text, "123456789 key=%s b=c", "a b");
    assert_string_equal(text, "123456789 key=a");
    line_format(text, 1, "x");
    assert_string_equal(text, "");
}

static void a_trace_is_bounded(void **state)
{
    struct trace *trace = trace_new(TRACE_INFO);
    struct trace_line line;
    int count = 0;
    (void)state;

    trace_put(trace, TRACE_DEBUG, "base", "not kept");
    for (int i = 0; i < TRACE_LINES_MAX + 10; i++)
        trace_put(trace, TRACE_INFO, "base", "line %d", i);
    assert_true(trace_lost(trace) == 10);
    while (trace_next(trace, &line))
        count++;
    assert_int_equal(count, TRACE_LINES_MAX);
    trace_free(trace);
}

static void probes_are_read_as_they_were_written(void **state)
{
    struct probes *probes = probes_new();
    struct probe probe = { .kind = PROBE_ENTITY_STARTED, .shard = 7 };
    (void)state;

    probes_put(NULL, &probe);
    assert_false(probes_next(NULL, &probe));
    for (uint32_t round = 0; round < 2; round++) {
        for (uint64_t i = 0; i < 100; i++) {
            probe.first = i;
            probe.bytes = slice_of("0123456789", i % 10);
            probes_put(probes, &probe);
        }
        for (uint64_t i = 0; i < 100; i++) {
            assert_true(probes_next(probes, &probe));
            assert_int_equal(probe.kind, PROBE_ENTITY_STARTED);
            assert_int_equal(probe.shard, 7);
            assert_int_equal(probe.first, i);
            assert_true(slice_equal(probe.bytes, slice_of("0123456789", i % 10)));
        }
        assert_false(probes_next(probes, &probe));
    }
    probes_free(probes);
    probes_free(NULL);
}

static void probes_are_bounded(void **state)
{
    struct probes *probes = probes_new();
    uint8_t *large = mem_alloc(PROBES_BYTES_MAX / 4);
    struct probe probe = { .kind = PROBE_MESSAGE_ENDED };
    int count = 0;
    (void)state;

    for (int i = 0; i < PROBES_MAX + 10; i++)
        probes_put(probes, &probe);
    assert_int_equal(probes_lost(probes), 10);
    while (probes_next(probes, &probe))
        count++;
    assert_int_equal(count, PROBES_MAX);
    probe.bytes = slice_of(large, PROBES_BYTES_MAX / 4);
    for (int i = 0; i < 6; i++)
        probes_put(probes, &probe);
    assert_int_equal(probes_lost(probes), 12);
    probes_free(probes);
    mem_free(large);
}

static int order_of_number(const void *item, const void *key)
{
    uint32_t left = *(const uint32_t *)item;
    uint32_t right = *(const uint32_t *)key;

    return (left > right) - (left < right);
}

/* Finds the same place as a linear search, for every count up to ten and every key. */
static void bisection_finds_the_place(void **state)
{
    VEC(uint32_t) numbers = { 0 };
    (void)state;

    for (uint32_t count = 0; count <= 10; count++) {
        for (uint32_t key = 0; key <= 2 * count + 1; key++) {
            uint32_t place = 0;

            while (place < count && numbers.items[place] < key)
                place++;
            assert_int_equal(
                sorted_vec_place(&numbers, order_of_number, &key), place);
        }
        vec_push(&numbers, 2 * count + 1); /* 1, 3, 5 */
    }
    vec_fini(&numbers);
}

struct numbered {
    uint32_t key;
    uint32_t number;
};

static int compare_keys(const void *left, const void *right)
{
    uint32_t a = ((const struct numbered *)left)->key;
    uint32_t b = ((const struct numbered *)right)->key;

    return (a > b) - (a < b);
}

/* Equal items keep their order, whatever the input. */
static void sorting_is_stable(void **state)
{
    struct numbered items[300];
    struct rng rng;
    (void)state;

    rng_init(&rng, 1);
    for (uint32_t count = 0; count < 300; count++) {
        uint64_t different = 1 + rng_below(&rng, 300);
        uint64_t sum = 0;

        for (uint32_t i = 0; i < count; i++) {
            items[i] = (struct numbered){ (uint32_t)rng_below(&rng, different),
                                          i };
            sum += i + UINT64_C(1000) * items[i].key;
        }
        sort_stable(items, count, sizeof *items, compare_keys);
        for (uint32_t i = 0; i < count; i++) {
            assert_true(!i || items[i - 1].key < items[i].key ||
                        (items[i - 1].key == items[i].key &&
                         items[i - 1].number < items[i].number));
            sum -= items[i].number + UINT64_C(1000) * items[i].key;
        }
        assert_int_equal(sum, 0);
    }
}

/* The output of java.util.zip.GZIPOutputStream of JDK 17 for 100 times "akka": digests cover such
 * bytes. */
static void gzip_output_equals_the_jdks(void **state)
{
    static const uint8_t jdks[] = {
        0x1f, 0x8b, 0x08, 0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xff, 0x4b,
        0xcc, 0xce, 0x4e, 0x4c, 0x1c, 0xc5, 0x83, 0x06, 0x03, 0x00, 0x5e,
        0x87, 0xf3, 0xe3, 0x90, 0x01, 0x00, 0x00,
    };
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf read = { 0 };
    bool is_large;
    (void)state;

    for (int i = 0; i < 100; i++)
        buf_put_text(&bytes, "akka");
    gzip_deflate(&packed, buf_slice(&bytes));
    assert_true(slice_equal(buf_slice(&packed), slice_of(jdks, sizeof jdks)));
    assert_true(gzip_inflate(&read, buf_slice(&packed), 400, NULL));
    assert_true(slice_equal(buf_slice(&read), buf_slice(&bytes)));
    assert_false(gzip_inflate(&read, buf_slice(&packed), 399, &is_large));
    assert_true(is_large);
    for (size_t i = 0; i < packed.size; i++) {
        assert_false(
            gzip_inflate(&read, slice_of(packed.data, i), 400, &is_large));
        assert_false(is_large);
    }
    buf_put_u8(&packed, 0); /* a byte after the member */
    assert_false(gzip_inflate(&read, buf_slice(&packed), 400, &is_large));
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&read);
}

/* Sizes around a block's; the member holds the bytes unchanged and inflates as any other. */
static void gzip_can_store_bytes_uncompressed(void **state)
{
    static const size_t sizes[] = { 0, 1, 65534, 65535, 65536, 200000 };
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf read = { 0 };
    (void)state;

    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        buf_clear(&packed);
        while (bytes.size < sizes[i])
            buf_put_u8(&bytes, (uint8_t)(bytes.size * 31 >> 3));
        gzip_store(&packed, buf_slice(&bytes));
        assert_true(gzip_is(buf_slice(&packed)));
        assert_true(packed.size <= bytes.size + 20 + 5 * (bytes.size / 65535 + 1));
        buf_clear(&read);
        assert_true(gzip_inflate(&read, buf_slice(&packed), sizes[i], NULL));
        assert_true(slice_equal(buf_slice(&read), buf_slice(&bytes)));
        assert_false(gzip_inflate(&read, slice_of(packed.data, packed.size - 1),
                                  sizes[i], NULL));
        packed.data[packed.size - 8] ^= 1; /* its crc */
        assert_false(
            gzip_inflate(&read, buf_slice(&packed), sizes[i], NULL));
    }
    assert_false(gzip_is(buf_slice(&bytes)));
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&read);
}

/* A member's size is only a hint; here it is wrong in both directions. */
static void a_wrong_size_in_a_gzip_member_is_harmless(void **state)
{
    static const uint32_t said[] = { 0, 1, 399, 401, 20000, UINT32_MAX };
    struct buf bytes = { 0 };
    struct buf packed = { 0 };
    struct buf read = { 0 };
    (void)state;

    for (int i = 0; i < 100; i++)
        buf_put_text(&bytes, "akka");
    gzip_deflate(&packed, buf_slice(&bytes));
    for (size_t i = 0; i < sizeof said / sizeof said[0]; i++) {
        packed.size -= 4;
        buf_put_u32(&packed, said[i]);
        buf_clear(&read);
        assert_false(
            gzip_inflate(&read, buf_slice(&packed), 1 << 20, NULL));
        assert_true(read.capacity <= 64 * 1024);
    }
    buf_fini(&bytes);
    buf_fini(&packed);
    buf_fini(&read);
}

/* ---- texts ---- */

static void every_error_code_has_a_text_of_its_own(void **state)
{
    static const int codes[] = {
#define X(name, code, text) name,
        SHERD_ERRORS(X)
#undef X
    };
    const size_t count = sizeof codes / sizeof codes[0];
    (void)state;

    assert_string_equal(sherd_strerror(0), "success");
    for (size_t i = 0; i < count; i++) {
        assert_true(codes[i] < 0);
        assert_string_not_equal(sherd_strerror(codes[i]), "unknown");
        for (size_t j = 0; j < i; j++)
            assert_string_not_equal(sherd_strerror(codes[i]),
                                    sherd_strerror(codes[j]));
    }
    assert_string_equal(sherd_strerror(1), "unknown");
    assert_string_equal(sherd_strerror(-1 - (int)count), "unknown");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bisection_finds_the_place),
        cmocka_unit_test(hashes_agree_with_the_jvm),
        cmocka_unit_test(shards_agree_with_the_reference),
        cmocka_unit_test(shards_by_murmur2_agree_with_kafka),
        cmocka_unit_test(a_hash_does_not_depend_on_how_much_is_read_at_once),
        cmocka_unit_test(short_bytes_are_compared_and_copied_whole),
        cmocka_unit_test(numbers_survive_a_round_trip),
        cmocka_unit_test(a_cursor_stops_at_its_end),
        cmocka_unit_test(a_map_keeps_the_order_of_insertion),
        cmocka_unit_test(timers_of_one_moment_fire_in_the_order_they_were_set),
        cmocka_unit_test(addresses_order_as_text_then_port),
        cmocka_unit_test(an_outbox_returns_its_messages_unchanged),
        cmocka_unit_test(an_outbox_keeps_a_payload_once),
        cmocka_unit_test(an_outbox_names_the_receivers_of_the_next_messages),
        cmocka_unit_test(refs_split_into_address_and_path),
        cmocka_unit_test(a_line_of_a_trace_is_cut),
        cmocka_unit_test(a_value_stays_one_value),
        cmocka_unit_test(a_line_is_formatted_as_by_printf),
        cmocka_unit_test(a_line_is_cut_after_a_value),
        cmocka_unit_test(a_trace_is_bounded),
        cmocka_unit_test(probes_are_read_as_they_were_written),
        cmocka_unit_test(probes_are_bounded),
        cmocka_unit_test(sorting_is_stable),
        cmocka_unit_test(a_broken_invariant_names_its_place),
        cmocka_unit_test(lack_of_memory_is_no_broken_invariant),
        cmocka_unit_test(every_error_code_has_a_text_of_its_own),
        cmocka_unit_test(gzip_output_equals_the_jdks),
        cmocka_unit_test(gzip_can_store_bytes_uncompressed),
        cmocka_unit_test(a_wrong_size_in_a_gzip_member_is_harmless),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
