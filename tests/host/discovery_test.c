/* Tests lists of seed nodes from files and from a scripted DNS server. */
#define _GNU_SOURCE
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <arpa/inet.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "base/timers.h"
#include "host/discovery.h"

static char path[64];
static char why[DISCOVERY_CAUSE_MAX];

/* ---- files ---- */

static int make_path(void **state)
{
    int fd;

    (void)state;
    (void)snprintf(path, sizeof path, "/tmp/sherd-seeds-XXXXXX");
    fd = mkstemp(path);
    return fd < 0 ? -1 : close(fd);
}

static int drop_path(void **state)
{
    (void)state;
    return unlink(path);
}

static struct seed_list *read_bytes(const void *bytes, size_t size)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_int_equal(fwrite(bytes, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    why[0] = 0;
    return discovery_read_file(path, "akka", "Shop", why);
}

static struct seed_list *read_text(const char *text)
{
    return read_bytes(text, strlen(text));
}

static bool is_at(const struct seed_list *list, uint32_t index,
                  const char *host, uint16_t port)
{
    return index < list->count &&
           strcmp(list->addresses[index].host, host) == 0 &&
           list->addresses[index].port == port;
}

static void a_file_gives_addresses_in_its_order(void **state)
{
    struct seed_list *list = read_text("# the shop\n"
                                       "\n"
                                       "b.example:2552\r\n"
                                       "  akka://Shop@a.example:2551 # the first\n"
                                       "b.example:2552\n"
                                       "Shop@10.0.0.3:1");
    (void)state;

    assert_string_equal(why, "");
    assert_int_equal(list->count, 3);
    assert_true(is_at(list, 0, "b.example", 2552)); /* in their order */
    assert_true(is_at(list, 1, "a.example", 2551));
    assert_true(is_at(list, 2, "10.0.0.3", 1));
    mem_free(list);
}

static void an_invalid_line_is_named(void **state)
{
    static const char *const lines[] = {
        "a.example", "a.example:0", "a.example:70000", ":2551", "a b:1",
        "akka://Other@a:1", "pekko://Shop@a:1", "a:1 b:2", "\"a\":1",
        "a\rb:1", "a\033[1m:1", "a\x7f:1",
    };
    (void)state;

    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct seed_list *list;
        char text[128];

        (void)snprintf(text, sizeof text, "ok:1\n# no\n%s\nok:2\n", lines[i]);
        list = read_text(text);
        if (list->count || !strstr(why, ":3: "))
            fail_msg("%s: %u, %s", lines[i], list->count, why);
        mem_free(list);
    }
}

static void a_file_without_an_address_is_reported(void **state)
{
    struct seed_list *list;
    (void)state;

    list = read_text("# later\n\n");
    assert_int_equal(list->count, 0);
    assert_non_null(strstr(why, "no seed node in it"));
    mem_free(list);
    list = read_bytes("a:1\0\n", 5);
    assert_int_equal(list->count, 0);
    assert_non_null(strstr(why, ":1: "));
    mem_free(list);
    list = discovery_read_file("/nowhere/seeds", "akka", "Shop", why);
    assert_int_equal(list->count, 0);
    assert_non_null(strstr(why, "/nowhere/seeds: No such file"));
    mem_free(list);
    list = discovery_read_file("/tmp", "akka", "Shop", why);
    assert_int_equal(list->count, 0);
    mem_free(list);
}

/* limit: MEMBER_SEEDS_MAX, SEED_FILE_MAX, SEED_LINE_MAX */
static void files_have_limits(void **state)
{
    static char text[SEED_FILE_MAX + 2];
    struct seed_list *list;
    size_t used = 0;
    (void)state;

    for (int i = 0; i <= MEMBER_SEEDS_MAX; i++)
        used += (size_t)sprintf(text + used, "a:%d\n", i + 1);
    list = read_text(text);
    assert_int_equal(list->count, 0);
    assert_non_null(strstr(why, ":129: more than 128"));
    mem_free(list);
    text[used - strlen("a:129\n")] = 0;
    list = read_text(text);
    assert_int_equal(list->count, MEMBER_SEEDS_MAX);
    mem_free(list);
    memset(text, '#', sizeof text - 1);
    text[sizeof text - 1] = 0;
    list = read_text(text);
    assert_non_null(strstr(why, "more than 65536 bytes"));
    mem_free(list);
    memset(text, 'a', SEED_LINE_MAX - 1);
    (void)strcpy(text + SEED_LINE_MAX - 1, ":1\n");
    list = read_text(text);
    assert_int_equal(list->count, 0);
    mem_free(list);
}

/* ---- DNS ---- */

enum dns_way {
    DNS_ANSWER,
    DNS_NO_SUCH_NAME,
    DNS_NO_DATA,
    DNS_GARBAGE,   /* the right id, then random bytes */
    DNS_TRUNCATED, /* promises more by TCP, and closes there */
    DNS_CUT,       /* ends inside a record */
    DNS_SILENT,
    DNS_SERVER_FAILURE
};

struct record {
    const char *host; /* SRV: a name; A, AAAA: an address */
    uint16_t port;
};

struct dns {
    int socket;
    int listener; /* TCP, on the same port */
    int port;
    enum dns_way way;
    const struct record *records; /* ends with a null host */
    uint32_t count; /* or this many generated ones */
    char name[256]; /* of the last question */
    _Atomic int asked;
    _Atomic bool ends;
    uv_thread_t thread;
};

static void put_name(struct buf *buf, const char *name)
{
    while (*name) {
        size_t size = strcspn(name, ".");

        buf_put_u8(buf, (uint8_t)size);
        buf_put(buf, name, size);
        name += size + (name[size] == '.');
    }
    buf_put_u8(buf, 0);
}

static void put_number(struct buf *buf, unsigned number)
{
    buf_put_u8(buf, (uint8_t)(number >> 8));
    buf_put_u8(buf, (uint8_t)number);
}

static bool put_record(struct buf *out, int type, const char *host,
                       uint16_t port)
{
    struct buf data = { 0 };
    uint8_t bytes[16];
    bool fits = true;

    if (type == 33) {
        put_number(&data, 0);
        put_number(&data, 5);
        put_number(&data, port);
        put_name(&data, host);
    } else if (type == 1 && inet_pton(AF_INET, host, bytes) == 1) {
        buf_put(&data, bytes, 4);
    } else if (type == 28 && inet_pton(AF_INET6, host, bytes) == 1) {
        buf_put(&data, bytes, 16);
    } else {
        fits = false;
    }
    if (fits) {
        put_number(out, 0xc00c); /* the question's name */
        put_number(out, (unsigned)type);
        put_number(out, 1);
        put_number(out, 0);
        put_number(out, 30);
        put_number(out, (unsigned)data.size);
        buf_put_slice(out, buf_slice(&data));
    }
    buf_fini(&data);
    return fits;
}

static unsigned put_records(const struct dns *dns, struct buf *out, int type)
{
    unsigned count = 0;

    for (const struct record *at = dns->records; at && at->host; at++)
        count += put_record(out, type, at->host, at->port);
    for (uint32_t i = 0; i < dns->count; i++)
        count += put_record(out, type, "x", (uint16_t)(i + 1));
    return count;
}

static size_t read_question(struct dns *dns, const uint8_t *bytes, size_t size,
                            int *type)
{
    size_t at = 12, used = 0;

    while (at < size && bytes[at]) {
        memcpy(dns->name + used, bytes + at + 1, bytes[at]);
        used += bytes[at];
        dns->name[used++] = '.';
        at += bytes[at] + 1u;
    }
    dns->name[used ? used - 1 : 0] = 0;
    *type = bytes[at + 1] << 8 | bytes[at + 2];
    return at + 5;
}

static void answer(struct dns *dns, const uint8_t *bytes, size_t size,
                   struct buf *out)
{
    int type;
    size_t end = read_question(dns, bytes, size, &type);
    struct buf records = { 0 };
    unsigned count = dns->way == DNS_ANSWER || dns->way == DNS_CUT
                         ? put_records(dns, &records, type)
                         : 0;
    unsigned flags = 0x8580; /* a final answer */

    flags |= dns->way == DNS_NO_SUCH_NAME ? 3 : 0;
    flags |= dns->way == DNS_SERVER_FAILURE ? 2 : 0;
    flags |= dns->way == DNS_TRUNCATED ? 0x200 : 0;
    buf_put(out, bytes, 2);
    put_number(out, flags);
    put_number(out, 1);
    put_number(out, count);
    put_number(out, 0);
    put_number(out, 0);
    buf_put(out, bytes + 12, end - 12);
    buf_put_slice(out, buf_slice(&records));
    if (dns->way == DNS_GARBAGE)
        for (size_t i = 4; i < out->size; i++)
            out->data[i] = (uint8_t)(i * 37 + 200);
    if (dns->way == DNS_CUT)
        out->size -= 3;
    buf_fini(&records);
}

#define DATAGRAM_MAX 512 /* bytes of an answer; longer ones use TCP */

static void serve_datagram(struct dns *dns)
{
    uint8_t bytes[1024];
    struct sockaddr_in from;
    socklen_t from_size = sizeof from;
    struct buf out = { 0 };
    ssize_t size = recvfrom(dns->socket, bytes, sizeof bytes, 0,
                            (struct sockaddr *)&from, &from_size);

    (void)atomic_fetch_add(&dns->asked, 1);
    if (size < 17 || dns->way == DNS_SILENT)
        return;
    answer(dns, bytes, (size_t)size, &out);
    if (out.size > DATAGRAM_MAX) {
        out.size = DATAGRAM_MAX;
        out.data[2] |= 2;
    }
    check(sendto(dns->socket, out.data, out.size, 0, (struct sockaddr *)&from,
                 from_size) > 0);
    buf_fini(&out);
}

static void serve_stream(struct dns *dns)
{
    uint8_t bytes[1024];
    struct buf out = { 0 };
    struct buf whole = { 0 };
    int fd = accept4(dns->listener, NULL, NULL, SOCK_CLOEXEC);
    size_t size = 0;

    check(fd >= 0);
    while (dns->way == DNS_ANSWER &&
           (size < 2 || size < 2u + (size_t)(bytes[0] << 8 | bytes[1]))) {
        ssize_t got = recv(fd, bytes + size, sizeof bytes - size, 0);

        if (got <= 0)
            break;
        size += (size_t)got;
    }
    if (size > 2) {
        answer(dns, bytes + 2, size - 2, &out);
        put_number(&whole, (unsigned)out.size);
        buf_put_slice(&whole, buf_slice(&out));
        check(send(fd, whole.data, whole.size, MSG_NOSIGNAL) ==
              (ssize_t)whole.size);
    }
    buf_fini(&out);
    buf_fini(&whole);
    check(close(fd) == 0);
}

static void serve(void *context)
{
    struct dns *dns = context;
    struct pollfd file_watch[2] = { { .fd = dns->socket, .events = POLLIN },
                               { .fd = dns->listener, .events = POLLIN } };

    while (!atomic_load(&dns->ends)) {
        if (poll(file_watch, 2, 20) <= 0)
            continue;
        if (file_watch[0].revents)
            serve_datagram(dns);
        if (file_watch[1].revents)
            serve_stream(dns);
    }
}

/* One port for UDP and TCP. False: the TCP port is in use. */
static bool take_port(struct dns *dns)
{
    struct sockaddr_in address = { .sin_family = AF_INET,
                                   .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
    socklen_t size = sizeof address;

    dns->socket = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    check(bind(dns->socket, (struct sockaddr *)&address, size) == 0);
    check(getsockname(dns->socket, (struct sockaddr *)&address, &size) == 0);
    dns->port = ntohs(address.sin_port);
    dns->listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (bind(dns->listener, (struct sockaddr *)&address, size) == 0 &&
        listen(dns->listener, 4) == 0)
        return true;
    check(close(dns->socket) == 0 && close(dns->listener) == 0);
    return false;
}

static void start(struct dns *dns, enum dns_way way,
                  const struct record *records)
{
    memset(dns, 0, sizeof *dns);
    while (!take_port(dns))
        continue;
    dns->way = way;
    dns->records = records;
}

static struct seed_list *ask_stopped(struct dns *dns, bool is_srv,
                                     const _Atomic bool *stopped)
{
    char servers[32];
    struct dns_question question = { .name = is_srv ? "_remote._tcp.shop.test"
                                                    : "shop.test",
                                     .is_srv = is_srv,
                                     .port = 2552,
                                     .servers = servers,
                                     .timeout = dns->way == DNS_ANSWER || atomic_load(stopped)
                                                    ? 30 * SECOND
                                                    : 500 * MS };
    struct seed_list *list;

    (void)snprintf(servers, sizeof servers, "127.0.0.1:%d", dns->port);
    check(uv_thread_create(&dns->thread, serve, dns) == 0);
    why[0] = 0;
    list = discovery_ask_dns(&question, stopped, why);
    atomic_store(&dns->ends, true);
    check(uv_thread_join(&dns->thread) == 0);
    check(close(dns->socket) == 0);
    check(close(dns->listener) == 0);
    return list;
}

static struct seed_list *ask(struct dns *dns, bool is_srv)
{
    static const _Atomic bool stopped = false;

    return ask_stopped(dns, is_srv, &stopped);
}

static void srv_records_give_hosts_and_ports(void **state)
{
    static const struct record records[] = {
        { "n2.shop.test", 2551 }, { "N1.shop.test", 2552 },
        { "n1.shop.test", 2551 }, { "n2.shop.test", 2551 }, { NULL, 0 },
    };
    struct seed_list *list;
    struct dns dns;
    (void)state;

    start(&dns, DNS_ANSWER, records);
    list = ask(&dns, true);
    assert_string_equal(why, "");
    assert_string_equal(dns.name, "_remote._tcp.shop.test");
    assert_int_equal(list->count, 3);
    assert_true(is_at(list, 0, "n1.shop.test", 2551));
    assert_true(is_at(list, 1, "n1.shop.test", 2552));
    assert_true(is_at(list, 2, "n2.shop.test", 2551));
    mem_free(list);
}

static void address_records_get_the_configured_port(void **state)
{
    static const struct record records[] = {
        { "10.0.0.9", 0 }, { "10.0.0.10", 0 }, { "fd00::1", 0 },
        { "10.0.0.9", 0 }, { NULL, 0 },
    };
    struct seed_list *list;
    struct dns dns;
    (void)state;

    start(&dns, DNS_ANSWER, records);
    list = ask(&dns, false);
    assert_string_equal(why, "");
    assert_int_equal(list->count, 3);
    assert_true(is_at(list, 0, "10.0.0.10", 2552)); /* in members' order, as texts */
    assert_true(is_at(list, 1, "10.0.0.9", 2552));
    assert_true(is_at(list, 2, "[fd00::1]", 2552)); /* as in refs */
    mem_free(list);
}

static void failed_queries_give_no_list(void **state)
{
    static const enum dns_way ways[] = {
        DNS_NO_SUCH_NAME, DNS_NO_DATA, DNS_GARBAGE, DNS_TRUNCATED, DNS_CUT,
        DNS_SILENT, DNS_SERVER_FAILURE,
    };
    static const struct record records[] = {
        { "n2.shop.test", 2551 }, { NULL, 0 },
    };
    (void)state;

    for (size_t i = 0; i < 2 * sizeof ways / sizeof *ways; i++) {
        struct seed_list *list;
        struct dns dns;

        start(&dns, ways[i / 2], records);
        list = ask(&dns, i % 2);
        if (list->count || !strstr(why, "shop.test: "))
            fail_msg("%zu: %u, %s", i, list->count, why);
        if (ways[i / 2] == DNS_SILENT) /* the query's time limit, not that of c-ares for a server */
            assert_string_equal(strstr(why, "DNS"), "DNS did not answer in time");
        assert_true(atomic_load(&dns.asked) > 0);
        mem_free(list);
    }
}

/* limit: MEMBER_SEEDS_MAX */
static void a_list_keeps_the_first_of_too_many_addresses(void **state)
{
    struct seed_list *list;
    struct dns dns;
    (void)state;

    start(&dns, DNS_ANSWER, NULL);
    dns.count = MEMBER_SEEDS_MAX + 20;
    list = ask(&dns, true);
    assert_int_equal(list->count, MEMBER_SEEDS_MAX);
    assert_true(is_at(list, MEMBER_SEEDS_MAX - 1, "x", MEMBER_SEEDS_MAX));
    assert_non_null(strstr(why, "more than 128"));
    mem_free(list);
}

static void invalid_hosts_are_skipped(void **state)
{
    static const struct record records[] = {
        { "n1.shop.test", 0 },
        { "a-name-of-more-than-a-hundred-and-eleven-bytes.a-name-of-more-than-a-hundred-and-eleven-bytes."
          "a-name-of-more-than-a-hundred-and-eleven-bytes", 1 }, /* this one fits */
        { "n2.shop.test", 2551 }, { NULL, 0 },
    };
    struct seed_list *list;
    struct dns dns;
    (void)state;

    start(&dns, DNS_ANSWER, records);
    list = ask(&dns, true);
    assert_int_equal(list->count, 2);
    assert_true(is_at(list, 1, "n2.shop.test", 2551));
    assert_non_null(strstr(why, "1 of its hosts"));
    mem_free(list);
}

static void invalid_servers_are_refused(void **state)
{
    static const _Atomic bool stopped = false;
    struct dns_question question = { .name = "shop.test",
                                     .servers = "not a server",
                                     .timeout = SECOND };
    struct seed_list *list = discovery_ask_dns(&question, &stopped, why);
    (void)state;

    assert_int_equal(list->count, 0);
    assert_non_null(strstr(why, "shop.test: "));
    mem_free(list);
}

static void stopping_ends_a_lookup(void **state)
{
    static const _Atomic bool stopped = true;
    uint64_t began = uv_hrtime();
    struct seed_list *list;
    struct dns dns;
    (void)state;

    start(&dns, DNS_SILENT, NULL);
    list = ask_stopped(&dns, true, &stopped);
    assert_true(uv_hrtime() - began < 2 * SECOND);
    assert_non_null(strstr(why, "in time")); /* it was cancelled */
    assert_int_equal(list->count, 0);
    mem_free(list);
}

/* ---- the thread ---- */

struct heard {
    uv_mutex_t mutex;
    uv_cond_t changed;
    uint32_t lists, lines, count;
};

static void done(void *context, struct seed_list *list)
{
    struct heard *heard = context;

    uv_mutex_lock(&heard->mutex);
    heard->lists++;
    heard->count = list->count;
    uv_cond_signal(&heard->changed);
    uv_mutex_unlock(&heard->mutex);
    mem_free(list);
}

static void say(void *context, enum trace_level level, const char *text)
{
    struct heard *heard = context;

    assert_int_equal(level, TRACE_WARNING);
    assert_non_null(strstr(text, path));
    heard->lines++; /* done follows, under the mutex */
}

static void look(struct discovery *discovery, struct heard *heard)
{
    uint32_t before;

    uv_mutex_lock(&heard->mutex);
    before = heard->lists;
    uv_mutex_unlock(&heard->mutex);
    discovery_look(discovery);
    uv_mutex_lock(&heard->mutex);
    while (heard->lists == before)
        uv_cond_wait(&heard->changed, &heard->mutex);
    uv_mutex_unlock(&heard->mutex);
}

static void write_file(const char *text)
{
    mem_free(read_text(text));
}

static void a_file_is_read_again_each_time(void **state)
{
    struct heard heard = { .lists = 0 };
    struct discovery_options options = { .file = path, .protocol = "akka",
                                      .system = "Shop", .done = done,
                                      .say = say, .context = &heard };
    struct discovery *discovery;
    (void)state;

    assert_int_equal(uv_mutex_init(&heard.mutex), 0);
    assert_int_equal(uv_cond_init(&heard.changed), 0);
    discovery = discovery_open(&options);
    assert_non_null(discovery);
    look(discovery, &heard);
    look(discovery, &heard);
    assert_int_equal(heard.lines, 1); /* a reason is not repeated */
    write_file("oops\n");
    look(discovery, &heard);
    assert_int_equal(heard.lines, 2);
    write_file("a:1\nb:1\n");
    look(discovery, &heard);
    assert_int_equal(heard.lines, 2);
    assert_int_equal(heard.count, 2);
    discovery_close(discovery);
    uv_cond_destroy(&heard.changed);
    uv_mutex_destroy(&heard.mutex);
}

/* Opening a FIFO would wait for a writer. */
static void a_fifo_is_refused_without_waiting(void **state)
{
    struct heard heard = { .lists = 0 };
    struct discovery_options options = { .file = path, .protocol = "akka",
                                      .system = "Shop", .done = done,
                                      .say = say, .context = &heard };
    struct seed_list *list;
    struct discovery *discovery;
    (void)state;

    assert_int_equal(uv_mutex_init(&heard.mutex), 0);
    assert_int_equal(uv_cond_init(&heard.changed), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkfifo(path, 0600), 0);
    discovery = discovery_open(&options);
    assert_non_null(discovery);
    look(discovery, &heard);
    look(discovery, &heard);
    assert_int_equal(heard.count, 0);
    assert_int_equal(heard.lines, 1);
    discovery_close(discovery);
    list = discovery_read_file(path, "akka", "Shop", why);
    assert_non_null(strstr(why, ": it is no regular file"));
    mem_free(list);
    list = discovery_read_file("/dev/zero", "akka", "Shop", why);
    assert_string_equal(why, "/dev/zero: it is no regular file");
    mem_free(list);
    uv_cond_destroy(&heard.changed);
    uv_mutex_destroy(&heard.mutex);
}

#define FILE_TEST(name) \
    cmocka_unit_test_setup_teardown(name, make_path, drop_path)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILE_TEST(a_file_gives_addresses_in_its_order),
        FILE_TEST(an_invalid_line_is_named),
        FILE_TEST(a_file_without_an_address_is_reported),
        FILE_TEST(files_have_limits),
        cmocka_unit_test(srv_records_give_hosts_and_ports),
        cmocka_unit_test(address_records_get_the_configured_port),
        cmocka_unit_test(failed_queries_give_no_list),
        cmocka_unit_test(a_list_keeps_the_first_of_too_many_addresses),
        cmocka_unit_test(invalid_hosts_are_skipped),
        cmocka_unit_test(invalid_servers_are_refused),
        cmocka_unit_test(stopping_ends_a_lookup),
        FILE_TEST(a_file_is_read_again_each_time),
        FILE_TEST(a_fifo_is_refused_without_waiting),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
