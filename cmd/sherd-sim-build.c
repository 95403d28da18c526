/* Identifies this program by the linker's build id. A seed gives the same run only in the same
 * program. */
#define _GNU_SOURCE
#include "sherd-sim.h"

#include <link.h>
#include <stdio.h>
#include <string.h>

#define ID_BYTES 8 /* of 20 */

struct search {
    char *text;
    size_t size;
};

/* Searches the notes. Each has a header, a name and a content, the last two padded to whole
 * words. */
static bool find_id(struct search *search, const uint8_t *at, size_t size)
{
    ElfW(Nhdr) header;

    while (size >= sizeof header) {
        size_t name, total;

        memcpy(&header, at, sizeof header);
        name = (header.n_namesz + 3u) & ~3u;
        total = sizeof header + name + ((header.n_descsz + 3u) & ~3u);
        if (total > size)
            return false;
        if (header.n_type == NT_GNU_BUILD_ID && header.n_namesz == 4 &&
            memcmp(at + sizeof header, "GNU", 4) == 0) {
            const uint8_t *id = at + sizeof header + name;
            size_t used = strlen(search->text);

            for (size_t i = 0; i < header.n_descsz && i < ID_BYTES; i++)
                used += (size_t)snprintf(search->text + used,
                                         search->size - used, "%02x", id[i]);
            return true;
        }
        at += total;
        size -= total;
    }
    return false;
}

/* The first object is the program. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    (void)size;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];

        if (part->p_type == PT_NOTE &&
            find_id(context,
                    (const uint8_t *)(info->dlpi_addr + part->p_vaddr),
                    part->p_memsz))
            break;
    }
    return 1;
}

/* Returns a text such as "3f2a91c07be41d22". */
const char *build_text(char *text, size_t size)
{
    struct search search = { text, size };

    text[0] = 0;
    (void)dl_iterate_phdr(look, &search);
    return text;
}
