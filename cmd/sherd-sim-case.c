/* Reads and writes cases. A case is a file with the options and faults of one run:
 *
 *   set default         starts with the default options instead of the seed's
 *   set NAME=VALUE      one option
 *   at TIME VERB ...    one fault (sim/faults/schedule.h)
 *
 * Other options come from the seed and the command line. All faults come from the file. */
#include "sherd-sim.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "sim/zoo/zoo.h"

#define CASE_SIZE_MAX (64u * 1024 * 1024)

bool file_read(const char *path, size_t most, struct buf *text)
{
    FILE *file = fopen(path, "rb");
    bool good = false;
    size_t size;

    if (!file) {
        (void)usage_error("%s: %s", path, strerror(errno));
        return false;
    }
    do {
        size = fread(buf_reserve(text, 65536), 1, 65536, file);
        text->size += size;
    } while (size > 0 && text->size <= most);
    if (ferror(file)) /* also a folder */
        (void)usage_error("%s: %s", path, strerror(errno));
    else if (text->size > most)
        (void)usage_error("%s: larger than %zu MiB", path, most >> 20);
    else
        good = true;
    (void)fclose(file); /* it was only read */
    return good;
}

/* Applies a "set" line, and makes it a comment, so that later lines keep their numbers. */
static bool take_set(const char *path, uint8_t *line, size_t size,
                     struct options *options)
{
    char text[96], error[160];

    (void)snprintf(text, sizeof text, "%.*s", (int)(size - 4),
                   (const char *)line + 4);
    text[strcspn(text, " \t\r#")] = 0;
    line[0] = '#';
    if (!strcmp(text, "default")) {
        options_default(options, options->seed);
        return true;
    }
    if (options_set(options, text, error, sizeof error))
        return true;
    (void)usage_error("%s: set %s", path, error);
    return false;
}

bool case_read(const char *path, struct options *options,
               struct schedule *schedule)
{
    struct buf text = { 0 };
    char error[SCHEDULE_ERROR_MAX];
    bool good = file_read(path, CASE_SIZE_MAX, &text);

    for (size_t at = 0; good && at < text.size;) {
        uint8_t *line = text.data + at;
        uint8_t *end = memchr(line, '\n', text.size - at);
        size_t size = end ? (size_t)(end - line) : text.size - at;

        if (size > 4 && !memcmp(line, "set ", 4))
            good = take_set(path, line, size, options);
        at += size + 1;
    }
    if (good && (!schedule_read(schedule, buf_slice(&text), error,
                                sizeof error) ||
                 !schedule_fits(schedule,
                                (uint32_t)options->value[OPTION_NODES], error,
                                sizeof error))) {
        (void)usage_error("%s: %s", path, error);
        schedule_fini(schedule);
        good = false;
    }
    buf_fini(&text);
    return good;
}

void put_word(struct buf *text, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyz"
                                "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_@%+=:,./-";

    if (*word && !word[strspn(word, plain)]) {
        buf_put_text(text, word);
        return;
    }
    buf_put_text(text, "'");
    for (; *word; word++) {
        if (*word == '\'')
            buf_put_text(text, "'\\'"); /* ends the quotes and starts new ones */
        buf_put_u8(text, (uint8_t)*word);
    }
    buf_put_text(text, "'");
}

void case_put_replay(struct buf *text, uint64_t seed, const char *path)
{
    const struct zoo_entry *mutant = zoo_entry(zoo_current());
    char number[24];

    (void)snprintf(number, sizeof number, "%llu", (unsigned long long)seed);
    buf_put_text(text, "sherd-sim replay ");
    buf_put_text(text, number);
    buf_put_text(text, " --schedule ");
    put_word(text, path);
    if (mutant) {
        buf_put_text(text, " --mutant ");
        buf_put_text(text, mutant->name);
    }
    buf_put_text(text, "\n");
}

bool case_write(const char *path, const struct options *options,
                const struct schedule *schedule, const char *comment)
{
    FILE *file = fopen(path, "w");
    struct buf text = { 0 };
    char line[128];
    bool good;

    buf_put_text(&text, "# ");
    case_put_replay(&text, options->seed, path);
    if (*comment) {
        buf_put_text(&text, "# ");
        buf_put_text(&text, comment);
        buf_put_text(&text, "\n");
    }
    buf_put_text(&text, "set default\n");
    for (int i = 0; i < OPTION_COUNT; i++) {
        enum sim_option option = (enum sim_option)i;

        if (options->value[i] == option_default(option))
            continue;
        if (option == OPTION_MODE)
            (void)snprintf(line, sizeof line, "set mode=%s\n",
                           mode_name((enum sim_mode)options->value[i]));
        else
            (void)snprintf(line, sizeof line, "set %s=%llu\n",
                           option_name(option),
                           (unsigned long long)options->value[i]);
        buf_put_text(&text, line);
    }
    schedule_put(schedule, &text);
    good = file && fwrite(text.data, 1, text.size, file) == text.size;
    if (file && fclose(file) != 0)
        good = false;
    buf_fini(&text);
    if (!good)
        (void)usage_error("%s cannot be written", path);
    return good;
}
