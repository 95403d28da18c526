/* Implements sites.h. */
#include "mgmt/sites.h"

static uint8_t lower(uint8_t byte)
{
    return byte >= 'A' && byte <= 'Z' ? (uint8_t)(byte + 32) : byte;
}

static bool is_same_text(struct slice left, struct slice right)
{
    if (left.size != right.size)
        return false;
    for (size_t i = 0; i < left.size; i++)
        if (lower(left.data[i]) != lower(right.data[i]))
            return false;
    return true;
}

static bool is_same_name(struct slice left, const char *right)
{
    return is_same_text(left, slice_text(right));
}

/* Splits `name`, `name:port`, `[v6]` or `[v6]:port`. False: malformed. */
static bool split(struct slice host, struct slice *name, uint32_t *port)
{
    size_t end;
    bool has_brackets = host.size && host.data[0] == '[';

    if (has_brackets) {
        const uint8_t *close = memchr(host.data, ']', host.size);

        if (!close)
            return false;
        end = (size_t)(close - host.data) + 1;
        *name = slice_of(host.data + 1, end - 2);
    } else {
        const uint8_t *colon = host.size ? memchr(host.data, ':', host.size) : NULL;

        end = colon ? (size_t)(colon - host.data) : host.size;
        *name = slice_of(host.data, end);
    }
    if (end == host.size)
        return name->size > 0;
    if (host.data[end] != ':' || end + 1 == host.size || host.size - end > 6)
        return false;
    *port = 0;
    for (size_t i = end + 1; i < host.size; i++) {
        if (host.data[i] < '0' || host.data[i] > '9')
            return false;
        *port = *port * 10 + (uint32_t)(host.data[i] - '0');
    }
    return name->size > 0;
}

bool site_is_own(const struct site *site, struct slice host)
{
    uint32_t port = site->is_secure ? 443 : 80;
    struct slice name;

    if (site->is_socket)
        return true;
    if (!split(host, &name, &port) || port != site->port)
        return false;
    if (is_same_name(name, "localhost") || is_same_name(name, site->local))
        return true;
    for (uint32_t i = 0; i < site->name_count; i++)
        if (*site->names[i] && is_same_name(name, site->names[i]))
            return true;
    return false;
}

bool site_is_same(const struct site *site, struct slice host, struct slice origin, struct slice fetch_site)
{
    const char *scheme = site->is_secure ? "https://" : "http://";
    size_t size = strlen(scheme);

    if (fetch_site.data && !slice_is(fetch_site, "same-origin") && !slice_is(fetch_site, "none"))
        return false;
    if (!origin.data)
        return true;
    return origin.size > size && !memcmp(origin.data, scheme, size) &&
           is_same_text(slice_of(origin.data + size, origin.size - size), host);
}
