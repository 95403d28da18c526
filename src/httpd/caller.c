/* Finds the rights of a caller: by the socket, a token, or a certificate. */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <openssl/evp.h>

#include "httpd/inside.h"

#define LOOK_MS 1000
#define FILE_SIZE (MGMT_TOKENS_MAX * (MGMT_TOKEN_LINE_MAX + 2))

/* ---- the tokens file ---- */

static const char *open_fault(int file)
{
    struct stat status;

    if (file < 0)
        return strerror(errno);
    if (fstat(file, &status) != 0)
        return strerror(errno);
    if (!S_ISREG(status.st_mode))
        return "it is no regular file";
    if (status.st_uid != geteuid() && status.st_uid != 0)
        return "it belongs to another user";
    /* The group of a file of root was chosen by root: a secret that Kubernetes mounts. */
    if (status.st_mode & (status.st_uid == 0 && geteuid() != 0 ? 0037 : 0077))
        return "others may read it; its mode must be 0600 or 0400, or 0440 if it belongs to root";
    if (status.st_size > FILE_SIZE)
        return "it is too large";
    return NULL;
}

static bool read_file(int file, struct buf *text)
{
    ssize_t size;

    do {
        size = read(file, buf_reserve(text, 4096), 4096);
        text->size += size > 0 ? (size_t)size : 0;
    } while (size > 0 && text->size <= FILE_SIZE);
    return size == 0;
}

/* 0, or a logged error. The tokens of before stay if it fails. */
static int read_tokens(struct httpd *httpd)
{
    const char *path = httpd->settings.tokens_file;
    struct tokens tokens = { .items = { NULL, 0, 0 } };
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    const char *fault = open_fault(file);
    struct buf text = { 0 };
    uint32_t line = 0;

    if (!fault && !read_file(file, &text))
        fault = "it cannot be read";
    if (!fault)
        line = tokens_read(&tokens, buf_slice(&text));
    if (file >= 0)
        (void)close(file); /* nothing was written */
    if (text.data)
        memset(text.data, 0, text.size);
    buf_fini(&text);
    if (!fault && !line) {
        tokens_fini(&httpd->tokens);
        httpd->tokens = tokens;
        httpd->tokens_logged = false;
        return 0;
    }
    tokens_fini(&tokens);
    if (!httpd->tokens_logged) {
        if (fault)
            httpd_log(httpd, SHERD_LOG_ERROR, "the tokens file cannot be used file=\"%s\" reason=\"%s\"", path, fault);
        else
            httpd_log(httpd, SHERD_LOG_ERROR,
                      "the tokens file has a wrong line file=\"%s\" line=%u "
                      "hint=\"ROLE SHA256 NAME, with read, operate or admin as the role\"",
                      path, (unsigned)line);
    }
    httpd->tokens_logged = true;
    return SHERD_ECONFIG;
}

int caller_open(struct httpd *httpd)
{
    if (!httpd->settings.tokens_file)
        return 0;
    (void)file_stamp_read(httpd->settings.tokens_file, &httpd->tokens_stamp);
    return read_tokens(httpd);
}

void caller_close(struct httpd *httpd)
{
    tokens_fini(&httpd->tokens);
    wrong_tokens_fini(&httpd->wrong);
}

/* At most once a second, or at once if `is_due`. */
static void look_at_tokens(struct httpd *httpd, uint64_t now, bool is_due)
{
    struct file_stamp stamp;

    if (!httpd->settings.tokens_file || (!is_due && now < httpd->tokens_looked_at + LOOK_MS))
        return;
    httpd->tokens_looked_at = now;
    (void)file_stamp_read(httpd->settings.tokens_file, &stamp); /* a missing file differs */
    if (file_stamp_same(&stamp, &httpd->tokens_stamp))
        return;
    httpd->tokens_stamp = stamp;
    if (read_tokens(httpd) == 0)
        httpd_log(httpd, SHERD_LOG_INFO, "tokens read again count=%u", (unsigned)httpd->tokens.items.count);
}

/* ---- wrong tokens ---- */

static void count_wrong(struct httpd *httpd, const char *address, uint64_t now)
{
    uint32_t count = wrong_tokens_add(&httpd->wrong, address, now);

    httpd_count(httpd, SHERD_HTTP_WRONG_TOKENS);
    httpd_log(httpd, SHERD_LOG_WARNING, "wrong token from=%s count=%u", address, (unsigned)count);
}

/* ---- rights ---- */

static const struct token *token_of(struct httpd *httpd, struct slice authorization)
{
    uint8_t digest[DIGEST_SIZE];
    struct buf token = { 0 };
    bool is_good = token_take(authorization, &token) &&
                   EVP_Digest(token.data, token.size, digest, NULL, EVP_sha256(), NULL) == 1;

    if (token.data)
        memset(token.data, 0, token.size);
    buf_fini(&token);
    return is_good ? tokens_find(&httpd->tokens, digest) : NULL;
}

/* The right of a certificate: the highest of all patterns that name it. */
static bool certificate_right(struct connection *connection, enum right *right)
{
    const struct sherd_node_access *access = connection->door->httpd->access;
    const char *pattern;
    char subject[128];
    bool has_right = false;

    if (!connection->door->tls || !door_subject(connection->bev, subject, sizeof subject))
        return false;
    for (uint32_t i = 0; (pattern = access->item(access->node, "http.client-roles", i)); i++) {
        enum right one;

        if (!client_right(pattern, subject, &one))
            continue;
        if (!has_right || one > *right)
            *right = one;
        has_right = true;
    }
    if (has_right)
        (void)snprintf(connection->caller, sizeof connection->caller, "certificate %s", subject); /* fits */
    return has_right;
}

enum mgmt_error caller_find(struct connection *connection, struct mgmt_request *request)
{
    struct httpd *httpd = connection->door->httpd;
    struct evkeyvalq *headers = evhttp_request_get_input_headers(connection->request);
    const char *authorization = evhttp_find_header(headers, "Authorization");
    const struct token *token = NULL;
    uint64_t now = httpd_now();

    request->right = connection->is_loopback || httpd->settings.open_read ? RIGHT_READ : RIGHT_OPEN;
    (void)snprintf(connection->caller, sizeof connection->caller, "nobody");
    if (connection->door->is_socket) {
        (void)snprintf(connection->caller, sizeof connection->caller, "uid %u", (unsigned)connection->uid);
        request->right = RIGHT_ADMIN;
        request->has_credentials = true;
    } else if (authorization) {
        if (wrong_tokens_too_many(&httpd->wrong, connection->peer, now))
            return ERROR_RATE;
        look_at_tokens(httpd, now, false);
        token = token_of(httpd, slice_text(authorization));
        if (!token) { /* it may be new */
            look_at_tokens(httpd, now, true);
            token = token_of(httpd, slice_text(authorization));
        }
        if (!token) {
            count_wrong(httpd, connection->peer, now);
            return ERROR_UNAUTHORIZED;
        }
        request->right = token->right;
        request->has_credentials = true;
        (void)snprintf(connection->caller, sizeof connection->caller, "token %s", token->name);
    } else if (certificate_right(connection, &request->right)) {
        request->has_credentials = true;
    }
    connection->right = request->right;
    return ERROR_NONE;
}
