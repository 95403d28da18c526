/* Tests which configurations of two nodes agree, and what a member answers to a joiner. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "member/compat.h"

#define PROVIDER                                                               \
    "\"downing-provider-class\":\"akka.cluster.sbr."                           \
    "SplitBrainResolverProvider\""

static enum config_check answer(const char *own, const char *joiner,
                                const char *expected)
{
    struct compat ours;
    struct compat theirs;
    struct buf reply = { 0 };
    enum config_check check;

    assert_true(compat_parse(&ours, slice_text(own)));
    assert_true(compat_parse(&theirs, slice_text(joiner)));
    check = compat_answer(&ours, &theirs, &reply);
    buf_put_u8(&reply, 0);
    assert_string_equal((const char *)reply.data, expected);
    compat_fini(&ours);
    compat_fini(&theirs);
    buf_fini(&reply);
    return check;
}

static void members_answer_joiners_MEM146(void **state)
{
    const char *own =
        "{\"akka\":{\"version\":\"2.6.21\",\"cluster\":{" PROVIDER
        ",\"sharding\":{\"number-of-shards\":1000,\"state-store-mode\":"
        "\"ddata\"},\"split-brain-resolver\":{\"active-strategy\":"
        "\"keep-majority\"}}}}";
    (void)state;

    assert_int_equal(answer(own, "{}", ""), CONFIG_UNCHECKED);
    assert_int_equal(answer(own, own, own), CONFIG_COMPATIBLE);
    assert_int_equal(
        answer(own,
               "{\"akka\":{\"cluster\":{\"sharding\":{\"state-store-mode\":"
               "\"ddata\"}, " PROVIDER "}}}",
               "{\"akka\":{\"cluster\":{" PROVIDER
               ",\"sharding\":{\"state-store-mode\":\"ddata\"}}}}"),
        CONFIG_COMPATIBLE);
    assert_int_equal(
        answer(own,
               "{\"akka\":{\"cluster\":{\"sharding\":{\"state-store-mode\":"
               "\"ddata\"}," PROVIDER ",\"unknown\":[1,{\"a\":\"]\"}]}}}",
               ""),
        CONFIG_UNCHECKED);
    /* A text is no number; a key with dots is no path. */
    assert_int_equal(answer("{\"akka\":{\"cluster\":{" PROVIDER
                            ",\"sharding\":{\"number-of-shards\":1000}}}}",
                            "{\"akka\":{\"cluster\":{" PROVIDER
                            ",\"sharding\":{\"number-of-shards\":\"1000\"}}}}",
                            "{\"akka\":{\"cluster\":{" PROVIDER
                            ",\"sharding\":{\"number-of-shards\":1000}}}}"),
                     CONFIG_INCOMPATIBLE);
    assert_int_equal(
        answer("{\"akka\":{\"cluster\":{" PROVIDER "}}}",
               "{\"akka\":{\"cluster\":{" PROVIDER "}},\"akka.x\":1}", ""),
        CONFIG_UNCHECKED);
    /* They lack sharding; then what all must have. */
    assert_int_equal(answer(own, "{\"akka\":{\"cluster\":{" PROVIDER "}}}",
                            "{\"akka\":{\"cluster\":{" PROVIDER "}}}"),
                     CONFIG_COMPATIBLE);
    assert_int_equal(answer(own, "{\"akka\":{\"version\":\"2.6.21\"}}",
                            "{\"akka\":{\"version\":\"2.6.21\"}}"),
                     CONFIG_INCOMPATIBLE);
    /* They have it and we do not: they would ask in vain. */
    assert_int_equal(
        answer("{\"akka\":{\"cluster\":{" PROVIDER "}}}",
               "{\"akka\":{\"cluster\":{" PROVIDER
               ",\"sharding\":{\"state-store-mode\":\"ddata\"}}}}",
               ""),
        CONFIG_UNCHECKED);
    assert_int_equal(
        answer(own,
               "{\"akka\":{\"cluster\":{" PROVIDER
               ",\"split-brain-resolver\":{\"active-strategy\":"
               "\"keep-oldest\"}}}}",
               "{\"akka\":{\"cluster\":{" PROVIDER
               ",\"split-brain-resolver\":{\"active-strategy\":"
               "\"keep-majority\"}}}}"),
        CONFIG_INCOMPATIBLE);
    assert_int_equal(
        answer("{\"akka\":{\"cluster\":{\"downing-provider-class\":\"\"}}}",
               "{\"akka\":{\"cluster\":{" PROVIDER "}}}",
               "{\"akka\":{\"cluster\":{\"downing-provider-class\":\"\"}}}"),
        CONFIG_INCOMPATIBLE);
    /* Pekko's name of the resolver: its keys differ, so a JVM joiner cannot compare. */
    assert_int_equal(
        answer("{\"akka\":{\"cluster\":{" PROVIDER "}}}",
               "{\"pekko\":{\"cluster\":{\"downing-provider-class\":\"org."
               "apache.pekko.cluster.sbr.SplitBrainResolverProvider\"}}}",
               ""),
        CONFIG_UNCHECKED);
}

static void broken_configurations_are_refused(void **state)
{
    static const char *const bad[] = { "",          "x",       "{",
                                       "{\"a\"}",   "{\"a\":", "{\"a\":}",
                                       "{\"a\":1",  "{} x",    "{\"a\":1,}",
                                       "{\"a\":[}", "[1]",     "{\"a\":\"x}" };
    struct compat settings;
    struct buf deep = { 0 };
    (void)state;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_false(compat_parse(&settings, slice_text(bad[i])));
    for (int i = 0; i < 1000; i++)
        buf_put_text(&deep, "{\"a\":");
    buf_put_u8(&deep, 0);
    assert_false(compat_parse(&settings, slice_text((const char *)deep.data)));
    buf_fini(&deep);
}

/* ---- two configurations, each of one node ---- */

#define AKKA(settings) "{\"akka\":{\"cluster\":{" settings "}}}"
#define DOWNING(name) "\"downing-provider-class\":\"" name "\""
#define STRATEGY(name)                                                         \
    "\"split-brain-resolver\":{\"active-strategy\":\"" name "\"}"
#define MODE(name) "\"sharding\":{\"state-store-mode\":\"" name "\"}"

#define LEASES(names) "{\"akka\":{\"cluster\":{" DOWNING("") "}},\"sherd\":{\"lease\":{" names "}}}"
#define OWN(more) "{\"akka\":{\"cluster\":{" DOWNING("") "}},\"sherd\":{\"journal\":{\"store-id\":\"1\"}" more "}}"
#define NOT_SHARED                                                             \
    "The leases are not the same, so they protect nothing: all nodes of a data " \
    "center need one provider that all of them can reach. "

struct row {
    const char *own, *other;
    const char *reasons; /* a node that has the own configuration gives; none: they agree */
    const char *reversed; /* the other node gives */
};

static void check_reasons(const char *own, const char *other,
                          const char *expected)
{
    struct compat ours, theirs;
    struct buf reasons = { 0 };

    assert_true(compat_parse(&ours, slice_text(own)));
    assert_true(compat_parse(&theirs, slice_text(other)));
    assert_int_equal(compat_agree(&ours, &theirs, &reasons), !*expected);
    buf_put_u8(&reasons, 0);
    assert_string_equal((const char *)reasons.data, expected);
    compat_fini(&ours);
    compat_fini(&theirs);
    buf_fini(&reasons);
}

static void a_pair_gives_its_reasons(void **state)
{
    const struct row *row = *state;

    check_reasons(row->own, row->other, row->reasons);
    check_reasons(row->other, row->own, row->reversed);
}

#define PAIR(name, ...)                                                        \
    { #name, a_pair_gives_its_reasons, NULL, NULL, &(struct row){ __VA_ARGS__ } }

int main(void)
{
    const struct CMUnitTest tests[] = {
        PAIR(nodes_without_a_resolver_agree_MEM135, AKKA(DOWNING("")),
             AKKA(DOWNING("")), "", ""),
        PAIR(equal_resolvers_agree_MEM136, AKKA(PROVIDER), AKKA(PROVIDER), "",
             ""),
        PAIR(equal_configurations_agree_MEM160,
             AKKA(PROVIDER "," MODE("ddata") "," STRATEGY("keep-majority")),
             AKKA(PROVIDER "," MODE("ddata") "," STRATEGY("keep-majority")), "",
             ""),
        PAIR(different_resolvers_do_not_agree_MEM138, AKKA(DOWNING("x")),
             AKKA(DOWNING("y")),
             "cluster.downing-provider-class is \"x\" here and \"y\" there.",
             "cluster.downing-provider-class is \"y\" here and \"x\" there."),
        PAIR(different_strategies_do_not_agree_MEM139,
             AKKA(PROVIDER "," STRATEGY("keep-majority")),
             AKKA(PROVIDER "," STRATEGY("keep-oldest")),
             "cluster.split-brain-resolver.active-strategy is "
             "\"keep-majority\" here and \"keep-oldest\" there.",
             "cluster.split-brain-resolver.active-strategy is "
             "\"keep-oldest\" here and \"keep-majority\" there."),
        PAIR(a_missing_setting_is_named_MEM161,
             AKKA(DOWNING("x") "," MODE("ddata")), AKKA(MODE("ddata")),
             "cluster.downing-provider-class is \"x\" here and missing there.",
             ""),
        PAIR(a_missing_and_a_different_setting_are_named_MEM163,
             AKKA(DOWNING("x") "," MODE("ddata")), AKKA(MODE("persistence")),
             "cluster.downing-provider-class is \"x\" here and missing there. "
             "cluster.sharding.state-store-mode is \"ddata\" here and "
             "\"persistence\" there.",
             "cluster.sharding.state-store-mode is \"persistence\" here and "
             "\"ddata\" there."),
        PAIR(nodes_that_share_leases_agree, LEASES("\"shards\":\"etcd /a/\""),
             LEASES("\"shards\":\"etcd /a/\",\"coordinators\":\"etcd /a/\""), "", ""),
        PAIR(nodes_with_and_without_leases_agree, LEASES("\"shards\":\"etcd /a/\""),
             AKKA(DOWNING("")), "", ""),
        PAIR(other_leases_of_shards_do_not_agree, LEASES("\"shards\":\"etcd /a/\""),
             LEASES("\"shards\":\"file b 1:2\""),
             NOT_SHARED "lease.shards is \"etcd /a/\" here and \"file b 1:2\" there.",
             NOT_SHARED "lease.shards is \"file b 1:2\" here and \"etcd /a/\" there."),
        PAIR(other_leases_of_coordinators_do_not_agree,
             LEASES("\"coordinators\":\"file b 1:2\""), LEASES("\"coordinators\":\"file b 1:3\""),
             NOT_SHARED "lease.coordinators is \"file b 1:2\" here and \"file b 1:3\" there.",
             NOT_SHARED "lease.coordinators is \"file b 1:3\" here and \"file b 1:2\" there."),
        PAIR(other_leases_of_singletons_do_not_agree,
             LEASES("\"singletons\":\"file b 1:2\""), LEASES("\"singletons\":\"file b 1:3\""),
             NOT_SHARED "lease.singletons is \"file b 1:2\" here and \"file b 1:3\" there.",
             NOT_SHARED "lease.singletons is \"file b 1:3\" here and \"file b 1:2\" there."),
        PAIR(other_names_of_the_guardian_do_not_agree, OWN(",\"sharding\":{\"guardian-name\":\"a\"}"), OWN(""),
             "sharding.guardian-name is \"a\" here and missing there.",
             "sharding.guardian-name is missing here and \"a\" there."),
        PAIR(other_roles_of_coordinators_do_not_agree,
             OWN(",\"sharding\":{\"coordinator-role\":\"a\"}"), OWN(",\"sharding\":{\"coordinator-role\":\"b\"}"),
             "sharding.coordinator-role is \"a\" here and \"b\" there.",
             "sharding.coordinator-role is \"b\" here and \"a\" there."),
        PAIR(a_jvm_needs_no_names, OWN(",\"sharding\":{\"coordinator-role\":\"a\"}"), AKKA(DOWNING("")), "", ""),
        cmocka_unit_test(members_answer_joiners_MEM146),
        cmocka_unit_test(broken_configurations_are_refused),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
