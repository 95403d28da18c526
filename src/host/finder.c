/* The finder's thread, and files of addresses. */
#define _GNU_SOURCE
#include "host/finder.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include <uv.h>

#include "base/check.h"
#include "base/limits.h"
#include "host/file.h"

struct finder {
    struct finder_options options;
    char *texts[5]; /* that the options name */
    char said[FINDER_WHY_MAX];
    uv_thread_t thread;
    uv_mutex_t mutex;
    uv_cond_t changed;
    bool wanted; /* under the mutex */
    _Atomic bool stopped; /* set under it */
};

/* ---- files ---- */

static bool is_space(char byte)
{
    return byte == ' ' || byte == '\t' || byte == '\r';
}

/* No blank, quote or control character: it is looked up and written into the log. */
static bool is_host(const char *text)
{
    for (; *text; text++)
        if ((unsigned char)*text <= ' ' || *text == 0x7f || *text == '"' ||
            *text == '\'')
            return false;
    return true;
}

/* The address of a line, without blanks and comment: true. */
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
                       struct seed_list *list, char why[FINDER_WHY_MAX])
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
                (void)snprintf(why, FINDER_WHY_MAX,
                               "%s:%u: more than %d seed nodes", path, number,
                               MEMBER_SEEDS_MAX);
                list->count = 0;
                return;
            }
            if (!is_there(list, &address))
                list->addresses[list->count++] = address;
        } else if (!is_blank) {
            (void)snprintf(why, FINDER_WHY_MAX,
                           "%s:%u: '%.*s' is not an address of %s://%s@HOST:PORT",
                           path, number, size < 80 ? (int)size : 80, at,
                           protocol, system);
            list->count = 0;
            return;
        }
        at += size + 1;
    }
    if (!list->count)
        (void)snprintf(why, FINDER_WHY_MAX, "%s: no seed node in it", path);
}

static struct seed_list *new_list(void)
{
    return mem_alloc(sizeof(struct seed_list) +
                     MEMBER_SEEDS_MAX * sizeof(struct address));
}

struct seed_list *finder_read_file(const char *path, const char *protocol,
                                   const char *system,
                                   char why[FINDER_WHY_MAX])
{
    struct seed_list *list = new_list();
    struct buf text = { 0 };
    const char *wrong;
    FILE *file = file_open(path, &wrong);

    if (!file) {
        (void)snprintf(why, FINDER_WHY_MAX, "%s: %s", path, wrong);
        return list;
    }
    text.size = fread(buf_reserve(&text, SEED_FILE_MAX + 1), 1,
                      SEED_FILE_MAX + 1, file);
    if (ferror(file))
        (void)snprintf(why, FINDER_WHY_MAX, "%s: %s", path, strerror(errno));
    else if (text.size > SEED_FILE_MAX)
        (void)snprintf(why, FINDER_WHY_MAX, "%s: more than %d bytes", path,
                       SEED_FILE_MAX);
    else
        read_lines(buf_slice(&text), path, protocol, system, list, why);
    (void)fclose(file); /* only read */
    buf_fini(&text);
    return list;
}

/* ---- the thread ---- */

static void look(struct finder *finder)
{
    const struct finder_options *options = &finder->options;
    char why[FINDER_WHY_MAX] = "";
    struct seed_list *list;

    if (options->file)
        list = finder_read_file(options->file, options->protocol,
                                options->system, why);
    else
        list = finder_ask_dns(&options->dns, &finder->stopped, why);
    for (char *at = why; *at; at++)
        if (*at == '"')
            *at = '\''; /* it stands in quotes in the log */
    if (why[0] && strcmp(why, finder->said) != 0 &&
        !atomic_load(&finder->stopped))
        options->say(options->context,
                     list->count ? TRACE_INFO : TRACE_WARNING, why);
    memcpy(finder->said, why, sizeof why);
    options->done(options->context, list);
}

static void run(void *arg)
{
    struct finder *finder = arg;

    uv_mutex_lock(&finder->mutex);
    while (!atomic_load(&finder->stopped)) {
        if (!finder->wanted) {
            uv_cond_wait(&finder->changed, &finder->mutex);
            continue;
        }
        finder->wanted = false;
        uv_mutex_unlock(&finder->mutex);
        look(finder);
        uv_mutex_lock(&finder->mutex);
    }
    uv_mutex_unlock(&finder->mutex);
}

static void free_finder(struct finder *finder)
{
    uv_cond_destroy(&finder->changed);
    uv_mutex_destroy(&finder->mutex);
    for (size_t i = 0; i < sizeof finder->texts / sizeof *finder->texts; i++)
        mem_free(finder->texts[i]);
    mem_free(finder);
}

struct finder *finder_open(const struct finder_options *options)
{
    struct finder *finder = mem_alloc(sizeof *finder);
    struct finder_options *own = &finder->options;

    *own = *options;
    own->file = finder->texts[0] = mem_text(options->file);
    own->protocol = finder->texts[1] = mem_text(options->protocol);
    own->system = finder->texts[2] = mem_text(options->system);
    own->dns.name = finder->texts[3] = mem_text(options->dns.name);
    own->dns.servers = finder->texts[4] = mem_text(options->dns.servers);
    check(uv_mutex_init(&finder->mutex) == 0);
    check(uv_cond_init(&finder->changed) == 0);
    if (uv_thread_create(&finder->thread, run, finder) == 0)
        return finder;
    free_finder(finder);
    return NULL;
}

void finder_look(struct finder *finder)
{
    uv_mutex_lock(&finder->mutex);
    finder->wanted = true;
    uv_cond_signal(&finder->changed);
    uv_mutex_unlock(&finder->mutex);
}

void finder_close(struct finder *finder)
{
    if (!finder)
        return;
    uv_mutex_lock(&finder->mutex);
    atomic_store(&finder->stopped, true);
    uv_cond_signal(&finder->changed);
    uv_mutex_unlock(&finder->mutex);
    check(uv_thread_join(&finder->thread) == 0);
    free_finder(finder);
}
