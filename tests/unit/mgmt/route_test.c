/* Tests what each request asks for, and which rights it needs. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "mgmt/route.h"

#define FORM "application/x-www-form-urlencoded"

static struct mgmt_settings settings = {
    .base_path = "", .startup = "startup", .ready = "ready", .alive = "alive",
    .cluster = true, .bootstrap = true, .health = true, .log_level = true, .dashboard = true,
};

/* Admin on the socket, unless the caller changes it. */
static struct mgmt_request request_of(enum method method, const char *target, const char *form)
{
    return (struct mgmt_request){
        .method = method, .target = slice_text(target), .host = slice_text("localhost:1"),
        .type = slice_text(form ? FORM : NULL), .body = slice_text(form), .site = { .local = "127.0.0.1", .port = 1 },
        .right = RIGHT_ADMIN, .has_credentials = true,
    };
}

/* The status, or 0 if the request goes on. */
static unsigned decide(const struct mgmt_request *request, struct decision *decision)
{
    *decision = (struct decision){ .route = ROUTE_NONE };
    mgmt_decide(&settings, request, decision);
    return decision->error != ERROR_NONE ? error_status(decision->error) : decision->status;
}

static void assert_status(enum method method, const char *target, const char *form, unsigned status, const char *text)
{
    struct mgmt_request request = request_of(method, target, form);
    struct decision decision;

    assert_int_equal(decide(&request, &decision), status);
    if (text)
        assert_string_equal(decision.text, text);
    decision_fini(&decision);
}

static void assert_route(const char *target, enum route route, const char *name)
{
    struct mgmt_request request = request_of(METHOD_GET, target, NULL);
    struct decision decision;

    assert_int_equal(decide(&request, &decision), 0);
    if (decision.route != route)
        fail_msg("%s is %s", target, route_text(decision.route));
    if (name)
        assert_string_equal((const char *)decision.name.data, name);
    decision_fini(&decision);
}

static void paths_are_akkas(void **state)
{
    (void)state;
    assert_route("/ready", ROUTE_READY, NULL);
    assert_route("/alive", ROUTE_ALIVE, NULL);
    assert_route("/startup", ROUTE_STARTUP, NULL);
    assert_route("/bootstrap/seed-nodes", ROUTE_SEED_NODES, NULL);
    assert_route("/cluster/members", ROUTE_MEMBERS, NULL);
    assert_route("/cluster/members/", ROUTE_MEMBERS, NULL);
    assert_route("/cluster/members/akka%3A%2F%2FS@h:1", ROUTE_MEMBER, "akka://S@h:1");
    assert_route("/cluster/members/akka://S@h:1", ROUTE_MEMBER, "akka://S@h:1");
    assert_route("/cluster/shards", ROUTE_SHARD_TYPES, NULL);
    assert_route("/cluster/shards/Cart", ROUTE_SHARDS, "Cart");
    assert_route("/cluster/shards/Cart/stats", ROUTE_SHARD_STATS, "Cart");
    assert_route("/cluster/domain-events?type=MemberUp", ROUTE_EVENTS, NULL);
    assert_route("/loglevel/akka", ROUTE_LOG_LEVEL, NULL);
    assert_route("/loglevel/pekko", ROUTE_LOG_LEVEL, NULL);
    assert_route("/metrics", ROUTE_METRICS, NULL);
    assert_route("/", ROUTE_PAGE, "/");
    assert_route("/ui", ROUTE_PAGE, "/");
    assert_route("/ui/", ROUTE_PAGE, "");
    assert_route("/ui/app.js", ROUTE_PAGE, "app.js");
    assert_status(METHOD_GET, "/ui/app.js/x", NULL, 404, NULL);
    assert_status(METHOD_POST, "/ui/", NULL, 405, "HTTP method not allowed, supported methods: GET");
    assert_status(METHOD_GET, "/nothing", NULL, 404, "The requested resource could not be found.");
    assert_status(METHOD_GET, "/ready/", NULL, 404, NULL);
    assert_status(METHOD_GET, "/loglevel/logback", NULL, 404, NULL);
    assert_status(METHOD_GET, "/cluster/else", NULL, 404, NULL);
    assert_status(METHOD_GET, "/%", NULL, 400, NULL);
    settings.base_path = "a/b";
    assert_route("/a/b/ready", ROUTE_READY, NULL);
    assert_status(METHOD_GET, "/ready", NULL, 404, NULL);
    assert_status(METHOD_GET, "/a/c/ready", NULL, 404, NULL);
    assert_route("/a/b/", ROUTE_PAGE, "/");
    assert_route("/a/b/ui/app.css", ROUTE_PAGE, "app.css");
    settings.base_path = "";
    settings.dashboard = false;
    assert_status(METHOD_GET, "/", NULL, 404, NULL);
    assert_status(METHOD_GET, "/ui/", NULL, 404, NULL);
    settings.dashboard = true;
    settings.cluster = false;
    assert_status(METHOD_GET, "/cluster/members", NULL, 404, NULL);
    settings.cluster = true;
}

static void wrong_methods_get_akkas_text(void **state)
{
    (void)state;
    assert_status(METHOD_DELETE, "/cluster/members", NULL, 405,
                  "HTTP method not allowed, supported methods: GET, POST");
    assert_status(METHOD_GET, "/cluster", NULL, 405, "HTTP method not allowed, supported methods: PUT");
    assert_status(METHOD_PATCH, "/ready", NULL, 405, "HTTP method not allowed, supported methods: GET");
    assert_status(METHOD_OPTIONS, "/cluster/members", NULL, 204, NULL);
    assert_status(METHOD_HEAD, "/ready", NULL, 0, NULL);
}

static void assert_action(enum method method, const char *target, const char *form, enum action action)
{
    struct mgmt_request request = request_of(method, target, form);
    struct decision decision;

    assert_int_equal(decide(&request, &decision), 0);
    assert_int_equal(decision.action, action);
    decision_fini(&decision);
}

static void operations_come_as_forms(void **state)
{
    (void)state;
    assert_action(METHOD_POST, "/cluster/members", "address=akka%3A%2F%2FS%40h%3A1", ACTION_JOIN);
    assert_action(METHOD_DELETE, "/cluster/members/S@h:1", NULL, ACTION_LEAVE);
    assert_action(METHOD_PUT, "/cluster/members/S@h:1", "operation=LEAVE", ACTION_LEAVE);
    assert_action(METHOD_PUT, "/cluster/members/S@h:1", "operation=Down", ACTION_DOWN);
    assert_action(METHOD_PUT, "/cluster/members/S@h:1", "operation=join", ACTION_LOOK); /* it is not supported */
    assert_action(METHOD_PUT, "/cluster", "operation=Prepare-for-full-shutdown", ACTION_PREPARE);
    assert_action(METHOD_PUT, "/loglevel/akka?level=info", NULL, ACTION_LOG_LEVEL);
    assert_status(METHOD_PUT, "/cluster", NULL, 400, "Request is missing required form field 'operation'");
    assert_status(METHOD_POST, "/cluster/members", "x=y", 400, "Request is missing required form field 'address'");
    assert_status(METHOD_PUT, "/cluster", "operation=%", 400, NULL);
}

static void read_only_answers_as_akka_does(void **state)
{
    static const char text[] =
        "A request was made of a resource using a request method not supported by that resource;";

    (void)state;
    settings.read_only = true;
    assert_status(METHOD_POST, "/cluster/members", "address=a", 405, text);
    assert_status(METHOD_DELETE, "/cluster/members/S@h:1", NULL, 405, text);
    assert_status(METHOD_PUT, "/cluster", "operation=x", 404, NULL);
    assert_status(METHOD_PUT, "/loglevel/akka?level=info", NULL, 403, NULL);
    assert_status(METHOD_GET, "/cluster/members", NULL, 0, NULL);
    settings.read_only = false;
}

static void each_right_allows_its_routes(void **state)
{
    static const struct {
        enum method method;
        const char *target, *form;
        enum right right;
    } rows[] = {
        { METHOD_GET, "/ready", NULL, RIGHT_OPEN },
        { METHOD_GET, "/bootstrap/seed-nodes", NULL, RIGHT_OPEN },
        { METHOD_GET, "/cluster/members", NULL, RIGHT_READ },
        { METHOD_GET, "/cluster/members/a", NULL, RIGHT_READ },
        { METHOD_GET, "/cluster/shards/a", NULL, RIGHT_READ },
        { METHOD_GET, "/cluster/domain-events", NULL, RIGHT_READ },
        { METHOD_GET, "/loglevel/akka", NULL, RIGHT_READ },
        { METHOD_GET, "/metrics", NULL, RIGHT_READ },
        { METHOD_GET, "/", NULL, RIGHT_OPEN },
        { METHOD_GET, "/ui/app.js", NULL, RIGHT_OPEN },
        { METHOD_DELETE, "/cluster/members/a", NULL, RIGHT_OPERATE },
        { METHOD_PUT, "/cluster/members/a", "operation=leave", RIGHT_OPERATE },
        { METHOD_PUT, "/loglevel/akka?level=info", NULL, RIGHT_OPERATE },
        { METHOD_PUT, "/cluster/members/a", "operation=down", RIGHT_ADMIN },
        { METHOD_POST, "/cluster/members", "address=a", RIGHT_ADMIN },
        { METHOD_PUT, "/cluster", "operation=prepare-for-full-shutdown", RIGHT_ADMIN },
    };

    (void)state;
    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        for (int right = RIGHT_OPEN; right <= RIGHT_ADMIN; right++) {
            struct mgmt_request request = request_of(rows[i].method, rows[i].target, rows[i].form);
            bool may = right >= (int)rows[i].right;
            struct decision decision;

            request.right = (enum right)right;
            assert_int_equal(decide(&request, &decision), may ? 0 : 403);
            decision_fini(&decision);
            request.has_credentials = false;
            assert_int_equal(decide(&request, &decision), may ? 0 : 401);
            decision_fini(&decision);
        }
    }
}

static void other_hosts_and_pages_are_refused_before_rights(void **state)
{
    struct mgmt_request request = request_of(METHOD_GET, "/cluster/members", NULL);
    struct decision decision;

    (void)state;
    request.host = slice_text("evil:1");
    assert_int_equal(decide(&request, &decision), 421);
    decision_fini(&decision);
    request.target = slice_text("/ready"); /* probes use any name */
    assert_int_equal(decide(&request, &decision), 0);
    decision_fini(&decision);
    request = request_of(METHOD_POST, "/cluster/members", "address=a");
    request.origin = slice_text("http://evil");
    assert_int_equal(decide(&request, &decision), 403);
    assert_int_equal(decision.error, ERROR_CROSS_SITE);
    decision_fini(&decision);
    request = request_of(METHOD_GET, "/cluster/members?token=abc", NULL);
    assert_int_equal(decide(&request, &decision), 400);
    decision_fini(&decision);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(paths_are_akkas),
        cmocka_unit_test(wrong_methods_get_akkas_text),
        cmocka_unit_test(operations_come_as_forms),
        cmocka_unit_test(read_only_answers_as_akka_does),
        cmocka_unit_test(each_right_allows_its_routes),
        cmocka_unit_test(other_hosts_and_pages_are_refused_before_rights),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
