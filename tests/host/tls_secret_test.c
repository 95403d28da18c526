/* Tests a cluster's secrets: proofs, missing proofs, changed secrets, and refused files. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/limits.h"
#include "host/tls_secret.h"
#include "tls_ends.h"

#define RED "red-red-red-red-red-red-red-red-1"
#define BLUE "blue-blue-blue-blue-blue-blue-22"
#define HELLO "AKKA\1 and a first frame that is longer than a proof is"

static const char *path_of(const char *name)
{
    static char paths[4][128];
    static unsigned next;
    char *path = paths[next++ % 4];

    (void)snprintf(path, sizeof paths[0], "/tmp/sherd-secret-%d-%s", (int)getpid(), name);
    return path;
}

/* Replaces the file atomically. */
static const char *write_as(const char *name, const char *text, size_t size, mode_t mode)
{
    const char *path = path_of(name), *temporary = path_of("new");
    FILE *file = fopen(temporary, "wb");

    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chmod(temporary, mode), 0);
    assert_int_equal(rename(temporary, path), 0);
    return path;
}

static const char *secret_file(const char *name, const char *text)
{
    return write_as(name, text, strlen(text), 0600);
}

/* text: of the file; null: no secret. */
static struct tls *open_by(const struct keys *keys, const char *name, const char *text)
{
    struct tls_options options = tls_options_of(keys);

    if (text)
        options.secret = secret_file(name, text);
    return tls_open_with(&options);
}

/* One end dials, the other reads. True: the text arrived. */
static bool says_so(struct tls *dials, struct tls *reads, uint64_t now, size_t piece, const char *text, size_t size)
{
    struct tls_end *link = tls_connect(dials, now, "127.0.0.1");
    struct tls_end *conn = tls_accept(reads, now);
    uint8_t came[200];
    struct slice bytes;
    size_t had = 0, more;
    bool right;

    tls_pump(link, conn, piece);
    assert_int_equal(tls_end_state(link), TLS_OPEN);
    assert_int_equal(tls_end_state(conn), TLS_OPEN);
    tls_end_write(link, slice_of(text, size));
    do
        while ((more = tls_end_read(conn, came + had, sizeof came - had)) > 0)
            had += more;
    while (tls_carry(link, conn, piece));
    while ((more = tls_end_read(conn, came + had, sizeof came - had)) > 0)
        had += more;
    right = tls_end_state(conn) == TLS_OPEN;
    if (right) {
        assert_int_equal(had, size);
        assert_memory_equal(came, text, size);
    } else {
        assert_int_equal(had, 0);
        assert_string_equal(tls_end_why(conn), "TLS: the peer does not know the cluster's secret");
        tls_end_feed(conn, slice_text("more"));
        assert_int_equal(tls_end_read(conn, came, sizeof came), 0);
    }
    assert_false(tls_end_pending(conn, &bytes)); /* no answer */
    tls_end_free(link);
    tls_end_free(conn);
    return right;
}

static bool meets(struct tls *dials, struct tls *reads, uint64_t now)
{
    tls_look_now(dials, now);
    tls_look_now(reads, now);
    return says_so(dials, reads, now, 1000, HELLO, sizeof HELLO - 1);
}

static void a_peer_with_the_secret_is_accepted_however_bytes_are_cut(void **state)
{
    static const size_t pieces[] = { 1, 2, 31, 32, 33, 100, 16384 };
    struct tls *red = open_by(*state, "red", RED "\n");

    for (size_t i = 0; i < sizeof pieces / sizeof pieces[0]; i++)
        assert_true(says_so(red, red, 0, pieces[i], HELLO, sizeof HELLO - 1));
    tls_close(red);
}

static void a_peer_without_the_secret_is_refused(void **state)
{
    struct tls *red = open_by(*state, "red", RED);
    struct tls *blue = open_by(*state, "blue", BLUE);
    struct tls *plain = open_by(*state, NULL, NULL);
    struct tls_end *link, *conn;
    uint8_t came[16];

    assert_false(meets(blue, red, 0));
    assert_false(meets(plain, red, 0));
    assert_true(meets(red, red, 0));

    /* A partial proof is pending, and times out later. */
    link = tls_connect(plain, 0, "127.0.0.1");
    conn = tls_accept(red, 0);
    tls_pump(link, conn, 1000);
    tls_end_write(link, slice_text("AKKA\1"));
    tls_pump(link, conn, 1000);
    assert_int_equal(tls_end_read(conn, came, sizeof came), 0);
    assert_int_equal(tls_end_state(conn), TLS_OPEN);
    tls_end_free(link);
    tls_end_free(conn);
    tls_close(red);
    tls_close(blue);
    tls_close(plain);
}

/* A dialled node without the secret cannot reuse a proof that it got. */
static void a_proof_is_valid_on_its_connection_only(void **state)
{
    struct tls *red = open_by(*state, "red", RED);
    struct tls *plain = open_by(*state, NULL, NULL);
    struct tls_end *link = tls_connect(red, 0, "127.0.0.1");
    struct tls_end *conn = tls_accept(plain, 0);
    uint8_t proof[TLS_PROOF_SIZE + 1];

    tls_pump(link, conn, 1000);
    assert_int_equal(tls_end_read(conn, proof, sizeof proof), TLS_PROOF_SIZE);
    assert_null(memmem(proof, TLS_PROOF_SIZE, RED, 4));
    assert_false(says_so(plain, red, 0, 1000, (const char *)proof, TLS_PROOF_SIZE));
    tls_end_free(link);
    tls_end_free(conn);
    tls_close(red);
    tls_close(plain);
}

/* From red to blue, one node at a time. Nodes before and after each step can connect at any
 * time. */
static void secrets_are_changed_while_nodes_run(void **state)
{
    static const char *const steps[] = { RED, RED "\r\n\n" BLUE "\n", BLUE "\n" RED "\n", BLUE };
    struct tls *one = open_by(*state, "one", steps[0]);
    struct tls *two = open_by(*state, "two", steps[0]);
    uint64_t now = 0;

    for (int i = 1; i < 4; i++) {
        for (int node = 0; node < 2; node++) {
            (void)secret_file(node ? "two" : "one", steps[i]);
            now += 2 * SECOND;
            tls_logged[0] = 0;
            assert_true(meets(one, two, now));
            assert_true(meets(two, one, now));
            assert_string_equal(tls_logged, "changed TLS files are in use");
        }
    }
    (void)secret_file("one", RED);
    now += 2 * SECOND;
    assert_false(meets(one, two, now));
    assert_false(meets(two, one, now));

    (void)secret_file("one", "");
    now += 2 * SECOND;
    assert_false(meets(one, two, now)); /* the earlier content stays in use */
    assert_non_null(strstr(tls_logged, "the file contains no secret"));
    tls_close(one);
    tls_close(two);
}

/* All files got the second secret, and one has it first, before the next look. */
static void an_unread_secret_is_not_used_yet(void **state)
{
    struct tls *behind = open_by(*state, "one", RED);
    struct tls *ahead = open_by(*state, "two", BLUE "\n" RED);

    (void)secret_file("one", RED "\n" BLUE);
    assert_false(meets(ahead, behind, SECOND - 1));
    assert_true(meets(behind, ahead, SECOND - 1));
    assert_true(meets(ahead, behind, SECOND));
    tls_close(behind);
    tls_close(ahead);
}

static void opens_not(const struct keys *keys, const char *path, const char *why)
{
    struct tls_options options = tls_options_of(keys);

    options.secret = path;
    tls_not_opened(&options, why);
}

static void files_that_cannot_be_used_are_refused(void **state)
{
    struct tls_options options = tls_options_of(*state);
    char text[(TLS_SECRET_SIZE_MAX + 3) * (TLS_SECRETS_MAX + 1)];
    char *end = text;

    opens_not(*state, path_of("nowhere"), "No such file");
    opens_not(*state, secret_file("odd", "\n \n"), "the file contains no secret");
    opens_not(*state, write_as("odd", RED, strlen(RED), 0604), "every user of this machine");
    opens_not(*state, write_as("odd", RED, strlen(RED), 0602), "every user of this machine");
    opens_not(*state, write_as("odd", RED, strlen(RED), 0660), "users other than its owner can write it");
    if (geteuid() == 0) { /* only root can change a file's owner */
        const char *theirs = secret_file("odd", RED);

        assert_int_equal(chown(theirs, 12345, (gid_t)-1), 0);
        opens_not(*state, theirs, "the file belongs to another user");
    }
    memset(text, 'a', TLS_SECRET_SIZE_MIN);
    opens_not(*state, write_as("odd", text, TLS_SECRET_SIZE_MIN - 1, 0600), "too short");
    options.secret = write_as("odd", text, TLS_SECRET_SIZE_MIN, 0600);
    tls_close(tls_open_with(&options));
    for (int i = 0; i < TLS_SECRETS_MAX; i++, end += TLS_SECRET_SIZE_MAX + 2) {
        memset(end, 'a' + i, TLS_SECRET_SIZE_MAX);
        memcpy(end + TLS_SECRET_SIZE_MAX, "\r\n", 2);
    }
    options.secret = write_as("odd", text, (size_t)(end - text), 0640);
    tls_close(tls_open_with(&options)); /* the largest number */
    opens_not(*state, write_as("odd", text, (size_t)(end - text) + 1, 0600), "too large");
    memset(text, 'a', TLS_SECRET_SIZE_MAX + 1);
    opens_not(*state, write_as("odd", text, TLS_SECRET_SIZE_MAX + 1, 0600), "a line is too long");
    opens_not(*state, secret_file("odd", RED "\n" BLUE "\n" RED), "more than two");
    options.secret = secret_file("odd", RED);
    options.allows_1_2 = true;
    tls_not_opened(&options, "TLS 1.3 only");
    (void)remove(options.secret);
}

static int remove_files(void **state)
{
    static const char *const names[] = { "red", "blue", "one", "two" };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        (void)remove(path_of(names[i]));
    return tls_remove_keys(state);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_peer_with_the_secret_is_accepted_however_bytes_are_cut),
        cmocka_unit_test(a_peer_without_the_secret_is_refused),
        cmocka_unit_test(a_proof_is_valid_on_its_connection_only),
        cmocka_unit_test(secrets_are_changed_while_nodes_run),
        cmocka_unit_test(an_unread_secret_is_not_used_yet),
        cmocka_unit_test(files_that_cannot_be_used_are_refused),
    };

    return cmocka_run_group_tests_name("tls_secret", tests, tls_make_keys, remove_files);
}
