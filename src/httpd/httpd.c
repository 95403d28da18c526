/* Has the module's life: registered, opened with a system, a thread while it runs, closed. */
#define _GNU_SOURCE
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "httpd/inside.h"

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static struct httpd *list[HTTPD_SYSTEMS_MAX];
static uint32_t list_count;

/* ---- the list, for sherd_http_get_status ---- */

static bool add_to_list(struct httpd *httpd)
{
    bool has_room;

    check(pthread_mutex_lock(&list_lock) == 0);
    has_room = list_count < HTTPD_SYSTEMS_MAX;
    if (has_room)
        list[list_count++] = httpd;
    check(pthread_mutex_unlock(&list_lock) == 0);
    return has_room;
}

static void take_from_list(const struct httpd *httpd)
{
    check(pthread_mutex_lock(&list_lock) == 0);
    for (uint32_t i = 0; i < list_count; i++)
        if (list[i] == httpd)
            list[i] = list[--list_count];
    check(pthread_mutex_unlock(&list_lock) == 0);
}

int sherd_http_get_status(struct sherd_system *system, struct sherd_http_status *status)
{
    int result = SHERD_ESTATE;

    if (!system || !status)
        return SHERD_EINVAL;
    memset(status, 0, sizeof *status);
    check(pthread_mutex_lock(&list_lock) == 0);
    for (uint32_t i = 0; i < list_count; i++) {
        if (list[i]->access->system != system)
            continue;
        result = 0;
        memcpy(status->socket, list[i]->socket, sizeof status->socket);
        memcpy(status->url, list[i]->url, sizeof status->url);
        for (int j = 0; j < SHERD_HTTP_COUNTER_COUNT; j++)
            status->counters[j] = atomic_load(&list[i]->counters[j]);
    }
    check(pthread_mutex_unlock(&list_lock) == 0);
    return result;
}

const char *sherd_http_counter_text(enum sherd_http_counter counter)
{
    static const char *const texts[] = {
#define X(name, text) [name] = text,
        SHERD_HTTP_COUNTERS(X)
#undef X
    };

    return (unsigned)counter < SHERD_HTTP_COUNTER_COUNT ? texts[counter] : "";
}

/* ---- opening ---- */

static void close_httpd(void *of);

static void name_node(struct httpd *httpd)
{
    const struct sherd_node_access *access = httpd->access;

    (void)snprintf(httpd->self, sizeof httpd->self, "%s:%u", access->host, (unsigned)access->port);
    httpd->names = (struct akka_names){
        .protocol = access->protocol,
        .system = access->system_name,
        .self = httpd->self,
        .data_center = access->data_center,
    };
}

static void woken(evutil_socket_t file, short what, void *of)
{
    struct httpd *httpd = of;
    uint64_t count;

    (void)what;
    (void)!read(file, &count, sizeof count); /* it may have been read already */
    if (atomic_load(&httpd->stopping)) {
        (void)event_base_loopbreak(httpd->base);
        return;
    }
    work_done(httpd);
    native_looks_step(httpd, httpd_now());
    streams_step(httpd, httpd_now());
}

static void ticked(evutil_socket_t none, short what, void *of)
{
    struct httpd *httpd = of;
    uint64_t now = httpd_now();

    (void)none;
    (void)what;
    gate_tick(httpd, now);
    native_looks_step(httpd, now);
    streams_step(httpd, now);
}

static void set_up(struct door *door)
{
    if (!door->http)
        return;
    evhttp_set_bevcb(door->http, gate_new, door);
    evhttp_set_gencb(door->http, request_come, door);
    evhttp_set_max_headers_size(door->http, MGMT_HEAD_MAX);
    evhttp_set_max_body_size(door->http, MGMT_BODY_MAX);
    evhttp_set_allowed_methods(door->http, EVHTTP_REQ_GET | EVHTTP_REQ_HEAD | EVHTTP_REQ_POST | EVHTTP_REQ_PUT |
                                               EVHTTP_REQ_DELETE | EVHTTP_REQ_OPTIONS | EVHTTP_REQ_PATCH);
}

static int open_doors(struct httpd *httpd)
{
    int result = httpd_read_settings(httpd);

    if (result == 0)
        result = caller_open(httpd);
    if (result == 0 && httpd->settings.has_tcp)
        result = door_open_tcp(httpd);
    if (result)
        return result;
    door_open_socket(httpd);
    set_up(&httpd->socket_door);
    set_up(&httpd->tcp_door);
    if (!add_to_list(httpd)) {
        httpd_log(httpd, SHERD_LOG_ERROR, "too many systems of this process serve HTTP most=%d", HTTPD_SYSTEMS_MAX);
        return SHERD_EFULL;
    }
    return 0;
}

static int open_httpd(const struct sherd_node_access *access, void **manager)
{
    struct httpd *httpd = mem_alloc(sizeof *httpd);
    int result;

    httpd->access = access;
    httpd->wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    httpd->base = event_base_new();
    if (httpd->wake < 0 || !httpd->base) {
        httpd_log(httpd, SHERD_LOG_ERROR, "no file descriptors are left hint=\"raise ulimit -n\"");
        if (httpd->wake >= 0)
            (void)close(httpd->wake);
        if (httpd->base)
            event_base_free(httpd->base);
        mem_free(httpd);
        return SHERD_ESYSTEM;
    }
    check(pthread_mutex_init(&httpd->mutex, NULL) == 0 && pthread_cond_init(&httpd->work_came, NULL) == 0);
    httpd->socket_door = (struct door){ .httpd = httpd, .is_socket = true };
    httpd->tcp_door = (struct door){ .httpd = httpd };
    httpd->wake_event = event_new(httpd->base, httpd->wake, EV_READ | EV_PERSIST, woken, httpd);
    httpd->tick = event_new(httpd->base, -1, EV_PERSIST, ticked, httpd);
    check(httpd->wake_event && httpd->tick && event_add(httpd->wake_event, NULL) == 0);
    name_node(httpd);
    result = open_doors(httpd);
    if (result) {
        close_httpd(httpd);
        return result;
    }
    *manager = httpd;
    return 0;
}

/* ---- the thread ---- */

static void *serve(void *of)
{
    struct httpd *httpd = of;

    httpd_here = httpd;
    while (!atomic_load(&httpd->stopping))
        if (event_base_loop(httpd->base, 0) < 0)
            break;
    return NULL;
}

static int start_httpd(void *of)
{
    struct httpd *httpd = of;
    sigset_t all, before;
    int result;

    if (!httpd->socket_door.http && !httpd->tcp_door.http)
        return 0;
    check(sigfillset(&all) == 0 && pthread_sigmask(SIG_SETMASK, &all, &before) == 0);
    result = work_start(httpd);
    if (result == 0) {
        httpd->has_thread = pthread_create(&httpd->thread, NULL, serve, httpd) == 0;
        result = httpd->has_thread ? 0 : SHERD_ESYSTEM;
    }
    check(pthread_sigmask(SIG_SETMASK, &before, NULL) == 0);
    if (result) {
        httpd_log(httpd, SHERD_LOG_ERROR, "a thread of the management cannot start");
        return result;
    }
    httpd_log(httpd, SHERD_LOG_INFO, "management serves socket=\"%s\" url=\"%s\"", httpd->socket, httpd->url);
    return 0;
}

/* ---- the end ---- */

static void close_door(struct door *door)
{
    if (door->http)
        evhttp_free(door->http);
    door->http = NULL;
}

static void stop_httpd(void *of)
{
    struct httpd *httpd = of;

    atomic_store(&httpd->stopping, true);
    httpd_wake(httpd);
    if (httpd->has_thread)
        check(pthread_join(httpd->thread, NULL) == 0);
    httpd->has_thread = false;
    work_stop(httpd);
    close_door(&httpd->socket_door);
    close_door(&httpd->tcp_door);
    gate_fini(httpd);
    door_close_socket(httpd);
    take_from_list(httpd);
}

static void close_httpd(void *of)
{
    struct httpd *httpd = of;

    stop_httpd(httpd);
    streams_fini(httpd);
    native_looks_fini(httpd);
    operate_fini(httpd);
    caller_close(httpd);
    if (httpd->has_view)
        httpd->access->view_free(&httpd->view);
    httpd->access->figures_free(httpd->figures);
    SSL_CTX_free(httpd->tcp_door.tls);
    event_free(httpd->wake_event);
    event_free(httpd->tick);
    if (httpd->level_timer)
        event_free(httpd->level_timer);
    event_base_free(httpd->base);
    (void)close(httpd->wake);
    check(pthread_cond_destroy(&httpd->work_came) == 0 && pthread_mutex_destroy(&httpd->mutex) == 0);
    httpd_settings_fini(&httpd->settings);
    mem_free(httpd);
}

static const struct sherd_manager module = {
    .version = SHERD_MANAGER_VERSION,
    .name = "http",
    .open = open_httpd,
    .start = start_httpd,
    .stop = stop_httpd,
    .close = close_httpd,
};

int sherd_http_register(void)
{
    return sherd_manager_register(&module);
}
