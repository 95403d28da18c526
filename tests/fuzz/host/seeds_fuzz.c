/* Fuzzes the file of seed nodes. The result is a list of valid addresses without duplicates, or an
 * error that names the line. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/bytes.h"
#include "base/check.h"
#include "base/limits.h"
#include "host/discovery.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_address(const struct seed_list *list, uint32_t index)
{
    const struct address *address = &list->addresses[index];

    check(address->host[0] && address->port > 0);
    check(memchr(address->host, 0, sizeof address->host) != NULL);
    check(!strpbrk(address->host, " \t\r\n#\"'"));
    for (uint32_t i = 0; i < index; i++)
        check(!address_equal(&list->addresses[i], address));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static int fd = -1;
    char path[32], why[DISCOVERY_CAUSE_MAX] = "";
    struct seed_list *list;

    if (fd < 0)
        fd = memfd_create("seeds", MFD_CLOEXEC);
    check(fd >= 0 && ftruncate(fd, 0) == 0);
    check(pwrite(fd, data, size, 0) == (ssize_t)size);
    (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    list = discovery_read_file(path, "akka", "Shop", why);
    check(list->count <= MEMBER_SEEDS_MAX);
    check(!list->count == (why[0] != 0));
    check(memchr(why, 0, sizeof why) && !strchr(why, '\n'));
    for (uint32_t i = 0; i < list->count; i++)
        check_address(list, i);
    mem_free(list);
    return 0;
}
