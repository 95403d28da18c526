/* Tests what a node logs about settings that have no effect, or that cannot be what was meant. */
#define _POSIX_C_SOURCE 200809L
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <sherd/sherd.h>

static char logged[16384];

static void keep(void *user, enum sherd_log_level level, const char *module,
                 const char *line)
{
    size_t size = strlen(logged);

    (void)user;
    (void)level;
    (void)module;
    (void)snprintf(logged + size, sizeof logged - size, "%s\n", line);
}

static int alone; /* an option */

/* Opens a node with these settings, and closes it. */
static void open_with(const char *text)
{
    const struct sherd_options options = { .port = SHERD_PORT_ANY,
                                           .config_text = text,
                                           .alone = alone,
                                           .log = keep };
    struct sherd_system *system;

    logged[0] = 0;
    if (sherd_open(&system, &options))
        fail_msg("%s", logged);
    sherd_close(system);
}

static void tells(const char *text, const char *words)
{
    open_with(text);
    if (!strstr(logged, words))
        fail_msg("wanted %s, got %s", words, logged);
}

static void tells_not(const char *text, const char *words)
{
    open_with(text);
    if (strstr(logged, words))
        fail_msg("not wanted: %s, got %s", words, logged);
}

static void settings_inside_a_section_of_the_application_are_warned_of(void **state)
{
    static const char words[] = "level=warning module=config";
    (void)state;
    tells("orders { akka.cluster.roles = [a] }",
          "stand inside a section of the application, and have no effect there\" "
          "section=orders.akka");
    tells_not("orders { akka.cluster.roles = [a] }\nakka = ${orders.akka}", words);
}

static void settings_at_the_root_are_warned_of(void **state)
{
    static const char words[] = "stands at the root, and has no effect there";
    (void)state;
    tells("cluster.roles = [a]",
          "stands at the root, and has no effect there\" key=cluster.roles "
          "source=config_text line=1 hint=\"write akka.cluster.roles\"");
    tells_not("cluster.roles = [a]\nakka.cluster.roles = ${cluster.roles}", words);
    tells_not("cluster.name = a", words);
}

static void variables_with_wrong_names_are_warned_of(void **state)
{
    (void)state;
    assert_int_equal(setenv("SHERD_LANES", "1", 1), 0);
    tells("", "level=warning module=config");
    assert_int_equal(unsetenv("SHERD_LANES"), 0);
    assert_non_null(strstr(logged, "an environment variable is not read\" "
                                   "variable=SHERD_LANES hint=\"rename it to SHERD__LANES\""));
}

static void keys_of_both_toolkits_are_warned_of(void **state)
{
    static const char words[] = "stand below akka and below pekko";
    (void)state;
    tells("akka.cluster.roles = [a]\npekko.lanes = 1", words);
    assert_non_null(strstr(logged, "this node speaks akka"));
    tells_not("akka.cluster.roles = [a]\npekko.lanes = 1\nsherd.protocol.name = pekko", words);
    tells_not("akka.cluster.roles = [a]\npekko.lanes = 1\n"
              "akka.cluster.seed-nodes = [\"pekko://A@127.0.0.1:1\"]", words);
    tells_not("akka.cluster.roles = [a]\nsherd.lanes = 1", words);
    tells("pekko.cluster.roles = [a]\nsherd.protocol.name = akka",
          "settings below pekko count, and this node speaks akka");
    tells("akka.cluster.roles = [a]\nsherd.protocol.name = pekko",
          "settings below akka count, and this node speaks pekko");
    tells_not("pekko.cluster.roles = [a]\nsherd.protocol.name = pekko", "settings below");
    tells_not("akka.cluster.roles = [a]", "settings below");
}

static void an_address_that_seed_nodes_cannot_reach_is_warned_of(void **state)
{
    static const char words[] = "found on its own machine only";
    (void)state;
    tells("akka.cluster.seed-nodes = [\"127.0.0.2:1\", \"10.0.0.1:1\"]",
          "found on its own machine only, and a seed node has another one\" "
          "host=127.0.0.1 seed=10.0.0.1 hint=\"set remote.artery.canonical.hostname\"");
    tells_not("akka.cluster.seed-nodes = [\"127.0.0.2:1\", \"localhost:1\", \"[::1]:1\"]", words);
    tells_not("", words);
}

static void a_node_alone_with_seed_nodes_is_warned_of(void **state)
{
    static const char words[] = "this node is not alone, as it has seed nodes";
    static const char seeds[] = "akka.cluster.seed-nodes = [\"127.0.0.1:1\"]";
    (void)state;
    tells_not(seeds, words);
    alone = 1;
    tells(seeds, words);
    tells_not("", words);
    alone = 0;
}

/* A file that a JVM node shares needs them. */
static void settings_of_the_jvm_are_no_warnings(void **state)
{
    static const char words[] = "level=warning";
    (void)state;
    tells_not("akka.persistence { journal.plugin = x, snapshot-store.plugin = y }\n"
              "akka.stdout-loglevel = DEBUG", words);
    assert_non_null(strstr(logged, "settings of the JVM have no effect here\" "
                                   "keys=akka.persistence.journal.plugin,"
                                   "akka.persistence.snapshot-store.plugin,akka.stdout-loglevel"));
    tells_not("akka.actor.provider = akka.cluster.ClusterActorRefProvider", words);
    tells_not("pekko.actor.provider = org.apache.pekko.cluster.ClusterActorRefProvider", words);
    tells("akka.actor.provider = local", "has no effect\" key=akka.actor.provider");
}

static void a_plain_address_is_refused_with_its_place(void **state)
{
    const struct sherd_options options = {
        .port = SHERD_PORT_ANY,
        .config_text = "\nakka.remote.artery.bind.hostname = \"0.0.0.0\"",
        .log = keep,
    };
    struct sherd_system *system;
    (void)state;

    logged[0] = 0;
    assert_int_equal(sherd_open(&system, &options), SHERD_ECONFIG);
    assert_non_null(strstr(logged, "bind=0.0.0.0 key=akka.remote.artery.bind.hostname "
                                   "source=config_text line=2"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(settings_inside_a_section_of_the_application_are_warned_of),
        cmocka_unit_test(settings_at_the_root_are_warned_of),
        cmocka_unit_test(variables_with_wrong_names_are_warned_of),
        cmocka_unit_test(keys_of_both_toolkits_are_warned_of),
        cmocka_unit_test(an_address_that_seed_nodes_cannot_reach_is_warned_of),
        cmocka_unit_test(a_node_alone_with_seed_nodes_is_warned_of),
        cmocka_unit_test(settings_of_the_jvm_are_no_warnings),
        cmocka_unit_test(a_plain_address_is_refused_with_its_place),
    };

    return cmocka_run_group_tests_name("settings_told", tests, NULL, NULL);
}
