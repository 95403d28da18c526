/* Reads and writes lines of faults by one table of verbs. */
#include "sim/faults/schedule.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/timers.h"
#include "sim/world/net.h"

#define MINUTE (60 * SECOND)
#define HOUR (60 * MINUTE)
#define FACTOR_MAX 100000
#define RATE_MIN 950000 /* as clock.h allows */
#define RATE_MAX 1050000

struct verb {
    const char *name;
    uint32_t parts;
};

static const struct verb verbs[FAULT_VERBS] = {
#define FAULT_ROW(id, verb, parts) { verb, parts },
    FAULT_LIST(FAULT_ROW)
#undef FAULT_ROW
};

const char *fault_verb_name(enum fault_verb verb)
{
    return verbs[verb].name;
}

uint32_t fault_verb_parts(enum fault_verb verb)
{
    return verbs[verb].parts;
}

/* ---- times ---- */

static const struct {
    const char *name;
    uint64_t ns;
} units[] = { { "h", HOUR },   { "ms", MS },  { "m", MINUTE },
              { "us", 1000 },  { "ns", 1 },   { "s", SECOND } };

#define UNITS (sizeof units / sizeof *units)

char *time_text(uint64_t ns, char *text, size_t size)
{
    uint64_t hours = ns / HOUR, minutes = ns / MINUTE % 60;
    uint64_t seconds = ns / SECOND % 60, rest = ns % SECOND;
    char part[12] = "";
    size_t used = 0;

    if (rest) {
        (void)snprintf(part, sizeof part, ".%09llu", (unsigned long long)rest);
        for (size_t i = strlen(part); part[i - 1] == '0'; i--)
            part[i - 1] = 0;
    }
    if (hours)
        used += (size_t)snprintf(text, size, "%lluh",
                                 (unsigned long long)hours);
    if ((minutes || hours) && used < size)
        used += (size_t)snprintf(text + used, size - used,
                                 hours ? "%02llum" : "%llum",
                                 (unsigned long long)minutes);
    if ((seconds || rest || !used || hours) && used < size)
        (void)snprintf(text + used, size - used,
                       used ? "%02llu%ss" : "%llu%ss",
                       (unsigned long long)seconds, part);
    return text;
}

static bool is_digit(uint8_t byte)
{
    return byte >= '0' && byte <= '9';
}

/* Reads a number with up to nine decimals, times a unit. */
static bool take_time(struct slice *text, uint64_t *ns)
{
    uint64_t whole = 0, part = 0, scale = 1;
    size_t at = 0;

    for (; at < text->size && is_digit(text->data[at]) && at < 12; at++)
        whole = whole * 10 + (uint64_t)(text->data[at] - '0');
    if (!at)
        return false;
    if (at + 1 < text->size && text->data[at] == '.' &&
        is_digit(text->data[at + 1])) {
        for (at++; at < text->size && is_digit(text->data[at]); at++) {
            if (scale >= SECOND)
                return false;
            part = part * 10 + (uint64_t)(text->data[at] - '0');
            scale *= 10;
        }
    }
    for (size_t i = 0; i < UNITS; i++) {
        size_t size = strlen(units[i].name);

        if (text->size - at < size ||
            memcmp(text->data + at, units[i].name, size) != 0)
            continue;
        if (whole > SCHEDULE_TIME_MAX / units[i].ns ||
            units[i].ns % scale != 0)
            return false;
        *ns = whole * units[i].ns + part * (units[i].ns / scale);
        *text = (struct slice){ text->data + at + size,
                                text->size - at - size };
        return true;
    }
    return false;
}

bool time_parse(struct slice text, uint64_t *ns)
{
    uint64_t part;

    *ns = 0;
    do {
        if (!take_time(&text, &part) || part > SCHEDULE_TIME_MAX - *ns)
            return false;
        *ns += part;
    } while (text.size);
    return true;
}

/* ---- the list ---- */

void fault_fini(struct fault *fault)
{
    mem_free(fault->left.items);
    mem_free(fault->right.items);
    fault->left.items = fault->right.items = NULL;
}

void schedule_fini(struct schedule *schedule)
{
    for (uint32_t i = 0; i < schedule->faults.count; i++)
        fault_fini(&schedule->faults.items[i]);
    vec_fini(&schedule->faults);
}

void schedule_add(struct schedule *schedule, struct fault fault)
{
    uint32_t at = schedule->faults.count;

    vec_push(&schedule->faults, fault);
    for (; at > 0 && schedule->faults.items[at - 1].at > fault.at; at--)
        schedule->faults.items[at] = schedule->faults.items[at - 1];
    schedule->faults.items[at] = fault;
}

static struct fault_nodes copy_nodes(const struct fault_nodes *nodes)
{
    struct fault_nodes copy = *nodes;

    if (nodes->items)
        copy.items =
            mem_copy(nodes->items, nodes->count * sizeof *nodes->items);
    return copy;
}

struct fault fault_copy(const struct fault *fault)
{
    struct fault copy = *fault;

    copy.left = copy_nodes(&fault->left);
    copy.right = copy_nodes(&fault->right);
    return copy;
}

/* ---- writing ---- */

static void put(struct buf *text, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void put(struct buf *text, const char *format, ...)
{
    char part[80];
    va_list arguments;

    va_start(arguments, format);
    (void)vsnprintf(part, sizeof part, format, arguments);
    va_end(arguments);
    buf_put_text(text, part);
}

static void put_time(struct buf *text, const char *before, uint64_t ns)
{
    char time[TIME_TEXT_MAX];

    put(text, "%s%s", before, time_text(ns, time, sizeof time));
}

static void put_nodes(struct buf *text, const struct fault_nodes *nodes)
{
    if (nodes->all)
        buf_put_text(text, "*");
    for (uint32_t i = 0; i < nodes->count; i++) {
        uint32_t first = i;

        while (i + 1 < nodes->count &&
               nodes->items[i + 1] == nodes->items[i] + 1)
            i++;
        put(text, "%s%u", first ? "," : "", nodes->items[first]);
        if (i > first)
            put(text, "%c%u", i > first + 1 ? '-' : ',', nodes->items[i]);
    }
}

void fault_put(const struct fault *fault, struct buf *text)
{
    const struct verb *verb = &verbs[fault->verb];

    put_time(text, "at ", fault->at);
    put(text, " %s", verb->name);
    if (verb->parts & FAULT_NODE)
        put(text, " %u", fault->node);
    if (verb->parts & FAULT_PATHS) {
        buf_put_text(text, " ");
        put_nodes(text, &fault->left);
        buf_put_text(text, fault->both_ways ? "<>" : ">");
        put_nodes(text, &fault->right);
    }
    if (verb->parts & FAULT_STREAMS && fault->streams != NET_BOTH)
        buf_put_text(text,
                     fault->streams == NET_CONTROL ? " control" : " data");
    if (verb->parts & FAULT_ZOMBIE && fault->zombie)
        buf_put_text(text, " zombie");
    if (verb->parts & FAULT_FACTOR)
        put(text, " x%lld", (long long)fault->amount);
    if (verb->parts & FAULT_SHIFT)
        put_time(text, fault->amount < 0 ? " -" : " +",
                 fault->amount < 0 ? 0 - (uint64_t)fault->amount
                                   : (uint64_t)fault->amount);
    if (verb->parts & FAULT_RATE)
        put(text, " %lldppm", (long long)fault->amount);
    if (verb->parts & FAULT_BY)
        put_time(text, " by ", (uint64_t)fault->amount);
    if (verb->parts & FAULT_EVERY)
        put_time(text, " every ", fault->every);
    if (verb->parts & FAULT_FOR)
        put_time(text, " for ", fault->length);
}

void schedule_put(const struct schedule *schedule, struct buf *text)
{
    for (uint32_t i = 0; i < schedule->faults.count; i++) {
        fault_put(&schedule->faults.items[i], text);
        buf_put_text(text, "\n");
    }
}

/* ---- reading ---- */

struct reader {
    struct slice rest; /* of the line */
    const char *wrong;
};

static struct slice next_word(struct reader *reader)
{
    struct slice *rest = &reader->rest;
    struct slice word;
    size_t size = 0;

    while (rest->size && (rest->data[0] == ' ' || rest->data[0] == '\t'))
        *rest = (struct slice){ rest->data + 1, rest->size - 1 };
    while (size < rest->size && rest->data[size] != ' ' &&
           rest->data[size] != '\t')
        size++;
    word = (struct slice){ rest->data, size };
    if (size)
        *rest = (struct slice){ rest->data + size, rest->size - size };
    return word;
}

static bool is_word(struct slice word, const char *text)
{
    return word.size == strlen(text) && !memcmp(word.data, text, word.size);
}

/* Takes the next word if it is this one. */
static bool take_word(struct reader *reader, const char *text)
{
    struct reader ahead = *reader;

    if (!is_word(next_word(&ahead), text))
        return false;
    *reader = ahead;
    return true;
}

static bool refuse(struct reader *reader, const char *wrong)
{
    if (!reader->wrong)
        reader->wrong = wrong;
    return false;
}

static bool take_number(struct slice *text, uint64_t most, uint64_t *number)
{
    size_t at = 0;

    *number = 0;
    for (; at < text->size && is_digit(text->data[at]); at++) {
        *number = *number * 10 + (uint64_t)(text->data[at] - '0');
        if (*number > most)
            return false;
    }
    if (at)
        *text = (struct slice){ text->data + at, text->size - at };
    return at > 0;
}

static bool take_byte(struct slice *text, char byte)
{
    if (!text->size || text->data[0] != (uint8_t)byte)
        return false;
    *text = (struct slice){ text->data + 1, text->size - 1 };
    return true;
}

/* Reads "1,3-5" or "*" into a set, over one flag for each node, so that it is ascending. */
static bool take_nodes(struct slice *text, struct fault_nodes *nodes)
{
    bool has[SCHEDULE_NODES_MAX] = { false };
    uint64_t first, last;
    uint32_t count = 0;

    if (take_byte(text, '*')) {
        nodes->all = true;
        return true;
    }
    do {
        if (!take_number(text, SCHEDULE_NODES_MAX - 1, &first))
            return false;
        last = first;
        if (take_byte(text, '-') &&
            !take_number(text, SCHEDULE_NODES_MAX - 1, &last))
            return false;
        if (last < first)
            return false;
        for (uint64_t i = first; i <= last; i++) {
            count += !has[i];
            has[i] = true;
        }
    } while (take_byte(text, ','));
    nodes->items = mem_alloc(count * sizeof *nodes->items);
    for (uint32_t i = 0; i < SCHEDULE_NODES_MAX; i++)
        if (has[i])
            nodes->items[nodes->count++] = i;
    return true;
}

static bool read_paths(struct reader *reader, struct fault *fault)
{
    struct slice word = next_word(reader);

    if (!take_nodes(&word, &fault->left))
        return refuse(reader, "nodes wanted, as 1,3-5>2 or 1<>*");
    fault->both_ways = take_byte(&word, '<');
    if (!take_byte(&word, '>') || !take_nodes(&word, &fault->right) ||
        word.size)
        return refuse(reader, "nodes wanted, as 1,3-5>2 or 1<>*");
    return true;
}

static bool read_time(struct reader *reader, const char *before, uint64_t *ns)
{
    if (!take_word(reader, before))
        return refuse(reader, !strcmp(before, "at")    ? "\"at\" wanted"
                              : !strcmp(before, "for") ? "\"for TIME\" wanted"
                              : !strcmp(before, "by")  ? "\"by TIME\" wanted"
                                                      : "\"every TIME\" wanted");
    if (!time_parse(next_word(reader), ns))
        return refuse(reader, "a time wanted, as 1h2m3.5s, at most 720h");
    return true;
}

/* Reads an amount that a sign, unit or letter marks: x100, +3s, 950000ppm. */
static bool read_amount(struct reader *reader, uint32_t parts,
                        struct fault *fault)
{
    struct slice word = next_word(reader);
    uint64_t number;
    bool minus;

    if (parts & FAULT_FACTOR) {
        if (!take_byte(&word, 'x') || !take_number(&word, FACTOR_MAX, &number) ||
            word.size || number < 1)
            return refuse(reader, "a factor wanted, as x100");
    } else if (parts & FAULT_RATE) {
        if (!take_number(&word, RATE_MAX, &number) || number < RATE_MIN ||
            !is_word(word, "ppm"))
            return refuse(reader, "a rate wanted, 950000ppm to 1050000ppm");
    } else {
        minus = take_byte(&word, '-');
        if ((!minus && !take_byte(&word, '+')) || !time_parse(word, &number))
            return refuse(reader, "a shift wanted, as +1h or -30s");
        fault->amount = minus ? -(int64_t)number : (int64_t)number;
        return true;
    }
    fault->amount = (int64_t)number;
    return true;
}

static bool read_node(struct reader *reader, struct fault *fault)
{
    struct slice word = next_word(reader);
    uint64_t number;

    if (!take_number(&word, SCHEDULE_NODES_MAX - 1, &number) || word.size)
        return refuse(reader, "a node's number wanted, 0 to 999");
    fault->node = (uint32_t)number;
    return true;
}

static bool read_parts(struct reader *reader, struct fault *fault)
{
    uint32_t parts = verbs[fault->verb].parts;
    uint64_t by = 0;

    fault->streams = NET_BOTH;
    if (parts & FAULT_NODE && !read_node(reader, fault))
        return false;
    if (parts & FAULT_PATHS && !read_paths(reader, fault))
        return false;
    if (parts & FAULT_STREAMS && take_word(reader, "control"))
        fault->streams = NET_CONTROL;
    else if (parts & FAULT_STREAMS && take_word(reader, "data"))
        fault->streams = NET_ORDINARY;
    if (parts & FAULT_ZOMBIE)
        fault->zombie = take_word(reader, "zombie");
    if (parts & (FAULT_FACTOR | FAULT_SHIFT | FAULT_RATE) &&
        !read_amount(reader, parts, fault))
        return false;
    if (parts & FAULT_BY) {
        if (!read_time(reader, "by", &by))
            return false;
        fault->amount = (int64_t)by;
    }
    if (parts & FAULT_EVERY && !read_time(reader, "every", &fault->every))
        return false;
    if (parts & FAULT_EVERY && fault->every < 10 * MS)
        return refuse(reader, "\"every\" must be at least 10ms");
    return !(parts & FAULT_FOR) || read_time(reader, "for", &fault->length);
}

static bool read_line(struct reader *reader, uint64_t after,
                      struct fault *fault)
{
    struct slice word;

    if (!read_time(reader, "at", &fault->at))
        return false;
    word = next_word(reader);
    fault->verb = FAULT_VERBS;
    for (int i = 0; i < FAULT_VERBS; i++)
        if (is_word(word, verbs[i].name))
            fault->verb = (enum fault_verb)i;
    if (fault->verb == FAULT_VERBS)
        return refuse(reader, "there is no such verb");
    if (!read_parts(reader, fault))
        return false;
    if (next_word(reader).size)
        return refuse(reader, "something follows the end of the fault");
    if (fault->at < after)
        return refuse(reader, "it is earlier than the fault before it");
    return true;
}

/* Takes the next line without its comment. */
static struct slice take_line(struct slice *text)
{
    const uint8_t *end = memchr(text->data, '\n', text->size);
    size_t size = end ? (size_t)(end - text->data) : text->size;
    struct slice line = { text->data, size };
    const uint8_t *comment;

    *text = (struct slice){ text->data + size + (end != NULL),
                            text->size - size - (end != NULL) };
    if (line.size && line.data[line.size - 1] == '\r')
        line.size--;
    comment = line.size ? memchr(line.data, '#', line.size) : NULL;
    if (comment)
        line.size = (size_t)(comment - line.data);
    return line;
}

bool schedule_read(struct schedule *schedule, struct slice text, char *error,
                   size_t size)
{
    uint64_t after = 0;
    uint32_t line = 0;

    while (text.size) {
        struct reader reader = { take_line(&text), NULL };
        struct reader ahead = reader;
        struct fault fault;

        memset(&fault, 0, sizeof fault);
        fault.line = ++line;
        if (!next_word(&ahead).size)
            continue;
        if (schedule->faults.count == SCHEDULE_FAULTS_MAX)
            (void)refuse(&reader, "too many faults, at most 100000");
        else if (read_line(&reader, after, &fault))
            schedule_add(schedule, fault);
        after = fault.at;
        if (!reader.wrong)
            continue;
        (void)snprintf(error, size, "line %u: %s", line, reader.wrong);
        fault_fini(&fault);
        schedule_fini(schedule);
        return false;
    }
    return true;
}

/* ---- nodes ---- */

static uint32_t highest_of(const struct fault_nodes *nodes)
{
    return nodes->count ? nodes->items[nodes->count - 1] : 0; /* ascending */
}

/* Sets text to "" if each node exists. */
static void misfit(const struct fault *fault, uint32_t nodes, char *text,
                   size_t size)
{
    uint32_t parts = verbs[fault->verb].parts;
    const struct fault_nodes *left = &fault->left, *right = &fault->right;
    uint32_t highest = parts & FAULT_NODE ? fault->node : 0;

    *text = 0;
    if (highest < highest_of(left))
        highest = highest_of(left);
    if (highest < highest_of(right))
        highest = highest_of(right);
    if (highest >= nodes)
        (void)snprintf(text, size,
                       "there is no node %u, the run has nodes 0 to %u",
                       highest, nodes - 1);
    else if (left->count == 1 && right->count == 1 &&
             left->items[0] == right->items[0])
        (void)snprintf(text, size, "no way leads from node %u to itself",
                       left->items[0]);
}

bool schedule_fits(const struct schedule *schedule, uint32_t nodes, char *error,
                   size_t size)
{
    char text[80];

    for (uint32_t i = 0; i < schedule->faults.count; i++) {
        const struct fault *fault = &schedule->faults.items[i];

        misfit(fault, nodes, text, sizeof text);
        if (!*text)
            continue;
        (void)snprintf(error, size, "line %u: %s", fault->line, text);
        return false;
    }
    return true;
}

static void clip_nodes(struct fault_nodes *set, uint32_t nodes)
{
    while (set->count && set->items[set->count - 1] >= nodes) /* ascending */
        set->count--;
}

void schedule_clip(struct schedule *schedule, uint32_t nodes)
{
    uint32_t kept = 0;
    char text[80];

    for (uint32_t i = 0; i < schedule->faults.count; i++) {
        struct fault *fault = &schedule->faults.items[i];
        bool is_void;

        clip_nodes(&fault->left, nodes);
        clip_nodes(&fault->right, nodes);
        is_void = verbs[fault->verb].parts & FAULT_PATHS &&
                  ((!fault->left.count && !fault->left.all) ||
                   (!fault->right.count && !fault->right.all));
        misfit(fault, nodes, text, sizeof text);
        if (is_void || *text)
            fault_fini(fault);
        else
            schedule->faults.items[kept++] = *fault;
    }
    schedule->faults.count = kept;
}
