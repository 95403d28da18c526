/* Fuzzes the file of a lease. Any bytes are accepted or refused, and a written lease is read
 * unchanged. */
#define _GNU_SOURCE
#include <string.h>

#include "base/check.h"
#include "host/lease_file.h"

#define BOOT "6f2c1d0e-8a3b-4a51-9d7e-2f1f6f0c9b11"
#define NOW 1000000u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_text(const char *owner)
{
    check(memchr(owner, 0, LEASE_TEXT_MAX) != NULL);
    check(!strpbrk(owner, " \t\n"));
}

/* The file of a bound lease is none of the other kind. */
static void check_bound(const uint8_t *data, size_t size)
{
    char text[LEASE_FILE_SIZE];
    struct lease_binding binding, again;
    struct lease_entry entry;

    if (!lease_file_read_bound(slice_of(data, size), BOOT, &binding)) {
        check(!binding.session[0] && !binding.token);
        return;
    }
    check_text(binding.session);
    lease_file_write_bound(text, BOOT, &binding);
    check(lease_file_read_bound(slice_of(text, sizeof text), BOOT, &again));
    check(strcmp(again.session, binding.session) == 0 && again.token == binding.token);
    check(!lease_file_read(slice_of(text, sizeof text), BOOT, &entry));
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char text[LEASE_FILE_SIZE];
    struct lease_request request = { .verb = LEASE_TAKE,
                                     .name = "L",
                                     .owner = "b:1",
                                     .ttl = 1000 };
    struct lease_entry entry, again;

    check_bound(data, size);
    if (!lease_file_read(slice_of(data, size), BOOT, &entry)) {
        check(!entry.owner[0] && !entry.until && !entry.token);
        return 0;
    }
    check_text(entry.owner);
    if (entry.owner[0])
        check(size > sizeof BOOT && memmem(data, size, BOOT, sizeof BOOT - 1));
    if (!lease_entry_do(&entry, NOW, &request))
        return 0;
    lease_file_write(text, BOOT, &entry);
    check(lease_file_read(slice_of(text, sizeof text), BOOT, &again));
    check(strcmp(again.owner, entry.owner) == 0);
    check(again.until == entry.until && again.token == entry.token);
    return 0;
}
