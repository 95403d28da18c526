/* Tests registered journal back ends: their names, their settings, and how their answers reach a lane. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/check.h"
#include "host/backend_plugin.h"
#include "host/settings.h"

static enum sherd_backend_result answer;
static struct sherd_fence answered_fence;
static char seen[64]; /* the setting that open read */

static void *open_fake(const struct sherd_backend_options *options,
                       enum sherd_backend_mode mode, char *error)
{
    const char *text = options->setting(options->user, "key");

    (void)mode;
    (void)error;
    snprintf(seen, sizeof seen, "%s|%s", options->place, text ? text : "none");
    return &answer;
}

static void write_fake(void *store, struct sherd_backend_request *const *requests,
                       uint32_t count)
{
    (void)store;
    for (uint32_t i = 0; i < count; i++) {
        sherd_backend_settle(requests[i], answer, "why");
        for (uint32_t j = 0; j < requests[i]->shard_count; j++)
            requests[i]->shards[j].stored = answered_fence;
    }
}

static void read_fake(void *store, struct sherd_backend_request *const *requests,
                      uint32_t count)
{
    (void)store;
    for (uint32_t i = 0; i < count; i++) {
        /* The id stays readable while the answer grows. */
        for (uint64_t seq = 1; seq <= 1000; seq++)
            sherd_backend_add_record(requests[i], seq, requests[i]->id);
        sherd_backend_settle(requests[i], SHERD_BACKEND_DONE, "");
    }
}

static void close_fake(void *store)
{
    (void)store;
}

static void identify_fake(void *store, struct sherd_backend_identity *identity)
{
    (void)store;
    snprintf(identity->id, sizeof identity->id, "12ab");
    snprintf(identity->name, sizeof identity->name, "here");
}

static struct sherd_backend fake = { .version = SHERD_BACKEND_VERSION,
                                     .name = "fake",
                                     .open = open_fake,
                                     .write = write_fake,
                                     .read = read_fake,
                                     .close = close_fake,
                                     .identify = identify_fake };

static void a_back_end_registers_once_under_a_plain_name(void **state)
{
    struct sherd_backend other = fake;
    (void)state;

    assert_int_equal(sherd_backend_register(&fake), 0);
    assert_int_equal(sherd_backend_register(&fake), 0);
    assert_int_equal(sherd_backend_register(&other), SHERD_EEXIST);
    assert_int_equal(sherd_backend_register(NULL), SHERD_EINVAL);
    other.name = "sqlite";
    assert_int_equal(sherd_backend_register(&other), SHERD_EINVAL);
    other.name = "a b";
    assert_int_equal(sherd_backend_register(&other), SHERD_EINVAL);
    other.name = "other";
    other.version++;
    assert_int_equal(sherd_backend_register(&other), SHERD_EINVAL);
    other = fake;
    other.name = "other";
    other.read = NULL;
    assert_int_equal(sherd_backend_register(&other), SHERD_EINVAL);
    assert_ptr_equal(backend_plugin_find("fake"), &fake);
    assert_null(backend_plugin_find("other"));
}

static void only_some_back_ends_fit(void **state)
{
    static struct sherd_backend many[BACKEND_PLUGINS_MAX];
    static char names[BACKEND_PLUGINS_MAX][8];
    (void)state;

    for (uint32_t i = 0; i < BACKEND_PLUGINS_MAX; i++) {
        many[i] = fake;
        snprintf(names[i], sizeof names[i], "b%u", (unsigned)i);
        many[i].name = names[i];
        /* Two are there already. */
        assert_int_equal(sherd_backend_register(&many[i]),
                         i + 2 < BACKEND_PLUGINS_MAX ? 0 : SHERD_EFULL);
    }
}

static const char *give_setting(void *user, const char *key)
{
    (void)user;
    return strcmp(key, "key") == 0 ? "value" : NULL;
}

static void *open_it(void)
{
    struct backend_options options = { .path = "place", .plugin = &fake, .setting = give_setting };
    char error[BACKEND_ERROR_MAX];

    return backend_plugin.open(&options, BACKEND_WRITER, error);
}

/* Appends under fence (3, 4) and returns the fence that the shard is told. */
static struct fence append(void *store, enum backend_result *result)
{
    struct journal_request *request = journal_request_new(BACKEND_APPEND);
    struct backend_shard shard = { .fence = { 3, 4 } };
    struct backend_entity entity = { .shard = 0 };
    struct fence stored;

    shard.type = backend_put(request, slice_text("T"));
    shard.shard = backend_put(request, slice_text("s"));
    vec_push(&request->shards, shard);
    entity.id = backend_put(request, slice_text("T|e"));
    vec_push(&request->entities, entity);
    backend_plugin.write(store, &request, 1);
    *result = request->entities.items[0].result;
    assert_int_equal(request->shards.items[0].result, *result);
    assert_string_equal(request->error, "why");
    stored = request->shards.items[0].stored;
    journal_request_free(request);
    return stored;
}

static void a_lost_or_fenced_shard_ends_below_a_higher_fence(void **state)
{
    static const struct fence own = { 3, 4 };
    void *store = open_it();
    enum backend_result result;
    struct fence stored;
    (void)state;

    assert_string_equal(seen, "place|value");
    answer = SHERD_BACKEND_LOST;
    answered_fence = (struct sherd_fence){ 1, 1 };
    stored = append(store, &result);
    assert_int_equal(result, BACKEND_FENCED);
    assert_true(fence_compare(stored, own) > 0);
    answer = SHERD_BACKEND_FENCED; /* another owner with an equal fence */
    answered_fence = (struct sherd_fence){ 3, 4 };
    stored = append(store, &result);
    assert_true(fence_compare(stored, own) > 0);
    answered_fence = (struct sherd_fence){ 5, 1 };
    stored = append(store, &result);
    assert_int_equal(stored.term, 5);
    answer = SHERD_BACKEND_UNKNOWN;
    (void)append(store, &result);
    assert_int_equal(result, BACKEND_UNKNOWN);
    backend_plugin.close(store);
}

static void an_answer_may_grow_while_its_question_is_read(void **state)
{
    struct journal_request *request = journal_request_replay(slice_text("T|e"), 1, 10, 10);
    void *store = open_it();
    (void)state;

    backend_plugin.read(store, &request, 1);
    assert_int_equal(request->result, BACKEND_DONE);
    assert_int_equal(request->records.count, 1000);
    assert_true(slice_is(backend_slice(request, request->records.items[999].bytes), "T|e"));
    journal_request_free(request);
    backend_plugin.close(store);
}

static int read_settings(struct settings *settings, const char *text, const char *journal, char *error)
{
    const struct sherd_options options = { .name = "S", .port = 1, .config_text = text, .journal = journal };

    error[0] = 0;
    return settings_read(settings, &options, error, 400);
}

static void a_missing_library_is_named_in_the_error(void **state)
{
    struct settings settings;
    char error[400];
    (void)state;

    assert_int_equal(read_settings(&settings, "", "postgres:host=h password=secret", error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "libsherd-postgres"));
    assert_non_null(strstr(error, "sherd_postgres_register"));
    assert_null(strstr(error, "secret"));
    settings_fini(&settings);
    assert_int_equal(read_settings(&settings, "sherd.journal.plugin = postgress", NULL, error), SHERD_ECONFIG);
    assert_non_null(strstr(error, "postgress"));
    assert_non_null(strstr(error, "sherd_backend_register"));
    settings_fini(&settings);
}

/* A place in the plugin's name may have a password. */
static void an_unknown_plugin_is_named_without_its_place(void **state)
{
    static const char *const rows[][2] = {
        { "sherd.journal.plugin = \"postgres:postgresql://u:hunter2@h/db\"", NULL },
        { "sherd.journal.plugin = \"postgresql://u:hunter2@h/db\"", NULL },
        { "", "postgresql://u:hunter2@h/db" },
        { "", "postgress:password=hunter2" },
        { "", "host=h password=hunter2" },
    };
    struct settings settings;
    char error[400];
    (void)state;

    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_int_not_equal(read_settings(&settings, rows[i][0], rows[i][1], error), 0);
        if (strstr(error, "hunter2"))
            fail_msg("%s", error);
        settings_fini(&settings);
    }
}

static void systems_with_other_settings_share_no_journal(void **state)
{
    static struct sherd_backend named;
    struct settings settings[3];
    char error[400];
    (void)state;

    named = fake;
    named.name = "postgres";
    assert_int_equal(sherd_backend_register(&named), 0);
    assert_int_equal(read_settings(&settings[0], "sherd.journal.postgres.schema = a", "postgres:x", error), 0);
    assert_int_equal(read_settings(&settings[1], "", "postgres:x", error), 0);
    assert_int_equal(read_settings(&settings[2], "", "postgres:x", error), 0);
    assert_ptr_equal(settings[0].plugin, &named);
    assert_string_equal(settings[0].place, "x");
    assert_string_equal(settings_of_backend(&settings[0], "schema"), "a");
    assert_string_equal(settings_of_backend(&settings[0], "group-timeout"), "10000");
    assert_null(settings_of_backend(&settings[0], "unknown"));
    assert_string_not_equal(settings[0].journal_key, settings[1].journal_key);
    assert_string_equal(settings[1].journal_key, settings[2].journal_key);
    for (int i = 0; i < 3; i++)
        settings_fini(&settings[i]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_back_end_registers_once_under_a_plain_name),
        cmocka_unit_test(a_missing_library_is_named_in_the_error),
        cmocka_unit_test(an_unknown_plugin_is_named_without_its_place),
        cmocka_unit_test(a_lost_or_fenced_shard_ends_below_a_higher_fence),
        cmocka_unit_test(an_answer_may_grow_while_its_question_is_read),
        cmocka_unit_test(systems_with_other_settings_share_no_journal),
        cmocka_unit_test(only_some_back_ends_fit), /* the last one: the list stays full */
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
