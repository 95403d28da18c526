/* Tests native routes: each row of their table can be reached, needs its right, and stands in the OpenAPI document;
 * facts of looks become JSON. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <jansson.h>

#include "look/page.h"
#include "look/row.h"
#include "mgmt/api.h"
#include "mgmt/body.h"
#include "mgmt/facts.h"
#include "mgmt/fields.h"
#include "mgmt/rows.h"

static struct mgmt_settings settings = { .base_path = "base", .startup = "startup", .ready = "ready", .alive = "alive" };

/* ---- the table ---- */

/* The path of a row with a value for each name. */
static void target_of(const struct api_row *row, char target[256])
{
    size_t size = (size_t)snprintf(target, 256, "/base" API_BASE);

    for (const char *at = row->path; *at; at++) {
        if (*at == '{') {
            size += (size_t)snprintf(target + size, 256 - size, "a%%2Fb");
            at += strcspn(at, "}");
        } else {
            target[size++] = *at;
            target[size] = '\0';
        }
    }
}

/* Returns the status of the answer, 0: it is carried out. */
static unsigned decide(const struct api_row *row, enum right right, bool is_socket, bool has_json, uint32_t *native)
{
    char target[256];
    struct mgmt_request request = {
        .method = row->method, .host = slice_text("localhost:1"), .right = right, .has_credentials = right > RIGHT_READ,
        .site = { .is_socket = is_socket, .local = "127.0.0.1", .port = 1 },
        .type = slice_text(has_json ? "application/json; charset=utf-8" : "text/plain"), .body = slice_text("{}"),
    };
    struct decision decision = { .route = ROUTE_NONE };
    unsigned status;

    target_of(row, target);
    request.target = slice_text(target);
    mgmt_decide(&settings, &request, &decision);
    status = decision.error != ERROR_NONE ? error_status(decision.error) : decision.status;
    *native = decision.native;
    assert_int_equal(decision.route, ROUTE_API);
    if (!status)
        assert_int_equal(decision.action, row->action);
    decision_fini(&decision);
    return status;
}

static void each_route_needs_its_right(void **state)
{
    uint32_t native;

    (void)state;
    for (uint32_t i = 0; i < API_ROUTE_COUNT; i++) {
        const struct api_row *row = api_row((enum api_route)i);
        bool changes = row->action != ACTION_LOOK;

        for (int right = RIGHT_OPEN; right <= RIGHT_ADMIN; right++) {
            unsigned status = decide(row, (enum right)right, false, true, &native);

            assert_int_equal(native, i);
            if ((enum right)right >= row->right)
                assert_int_equal(status, 0);
            else
                assert_int_equal(status, right > RIGHT_READ ? 403 : 401);
        }
        assert_true(!changes || row->right >= RIGHT_OPERATE);
        assert_int_equal(decide(row, RIGHT_ADMIN, false, false, &native), changes ? 415 : 0);
        settings.read_only = true;
        assert_int_equal(decide(row, RIGHT_ADMIN, false, true, &native), changes ? 403 : 0);
        assert_int_equal(decide(row, RIGHT_ADMIN, true, true, &native), 0);
        settings.read_only = false;
    }
}

static enum api_route find(const char *text, enum method method, char methods[API_METHODS_SIZE], struct api_args *args,
                           struct slice *wrong)
{
    struct target target = { .count = 0 };
    enum api_route route;

    assert_true(target_read(&target, slice_text(text)));
    route = api_find(&target, 2, method, methods);
    if (route != API_ROUTE_COUNT)
        *wrong = api_read(route, &target, 2, args);
    target_fini(&target);
    return route;
}

static void paths_are_found_whole(void **state)
{
    char methods[API_METHODS_SIZE];
    struct api_args args;
    struct slice wrong;

    (void)state;
    assert_int_equal(find("/api/v1", METHOD_GET, methods, &args, &wrong), API_ROOT_ROUTE);
    assert_int_equal(find("/api/v1/config/diff", METHOD_HEAD, methods, &args, &wrong), API_CONFIG_DIFF_ROUTE);
    assert_int_equal(find("/api/v1/members/join", METHOD_POST, methods, &args, &wrong), API_MEMBER_JOIN_ROUTE);
    assert_int_equal(find("/api/v1/members/", METHOD_GET, methods, &args, &wrong), API_ROUTE_COUNT);
    assert_string_equal(methods, "");
    assert_int_equal(find("/api/v1/status/more", METHOD_GET, methods, &args, &wrong), API_ROUTE_COUNT);
    assert_int_equal(find("/api/v1/log", METHOD_DELETE, methods, &args, &wrong), API_ROUTE_COUNT);
    assert_string_equal(methods, "GET, PUT");
}

static void assert_wrong(const char *text, bool is_wrong)
{
    char methods[API_METHODS_SIZE];
    struct slice wrong = slice_of(NULL, 0);
    struct api_args args;

    assert_int_not_equal(find(text, METHOD_GET, methods, &args, &wrong), API_ROUTE_COUNT);
    if ((wrong.data != NULL) != is_wrong)
        fail_msg("%s", text);
}

static void parameters_have_their_limits(void **state)
{
    (void)state;
    assert_wrong("/api/v1/lanes?limit=1000&timeout=30000&cursor=00ff&node=h:1", false);
    assert_wrong("/api/v1/lanes?limit=1001", true);
    assert_wrong("/api/v1/lanes?limit=0", true);
    assert_wrong("/api/v1/lanes?limit=1x", true);
    assert_wrong("/api/v1/lanes?limit=", true);
    assert_wrong("/api/v1/lanes?limit=1&limit=1", true);
    assert_wrong("/api/v1/lanes?timeout=99", true);
    assert_wrong("/api/v1/lanes?order=lane", true);
    assert_wrong("/api/v1/lanes?x", true);
    assert_wrong("/api/v1/lanes?=1", true);
    assert_wrong("/api/v1/types/Cart/shards?type=Other", true);
    assert_wrong("/api/v1/timeline?since=1796000000000&type=Cart", false);
    assert_wrong("/api/v1/timeline?since=9999999999999999999", true);
}

static void requests_have_looks(void **state)
{
    struct api_ask asks[API_ASKS_ROOM];
    struct api_request request = { .route = API_ENTITY_LIST_ROUTE, .self = "h:1" };
    struct api_args args = { .words = { [API_CURSOR] = slice_text("00fF"), [API_TYPE] = slice_text("Cart") } };

    (void)state;
    assert_false(api_request_set(&request, &args)); /* upper case */
    api_request_fini(&request);
    request.route = API_ENTITY_LIST_ROUTE;
    args.words[API_CURSOR] = slice_text("00ff");
    assert_true(api_request_set(&request, &args));
    assert_int_equal(api_plan(&request, NULL, 0, asks), 1);
    assert_int_equal(asks[0].kind, SHERD_LOOK_ENTITIES);
    assert_string_equal(asks[0].options.type, "Cart");
    assert_int_equal(asks[0].options.cursor.size, 2);
    assert_false(asks[0].is_whole);
    assert_int_equal(api_plan(&request, NULL, 1, asks), 0);
    for (int i = 0; i < API_ROUTE_COUNT; i++) {
        request.route = (enum api_route)i;
        request.words[API_SHARD] = request.words[API_ID] = (char *)"1";
        assert_true(api_plan(&request, NULL, 0, asks) <= API_ASKS_ROOM - 2); /* two may follow */
        request.words[API_SHARD] = request.words[API_ID] = NULL;
    }
    api_request_fini(&request);
    assert_string_equal(api_node("akka://S@h:1"), "h:1");
    assert_string_equal(api_node("h:1"), "h:1");
}

/* ---- the document ---- */

static json_t *parse(const struct buf *text)
{
    json_error_t error;
    json_t *root = json_loadb((const char *)text->data, text->size, JSON_REJECT_DUPLICATES, &error);

    if (!root)
        fail_msg("%s at %d", error.text, error.position);
    return root;
}

/* Every "$ref" of the document names a schema. */
static void assert_refs(json_t *schemas, json_t *value)
{
    static const char before[] = "#/components/schemas/";
    const char *key;
    json_t *member;
    size_t i;

    json_object_foreach(value, key, member) {
        if (strcmp(key, "$ref") == 0) {
            assert_memory_equal(json_string_value(member), before, sizeof before - 1);
            if (!json_object_get(schemas, json_string_value(member) + sizeof before - 1))
                fail_msg("%s", json_string_value(member));
        }
        assert_refs(schemas, member);
    }
    json_array_foreach(value, i, member)
        assert_refs(schemas, member);
}

static void the_document_has_each_route(void **state)
{
    static const char *const methods[] = { "get", "head", "post", "put", "delete" };
    struct buf text = { 0 };
    json_t *root, *paths;

    (void)state;
    api_document(&text, "1.2.3", "");
    root = parse(&text);
    paths = json_object_get(root, "paths");
    for (int i = 0; i < API_ROUTE_COUNT; i++) {
        const struct api_row *row = api_row((enum api_route)i);
        char path[256];
        json_t *operation;

        (void)snprintf(path, sizeof path, API_BASE "%s", row->path);
        operation = json_object_get(json_object_get(paths, path), methods[row->method]);
        assert_string_equal(json_string_value(json_object_get(operation, "operationId")), row->operation);
        assert_string_equal(json_string_value(json_object_get(operation, "x-sherd-right")), right_text(row->right));
    }
    assert_refs(json_object_get(json_object_get(root, "components"), "schemas"), root);
    json_decref(root);
    buf_fini(&text);
}

/* ---- facts ---- */

/* Adds a page with two members, of which the second is late, and one row of the first. */
static void add_page(struct facts *facts, const char *id, size_t size)
{
    static const struct sherd_look_part parts[] = {
        { .address = "h:1", .uid = 1, .state = SHERD_LOOK_OK, .row_count = 1, .wall_ms = 1796000000123 },
        { .address = "h:2", .uid = 2, .state = SHERD_LOOK_TIMEOUT },
    };
    static const struct page_row place = { .at = 0 };
    struct look_rows rows = { .count = 0 };
    struct page_memory memory = { .kind = SHERD_LOOK_ENTITIES, .places = &place, .count = 1 };
    struct sherd_look_page page = { .kind = SHERD_LOOK_ENTITIES, .row_count = 1, .parts = parts, .part_count = 2,
                                    .is_partial = 1, .next = { "\1\2", 2 }, .memory = &memory };

    look_row_begin(&rows);
    look_put_text(&rows, LOOK_ENTITIES_TYPE, "Cart");
    look_put_bytes(&rows, LOOK_ENTITIES_ID, slice_of(id, size));
    look_put(&rows, LOOK_ENTITIES_MAILBOX, 3);
    look_row_end(&rows);
    memory.rows = buf_slice(&rows.bytes);
    facts_add(facts, &page);
    look_rows_fini(&rows);
}

static void a_list_tells_what_is_missing(void **state)
{
    static const char wanted[] =
        "{\"items\":[{\"node\":\"h:1\",\"type\":\"Cart\",\"shard\":null,\"id\":\"a\\\"b\",\"lane\":null,\"status\":null,"
        "\"mailbox\":3,\"idleMs\":null,\"idleResolutionMs\":null,\"sequence\":null,\"notDurable\":null},"
        "{\"node\":\"h:1\",\"type\":\"Cart\",\"shard\":null,\"idHex\":\"ff00\",\"lane\":null,\"status\":null,"
        "\"mailbox\":3,\"idleMs\":null,\"idleResolutionMs\":null,\"sequence\":null,\"notDurable\":null}],"
        "\"next\":\"0102\",\"partial\":true,\"nodes\":["
        "{\"node\":\"h:1\",\"state\":\"ok\",\"asOf\":\"2026-11-30T00:53:20.123Z\"},"
        "{\"node\":\"h:2\",\"state\":\"timeout\",\"asOf\":null}]}";
    struct api_request request = { .route = API_ENTITY_LIST_ROUTE };
    struct facts facts = { .kind = SHERD_LOOK_ENTITIES };
    struct buf body = { 0 };

    (void)state;
    add_page(&facts, "a\"b", 3);
    add_page(&facts, "\xff", 2); /* with the zero byte */
    assert_int_equal(api_answer(&request, &facts, 1, &body), ERROR_NONE);
    buf_put_u8(&body, 0);
    assert_string_equal((const char *)body.data, wanted);
    buf_clear(&body);
    api_lines(&facts, &body);
    assert_memory_equal(body.data, wanted + 10, 20);
    buf_fini(&body);
    facts_free(&facts);
}

static void a_look_keeps_a_limited_number_of_rows(void **state)
{
    struct facts facts = { .kind = SHERD_LOOK_ENTITIES };

    (void)state;
    while (facts_count(&facts) < MGMT_FACTS_MAX) {
        assert_true(!facts_count(&facts) || facts_want_more(&facts));
        add_page(&facts, "a", 1);
    }
    assert_false(facts_want_more(&facts));
    assert_int_equal(facts.parts.count, 2);
    assert_int_equal(facts.parts.items[0].row_count, MGMT_FACTS_MAX);
    facts_drop_rows(&facts);
    assert_true(facts_want_more(&facts));
    facts_free(&facts);
}

static void dates_are_those_of_the_calendar(void **state)
{
    static const struct {
        uint64_t ms;
        const char *text;
    } rows[] = {
        { 0, "\"t\":null" },
        { 1, "\"t\":\"1970-01-01T00:00:00.001Z\"" },
        { 951782399999, "\"t\":\"2000-02-28T23:59:59.999Z\"" },
        { 951782400000, "\"t\":\"2000-02-29T00:00:00.000Z\"" },
        { 4107542400000, "\"t\":\"2100-03-01T00:00:00.000Z\"" },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct buf text = { 0 };

        field_time(&text, "t", rows[i].ms);
        buf_put_u8(&text, 0);
        assert_string_equal((const char *)text.data + (text.data[0] == ','), rows[i].text);
        buf_fini(&text);
    }
}

static void bodies_are_objects(void **state)
{
    struct body *body = body_new(slice_text("{\"level\":\"info\",\"forMs\":5}"));
    uint64_t number;

    (void)state;
    assert_non_null(body);
    assert_string_equal(body_text(body, "level"), "info");
    assert_null(body_text(body, "forMs"));
    assert_true(body_number(body, "forMs", &number) && number == 5);
    assert_false(body_number(body, "level", &number));
    assert_true(body_has_only(body, "forMs level"));
    assert_false(body_has_only(body, "forM level"));
    body_free(body);
    assert_null(body_new(slice_text("[]")));
    assert_null(body_new(slice_text("{\"a\":1,\"a\":1}")));
    assert_null(body_new(slice_text("{\"a\":\"\\u0000\"}")));
    assert_null(body_new(slice_text("")));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_route_needs_its_right),
        cmocka_unit_test(paths_are_found_whole),
        cmocka_unit_test(parameters_have_their_limits),
        cmocka_unit_test(requests_have_looks),
        cmocka_unit_test(the_document_has_each_route),
        cmocka_unit_test(a_list_tells_what_is_missing),
        cmocka_unit_test(a_look_keeps_a_limited_number_of_rows),
        cmocka_unit_test(dates_are_those_of_the_calendar),
        cmocka_unit_test(bodies_are_objects),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
