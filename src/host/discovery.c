/* Looks for seed nodes on a thread, and reads files of addresses. */
#define _GNU_SOURCE
#include "host/discovery.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/file.h"
#include "host/file_watch.h"

/* All that a lookup needs: it may outlive the discovery. */
struct subject {
    struct discovery_options options; /* its texts are the members below */
    char *texts[5];
    _Atomic bool stopped;
    struct seed_list *list; /* of the last look, until handed over */
    char why[DISCOVERY_CAUSE_MAX];
};

struct discovery {
    struct discovery_options options; /* lends the subject's texts */
    char said[DISCOVERY_CAUSE_MAX];
    _Atomic bool *stopped; /* lent by the subject */
    struct file_watch *file_watch;
};

/* ---- files ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* Refuses characters that are unsafe in a look-up or in the log. */
static bool is_host(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '"' ||
            *text == '\'')
            return false;
    return true;
}

/* Reads the address of a line, without blanks and comment. */
static bool take_line(const char *line, size_t size, const char *protocol,
                      const char *system, struct address *address,
                      bool *is_blank)
{
    char text[SEED_LINE_MAX + 1];
    const char *comment = memchr(line, '#', size);

    if (comment)
        size = (size_t)(comment - line);
    while (size && is_space(line[size - 1]))
        size--;
    while (size && is_space(*line)) {
        line++;
        size--;
    }
    *is_blank = size == 0;
    if (!size || size > SEED_LINE_MAX || memchr(line, 0, size))
        return false;
    memcpy(text, line, size);
    text[size] = 0;
    memset(address, 0, sizeof *address);
    return address_parse(address, text, protocol, system) &&
           is_host(address->host);
}

static bool is_there(const struct seed_list *list,
                     const struct address *address)
{
    for (uint32_t i = 0; i < list->count; i++)
        if (address_equal(&list->addresses[i], address))
            return true;
    return false;
}

static void read_lines(struct slice text, const char *path,
                       const char *protocol, const char *system,
                       struct seed_list *list, char why[DISCOVERY_CAUSE_MAX])
{
    const char *at = (const char *)text.data;
    const char *end = at + text.size;

    for (unsigned number = 1; at < end; number++) {
        const char *stop = memchr(at, '\n', (size_t)(end - at));
        size_t size = (size_t)((stop ? stop : end) - at);
        struct address address;
        bool is_blank;

        if (take_line(at, size, protocol, system, &address, &is_blank)) {
            if (list->count == MEMBER_SEEDS_MAX) {
                (void)snprintf(why, DISCOVERY_CAUSE_MAX,
                               "%s:%u: more than %d seed nodes", path, number,
                               MEMBER_SEEDS_MAX);
                list->count = 0;
                return;
            }
            if (!is_there(list, &address))
                list->addresses[list->count++] = address;
        } else if (!is_blank) {
            (void)snprintf(why, DISCOVERY_CAUSE_MAX,
                           "%s:%u: '%.*s' is not an address of %s://%s@HOST:PORT",
                           path, number, size < 80 ? (int)size : 80, at,
                           protocol, system);
            list->count = 0;
            return;
        }
        at += size + 1;
    }
    if (!list->count)
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: no seed node in it", path);
}

static struct seed_list *new_list(void)
{
    return mem_alloc(sizeof(struct seed_list) +
                     MEMBER_SEEDS_MAX * sizeof(struct address));
}

struct seed_list *discovery_read_file(const char *path, const char *protocol,
                                   const char *system,
                                   char why[DISCOVERY_CAUSE_MAX])
{
    struct seed_list *list = new_list();
    struct buf text = { 0 };
    const char *wrong;
    FILE *file = file_open(path, &wrong);

    if (!file) {
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: %s", path, wrong);
        return list;
    }
    text.size = fread(buf_reserve(&text, SEED_FILE_MAX + 1), 1,
                      SEED_FILE_MAX + 1, file);
    if (ferror(file))
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: %s", path, strerror(errno));
    else if (text.size > SEED_FILE_MAX)
        (void)snprintf(why, DISCOVERY_CAUSE_MAX, "%s: more than %d bytes", path,
                       SEED_FILE_MAX);
    else
        read_lines(buf_slice(&text), path, protocol, system, list, why);
    (void)fclose(file); /* only read */
    buf_fini(&text);
    return list;
}

/* ---- the thread ---- */

/* The log puts it in quotes. */
static void quote_less(char *why)
{
    for (; *why; why++)
        if (*why == '"')
            *why = '\'';
}

static void look(void *context)
{
    struct subject *subject = context;
    const struct discovery_options *options = &subject->options;
    char *why = subject->why;

    why[0] = 0;
    if (options->file)
        subject->list = discovery_read_file(options->file, options->protocol,
                                         options->system, why);
    else
        subject->list =
            discovery_ask_dns(&options->dns, &subject->stopped, why);
    quote_less(why);
}

static void on_look(void *context, void *looked_at)
{
    struct discovery *discovery = context;
    struct subject *subject = looked_at;
    struct seed_list *list = subject->list;

    if (subject->why[0] && strcmp(subject->why, discovery->said) != 0 &&
        !atomic_load(&subject->stopped))
        discovery->options.say(discovery->options.context,
                               list->count ? TRACE_INFO : TRACE_WARNING,
                               subject->why);
    memcpy(discovery->said, subject->why, sizeof discovery->said);
    subject->list = NULL;
    discovery->options.done(discovery->options.context, list);
}

static void subject_free(void *context)
{
    struct subject *subject = context;

    mem_free(subject->list);
    for (size_t i = 0; i < sizeof subject->texts / sizeof *subject->texts; i++)
        mem_free(subject->texts[i]);
    mem_free(subject);
}

static struct subject *subject_new(const struct discovery_options *options)
{
    struct subject *subject = mem_alloc(sizeof *subject);
    struct discovery_options *own = &subject->options;

    *own = *options;
    own->file = subject->texts[0] = mem_text(options->file);
    own->protocol = subject->texts[1] = mem_text(options->protocol);
    own->system = subject->texts[2] = mem_text(options->system);
    own->dns.name = subject->texts[3] = mem_text(options->dns.name);
    own->dns.servers = subject->texts[4] = mem_text(options->dns.servers);
    return subject;
}

struct discovery *discovery_open(const struct discovery_options *options)
{
    struct discovery *discovery = mem_alloc(sizeof *discovery);
    struct subject *subject = subject_new(options);
    const struct file_watch_options file_watch = { .name = "seeds",
                                         .run = look,
                                         .done = on_look,
                                         .release = subject_free,
                                         .context = discovery };

    discovery->options = subject->options;
    discovery->stopped = &subject->stopped;
    discovery->file_watch = file_watch_open(&file_watch, subject);
    if (discovery->file_watch)
        return discovery;
    mem_free(discovery);
    return NULL;
}

void discovery_look(struct discovery *discovery)
{
    file_watch_ask(discovery->file_watch);
}

bool discovery_watch(struct discovery *discovery)
{
    char why[DISCOVERY_CAUSE_MAX];

    /* DNS has a time limit of its own. */
    if (!discovery || !discovery->options.file)
        return false;
    if (!file_watch_are_late(discovery->file_watch))
        return true;
    (void)snprintf(why, sizeof why, "%s: it does not answer",
                   discovery->options.file);
    quote_less(why);
    discovery->options.say(discovery->options.context, TRACE_WARNING, why);
    return true;
}

void discovery_close(struct discovery *discovery)
{
    if (!discovery)
        return;
    atomic_store(discovery->stopped, true);
    (void)file_watch_close(discovery->file_watch);
    mem_free(discovery);
}
