/* Replaces getaddrinfo in a test program: names without DNS, real numeric addresses. Include it in
 * one file.
 *
 * slow...: no answer until let_go; fast...: 127.0.0.1; many...: more addresses than are kept; other
 * names do not exist. */
#ifndef SHERD_TESTS_SLOW_NAMES_H
#define SHERD_TESTS_SLOW_NAMES_H

#include <dlfcn.h>
#include <netdb.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include <uv.h>

#include "base/limits.h"

#define SLOW_SECONDS 60 /* then slow names are answered, so a failed test ends */

static atomic_uint asked;   /* started look-ups */
static atomic_uint waiting; /* look-ups of slow names in progress */
static atomic_bool is_let_go;

typedef int (*look_up_function)(const char *node, const char *service,
                                const struct addrinfo *hints,
                                struct addrinfo **found);

static void wait_until_let_go(void)
{
    atomic_fetch_add(&waiting, 1);
    for (int i = 0; i < SLOW_SECONDS * 100 && !atomic_load(&is_let_go); i++)
        uv_sleep(10);
    atomic_fetch_sub(&waiting, 1);
}

/* Exported, so that libraries call it, too. */
__attribute__((visibility("default"))) int getaddrinfo(const char *node, const char *service,
                const struct addrinfo *hints, struct addrinfo **found)
{
    look_up_function real =
        (look_up_function)(uintptr_t)dlsym(RTLD_NEXT, "getaddrinfo");
    uint32_t copies = node && strncmp(node, "many", 4) == 0
                          ? DNS_LOOKUP_ADDRESSES_MAX
                          : 0;
    struct addrinfo number = hints ? *hints : (struct addrinfo){ 0 };
    struct addrinfo *more;
    int status;

    number.ai_flags |= AI_NUMERICHOST;
    status = real(node, service, &number, found);
    if (!node || status == 0 || (hints && hints->ai_flags & AI_NUMERICHOST))
        return status;
    atomic_fetch_add(&asked, 1);
    if (strncmp(node, "slow", 4) == 0)
        wait_until_let_go();
    else if (strncmp(node, "fast", 4) != 0 && !copies)
        return EAI_NONAME;
    if (real("127.0.0.1", service, hints, found) != 0)
        return EAI_FAIL;
    for (uint32_t i = 0; i < copies; i++) {
        if (real("127.0.0.2", service, hints, &more) != 0)
            return EAI_FAIL;
        more->ai_next = *found;
        *found = more;
    }
    return 0;
}

#endif
