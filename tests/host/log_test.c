/* Tests the log: formats, levels, repeats, threads, and a reader that stops reading. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <fcntl.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "host/log.h"
#include "host/log_format.h"
#include "host/log_repeat.h"

static void assert_line(bool json, const char *text, const char *wanted)
{
    struct log_line line = {.time_ms = 1763709755123,
                            .level = TRACE_INFO,
                            .module = "member",
                            .node = "127.0.0.1:25520",
                            .text = text};
    struct buf buf = {0};

    if (json)
        log_format_json(&buf, &line);
    else
        log_format_text(&buf, &line);
    buf_put_u8(&buf, 0);
    assert_string_equal((const char *)buf.data, wanted);
    buf_fini(&buf);
}

static void lines_are_logfmt(void **state)
{
#define HEAD                                                                   \
    "time=2025-11-21T07:22:35.123Z level=info module=member "                  \
    "node=127.0.0.1:25520 "
    (void)state;
    assert_line(false, "member is up peer=10.0.0.1:2 count=3",
                HEAD "msg=\"member is up\" peer=10.0.0.1:2 count=3");
    assert_line(false, "started", HEAD "msg=started");
    assert_line(false, "cut reason=\"two \\\"words\\\"\" next=1",
                HEAD "msg=cut reason=\"two \\\"words\\\"\" next=1");
    assert_line(false, "evil\nlevel=error \x1b[2J k=a\tb",
                HEAD "msg=\"evil\\nlevel=error \\u001b[2J\" k=\"a\\u0009b\"");
    assert_line(false, "ends id=\"a b=c node=evil\" x=\"\\\\n\\n\\u001b\\u00g0\"",
                HEAD "msg=ends id=\"a b=c node=evil\" "
                     "x=\"\\\\n\\n\\u001b\\\\u00g0\"");
    assert_line(false, "bare path=C:\\new", HEAD "msg=bare path=\"C:\\\\new\"");
    assert_line(false, "id=x only", HEAD "msg=\"\" id=x only");
    assert_line(false, "", HEAD "msg=\"\"");
    assert_line(false, "open a=\"b c", HEAD "msg=open a=\"\\\"b\" c");
}

static void lines_are_json(void **state)
{
#undef HEAD
#define HEAD                                                                   \
    "{\"time\":\"2025-11-21T07:22:35.123Z\",\"level\":\"info\","               \
    "\"module\":\"member\",\"node\":\"127.0.0.1:25520\","
    (void)state;
    assert_line(true, "member is up peer=10.0.0.1:2 count=3",
                HEAD "\"msg\":\"member is up\",\"peer\":\"10.0.0.1:2\","
                     "\"count\":\"3\"}");
    assert_line(true, "a \"quote\" k=\"two \\\"words\\\"\" k=again level=x",
                HEAD "\"msg\":\"a \\\"quote\\\"\","
                     "\"k\":\"two \\\"words\\\"\",\"k#2\":\"again\","
                     "\"level#2\":\"x\"}");
    assert_line(true, "ends id=\"a b=c node=evil\" x=\"\\\\n\\n\\u001b\\u00g0\" p=C:\\n",
                HEAD "\"msg\":\"ends\",\"id\":\"a b=c node=evil\","
                     "\"x\":\"\\\\n\\n\\u001b\\\\u00g0\","
                     "\"p\":\"C:\\\\n\"}");
    assert_line(true, "bytes \xff\xc3\xa4\xed\xa0\x80 k=\x80",
                HEAD "\"msg\":\"bytes \xef\xbf\xbd\xc3\xa4\xef\xbf\xbd"
                     "\xef\xbf\xbd\xef\xbf\xbd\",\"k\":\"\xef\xbf\xbd\"}");
}

/* A JSON reader keeps one value of a key, so keys must be unique. */
static void a_repeated_key_is_numbered_not_dropped(void **state)
{
    struct buf many = {0};
    struct buf buf = {0};
    struct log_line line = {.level = TRACE_INFO, .module = "m"};
    char pair[32];
    (void)state;

    assert_line(true, "down node=h:1 node=h:2 k=1 more=2 loose words k=3",
                HEAD "\"msg\":\"down\",\"node#2\":\"h:1\","
                     "\"node#3\":\"h:2\",\"k\":\"1\",\"more\":\"2\","
                     "\"more#2\":\"loose\",\"more#3\":\"words\","
                     "\"k#2\":\"3\"}");
    assert_line(false, "down node=h:1 k=1 loose k=\"2 3\"",
                "time=2025-11-21T07:22:35.123Z level=info module=member "
                "node=127.0.0.1:25520 msg=down node#2=h:1 k=1 loose "
                "k#2=\"2 3\"");
    buf_put_text(&many, "many");
    for (int i = 0; i < 100; i++) {
        snprintf(pair, sizeof pair, " k%d=%d", i, i);
        buf_put_text(&many, pair);
    }
    buf_put_text(&many, " node=last");
    buf_put_u8(&many, 0);
    line.text = (const char *)many.data;
    log_format_json(&buf, &line);
    buf_put_u8(&buf, 0);
    assert_non_null(strstr((char *)buf.data,
                           "\"k99\":\"99\",\"node\":\"last\"}"));
    buf_fini(&many);
    buf_fini(&buf);
}

static void a_long_line_is_cut_and_stays_whole(void **state)
{
    char text[3 * LOG_LINE_MAX];
    struct log_line line = {.level = TRACE_ERROR, .module = "m", .text = text};
    struct buf buf = {0};
    (void)state;

    memset(text, 0, sizeof text);
    strcpy(text, "short key=");
    memset(text + 10, 1, 2000); /* each becomes six bytes */
    strcat(text, " last=1");
    log_format_text(&buf, &line);
    assert_true(buf.size == LOG_LINE_MAX - 1);
    buf_clear(&buf);
    log_format_json(&buf, &line);
    buf_put_u8(&buf, 0);
    assert_non_null(
        strstr((char *)buf.data, "\"msg\":\"short\",\"last\":\"1\"}"));
    assert_null(strstr((char *)buf.data, "key"));
    buf_fini(&buf);
}

static void repeats_are_held_and_counted(void **state)
{
    struct log_repeat *repeat = calloc(1, sizeof *repeat);
    struct log_kind kind;
    uint32_t passed = 0;
    char text[32];
    (void)state;

    for (int i = 0; i < 100; i++) {
        snprintf(text, sizeof text, "dropped id=%d", i);
        passed += log_repeat_pass(repeat, 5000, TRACE_INFO, "m", text, 7);
    }
    assert_int_equal(passed, LOG_REPEAT_MAX);
    assert_true(log_repeat_pass(repeat, 5000, TRACE_INFO, "m", "other", 5));
    assert_true(log_repeat_pass(repeat, 5000, TRACE_INFO, "n", "dropped", 7));
    assert_true(log_repeat_pass(repeat, 5000, TRACE_ERROR, "m", "dropped", 7));
    assert_false(
        log_repeat_next(repeat, 5000 + LOG_REPEAT_MS - 1, false, &kind));
    assert_true(log_repeat_next(repeat, 5000 + LOG_REPEAT_MS, false, &kind));
    assert_int_equal(kind.held, 100 - LOG_REPEAT_MAX);
    assert_string_equal(kind.words, "dropped");
    assert_string_equal(kind.module, "m");
    assert_false(log_repeat_next(repeat, 99999, true, &kind));
    assert_true(log_repeat_pass(repeat, 6000, TRACE_INFO, "m", "dropped", 7));
    /* More kinds than table entries: quiet ones are dropped, no line is lost. */
    for (int i = 0; i < 3 * LOG_KINDS_MAX; i++) {
        snprintf(text, sizeof text, "kind%d", i);
        for (int j = 0; j < 3; j++)
            assert_true(log_repeat_pass(repeat, 7000, TRACE_INFO, "m", text,
                                        strlen(text)));
    }
    for (int i = 0; i < 1000; i++)
        assert_true(log_repeat_pass(repeat, 7000, TRACE_DEBUG, "m", "d", 1));
    free(repeat);
}

/* Keeps lines as the user's function. */
struct kept {
    int count;
    enum sherd_log_level level;
    char module[32];
    char line[512];
};

static void keep(void *user, enum sherd_log_level level,
                 const char *module, const char *line)
{
    struct kept *kept = user;

    kept->count++;
    kept->level = level;
    snprintf(kept->module, sizeof kept->module, "%s", module);
    snprintf(kept->line, sizeof kept->line, "%s", line);
}

static void levels_go_by_module(void **state)
{
    struct kept kept = {0};
    struct log_options options = {
        .level = SHERD_LOG_WARNING, .function = keep, .user = &kept};
    struct log *log = log_open(&options);
    char name[32];
    (void)state;

    assert_int_equal(trace_level_of("debug"), SHERD_LOG_DEBUG);
    assert_int_equal(trace_level_of("loud"), -1);
    log_write(log, TRACE_INFO, "member", NULL, "no");
    log_write(log, TRACE_WARNING, "member", "h:1", "yes a=1");
    assert_int_equal(kept.count, 1);
    assert_int_equal(kept.level, SHERD_LOG_WARNING);
    assert_string_equal(kept.module, "member");
    assert_non_null(strstr(kept.line, " node=h:1 msg=yes a=1"));
    assert_true(log_set_level(log, "region", SHERD_LOG_DEBUG));
    assert_int_equal(log_trace_level(log), TRACE_DEBUG);
    assert_true(log_on(log, TRACE_DEBUG, "region"));
    assert_false(log_on(log, TRACE_DEBUG, "member"));
    log_say(log, TRACE_DEBUG, "region", NULL, "number %d", 7);
    assert_non_null(strstr(kept.line, "msg=\"number 7\""));
    assert_true(log_set_level(log, "region", LOG_OFF));
    assert_true(log_set_level(log, NULL, LOG_OFF));
    assert_int_equal(log_trace_level(log), LOG_OFF);
    log_write(log, TRACE_ERROR, "region", NULL, "no");
    assert_int_equal(kept.count, 2);
    for (int i = 0; i < LOG_MODULES_MAX - 1; i++) {
        snprintf(name, sizeof name, "module%d", i);
        assert_true(log_set_level(log, name, SHERD_LOG_INFO));
    }
    assert_false(log_set_level(log, "one more", SHERD_LOG_INFO));
    log_close(log);
    log_close(NULL);
}

static void a_trace_is_drained(void **state)
{
    struct kept kept = {0};
    struct log_options options = {
        .level = SHERD_LOG_DEBUG, .function = keep, .user = &kept};
    struct log *log = log_open(&options);
    struct trace *trace = trace_new(TRACE_DEBUG);
    uint64_t lost = 0;
    (void)state;

    for (int i = 0; i < TRACE_LINES_MAX + 5; i++)
        trace_put(trace, TRACE_DEBUG, "m", "line i=%d", i);
    log_drain(log, trace, "h:1", &lost);
    assert_int_equal(kept.count, TRACE_LINES_MAX + 1);
    assert_non_null(strstr(kept.line, "lines=5"));
    log_drain(log, trace, "h:1", &lost);
    assert_int_equal(kept.count, TRACE_LINES_MAX + 1);
    trace_free(trace);
    log_close(log);
}

/* A decision about many members has one whole line. */
static void a_list_in_a_trace_is_written_whole(void **state)
{
    struct kept kept = {0};
    struct log_options options = {
        .level = SHERD_LOG_INFO, .function = keep, .user = &kept};
    struct log *log = log_open(&options);
    struct trace *trace = trace_new(TRACE_INFO);
    uint64_t lost = 0;
    (void)state;

    for (int i = 0; i < 2 * LOG_REPEAT_MAX; i++)
        trace_put_all(trace, TRACE_INFO, "m", "an item of a list i=%d", i);
    log_drain(log, trace, "h:1", &lost);
    assert_int_equal(kept.count, 2 * LOG_REPEAT_MAX);
    for (int i = 0; i < 2 * LOG_REPEAT_MAX; i++)
        trace_put(trace, TRACE_INFO, "m", "again and again i=%d", i);
    log_drain(log, trace, "h:1", &lost);
    assert_true(kept.count < 4 * LOG_REPEAT_MAX);
    trace_free(trace);
    log_close(log);
}

static void the_count_of_repeats_is_written_at_the_end(void **state)
{
    struct kept kept = {0};
    struct log_options options = {
        .level = SHERD_LOG_INFO, .function = keep, .user = &kept};
    struct log *log = log_open(&options);
    (void)state;

    for (int i = 0; i < 2 * LOG_REPEAT_MAX; i++)
        log_say(log, TRACE_INFO, "m", NULL, "again and again i=%d", i);
    assert_true(log_similar(log) > 0);
    kept.count = 0;
    for (int i = 0; i < 2 * LOG_REPEAT_MAX; i++)
        log_write_all(log, TRACE_INFO, "m", NULL, "an item of a list");
    log_write_all(log, TRACE_DEBUG, "m", NULL, "no");
    assert_int_equal(kept.count, 2 * LOG_REPEAT_MAX);
    log_close(log);
    assert_non_null(strstr(kept.line, "msg=\"again and again ... "));
    assert_non_null(strstr(kept.line, " similar\""));
}

#define THREADS 4
#define LINES 200

static void *talk(void *argument)
{
    struct log *log = argument;

    for (int i = 0; i < LINES; i++)
        log_say(log, TRACE_DEBUG, "m", "h:1", "line i=%d", i);
    return NULL;
}

static void several_threads_write_whole_lines(void **state)
{
    char path[] = "/tmp/sherd-log-XXXXXX";
    int descriptor = mkstemp(path);
    struct log_options options = {
        .level = SHERD_LOG_DEBUG, .json = true, .descriptor = descriptor};
    struct log *log = log_open(&options);
    pthread_t threads[THREADS];
    char line[256];
    int count = 0;
    FILE *file;
    (void)state;

    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, talk, log), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    log_close(log);
    file = fdopen(descriptor, "r");
    rewind(file);
    while (fgets(line, sizeof line, file)) {
        assert_memory_equal(line, "{\"time\":\"20", 11);
        assert_string_equal(line + strlen(line) - 3, "\"}\n");
        count++;
    }
    assert_int_equal(count, THREADS * LINES);
    fclose(file);
    unlink(path);
}

static uint64_t now_ms(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 + (uint64_t)now.tv_nsec / 1000000;
}

/* One line waits; a busy machine delays one or two more. */
static void a_reader_that_does_not_read_costs_little(void **state)
{
    struct log_options options = {.level = SHERD_LOG_DEBUG};
    struct log *log;
    int late = 0;
    char text[65536];
    int pipes[2];
    ssize_t size;
    (void)state;

    assert_int_equal(pipe(pipes), 0);
    options.descriptor = pipes[1];
    log = log_open(&options);
    for (int i = 0; i < 3000; i++) {
        uint64_t begin = now_ms();

        log_say(log, TRACE_DEBUG, "m", NULL, "line i=%d", i);
        late += now_ms() - begin >= LOG_STALL_MS / 2;
    }
    assert_in_range(late, 1, 20);
    assert_true(log_lost(log) > 1000);
    /* When the reader resumes, lines continue and the loss is reported. */
    fcntl(pipes[0], F_SETFL, O_NONBLOCK);
    while (read(pipes[0], text, sizeof text) > 0)
        ;
    log_say(log, TRACE_INFO, "m", NULL, "again");
    log_say(log, TRACE_INFO, "m", NULL, "and again");
    size = read(pipes[0], text, sizeof text - 1);
    assert_true(size > 0);
    text[size] = '\0';
    assert_non_null(strstr(text, "msg=again\n"));
    assert_non_null(strstr(text, "log lines lost: the reader is too slow"));
    close(pipes[0]);
    /* A reader that is gone has no effect. */
    log_say(log, TRACE_INFO, "m", NULL, "nobody");
    log_close(log);
    close(pipes[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_logfmt),
        cmocka_unit_test(lines_are_json),
        cmocka_unit_test(a_repeated_key_is_numbered_not_dropped),
        cmocka_unit_test(a_long_line_is_cut_and_stays_whole),
        cmocka_unit_test(repeats_are_held_and_counted),
        cmocka_unit_test(levels_go_by_module),
        cmocka_unit_test(a_trace_is_drained),
        cmocka_unit_test(a_list_in_a_trace_is_written_whole),
        cmocka_unit_test(the_count_of_repeats_is_written_at_the_end),
        cmocka_unit_test(several_threads_write_whole_lines),
        cmocka_unit_test(a_reader_that_does_not_read_costs_little),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
