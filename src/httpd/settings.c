/* Reads the settings below `management`. */
#define _GNU_SOURCE
#include <stdlib.h>
#include <string.h>

#include "httpd/inside.h"

#define PORT_AKKA 8558
#define PORT_PEKKO 7626

static const char *text(struct httpd *httpd, const char *key)
{
    return httpd->access->text(httpd->access->node, key);
}

static bool is_on(struct httpd *httpd, const char *key)
{
    const char *value = text(httpd, key);

    return *value && strcmp(value, "off") != 0 && strcmp(value, "false") != 0;
}

/* A switch of the table. */
static bool is_switched_on(struct httpd *httpd, const char *key)
{
    const char *value = text(httpd, key);

    return strcmp(value, "on") == 0 || strcmp(value, "true") == 0 || strcmp(value, "yes") == 0;
}

static const char *path_or_null(struct httpd *httpd, const char *key)
{
    const char *value = text(httpd, key);

    return *value ? value : NULL;
}

/* Without the slashes around it. */
static char *trimmed(const char *path)
{
    size_t size;
    char *copy;

    path += strspn(path, "/");
    size = strlen(path);
    while (size && path[size - 1] == '/')
        size--;
    copy = mem_copy(path, size);
    return copy;
}

static void read_tcp(struct httpd *httpd)
{
    struct httpd_settings *settings = &httpd->settings;
    const struct sherd_node_access *access = httpd->access;
    int64_t port = access->number(access->node, "http.port");
    int64_t bind_port = access->number(access->node, "http.bind-port");
    const char *host = text(httpd, "http.hostname");
    const char *bind_host = text(httpd, "http.bind-hostname");

    settings->has_tcp = *host || port != INT64_MIN;
    if (port == INT64_MIN)
        port = strcmp(access->protocol, "pekko") == 0 ? PORT_PEKKO : PORT_AKKA;
    settings->host = *host ? host : "127.0.0.1";
    settings->port = (uint16_t)port;
    settings->bind_host = *bind_host ? bind_host : settings->host;
    settings->bind_port = (uint16_t)(bind_port == INT64_MIN ? port : bind_port);
}

static int refuse(struct httpd *httpd, const char *what, const char *key, const char *value)
{
    httpd_log(httpd, SHERD_LOG_ERROR, "%s key=management.%s value=\"%s\"", what, key, value);
    return SHERD_ECONFIG;
}

static int read_tls(struct httpd *httpd)
{
    struct httpd_settings *settings = &httpd->settings;
    const struct sherd_node_access *access = httpd->access;
    const char *mode = text(httpd, "http.tls");

    settings->client_ca = path_or_null(httpd, "http.client-ca");
    settings->client_crl = path_or_null(httpd, "http.client-crl");
    settings->certificate = path_or_null(httpd, "http.certificate");
    settings->key = path_or_null(httpd, "http.key");
    if (strcmp(mode, "off") == 0) {
        if (settings->certificate || settings->key || settings->client_ca || settings->client_crl)
            return refuse(httpd, "files of TLS are set, and TLS is off", "http.tls", mode);
    } else if (strcmp(mode, "own") == 0) {
        if (!settings->certificate || !settings->key)
            return refuse(httpd, "TLS of its own needs certificate and key", "http.tls", mode);
        settings->tls = TLS_MODE_OWN;
    } else if (settings->certificate || settings->key) {
        return refuse(httpd, "a certificate is set, which needs tls = own", "http.tls", mode);
    } else if (access->uses_tls) {
        settings->tls = TLS_MODE_NODES;
        settings->certificate = access->certificate;
        settings->key = access->key;
        if (!settings->client_ca) {
            settings->client_ca = access->ca;
            settings->client_crl = settings->client_crl ? settings->client_crl : access->crl;
        }
    }
    if (settings->client_crl && !settings->client_ca)
        return refuse(httpd, "revocation lists are set without a CA", "http.client-crl", settings->client_crl);
    return 0;
}

static int read_roles(struct httpd *httpd)
{
    const struct sherd_node_access *access = httpd->access;
    const char *pattern;

    for (uint32_t i = 0; (pattern = access->item(access->node, "http.client-roles", i)); i++) {
        enum right right;
        const char *equals = strrchr(pattern, '=');
        struct slice role = slice_text(equals ? equals + 1 + strspn(equals + 1, " ") : "");

        if (!right_named(role, &right))
            return refuse(httpd, "no pattern and right, as \"CN=ops = operate\"", "http.client-roles", pattern);
    }
    return 0;
}

static int read_states(struct httpd *httpd)
{
    const struct sherd_node_access *access = httpd->access;
    const char *state;

    for (uint32_t i = 0; (state = access->item(access->node, "cluster.health-check.ready-states", i)); i++) {
        uint32_t bit = akka_status_bit(state);

        if (!bit)
            return refuse(httpd, "no status of a member", "cluster.health-check.ready-states", state);
        httpd->settings.ready_statuses |= bit;
    }
    return 0;
}

static void read_checks(struct httpd *httpd)
{
    uint32_t *checks = &httpd->settings.checks;

    *checks = SHERD_UNREADY_ENDED | SHERD_UNREADY_LEAVING | SHERD_UNREADY_LANES | SHERD_UNREADY_STORAGE |
              SHERD_UNREADY_TLS;
    if (is_on(httpd, "health-checks.readiness-checks.cluster-membership"))
        *checks |= SHERD_UNREADY_MEMBER;
    if (is_on(httpd, "health-checks.readiness-checks.sharding"))
        *checks |= SHERD_UNREADY_SHARDING;
}

int httpd_read_settings(struct httpd *httpd)
{
    struct httpd_settings *settings = &httpd->settings;
    const struct sherd_node_access *access = httpd->access;
    int result;

    settings->base_path = trimmed(text(httpd, "http.base-path"));
    settings->mgmt = (struct mgmt_settings){
        .base_path = settings->base_path,
        .startup = text(httpd, "health-checks.startup-path"),
        .ready = text(httpd, "health-checks.readiness-path"),
        .alive = text(httpd, "health-checks.liveness-path"),
        .cluster = is_on(httpd, "http.routes.cluster-management"),
        .bootstrap = is_on(httpd, "http.routes.cluster-bootstrap"),
        .health = is_on(httpd, "http.routes.health-checks"),
        .log_level = is_on(httpd, "http.routes.loglevels"),
        .dashboard = is_switched_on(httpd, "dashboard"),
        .read_only = is_switched_on(httpd, "http.route-providers-read-only"),
    };
    settings->tokens_file = path_or_null(httpd, "http.tokens-file");
    settings->socket = text(httpd, "socket");
    settings->open_read = is_switched_on(httpd, "http.open-read");
    settings->connections = (uint32_t)access->number(access->node, "http.connections");
    settings->streams = (uint32_t)access->number(access->node, "http.streams");
    read_tcp(httpd);
    read_checks(httpd);
    result = read_tls(httpd);
    if (result == 0)
        result = read_roles(httpd);
    return result ? result : read_states(httpd);
}

void httpd_settings_fini(struct httpd_settings *settings)
{
    mem_free(settings->base_path);
}
