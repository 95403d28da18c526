/* Calls etcd over HTTP, by libcurl's easy interface. */
#define _GNU_SOURCE
#include "host/etcd_call.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>
#include <jansson.h>
#include <uv.h>

#include "base/check.h"
#include "base/timers.h"
#include "base/vec.h"
#include "host/etcd_reply.h"
#include "host/file.h"

struct etcd_calls {
    VEC(char *) endpoints; /* without a trailing / */
    uint32_t at;           /* the next to ask */
    char *user, *password;
    uint64_t request_timeout;
    CURL *curl;
    char curl_error[CURL_ERROR_SIZE];
    char token[ETCD_TOKEN_MAX];
    struct buf body;
    bool too_large; /* the body */
    char why[512];
    _Atomic bool stopped;
};

static uv_once_t once = UV_ONCE_INIT;

static void init_curl(void)
{
    check(curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK);
}

static size_t take_body(char *data, size_t one, size_t size, void *context)
{
    struct etcd_calls *calls = context;

    if (one * size > ETCD_REPLY_MAX - calls->body.size) {
        calls->too_large = true;
        return 0; /* ends the transfer */
    }
    buf_put(&calls->body, data, one * size);
    return one * size;
}

static int look_around(void *context, curl_off_t down_total, curl_off_t down,
                       curl_off_t up_total, curl_off_t up)
{
    struct etcd_calls *calls = context;

    (void)down_total;
    (void)down;
    (void)up_total;
    (void)up;
    return atomic_load(&calls->stopped);
}

/* With the types that libcurl documents; they fail only if it was built without the feature. */
#define SET(calls, option, value) \
    check(curl_easy_setopt((calls)->curl, option, value) == CURLE_OK)

static void set_up(struct etcd_calls *calls, const struct etcd_options *options)
{
    SET(calls, CURLOPT_NOSIGNAL, 1L);
    /* else a name that DNS does not answer blocks without limit */
    SET(calls, CURLOPT_QUICK_EXIT, 1L);
    SET(calls, CURLOPT_PROTOCOLS_STR, "http,https");
    SET(calls, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
    SET(calls, CURLOPT_PROXY, ""); /* not the environment's */
    SET(calls, CURLOPT_ERRORBUFFER, calls->curl_error);
    SET(calls, CURLOPT_WRITEFUNCTION, take_body);
    SET(calls, CURLOPT_WRITEDATA, calls);
    SET(calls, CURLOPT_XFERINFOFUNCTION, look_around);
    SET(calls, CURLOPT_XFERINFODATA, calls);
    SET(calls, CURLOPT_NOPROGRESS, 0L);
    if (options->ca_file && options->ca_file[0])
        SET(calls, CURLOPT_CAINFO, options->ca_file);
    if (options->cert_file && options->cert_file[0])
        SET(calls, CURLOPT_SSLCERT, options->cert_file);
    if (options->key_file && options->key_file[0])
        SET(calls, CURLOPT_SSLKEY, options->key_file);
}

static bool readable(const char *path, char *error, size_t size)
{
    const char *wrong;
    FILE *file;

    if (!path || !path[0])
        return true;
    file = file_open(path, &wrong);
    if (file)
        (void)fclose(file);
    else
        (void)snprintf(error, size, "%s: %s", path, wrong);
    return file != NULL;
}

/* No path, as the gateway's own follows. */
static bool put_endpoint(struct etcd_calls *calls, const char *text,
                         char *error, size_t size)
{
    CURLU *url = curl_url();
    char *scheme = NULL, *path = NULL;
    bool good;

    check(url != NULL);
    good = curl_url_set(url, CURLUPART_URL, text, 0) == CURLUE_OK &&
           curl_url_get(url, CURLUPART_SCHEME, &scheme, 0) == CURLUE_OK &&
           curl_url_get(url, CURLUPART_PATH, &path, 0) == CURLUE_OK &&
           (strcmp(scheme, "http") == 0 || strcmp(scheme, "https") == 0) &&
           strcmp(path, "/") == 0 && !strpbrk(text, "?#@ \t\r\n");
    curl_free(scheme);
    curl_free(path);
    curl_url_cleanup(url);
    if (!good) {
        (void)snprintf(error, size,
                       "\"%s\" is not an endpoint of etcd: http://HOST:PORT "
                       "or https://HOST:PORT",
                       text);
        return false;
    }
    vec_push(&calls->endpoints, mem_text(text));
    text = calls->endpoints.items[calls->endpoints.count - 1];
    if (text[strlen(text) - 1] == '/')
        calls->endpoints.items[calls->endpoints.count - 1][strlen(text) - 1] = 0;
    return true;
}

int etcd_calls_open(struct etcd_calls **opened,
                    const struct etcd_options *options, char *error,
                    size_t size)
{
    struct etcd_calls *calls = mem_alloc(sizeof *calls);
    bool good = readable(options->ca_file, error, size) &&
                readable(options->cert_file, error, size) &&
                readable(options->key_file, error, size);

    *opened = NULL;
    uv_once(&once, init_curl);
    calls->user = mem_text(options->user);
    calls->password = mem_text(options->password ? options->password : "");
    calls->request_timeout = options->request_timeout;
    for (uint32_t i = 0; good && i < options->endpoint_count; i++)
        good = put_endpoint(calls, options->endpoints[i], error, size);
    if (good && !calls->endpoints.count) {
        (void)snprintf(error, size, "etcd has no endpoints: set the key "
                                    "endpoints");
        good = false;
    }
    if (!good) {
        etcd_calls_close(calls);
        return -1;
    }
    calls->curl = curl_easy_init();
    check(calls->curl != NULL);
    set_up(calls, options);
    *opened = calls;
    return 0;
}

void etcd_calls_close(struct etcd_calls *calls)
{
    if (!calls)
        return;
    curl_easy_cleanup(calls->curl);
    for (uint32_t i = 0; i < calls->endpoints.count; i++)
        mem_free(calls->endpoints.items[i]);
    vec_fini(&calls->endpoints);
    mem_free(calls->user);
    mem_free(calls->password);
    buf_fini(&calls->body);
    mem_free(calls);
}

void etcd_calls_stop(struct etcd_calls *calls)
{
    atomic_store(&calls->stopped, true);
}

bool etcd_calls_stopped(const struct etcd_calls *calls)
{
    return atomic_load(&calls->stopped);
}

const char *etcd_call_why(const struct etcd_calls *calls)
{
    return calls->why;
}

/* The next endpoint. */
static void turn_away(struct etcd_calls *calls, const char *why)
{
    (void)snprintf(calls->why, sizeof calls->why, "%s: %s",
                   calls->endpoints.items[calls->at], why); /* may be cut */
    calls->at = (calls->at + 1) % calls->endpoints.count;
}

void etcd_call_refuse(struct etcd_calls *calls)
{
    turn_away(calls, "its reply is not a reply of etcd");
}

/* ETCD_SILENT has the reason in why; null: the time was over, so the reason before stays. */
static long perform(struct etcd_calls *calls, bool is_last, const char **why)
{
    long status = ETCD_SILENT;
    CURLcode code;

    buf_clear(&calls->body);
    calls->too_large = false;
    calls->curl_error[0] = 0;
    code = curl_easy_perform(calls->curl);
    if (code == CURLE_OK)
        check(curl_easy_getinfo(calls->curl, CURLINFO_RESPONSE_CODE,
                                &status) == CURLE_OK);
    else if (code == CURLE_OPERATION_TIMEDOUT && is_last && calls->why[0])
        *why = NULL;
    else if (calls->too_large)
        *why = "its answer is too long";
    else
        *why = calls->curl_error[0] ? calls->curl_error
                                    : curl_easy_strerror(code);
    return status;
}

static long post(struct etcd_calls *calls, uint64_t until, const char *path,
                 const char *json)
{
    struct curl_slist *lines =
        curl_slist_append(NULL, "Content-Type: application/json");
    char url[1024], header[ETCD_TOKEN_MAX + 32], error[256];
    uint64_t now = uv_hrtime();
    uint64_t left = until > now ? until - now : 0;
    const char *why = NULL;
    bool is_last = left < calls->request_timeout;
    long status = ETCD_SILENT;

    if (left > calls->request_timeout)
        left = calls->request_timeout;
    if (calls->token[0]) {
        (void)snprintf(header, sizeof header, "Authorization: %s",
                       calls->token); /* fits */
        lines = curl_slist_append(lines, header);
    }
    lines = curl_slist_append(lines, "Expect:");
    check(lines != NULL);
    (void)snprintf(url, sizeof url, "%s%s", calls->endpoints.items[calls->at],
                   path); /* a cut path fails */
    SET(calls, CURLOPT_URL, url);
    SET(calls, CURLOPT_POSTFIELDS, json);
    SET(calls, CURLOPT_HTTPHEADER, lines);
    SET(calls, CURLOPT_TIMEOUT_MS, (long)(left / MS));
    if (left >= MS && !atomic_load(&calls->stopped))
        status = perform(calls, is_last, &why);
    SET(calls, CURLOPT_HTTPHEADER, NULL);
    curl_slist_free_all(lines);
    if (status == ETCD_DONE || status == ETCD_GONE) {
        calls->why[0] = 0;
        return status;
    }
    if (status != ETCD_SILENT) {
        size_t used = (size_t)snprintf(error, sizeof error, "status %ld ",
                                       status);

        etcd_read_error(buf_slice(&calls->body), error + used,
                        sizeof error - used);
        why = error;
    }
    /* Expired (401) or older than a change of users (400): sign in again. */
    if (status == 401 || status == 400)
        calls->token[0] = 0;
    if (why)
        turn_away(calls, why);
    return status;
}

static bool sign_in(struct etcd_calls *calls, uint64_t until)
{
    json_t *words = json_pack("{s:s, s:s}", "name", calls->user, "password",
                              calls->password);
    char *json = words ? json_dumps(words, JSON_COMPACT) : NULL;
    bool good = false;

    if (!json) {
        (void)snprintf(calls->why, sizeof calls->why,
                       "user and password are not UTF-8");
    } else if (post(calls, until, "/v3/auth/authenticate", json) ==
               ETCD_DONE) {
        good = etcd_read_token(buf_slice(&calls->body), calls->token);
        if (!good)
            etcd_call_refuse(calls);
    }
    free(json);
    json_decref(words);
    return good;
}

long etcd_call(struct etcd_calls *calls, uint64_t until, const char *path,
               const char *json, struct slice *body)
{
    long status = ETCD_SILENT;

    *body = (struct slice){ NULL, 0 };
    if (!calls->user || !calls->user[0] || calls->token[0] ||
        sign_in(calls, until))
        status = post(calls, until, path, json);
    if (status == ETCD_DONE)
        *body = buf_slice(&calls->body);
    return status;
}
