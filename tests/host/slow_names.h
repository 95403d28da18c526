/* Names without DNS: getaddrinfo is this file's in the whole program. Numbers are the real one's. One file includes it.
 *
 * slow...: DNS says nothing until let_go; fast...: 127.0.0.1; many...: more addresses than are kept; others: there is no such name. */
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

#define SLOW_SECONDS 60 /* after that a slow one has its answer in any case: a test fails, and ends */

static atomic_uint asked;   /* look-ups that were begun, of all names */
static atomic_uint waiting; /* of slow names, that have not ended */
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

/* Visible, so that libraries call it, too. */
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
