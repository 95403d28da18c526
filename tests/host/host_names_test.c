/* Tests which hosts a node takes from its settings, and which files it includes. */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/host_name.h"
#include "host/settings.h"

static int result_of(const struct sherd_options *options,
                     struct settings *settings, char error[512])
{
    memset(settings, 0, sizeof *settings);
    error[0] = 0;
    return settings_read(settings, options, error, 512);
}

/* As names of containers are: one rule for the own host and for others. */
static void a_host_may_have_an_underscore_MEM061(void **state)
{
    static const char *const seeds[] = { "app_node_1:2551", "akka://ClusterSystem@b_c.d_e:1",
                                         NULL };
    const struct sherd_options options = { .journal = "memory",
                                           .host = "app_node_1",
                                           .seed_nodes = seeds };
    struct settings settings;
    char error[512];
    (void)state;

    assert_int_equal(result_of(&options, &settings, error), 0);
    assert_string_equal(settings.node.identity.node.address.host, "app_node_1");
    assert_int_equal(settings.node.seed_node_count, 2);
    assert_string_equal(settings.node.seed_nodes[0].host, "app_node_1");
    assert_string_equal(settings.node.seed_nodes[1].host, "b_c.d_e");
    settings_fini(&settings);
}

static void a_wrong_sign_of_a_host_is_named_MEM060(void **state)
{
    static const struct {
        const char *host, *seed, *wanted;
    } rows[] = {
        { "a b", NULL, "canonical.hostname is \"a b\"; no host has a blank" },
        { "a\"b", NULL, "no host has '\"'" },
        { "b\xc3\xbc", NULL, "no host has byte 0xc3" },
        { NULL, "a b:1", "HOST:PORT; no host has a blank" },
        { NULL, "akka://ClusterSystem@a/b:1", "HOST:PORT; no host has '/'" },
        { NULL, "fake_hostname?!?:2551", "HOST:PORT; no host has '?'" },
        { NULL, "a:x", "HOST:PORT; its port must be a number from 1 to 65535" },
        { NULL, "akka://ClusterSystem@a:0", "its port must be a number from 1 to 65535" },
        { NULL, "a:65536", "its port must be a number from 1 to 65535" },
        { NULL, "a:", "its port must be a number from 1 to 65535" },
        { NULL, "a", "HOST:PORT; it needs a host and a port" },
        { NULL, "[::1]", "HOST:PORT; it needs a host and a port" },
        { NULL, "akka://ClusterSystem@a:1/user", "HOST:PORT; end it after the port" },
        { NULL, "a:1 ", "HOST:PORT; remove the blank at its end or begin" },
        { NULL, "http://a:1", "HOST:PORT; it has no system name" },
        { NULL, "akka://@a:1", "cluster.seed-nodes has the system name \"\"; it must be letters" },
    };
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const char *seeds[] = { rows[i].seed, NULL };
        const struct sherd_options options = { .journal = "memory",
                                               .host = rows[i].host,
                                               .seed_nodes = rows[i].seed ? seeds : NULL };
        struct settings settings;
        char error[512];

        assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
        if (!strstr(error, rows[i].wanted))
            fail_msg("row %zu: %s", i, error);
        settings_fini(&settings);
    }
    assert_null(host_name_fault_in("a:x")); /* the port is wrong, not the host */
}

static void an_address_that_means_all_is_no_nodes_address(void **state)
{
    static const char *const all[] = { "0.0.0.0", "::", "[::]", "0", "0x0.0", "::ffff:0.0.0.0" };
    static const char *const one[] = { "0.0.0.1", "::1", "[fe80::1]", "127.0.0.1", "a" };
    struct settings settings;
    char error[512];
    (void)state;

    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        const struct sherd_options options = { .journal = "memory", .host = all[i] };

        assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
        if (!strstr(error, "at which no other node finds this one; write its address, and "
                           "remote.artery.bind.hostname = "))
            fail_msg("%s: %s", all[i], error);
        settings_fini(&settings);
    }
    for (size_t i = 0; i < sizeof one / sizeof *one; i++) {
        const struct sherd_options options = { .journal = "memory", .host = one[i] };

        if (result_of(&options, &settings, error))
            fail_msg("%s: %s", one[i], error);
        settings_fini(&settings);
    }
}

static void paths_are_kept_from_the_root(void **state)
{
    static const char text[] =
        "sherd { remote { artery.transport = tls-tcp, tls { certificate = c.pem, key = k.pem, ca = "
        "/ca.pem } }\ncluster { seed-nodes-file = \"../seeds\", distributed-data { durable { "
        "keys = [a], lmdb.dir = mine } } } }";
    const struct sherd_options options = { .journal = "memory", .config_text = text };
    struct settings settings;
    char error[512], before[256];
    (void)state;

    assert_non_null(getcwd(before, sizeof before));
    assert_int_equal(chdir("/tmp"), 0);
    if (result_of(&options, &settings, error))
        fail_msg("%s", error);
    assert_int_equal(chdir(before), 0);
    assert_string_equal(settings.tls.certificate, "/tmp/c.pem");
    assert_string_equal(settings.tls.key, "/tmp/k.pem");
    assert_string_equal(settings.tls.ca, "/ca.pem");
    assert_null(settings.tls.crl);
    assert_string_equal(settings.discovery.file, "/tmp/../seeds");
    assert_string_equal(settings.durable_dir, "/tmp/mine");
    settings_fini(&settings);
}

static void akkas_words_for_the_own_host_are_looked_up(void **state)
{
    const struct sherd_options address = { .journal = "memory",
                                           .host = "<getHostAddress>" };
    const struct sherd_options name = { .journal = "memory",
                                        .host = "<getHostName>" };
    struct settings settings;
    char error[512], host[256] = "";
    struct in_addr four;
    struct in6_addr six;
    (void)state;

    assert_int_equal(gethostname(host, sizeof host - 1), 0);
    assert_int_equal(result_of(&name, &settings, error), 0);
    assert_string_equal(settings.node.identity.node.address.host, host);
    assert_string_equal(settings.bind_host, host);
    settings_fini(&settings);
    if (result_of(&address, &settings, error)) { /* the machine's name has no address */
        assert_non_null(strstr(error, "is not known; write the host"));
    } else {
        address_bare_host(host, settings.node.identity.node.address.host);
        host[strcspn(host, "%")] = 0;
        assert_true(inet_pton(AF_INET, host, &four) == 1 ||
                    inet_pton(AF_INET6, host, &six) == 1);
        assert_string_equal(settings.bind_host, settings.node.identity.node.address.host);
    }
    settings_fini(&settings);
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "w");

    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

/* Without a writer it would never end. */
static void an_include_that_cannot_be_read_is_refused_with_the_reason(void **state)
{
    char folder[] = "/tmp/sherd-include-XXXXXX", conf[64], fifo[64], text[400];
    const struct sherd_options options = { .journal = "memory", .config_file = conf };
    struct settings settings;
    char error[512];
    (void)state;

    assert_non_null(mkdtemp(folder));
    (void)snprintf(conf, sizeof conf, "%s/app.conf", folder);
    (void)snprintf(fifo, sizeof fifo, "%s/pipe", folder);
    assert_int_equal(mkfifo(fifo, 0600), 0);
    write_file(conf, "include \"pipe\"\nsherd.lanes = 1\n");
    assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "cannot include"));
    assert_non_null(strstr(error, fifo));
    assert_non_null(strstr(error, "no regular file"));
    settings_fini(&settings);
    write_file(conf, "include \"/dev/zero\"\nsherd.lanes = 1\n");
    assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "no regular file"));
    settings_fini(&settings);
    assert_int_equal(unlink(fifo), 0);
    (void)snprintf(text, sizeof text, "include required(\"app.conf/x\")");
    write_file(conf, text);
    assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "app.conf/x: there is no such file"));
    settings_fini(&settings);
    (void)snprintf(text, sizeof text, "include required(\"%0300d\")", 0);
    write_file(conf, text);
    assert_int_equal(result_of(&options, &settings, error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "File name too long"));
    settings_fini(&settings);
    (void)snprintf(text, sizeof text, "include required(url(\"file://%s/a%%20b.conf\"))", folder);
    write_file(conf, text);
    (void)snprintf(text, sizeof text, "%s/a b.conf", folder);
    write_file(text, "sherd.lanes = 1\n");
    if (result_of(&options, &settings, error))
        fail_msg("%s", error);
    settings_fini(&settings);
    assert_int_equal(unlink(text), 0);
    assert_int_equal(mkdir(fifo, 0700), 0);
    write_file(conf, "include \"pipe\"\nsherd.lanes = 1\n");
    assert_int_equal(result_of(&options, &settings, error), 0); /* a folder: left out */
    settings_fini(&settings);
    assert_int_equal(rmdir(fifo), 0);
    assert_int_equal(unlink(conf), 0);
    assert_int_equal(rmdir(folder), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_host_may_have_an_underscore_MEM061),
        cmocka_unit_test(a_wrong_sign_of_a_host_is_named_MEM060),
        cmocka_unit_test(an_address_that_means_all_is_no_nodes_address),
        cmocka_unit_test(paths_are_kept_from_the_root),
        cmocka_unit_test(akkas_words_for_the_own_host_are_looked_up),
        cmocka_unit_test(an_include_that_cannot_be_read_is_refused_with_the_reason),
    };

    return cmocka_run_group_tests_name("host_names", tests, NULL, NULL);
}
