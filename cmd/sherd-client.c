/* Sends requests through libcurl, and turns failures into lines for people. */
#define _GNU_SOURCE
#include "sherd-client.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "base/bytes.h"
#include "base/check.h"

#define TOKEN_SIZE 512

struct client {
    CURL *curl;
    char address[CLIENT_ADDRESS_SIZE]; /* as people write it */
    char socket[CLIENT_ADDRESS_SIZE];  /* of a Unix socket, or empty */
    char base[CLIENT_ADDRESS_SIZE + 16]; /* URL before the path */
    char token[TOKEN_SIZE];            /* the header, or empty */
    struct buf answer;
    bool is_too_long;
    bool copies; /* rows go to standard output */
    char fault[CURL_ERROR_SIZE];
};

/* ---- opening ---- */

static const char *value_or_variable(const struct cmd_call *call, const char *option,
                                     const char *variable)
{
    const char *value = cmd_value(call, option);

    return value ? value : getenv(variable);
}

static enum cmd_exit read_token(const char *path, char token[TOKEN_SIZE])
{
    static const char head[] = "Authorization: Bearer ";
    FILE *file = fopen(path, "re");
    size_t size = 0;

    if (file) {
        memcpy(token, head, sizeof head);
        size = fread(token + sizeof head - 1, 1, TOKEN_SIZE - sizeof head, file);
        (void)fclose(file);
    }
    if (!size)
        return cmd_fail(CMD_USAGE, "the token in %s cannot be read", path);
    token[sizeof head - 1 + size] = 0;
    token[strcspn(token, "\r\n")] = 0;
    return CMD_GOOD;
}

/* Reads an address: unix:PATH or a path, a URL, or host:port. */
static enum cmd_exit set_address(struct client *client, const char *address)
{
    const char *path = strncmp(address, "unix:", 5) == 0 ? address + 5 : address;
    int size;

    (void)snprintf(client->address, sizeof client->address, "%s", address);
    if (*path == '/') {
        size = snprintf(client->socket, sizeof client->socket, "%s", path);
        (void)snprintf(client->base, sizeof client->base, "http://localhost");
    } else {
        size = snprintf(client->base, sizeof client->base, "%s%s", strstr(address, "://") ? "" : "http://",
                        address);
    }
    if (size < 1 || (size_t)size >= CLIENT_ADDRESS_SIZE || strpbrk(address, " \t\r\n"))
        return cmd_fail(CMD_USAGE, "\"%.80s\" is no address: it must be a URL, host:port, or the path of a socket",
                        address);
    if (client->base[size - 1] == '/')
        client->base[size - 1] = 0;
    return CMD_GOOD;
}

static size_t take(char *data, size_t one, size_t count, void *user)
{
    struct client *client = user;
    size_t size = one * count;

    if (client->copies)
        return fwrite(data, 1, size, stdout);
    client->is_too_long = size > CLIENT_ANSWER_MAX - client->answer.size;
    if (client->is_too_long)
        return 0;
    buf_put(&client->answer, data, size);
    return size;
}

static void set_options(struct client *client, const struct cmd_call *call, uint64_t timeout)
{
    CURL *curl = client->curl;
    const char *file;

    (void)curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, take);
    (void)curl_easy_setopt(curl, CURLOPT_WRITEDATA, client);
    (void)curl_easy_setopt(curl, CURLOPT_ERRORBUFFER, client->fault);
    (void)curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, (long)timeout);
    (void)curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    (void)curl_easy_setopt(curl, CURLOPT_USERAGENT, "sherd");
    (void)curl_easy_setopt(curl, CURLOPT_PROXY, ""); /* nodes are not behind the environment's proxy */
    (void)curl_easy_setopt(curl, CURLOPT_PROTOCOLS_STR, "http,https");
    if (*client->socket)
        (void)curl_easy_setopt(curl, CURLOPT_UNIX_SOCKET_PATH, client->socket);
    if ((file = value_or_variable(call, "cacert", "SHERD_CACERT")))
        (void)curl_easy_setopt(curl, CURLOPT_CAINFO, file);
    if ((file = value_or_variable(call, "cert", "SHERD_CERT")))
        (void)curl_easy_setopt(curl, CURLOPT_SSLCERT, file);
    if ((file = value_or_variable(call, "key", "SHERD_KEY")))
        (void)curl_easy_setopt(curl, CURLOPT_SSLKEY, file);
}

enum cmd_exit client_open(const struct cmd_call *call, struct client **opened)
{
    const char *address = value_or_variable(call, "address", "SHERD_ADDR");
    const char *token = value_or_variable(call, "token-file", "SHERD_TOKEN_FILE");
    struct client *client;
    enum cmd_exit exit = CMD_GOOD;
    char found[CLIENT_ADDRESS_SIZE];
    uint64_t timeout = 10000;

    *opened = NULL;
    if (!cmd_number(call, "timeout", &timeout))
        return CMD_USAGE;
    client = mem_alloc(sizeof *client);
    if (!address || !*address) {
        exit = client_find_socket(found);
        address = found;
    }
    if (exit == CMD_GOOD)
        exit = set_address(client, address);
    if (exit == CMD_GOOD && token && *token)
        exit = read_token(token, client->token);
    client->curl = exit == CMD_GOOD ? curl_easy_init() : NULL;
    if (exit == CMD_GOOD && !client->curl)
        exit = cmd_fail(CMD_UNREACHABLE, "libcurl cannot be used");
    if (exit != CMD_GOOD) {
        client_close(client);
        return exit;
    }
    set_options(client, call, timeout < 3600000 ? timeout : 3600000);
    *opened = client;
    return CMD_GOOD;
}

void client_close(struct client *client)
{
    if (!client)
        return;
    curl_easy_cleanup(client->curl);
    buf_fini(&client->answer);
    mem_free(client);
}

const char *client_address(const struct client *client)
{
    return client->address;
}

const char *client_text(const struct client *client)
{
    return client->answer.size ? (const char *)client->answer.data : "";
}

/* ---- paths ---- */

static void put_escaped(struct buf *path, const char *text)
{
    static const char digits[] = "0123456789ABCDEF";

    for (; *text; text++) {
        uint8_t byte = (uint8_t)*text;

        if ((byte >= '0' && byte <= '9') || (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') ||
            strchr("-._~:", byte)) {
            buf_put_u8(path, byte);
        } else {
            buf_put_u8(path, '%');
            buf_put_u8(path, (uint8_t)digits[byte >> 4]);
            buf_put_u8(path, (uint8_t)digits[byte & 15]);
        }
    }
}

/* The buffer's bytes as a text of the caller. */
static char *take_text(struct buf *buf)
{
    char *text;

    buf_put_u8(buf, 0);
    text = strdup((const char *)buf->data);
    buf_fini(buf);
    check(text != NULL);
    return text;
}

char *client_path(const char *format, ...)
{
    struct buf path = { 0 };
    va_list arguments;

    va_start(arguments, format);
    for (; *format; format++) {
        if (format[0] == '%' && format[1] == 's') {
            put_escaped(&path, va_arg(arguments, const char *));
            format++;
        } else {
            buf_put_u8(&path, (uint8_t)*format);
        }
    }
    va_end(arguments);
    return take_text(&path);
}

char *client_path_add(char *path, const char *name, const char *value)
{
    struct buf longer = { 0 };

    if (!value)
        return path;
    buf_put_text(&longer, path);
    buf_put_text(&longer, strchr(path, '?') ? "&" : "?");
    buf_put_text(&longer, name);
    buf_put_text(&longer, "=");
    put_escaped(&longer, value);
    free(path);
    return take_text(&longer);
}

/* ---- requests ---- */

static enum cmd_exit exit_of_status(long status)
{
    switch (status) {
    case 400:
        return CMD_USAGE;
    case 404:
        return CMD_FINDINGS;
    case 503:
        return CMD_UNREACHABLE;
    case 504:
        return CMD_TIMEOUT;
    default:
        return CMD_REFUSED;
    }
}

/* The node's own words, if it has some. */
static enum cmd_exit explain_status(const struct client *client, long status)
{
    json_t *answer = json_loads(client_text(client), 0, NULL);
    json_t *error = json_object_get(answer, "error");
    const char *message = json_string_value(json_object_get(error, "message"));
    const char *hint = json_string_value(json_object_get(error, "hint"));
    enum cmd_exit exit = exit_of_status(status);

    if (!message && status == 404)
        (void)cmd_fail(exit, "%s has no such path: is it a node of Sherd with the native API?", client->address);
    else if (!message)
        (void)cmd_fail(exit, "%s answers with status %ld%s%.200s", client->address, status,
                       *client_text(client) ? ": " : "", client_text(client));
    else
        (void)cmd_fail(exit, "%s%s%s", message, hint ? "; hint: " : "", hint ? hint : "");
    json_decref(answer);
    return exit;
}

static enum cmd_exit explain_fault(const struct client *client, CURLcode code)
{
    if (client->is_too_long)
        return cmd_fail(CMD_REFUSED, "the answer of %s is longer than %u MiB", client->address,
                        CLIENT_ANSWER_MAX >> 20);
    if (code == CURLE_OPERATION_TIMEDOUT)
        return cmd_fail(CMD_TIMEOUT, "%s does not answer in time; --timeout sets it", client->address);
    return cmd_fail(CMD_UNREACHABLE, "%s cannot be reached: %s", client->address,
                    *client->fault ? client->fault : curl_easy_strerror(code));
}

static CURLcode perform(struct client *client, const char *method, const char *path, const char *body,
                        const char *accept)
{
    struct curl_slist *headers = NULL;
    struct buf url = { 0 };
    char accepted[80];
    CURLcode code;

    (void)snprintf(accepted, sizeof accepted, "Accept: %s", accept);
    headers = curl_slist_append(headers, accepted);
    if (*client->token)
        headers = curl_slist_append(headers, client->token);
    if (body)
        headers = curl_slist_append(headers, "Content-Type: application/json");
    buf_put_text(&url, client->base);
    buf_put_text(&url, path);
    buf_put_u8(&url, 0);
    client->fault[0] = 0;
    client->is_too_long = false;
    buf_clear(&client->answer);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPHEADER, headers);
    (void)curl_easy_setopt(client->curl, CURLOPT_URL, (const char *)url.data);
    (void)curl_easy_setopt(client->curl, CURLOPT_HTTPGET, 1L);
    if (body)
        (void)curl_easy_setopt(client->curl, CURLOPT_POSTFIELDS, body);
    (void)curl_easy_setopt(client->curl, CURLOPT_CUSTOMREQUEST, strcmp(method, "GET") == 0 ? NULL : method);
    code = curl_easy_perform(client->curl);
    curl_slist_free_all(headers);
    buf_fini(&url);
    return code;
}

static enum cmd_exit finish(struct client *client, CURLcode code)
{
    long status = 0;

    if (code != CURLE_OK)
        return explain_fault(client, code);
    buf_put_u8(&client->answer, 0);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    return status >= 200 && status < 300 ? CMD_GOOD : explain_status(client, status);
}

enum cmd_exit client_send(struct client *client, const char *method, const char *path, json_t *body)
{
    char *text = body ? json_dumps(body, JSON_COMPACT) : NULL;
    CURLcode code = perform(client, method, path, text, "application/json");

    free(text);
    json_decref(body);
    return finish(client, code);
}

enum cmd_exit client_ask(struct client *client, const char *method, const char *path, json_t *body,
                         json_t **answer)
{
    enum cmd_exit exit = client_send(client, method, path, body);
    json_error_t error;

    *answer = NULL;
    if (exit != CMD_GOOD)
        return exit;
    *answer = json_loads(client_text(client), 0, &error);
    return *answer ? CMD_GOOD
                   : cmd_fail(CMD_REFUSED, "the answer of %s is no JSON: %s", client->address, error.text);
}

bool client_probe(struct client *client, const char *path, json_t **answer)
{
    *answer = NULL;
    if (perform(client, "GET", path, NULL, "application/json") == CURLE_OK) {
        buf_put_u8(&client->answer, 0);
        *answer = json_loads(client_text(client), 0, NULL);
    }
    return *answer != NULL;
}

enum cmd_exit client_copy_lines(struct client *client, const char *path)
{
    long status = 0;
    CURLcode code;

    /* An error must not get into the rows: without --fail its text would. */
    (void)curl_easy_setopt(client->curl, CURLOPT_FAILONERROR, 1L);
    client->copies = true;
    code = perform(client, "GET", path, NULL, "application/x-ndjson");
    client->copies = false;
    (void)curl_easy_setopt(client->curl, CURLOPT_FAILONERROR, 0L);
    (void)curl_easy_getinfo(client->curl, CURLINFO_RESPONSE_CODE, &status);
    if (code == CURLE_HTTP_RETURNED_ERROR) /* again, for its reason */
        return client_send(client, "GET", path, NULL);
    return code == CURLE_OK ? CMD_GOOD : explain_fault(client, code);
}
