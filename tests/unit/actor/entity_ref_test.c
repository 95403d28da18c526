/* Tests references to entities: their limits, their text, and their use in actors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include <sherd/entity_ref.h>

#include "base/rng.h"
#include "lab.h"

static struct sherd_bytes bytes_of(const char *text)
{
    return (struct sherd_bytes){ text, strlen(text) };
}

static void expect_text(const char *type, const char *id, const char *center,
                        const char *expected)
{
    struct sherd_entity_ref ref, again;
    char text[SHERD_ENTITY_REF_TEXT_MAX];

    assert_int_equal(sherd_entity_ref_make(&ref, type, id, center), 0);
    assert_int_equal(sherd_entity_ref_text(&ref, text, sizeof text),
                     strlen(expected));
    assert_string_equal(text, expected);
    assert_int_equal(sherd_entity_ref_parse(&again, bytes_of(text)), 0);
    assert_memory_equal(&ref, &again, sizeof ref);
}

static void text_has_type_data_center_and_id(void **state)
{
    (void)state;
    expect_text("cart", "alice", NULL, "cart/alice");
    expect_text("cart", "alice", "", "cart/alice");
    expect_text("cart", "alice", "east", "cart@east/alice");
    expect_text("a/b@c", "x/y@z", "d/e", "a%2Fb%40c@d%2Fe/x%2Fy%40z");
    expect_text("-._~", "100% \xff", NULL, "-._~/100%25%20%FF");
}

/* Makes texts of every byte and length, each within its limits. */
static void draw(struct rng *rng, struct sherd_entity_ref *ref)
{
    static const char *const signs[] = { "a", "Z", "0", "~", "%", "/", "@", " ",
                                         "\x01", "\xc3\xa4", "\xe2\x82\xac" };
    char type[SHERD_TYPE_MAX + 1] = "t", center[SHERD_TYPE_MAX + 1] = "";
    char id[SHERD_ID_MAX + 1] = "";
    size_t size = 1 + rng_below(rng, SHERD_ID_MAX);

    for (uint64_t i = rng_below(rng, 40); i; i--) {
        strcat(type, signs[rng_below(rng, 11)]);
        strcat(center, signs[rng_below(rng, 11)]);
    }
    for (size_t i = 0; i < size; i++)
        id[i] = (char)(1 + rng_below(rng, 255));
    assert_int_equal(sherd_entity_ref_make(ref, type, id, center), 0);
}

static void parse_returns_the_reference_of_its_text(void **state)
{
    struct sherd_entity_ref ref, again;
    char text[SHERD_ENTITY_REF_TEXT_MAX];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (int i = 0; i < 2000; i++) {
        draw(&rng, &ref);
        assert_true(sherd_entity_ref_text(&ref, text, sizeof text) > 2);
        assert_int_equal(sherd_entity_ref_parse(&again, bytes_of(text)), 0);
        assert_memory_equal(&ref, &again, sizeof ref);
    }
}

static void longest_reference_has_a_text(void **state)
{
    char type[SHERD_TYPE_MAX + 2], id[SHERD_ID_MAX + 2];
    struct sherd_entity_ref ref, again;
    char text[SHERD_ENTITY_REF_TEXT_MAX];

    (void)state;
    memset(type, ' ', sizeof type);
    memset(id, '%', sizeof id);
    type[SHERD_TYPE_MAX] = id[SHERD_ID_MAX] = 0;
    assert_int_equal(sherd_entity_ref_make(&ref, type, id, type), 0);
    assert_int_equal(sherd_entity_ref_text(&ref, text, sizeof text),
                     sizeof text - 1);
    assert_int_equal(sherd_entity_ref_text(&ref, text, sizeof text - 1),
                     SHERD_EINVAL);
    assert_string_equal(text, "");
    assert_int_equal(sherd_entity_ref_text(&ref, text, sizeof text),
                     sizeof text - 1);
    assert_int_equal(sherd_entity_ref_parse(&again, bytes_of(text)), 0);
    assert_memory_equal(&ref, &again, sizeof ref);
}

static void make_refuses_wrong_texts(void **state)
{
    static const struct sherd_entity_ref none;
    char type[SHERD_TYPE_MAX + 2], id[SHERD_ID_MAX + 2];
    struct {
        const char *type, *id, *center;
    } wrong[] = { { NULL, "i", NULL },   { "", "i", NULL }, { "t", NULL, NULL },
                  { "t", "", NULL },     { "a|b", "i", NULL }, { type, "i", NULL },
                  { "\xff", "i", NULL }, { "t", id, NULL }, { "t", "i", type },
                  { "t", "i", "\xff" } };
    struct sherd_entity_ref ref;

    (void)state;
    memset(type, 't', sizeof type);
    memset(id, 'i', sizeof id);
    type[SHERD_TYPE_MAX + 1] = id[SHERD_ID_MAX + 1] = 0;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&ref, 1, sizeof ref);
        assert_int_equal(sherd_entity_ref_make(&ref, wrong[i].type, wrong[i].id,
                                               wrong[i].center),
                         SHERD_EINVAL);
        assert_memory_equal(&ref, &none, sizeof ref);
    }
    assert_int_equal(sherd_entity_ref_make(NULL, "t", "i", NULL), SHERD_EINVAL);
}

static void text_refuses_references_that_no_call_made(void **state)
{
    struct sherd_entity_ref ref = { "t", "i", "" };
    char text[8] = "x";

    (void)state;
    assert_int_equal(sherd_entity_ref_text(&ref, NULL, 0), SHERD_EINVAL);
    assert_int_equal(sherd_entity_ref_text(NULL, text, sizeof text),
                     SHERD_EINVAL);
    assert_string_equal(text, "");
    memset(ref.id, 'i', sizeof ref.id); /* without an end */
    assert_int_equal(sherd_entity_ref_text(&ref, text, sizeof text),
                     SHERD_EINVAL);
}

static void parse_refuses_other_spellings(void **state)
{
    static const struct sherd_entity_ref none;
    static const char *const wrong[] = {
        "",     "t",      "/i",      "t/",      "t@/i",    "@d/i",   "t@d",
        "t/i/", "t/i@d",  "t@d@e/i", "t/%",     "t/%4",    "t/%41",  "t/%2f",
        "t/i ", "t/%00",  "t%00/i",  "t%7C/i",  "t/\xc3\xa4", "%FF/i", "t@%FF/i",
        "t/i+", "t /i",
    };
    struct sherd_entity_ref ref;

    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        memset(&ref, 1, sizeof ref);
        assert_int_equal(sherd_entity_ref_parse(&ref, bytes_of(wrong[i])),
                         SHERD_EINVAL);
        assert_memory_equal(&ref, &none, sizeof ref);
    }
    assert_int_equal(sherd_entity_ref_parse(&ref, (struct sherd_bytes){ 0 }),
                     SHERD_EINVAL);
    assert_int_equal(sherd_entity_ref_parse(&ref, (struct sherd_bytes){ "t/\0", 4 }),
                     SHERD_EINVAL);
}

static void parse_refuses_texts_above_the_limits(void **state)
{
    char text[SHERD_TYPE_MAX + SHERD_ID_MAX + 8];
    struct sherd_entity_ref ref;

    (void)state;
    memset(text, 'x', sizeof text);
    text[SHERD_TYPE_MAX] = '/';
    assert_int_equal(sherd_entity_ref_parse(
                         &ref, (struct sherd_bytes){
                                   text, SHERD_TYPE_MAX + 1 + SHERD_ID_MAX }),
                     0);
    assert_int_equal(sherd_entity_ref_parse(
                         &ref, (struct sherd_bytes){
                                   text, SHERD_TYPE_MAX + 2 + SHERD_ID_MAX }),
                     SHERD_EINVAL);
    text[SHERD_TYPE_MAX] = 'x';
    text[SHERD_TYPE_MAX + 1] = '/';
    assert_int_equal(sherd_entity_ref_parse(
                         &ref, (struct sherd_bytes){ text, SHERD_TYPE_MAX + 3 }),
                     SHERD_EINVAL);
}

/* ---- in actors ---- */

static struct sherd_entity_ref seen;
static int result;

static enum sherd_next receive(struct sherd_ctx *ctx, void *self,
                               const struct sherd_msg *msg)
{
    struct sherd_entity_ref ref;

    (void)self;
    if (msg->kind != SHERD_STARTED)
        return SHERD_CONTINUE;
    result = sherd_entity_ref_self(ctx, &seen);
    assert_int_equal(sherd_entity_ref_make(&ref, "A", "x", NULL), 0);
    sherd_entity_ref_tell(ctx, &ref, 11, (struct sherd_bytes){ 0 });
    assert_int_equal(sherd_entity_ref_make(&ref, "A", "x", "here"), 0);
    sherd_entity_ref_tell(ctx, &ref, 12, (struct sherd_bytes){ 0 });
    assert_int_equal(sherd_entity_ref_make(&ref, "A", "x", "there"), 0);
    sherd_entity_ref_tell(ctx, &ref, 13, (struct sherd_bytes){ 0 });
    sherd_entity_ref_ask(ctx, &ref, 14, (struct sherd_bytes){ 0 }, 1, 1000);
    return SHERD_CONTINUE;
}

/* The type of "there" is not registered. */
static void actors_send_to_references_of_their_own_data_center(void **state)
{
    struct sherd_behavior behavior = { .name = "b", .receive = receive };

    (void)state;
    lab_open_with((struct actors_settings){ .data_center = "here" });
    lab.route = true;
    (void)actors_spawn(lab.actors, &behavior, slice_of(NULL, 0));
    lab_run();
    assert_int_equal(lab_status().undelivered[SHERD_REASON_NO_SUCH_TYPE], 2);
    assert_int_equal(lab.received, 2);
    assert_int_equal(result, SHERD_EINVAL); /* a plain actor */
    lab.log[0] = 0;
    lab_close();
}

static void entities_know_their_own_reference(void **state)
{
    struct sherd_entity_type type = {
        .name = "R", .behavior = { .name = "r", .receive = receive }
    };
    char text[SHERD_ENTITY_REF_TEXT_MAX];

    (void)state;
    lab_open_with((struct actors_settings){ .data_center = "here" });
    lab.route = true;
    actors_add_type(lab.actors, 4, &type);
    lab_entity_tell(4, "an entity with a long name", 1);
    lab_run();
    assert_int_equal(result, 0);
    assert_true(sherd_entity_ref_text(&seen, text, sizeof text) > 0);
    assert_string_equal(text, "R@here/an%20entity%20with%20a%20long%20name");
    lab.log[0] = 0;
    lab_close();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(text_has_type_data_center_and_id),
        cmocka_unit_test(parse_returns_the_reference_of_its_text),
        cmocka_unit_test(longest_reference_has_a_text),
        cmocka_unit_test(make_refuses_wrong_texts),
        cmocka_unit_test(text_refuses_references_that_no_call_made),
        cmocka_unit_test(parse_refuses_other_spellings),
        cmocka_unit_test(parse_refuses_texts_above_the_limits),
        cmocka_unit_test(actors_send_to_references_of_their_own_data_center),
        cmocka_unit_test(entities_know_their_own_reference),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
