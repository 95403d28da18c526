/* Serves counters over HTTP: requests become asks of entities, in one event loop (libevent).
 *   http_front HTTP_PORT [NODE_PORT [SEED]]      SEED: host:port of a node of the cluster
 *   curl localhost:8080/counter/alice            the value
 *   curl -d 5 localhost:8080/counter/alice       adds 5
 * SIGTERM ends it after its open requests, and the node leaves the cluster. */
#include <event2/buffer.h>
#include <event2/event.h>
#include <event2/http.h>
#include <sherd/sherd.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { ADD = 1, VALUE };

struct value {
    int64_t count;
    uint16_t node; /* the port of the node where the entity lives */
};

static struct sherd_system *node;
static struct sherd_client *client;
static struct event_base *base;
static int open_requests, is_ending;

static enum sherd_next counter(struct sherd_ctx *ctx, void *self, const struct sherd_msg *msg)
{
    struct value *value = self;
    int64_t added;

    if (msg->kind == SHERD_MESSAGE && msg->msg == ADD && msg->body.size == sizeof added) {
        memcpy(&added, msg->body.data, sizeof added);
        value->count += added;
        value->node = sherd_port(node);
        sherd_reply(ctx, VALUE, (struct sherd_bytes){ value, sizeof *value });
    }
    return SHERD_CONTINUE;
}

static void reply(struct evhttp_request *http, int code, const char *text)
{
    evbuffer_add_printf(evhttp_request_get_output_buffer(http), "%s\n", text);
    evhttp_send_reply(http, code, NULL, NULL); /* frees http, also if its connection is gone */
}

/* An ask that the client accepted has ended. */
static void end(const struct sherd_completion *done)
{
    struct evhttp_request *http = done->user;
    struct value value;
    char text[32];

    if (done->status == SHERD_CLIENT_ANSWERED && done->body.size == sizeof value) {
        memcpy(&value, done->body.data, sizeof value);
        snprintf(text, sizeof text, "%u", value.node);
        evhttp_add_header(evhttp_request_get_output_headers(http), "X-Node", text);
        snprintf(text, sizeof text, "%lld", (long long)value.count);
        reply(http, 200, text);
    } else {
        reply(http, done->status == SHERD_CLIENT_TIMED_OUT ? 504 : 503,
              sherd_client_status_text(done->status));
    }
    open_requests--;
}

/* Ends the loop after the last open request. The replies have 0.2 s to leave. */
static void end_loop(void)
{
    if (is_ending && open_requests == 0)
        event_base_loopexit(base, &(struct timeval){ 0, 200000 });
}

/* The client has completions. */
static void on_done(evutil_socket_t fd, short events, void *arg)
{
    struct sherd_completion done[32];
    uint32_t count = sherd_client_poll(client, done, 32, 0);

    (void)fd, (void)events, (void)arg;
    for (uint32_t i = 0; i < count; i++)
        end(&done[i]);
    sherd_completions_free(done, count);
    end_loop();
}

static void on_signal(evutil_socket_t fd, short events, void *arg)
{
    (void)fd, (void)events, (void)arg;
    is_ending = 1;
    end_loop();
}

static void on_request(struct evhttp_request *http, void *arg)
{
    const char *path = evhttp_uri_get_path(evhttp_request_get_evhttp_uri(http));
    char *id = strncmp(path, "/counter/", 9) ? NULL : evhttp_uridecode(path + 9, 0, NULL);
    struct sherd_entity_ref ref;
    int error = id ? sherd_entity_ref_make(&ref, "Counter", id, NULL) : SHERD_EINVAL;
    char number[24] = "0";

    (void)arg;
    free(id);
    if (evhttp_request_get_command(http) == EVHTTP_REQ_POST)
        evbuffer_copyout(evhttp_request_get_input_buffer(http), number, sizeof number - 1);
    int64_t added = strtoll(number, NULL, 10);
    struct sherd_request request = { .entity = &ref, .msg = ADD, .timeout_ms = 5000, .user = http };
    request.body = (struct sherd_bytes){ &added, sizeof added };
    if (!error)
        error = is_ending ? SHERD_ESTATE : sherd_client_ask(client, &request, NULL);
    if (error)
        reply(http, error == SHERD_EINVAL ? 404 : 503, sherd_strerror(error));
    else
        open_requests++;
}

int main(int argc, char **argv)
{
    const char *seeds[] = { argc > 3 ? argv[3] : NULL, NULL };
    struct sherd_options options = { .port = argc > 2 ? (uint16_t)atoi(argv[2]) : SHERD_PORT_ANY,
                                     .alone = argc < 4,
                                     .seed_nodes = seeds,
                                     .log_level = SHERD_LOG_WARNING };
    struct sherd_entity_type type = { .name = "Counter",
                                      .behavior = { .name = "counter",
                                                    .state_size = sizeof(struct value),
                                                    .receive = counter } };

    if (argc < 2 || argc > 4 || atoi(argv[1]) < 1 || (argc > 2 && atoi(argv[2]) < 1)) {
        int help = argc == 2 && !strcmp(argv[1], "--help");
        fprintf(help ? stdout : stderr, "usage: http_front HTTP_PORT [NODE_PORT [SEED]]\n");
        return help ? 0 : 2;
    }
    base = event_base_new();
    struct evhttp *http = evhttp_new(base);
    evhttp_set_gencb(http, on_request, NULL);
    if (sherd_open(&node, &options) || sherd_entity_register(node, &type) || sherd_start(node) ||
        sherd_client_open(&client, node, NULL) ||
        evhttp_bind_socket(http, "127.0.0.1", (uint16_t)atoi(argv[1])))
        return fprintf(stderr, "http_front: cannot start\n"), 1;
    event_add(event_new(base, sherd_client_fd(client), EV_READ | EV_PERSIST, on_done, NULL), NULL);
    event_add(evsignal_new(base, SIGTERM, on_signal, NULL), NULL);
    event_base_dispatch(base);
    sherd_client_close(client);
    evhttp_free(http);
    sherd_leave(node);
    int error = sherd_wait(node);
    sherd_close(node);
    return error != 0;
}
