/* Tests which entity types can coexist. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include <sherd/allocation.h>

#include "base/check.h"
#include "node/entity_type.h"
#include "lease/lease.h"
#include "node/peers/lease_names.h"

/* Returns the clash in either order; null: none. The caller frees it. */
static char *clash(const struct sherd_entity_type *one,
                   const struct sherd_entity_type *other,
                   const char *sharding_role)
{
    const struct node_settings settings = { .data_center = "home",
                                            .sharding_role = sharding_role };
    struct buf forth = { 0 };
    struct buf back = { 0 };
    char *text = NULL;

    assert_null(entity_type_fault(one));
    assert_null(entity_type_fault(other));
    if (entity_types_clash(&settings, one, other, &forth)) {
        assert_true(entity_types_clash(&settings, other, one, &back));
        text = mem_alloc(forth.size + 1);
        memcpy(text, forth.data, forth.size);
    } else {
        assert_false(entity_types_clash(&settings, other, one, &back));
    }
    buf_fini(&forth);
    buf_fini(&back);
    return text;
}

static struct sherd_entity_type type(const char *name, const char *center)
{
    return (struct sherd_entity_type){ .name = name,
                                       .data_center = center,
                                       .proxy = 1 };
}

static void assert_clash(const char *name, const char *center,
                         const char *other, const char *other_center,
                         const char *both)
{
    struct sherd_entity_type one = type(name, center);
    struct sherd_entity_type two = type(other, other_center);
    char *found = clash(&one, &two, NULL);

    if (both) {
        assert_non_null(found);
        assert_string_equal(found, both);
    } else {
        assert_null(found);
    }
    mem_free(found);
}

static void a_name_is_a_text(void **state)
{
    struct sherd_entity_type one = type("\xc3\xa9", NULL);
    (void)state;

    assert_null(entity_type_fault(&one));
    one.name = "\xc3";
    assert_non_null(strstr(entity_type_fault(&one), "UTF-8"));
}

static int region_zero(void *user, const struct sherd_allocation_request *request)
{
    (void)user;
    (void)request;
    return 0;
}

static void expect_fault(const char *allocation, const struct sherd_allocation_strategy *strategy,
                         const char *fault, const char *meant)
{
    struct sherd_entity_type one = type("A", NULL);
    const char *found;

    one.allocation = allocation;
    one.strategy = strategy;
    found = entity_type_fault(&one);
    if (fault)
        assert_non_null(strstr(found, fault));
    else
        assert_null(found);
    found = entity_type_meant(&one);
    if (meant)
        assert_string_equal(found, meant);
    else
        assert_null(found);
}

static void an_extractor_names_a_known_hash(void **state)
{
    const struct sherd_extractor kafka = { .hash = SHERD_SHARD_HASH_MURMUR2 };
    const struct sherd_extractor wrong = { .hash = (enum sherd_shard_hash)7 };
    struct sherd_entity_type one = type("A", NULL);
    (void)state;

    one.extractor = &kafka;
    assert_null(entity_type_fault(&one));
    one.extractor = &wrong;
    assert_non_null(strstr(entity_type_fault(&one), "sherd_shard_hash"));
}

static void name_lease(struct buf *name, const struct node_settings *settings, const char *shard,
                       size_t size)
{
    buf_clear(name);
    shard_lease_name_put(name, settings, "A", slice_of(shard, size));
}

/* Both texts differ in their last byte only. */
static void leases_of_long_text_shards_have_different_names(void **state)
{
    const struct node_settings settings = { .identity = { .system = "S" } };
    char text[SHERD_SHARD_MAX];
    struct buf one = { 0 }, other = { 0 };
    (void)state;

    memset(text, 'x', sizeof text);
    name_lease(&one, &settings, text, 240);
    assert_int_equal(one.size, sizeof "S-shard-A-" - 1 + 240); /* it fits whole */
    name_lease(&one, &settings, text, sizeof text);
    text[sizeof text - 1] = 'y';
    name_lease(&other, &settings, text, sizeof text);
    assert_int_equal(one.size, LEASE_TEXT_MAX - 1);
    assert_int_equal(other.size, LEASE_TEXT_MAX - 1);
    assert_false(slice_equal(buf_slice(&one), buf_slice(&other)));
    buf_fini(&one);
    buf_fini(&other);
}

static void unknown_allocation_strategies_are_refused(void **state)
{
    (void)state;
    expect_fault("extrenal", NULL, "is unknown", "external");
    expect_fault("leastshard", NULL, "is unknown", "least-shard");
    expect_fault("consistent-hash", NULL, "is unknown", "consistent-hashing");
    expect_fault("costum", NULL, "is unknown", "custom");
    expect_fault("", NULL, "is unknown", NULL);
    expect_fault("round-robin", NULL, "is unknown", NULL);
    expect_fault("least-shard", NULL, NULL, NULL);
    expect_fault("external", NULL, NULL, NULL);
}

static void a_custom_strategy_needs_its_functions(void **state)
{
    struct sherd_allocation_strategy strategy = { .allocate = region_zero };
    struct sherd_entity_type one = type("A", NULL);
    struct node_settings settings = { .allocation = ALLOCATION_EXTERNAL };
    (void)state;

    expect_fault("custom", NULL, "no function allocate", NULL);
    expect_fault("external", &strategy, "is not custom", NULL);
    expect_fault("custom", &strategy, NULL, NULL);
    expect_fault(NULL, &strategy, NULL, NULL);
    strategy.timeout_ms = 3600001;
    expect_fault(NULL, &strategy, "above an hour", NULL);
    strategy.allocate = NULL;
    expect_fault(NULL, &strategy, "no function allocate", NULL);
    assert_int_equal(entity_type_allocation(&settings, &one), ALLOCATION_EXTERNAL);
    one.allocation = "least-shard";
    assert_int_equal(entity_type_allocation(&settings, &one), ALLOCATION_LEAST_SHARD);
    one.allocation = NULL;
    one.strategy = &strategy;
    assert_int_equal(entity_type_allocation(&settings, &one), ALLOCATION_CUSTOM);
}

static void names_and_paths_must_differ(void **state)
{
    (void)state;
    assert_clash("A", NULL, "A", NULL, "A");
    assert_clash("A", NULL, "A", "home", "A"); /* the own data center */
    assert_clash("A", NULL, "AProxy", NULL, "/system/sharding/AProxy");
    assert_clash("A b", NULL, "A bProxy", NULL, "/system/sharding/A+bProxy");
    assert_clash("A", NULL, "ACoordinator", NULL,
                 "/system/sharding/ACoordinator");
    assert_clash("A", "west", "A-west", NULL, "/system/sharding/A-west");
    assert_clash("A", "b-c", "A-b", "c", "/system/sharding/A-b-c");
    assert_clash("A", "Proxy", "A-Proxy", NULL, "/system/sharding/A-Proxy");
    assert_clash("A", "west", "A@west", NULL, "A@west");
    assert_clash("A", "b@c", "A@b", "c", "A@b@c");
}

static void different_types_may_coexist(void **state)
{
    (void)state;
    assert_clash("A", NULL, "B", NULL, NULL);
    assert_clash("A", NULL, "A", "west", NULL);
    assert_clash("A", "east", "A", "west", NULL);
    assert_clash("A", "west", "AProxy", NULL, NULL); /* A's own is not here */
    assert_clash("A", NULL, "A-west", NULL, NULL);
    assert_clash("A+b", NULL, "A b", NULL, NULL); /* differ encoded, too */
    assert_clash("A%20b", NULL, "A b", NULL, NULL);
    assert_clash("A", NULL, "aProxy", NULL, NULL);
    assert_clash("A", NULL, "/system/sharding/A", NULL, NULL);
}

static void a_replicator_keeps_its_path(void **state)
{
    struct sherd_entity_type replicator = type("replicator", NULL);
    struct sherd_entity_type owned = type("hostReplicator", NULL);
    struct sherd_entity_type other = type("A", NULL);
    char *found;

    (void)state;
    assert_clash("A", NULL, "replicator", NULL, "/system/sharding/replicator");
    found = clash(&replicator, &replicator, NULL);
    assert_string_equal(found, "/system/sharding/replicator");
    mem_free(found);
    assert_null(clash(&owned, &owned, NULL));
    assert_null(clash(&owned, &other, NULL));
    other.role = "host";
    found = clash(&owned, &other, NULL);
    assert_string_equal(found, "/system/sharding/hostReplicator");
    mem_free(found);
    other.role = NULL;
    found = clash(&owned, &other, "host"); /* by the configuration */
    assert_string_equal(found, "/system/sharding/hostReplicator");
    mem_free(found);
}

static void apply(void *self, uint32_t event_type, struct sherd_bytes event)
{
    (void)self;
    (void)event_type;
    (void)event;
}

static const char *apply_checked(void *self, uint32_t event_type, struct sherd_bytes event)
{
    apply(self, event_type, event);
    return NULL;
}

static void a_type_says_once_how_its_events_are_applied(void **state)
{
    static struct sherd_upcast upcasts[UPCASTS_MAX + 1];
    struct sherd_entity_type one = type("one", NULL);
    (void)state;

    for (uint32_t i = 0; i <= UPCASTS_MAX; i++)
        upcasts[i].type = i;
    assert_false(entity_type_persists(&one));
    one.upcast_count = 1;
    assert_non_null(strstr(entity_type_fault(&one), "upcasts is null"));
    one.upcasts = upcasts;
    assert_non_null(strstr(entity_type_fault(&one), "neither apply nor apply_checked"));
    one.behavior.apply = apply;
    assert_true(entity_type_persists(&one));
    assert_null(entity_type_fault(&one));
    one.behavior.apply_checked = apply_checked;
    assert_non_null(strstr(entity_type_fault(&one), "set one of them"));
    one.behavior.apply = NULL;
    assert_true(entity_type_persists(&one));
    one.upcast_count = UPCASTS_MAX;
    assert_null(entity_type_fault(&one));
    upcasts[7].type = 3;
    assert_non_null(strstr(entity_type_fault(&one), "two upcasts"));
    one.upcast_count = UPCASTS_MAX + 1;
    assert_non_null(strstr(entity_type_fault(&one), "more than 256"));
}

static int save(const void *self, struct sherd_out *out)
{
    (void)self;
    (void)out;
    return 0;
}

static int load(void *self, uint32_t version, struct sherd_bytes image)
{
    (void)self;
    (void)version;
    (void)image;
    return 0;
}

static void the_functions_of_snapshots_belong_together(void **state)
{
    struct sherd_entity_type one = type("one", NULL);
    (void)state;

    one.delete_events = 1;
    assert_non_null(strstr(entity_type_fault(&one), "delete_events is set"));
    one.behavior.save_every = 10;
    assert_non_null(strstr(entity_type_fault(&one), "save is null"));
    one.behavior.save = save;
    assert_non_null(strstr(entity_type_fault(&one), "together"));
    one.behavior.load = load;
    assert_non_null(strstr(entity_type_fault(&one), "neither apply nor apply_checked"));
    one.behavior.apply = apply;
    assert_null(entity_type_fault(&one));
    one.behavior.save_every = 0;
    assert_non_null(strstr(entity_type_fault(&one), "neither save_every nor save_now"));
    one.behavior.save_every = 1;
    one.keep_snapshots = SNAPSHOTS_KEPT_MAX;
    assert_null(entity_type_fault(&one));
    one.keep_snapshots++;
    assert_non_null(strstr(entity_type_fault(&one), "more than 100"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_type_says_once_how_its_events_are_applied),
        cmocka_unit_test(the_functions_of_snapshots_belong_together),
        cmocka_unit_test(a_name_is_a_text),
        cmocka_unit_test(unknown_allocation_strategies_are_refused),
        cmocka_unit_test(an_extractor_names_a_known_hash),
        cmocka_unit_test(leases_of_long_text_shards_have_different_names),
        cmocka_unit_test(a_custom_strategy_needs_its_functions),
        cmocka_unit_test(names_and_paths_must_differ),
        cmocka_unit_test(different_types_may_coexist),
        cmocka_unit_test(a_replicator_keeps_its_path),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
