/* Compares, parses and prints addresses. */
#include "base/address.h"

#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/host_name.h"

/* The first bytes of a name as a number. Zero bytes follow a name, so numbers compare as the texts
 * do. */
static uint64_t start_of(const struct address *address)
{
    const uint8_t *at = (const uint8_t *)address->host;

    return (uint64_t)at[0] << 56 | (uint64_t)at[1] << 48 |
           (uint64_t)at[2] << 40 | (uint64_t)at[3] << 32 |
           (uint64_t)at[4] << 24 | (uint64_t)at[5] << 16 |
           (uint64_t)at[6] << 8 | at[7];
}

int address_compare(const struct address *left, const struct address *right)
{
    uint64_t a = start_of(left), b = start_of(right);
    int order = (a > b) - (a < b);

    if (!order && left->host[7])
        order = strcmp(left->host + 8, right->host + 8);
    if (order)
        return order;
    return (left->port > right->port) - (left->port < right->port);
}

int node_compare(const struct node_id *left, const struct node_id *right)
{
    int order = address_compare(&left->address, &right->address);
    int64_t a = (int64_t)left->uid;
    int64_t b = (int64_t)right->uid;

    return order ? order : (a > b) - (a < b);
}

size_t kept_address_size(const struct address *address)
{
    return sizeof(struct kept_address) + strlen(address->host) + 1;
}

void address_keep_at(struct kept_address *kept, const struct address *address)
{
    size_t size = strlen(address->host);

    kept->port = address->port;
    kept->host_size = (uint8_t)size;
    memcpy(kept->host, address->host, size + 1);
}

struct kept_address *address_keep(const struct address *address)
{
    struct kept_address *kept = mem_alloc(kept_address_size(address));

    address_keep_at(kept, address);
    return kept;
}

struct address address_again(const struct kept_address *kept)
{
    struct address address = { .port = kept->port };

    memcpy(address.host, kept->host, kept->host_size);
    return address;
}

int kept_address_compare(const struct kept_address *left,
                         const struct address *right)
{
    int order = strcmp(left->host, right->host);

    return order ? order
                 : (left->port > right->port) - (left->port < right->port);
}

bool kept_addresses_equal(const struct kept_address *left,
                          const struct kept_address *right)
{
    return left->port == right->port && left->host_size == right->host_size &&
           !memcmp(left->host, right->host, left->host_size);
}

int kept_addresses_compare(const struct kept_address *left,
                           const struct kept_address *right)
{
    int order = strcmp(left->host, right->host);

    return order ? order : (left->port > right->port) - (left->port < right->port);
}

void address_key_of(struct address_key *key, const struct address *address)
{
    size_t size = strlen(address->host);

    memcpy(key->bytes, &address->port, sizeof address->port);
    key->bytes[offsetof(struct kept_address, host_size)] = (uint8_t)size;
    key->size = offsetof(struct kept_address, host) + size;
    memcpy(key->bytes + offsetof(struct kept_address, host), address->host,
           size);
}

bool address_set(struct address *address, const char *host, size_t host_size,
                 uint32_t port)
{
    if (!host_size || host_size > HOST_MAX || !port || port > 65535 ||
        memchr(host, 0, host_size))
        return false;
    memset(address, 0, sizeof *address);
    memcpy(address->host, host, host_size);
    address->port = (uint16_t)port;
    return true;
}

bool address_set_named(struct address *address, const char *host,
                       size_t host_size, uint32_t port)
{
    char text[HOST_MAX + 1];

    if (!memchr(host, ':', host_size) || host[0] == '[')
        return address_set(address, host, host_size, port);
    if (host_size > HOST_MAX - 2)
        return false;
    text[0] = '[';
    memcpy(text + 1, host, host_size);
    text[host_size + 1] = ']';
    return address_set(address, text, host_size + 2, port);
}

void address_bare_host(char *bare, const char *host)
{
    size_t size = strlen(host);

    if (size > 2 && host[0] == '[' && host[size - 1] == ']')
        (void)snprintf(bare, HOST_MAX + 1, "%.*s", (int)(size - 2), host + 1);
    else
        (void)snprintf(bare, HOST_MAX + 1, "%s", host);
}

char *address_text(const struct address *address, char *text, size_t size)
{
    (void)snprintf(text, size, "%s:%u", address->host,
                   address->port); /* the caller's size fits any address */
    return text;
}

char *kept_address_text(const struct kept_address *address, char *text,
                        size_t size)
{
    (void)snprintf(text, size, "%s:%u", address->host,
                   address->port);
    return text;
}

bool address_parse(struct address *address, const char *text,
                   const char *protocol, const char *system)
{
    const char *scheme = strstr(text, "://");
    const char *at;
    const char *colon;
    uint32_t port = 0;

    if (scheme) {
        size_t size = (size_t)(scheme - text);

        if (protocol &&
            (strlen(protocol) != size || memcmp(text, protocol, size)))
            return false;
        text = scheme + 3;
    }
    at = strchr(text, '@');
    if (at) {
        size_t size = (size_t)(at - text);

        if (system && (strlen(system) != size || memcmp(text, system, size)))
            return false;
        text = at + 1;
    } else if (scheme) {
        return false;
    }
    colon = strrchr(text, ':');
    if (!colon || !colon[1] || strlen(colon + 1) > 5)
        return false;
    for (const char *p = colon + 1; *p; p++) {
        if (*p < '0' || *p > '9')
            return false;
        port = port * 10 + (uint32_t)(*p - '0');
    }
    return !host_name_fault(text, (size_t)(colon - text)) &&
           address_set_named(address, text, (size_t)(colon - text), port);
}

bool address_is_system(const char *text)
{
    for (const char *p = text; *p; p++)
        if (!((*p >= 'a' && *p <= 'z') || (*p >= 'A' && *p <= 'Z') ||
              (*p >= '0' && *p <= '9') ||
              (p != text && (*p == '-' || *p == '_'))))
            return false;
    return *text != 0;
}
