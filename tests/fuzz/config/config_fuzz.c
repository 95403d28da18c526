/* Fuzzes the configuration. Every refusal names its place. An accepted configuration that is
 * written and read again has the same text. */
#include <string.h>

#include "base/check.h"
#include "config/config.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool include(void *user, const char *name, const char *from,
                    struct slice *text)
{
    (void)name;
    (void)from;
    *text = *(const struct slice *)user;
    return true;
}

/* Writes the effective configuration without the comments that name the origins. */
static void write_all(const struct config *config, struct buf *out)
{
    struct config_setting setting;
    uint32_t at = 0;

    config_write(config, out);
    while (config_next_ineffective(config, &at, &setting))
        check(setting.key[0] != '\0');
}

static void write_and_read_back(const struct config *config)
{
    struct config *again = config_new();
    struct config_problem problem;
    struct buf out = {0};

    write_all(config, &out);
    if (out.size < (1 << 20)) {
        check(config_read(again, buf_slice(&out), "written", &problem));
        check(config_finish(again, &problem));
    }
    buf_fini(&out);
    config_free(again);
}

/* Reads the data as a text of this source. */
static void read_as(const char *source, const uint8_t *data, size_t size)
{
    static const char *const variables[] = {"HOME=/home/x", NULL};
    struct config *config = config_new();
    struct config_problem problem = {0};
    struct slice inner = slice_of(data, size / 2);
    struct config_unread unread;
    uint32_t at = 0;

    config_environment(config, variables);
    config_set_include(config, include, &inner);
    if (config_read(config, slice_of(data, size), source, &problem) &&
        config_finish(config, &problem)) {
        /* This is slow, and most inputs write the same text. */
        if (size % 16 == 0)
            write_and_read_back(config);
        while (config_next_unread(config, &at, &unread))
            check(unread.name[0] != '\0' || unread.kind == CONFIG_OWN);
    } else {
        check(problem.line > 0);
        check(problem.column > 0);
        check(strlen(problem.text) > strlen(problem.source) + 8);
    }
    config_free(config);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t amount;

    (void)config_parse_duration(slice_of(data, size), &amount);
    (void)config_parse_size(slice_of(data, size), &amount);
    read_as("fuzz", data, size);
    read_as("fuzz.properties", data, size);
    return 0;
}
