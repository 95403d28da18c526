/* Runs one node of the demonstration. Each airport is a sharded, persistent entity. A feeder, an
 * actor of each node, sends the flights of a file to the airports and waits for every answer.
 *
 *   airports --port N [--seed HOST:PORT]... --journal FILE --input FILE [--lanes N]
 *            [--config FILE] [--name CLUSTER] [--shards N] [--twice N] [--patience SECONDS]
 *
 *   --journal FILE       the file of an SQLite journal, or postgres:URL
 *   --patience SECONDS   send a command again after this time without an answer (default: 20)
 *   --twice N            deliver every Nth command twice, so that a test can check the counts
 *
 * The node reads instructions from standard input, one in each line:
 *
 *   commands FROM TO RATE  send the commands FROM to TO - 1, RATE in each second. Flight number N
 *                          of the file, from 0, has two commands: 2 N departs, 2 N + 1 arrives.
 *   rate RATE              change the rate
 *   closing MS             from now on an airport takes MS milliseconds to stop
 *   status                 print members, shards and entities
 *   totals                 ask every airport of the file for its totals, and print them
 *   down HOST:PORT         declare a member down
 *   leave                  hand off the shards and leave the cluster, as at the end of the input.
 *                          The feeder sends until the shards are gone. Lines "unsent FROM TO"
 *                          return the commands that it did not send.
 *   keep                   run without input; SIGTERM or SIGINT means leave
 *
 * The node writes lines that begin with feed, fed, leaving, unsent, closed, counter, ignored,
 * status, undelivered, total, totals or left. The functions that print them define their fields. */
#include <sherd/sherd.h>
#ifdef WITH_POSTGRES
#include <sherd/postgres.h>
#endif

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Messages of an airport. DEPARTED and ARRIVED are its events, too. */
enum { DEPARTED = 1, ARRIVED, GET_TOTALS, DONE, TOTALS, CLOSE };
enum { FEED = 100, RATE, STATUS, ASK_TOTALS }; /* messages to the feeder */
enum { TICK = 1 };

#define WINDOW 1024     /* largest number of commands without an answer */
#define REPORT_EACH 20  /* ms between two "feed" lines */
#define AIRPORTS_MAX 1000
#define LOOK 500        /* ms between two checks whether the node has ended or has to end */
#define LOOK_LEAVING 20 /* the same while the node leaves */
#define CLOSING 20      /* ms that an airport takes to stop, unless "closing" changes it */

/* ---- the entity ---- */

struct command {
    uint32_t flight; /* the line in the file, from 0 */
    int32_t delay;   /* minutes */
};

struct totals {
    uint32_t departures;
    uint32_t arrivals;
    int64_t delay;   /* sum over departures, in minutes */
};

static atomic_uint closing_ms = CLOSING;
static atomic_uint ignored; /* commands that an airport of this node had already stored */

struct airport {
    struct totals totals;
    uint8_t *seen; /* two bits for each flight: departed, arrived */
    uint32_t seen_size;
};

static int has_seen(const struct airport *airport, uint32_t bit)
{
    return bit / 8 < airport->seen_size &&
           (airport->seen[bit / 8] >> bit % 8 & 1);
}

static void mark_seen(struct airport *airport, uint32_t bit)
{
    if (bit / 8 >= airport->seen_size) {
        uint32_t size = bit / 8 + 512;
        uint8_t *seen = realloc(airport->seen, size);

        if (!seen)
            abort();
        memset(seen + airport->seen_size, 0, size - airport->seen_size);
        airport->seen = seen;
        airport->seen_size = size;
    }
    airport->seen[bit / 8] |= (uint8_t)(1u << bit % 8);
}

static void airport_apply(void *self, uint32_t type, struct sherd_bytes event)
{
    struct airport *airport = self;
    struct command command;

    if (event.size != sizeof command)
        return;
    memcpy(&command, event.data, sizeof command);
    mark_seen(airport, command.flight * 2 + (type == ARRIVED));
    if (type == DEPARTED) {
        airport->totals.departures++;
        airport->totals.delay += command.delay;
    } else {
        airport->totals.arrivals++;
    }
}

static enum sherd_next airport_receive(struct sherd_ctx *ctx, void *self,
                                       const struct sherd_msg *msg)
{
    struct airport *airport = self;
    struct command command;

    if (msg->kind == SHERD_TIMER)
        return SHERD_STOP;
    if (msg->kind != SHERD_MESSAGE)
        return SHERD_CONTINUE;
    if (msg->msg == CLOSE) { /* later messages wait until the shard has its next home */
        sherd_timer(ctx, TICK, atomic_load(&closing_ms));
    } else if (msg->msg == GET_TOTALS) {
        sherd_reply(ctx, TOTALS,
                    (struct sherd_bytes){ &airport->totals,
                                          sizeof airport->totals });
    } else if (msg->body.size == sizeof command) {
        memcpy(&command, msg->body.data, sizeof command);
        if (has_seen(airport, command.flight * 2 + (msg->msg == ARRIVED)))
            atomic_fetch_add(&ignored, 1);
        else
            sherd_persist(ctx, msg->msg, msg->body);
        /* The reply leaves after the event is durable. */
        sherd_reply(ctx, DONE, (struct sherd_bytes){ NULL, 0 });
    }
    return SHERD_CONTINUE;
}

static void airport_release(void *self)
{
    free(((struct airport *)self)->seen);
}

/* ---- the file ---- */

struct flight {
    char origin[8];
    char destination[8];
    int32_t delay;
};

static struct flight *flights;
static uint32_t flight_count;
static char airports[AIRPORTS_MAX][8];
static uint32_t airport_count;

/* Adds an airport to the list, once. Returns 0 if the list is full. */
static int note_airport(const char *code)
{
    for (uint32_t i = 0; i < airport_count; i++)
        if (!strcmp(airports[i], code))
            return 1;
    if (airport_count == AIRPORTS_MAX)
        return 0;
    memcpy(airports[airport_count++], code, 8);
    return 1;
}

/* Returns null, or an error text if the line is wrong. */
static const char *read_flight(const char *line, struct flight *flight)
{
    if (strchr(line, '"'))
        return "quoted fields are not supported";
    if (sscanf(line, "%*[^,],%" SCNd32 ",%*[^,],%7[^,],%7[^,\r\n]",
               &flight->delay, flight->origin, flight->destination) != 3)
        return "not date,delay,distance,origin,destination";
    if (!note_airport(flight->origin) || !note_airport(flight->destination))
        return "more than 1000 airports";
    return NULL;
}

static int read_header(FILE *file, const char *path)
{
    static const char header[] = "date,delay,distance,origin,destination";
    char line[256] = "";

    if (!fgets(line, sizeof line, file) && ferror(file)) {
        fprintf(stderr, "airports: %s: %s\n", path, strerror(errno));
        return 0;
    }
    line[strcspn(line, "\r\n")] = 0;
    if (strcmp(line, header) != 0)
        fprintf(stderr, "airports: %s:1: the first line must be %s\n", path,
                header);
    return strcmp(line, header) == 0;
}

static int read_flights(const char *path)
{
    FILE *file = fopen(path, "r");
    char line[256];
    uint32_t number = 1;

    if (!file || !read_header(file, path)) {
        if (file)
            fclose(file);
        else
            fprintf(stderr, "airports: %s: %s\n", path, strerror(errno));
        return 1;
    }
    while (fgets(line, sizeof line, file)) {
        struct flight flight = { .delay = 0 };
        const char *fault = read_flight(line, &flight);

        number++;
        if (fault) {
            fprintf(stderr, "airports: %s:%" PRIu32 ": %s\n", path, number,
                    fault);
            fclose(file);
            return 1;
        }
        if (flight_count % 1024 == 0) {
            flights = realloc(flights,
                              (flight_count + 1024) * sizeof *flights);
            if (!flights)
                abort();
        }
        flights[flight_count++] = flight;
    }
    fclose(file);
    if (!flight_count)
        fprintf(stderr, "airports: %s: no flights\n", path);
    return !flight_count;
}

/* ---- the feeder ---- */

/* A command without an answer. Its index in the table is the tag of its ask. */
struct sending {
    uint32_t number; /* flight * 2, plus 1 for the arrival */
    uint64_t since;  /* time of the first sending, in ms */
    int busy;
};

struct feeder {
    struct sherd_system *system;
    uint32_t next, end; /* the commands that are still to send */
    uint32_t rate;      /* commands in a second */
    double credit;      /* commands that may be sent now */
    uint64_t ticked;    /* time of the last change of the credit, in ms */
    struct sending sendings[WINDOW];
    uint32_t busy;
    uint32_t sent, acked, retried;
    uint64_t wait_max;    /* longest wait since the last "feed" line, in ms */
    uint64_t reported;    /* time of the last "feed" line, in ms */
    uint32_t totals_open; /* airports that have not sent their totals */
    int feeding;
    int closed; /* this node leaves and owns no shard: the feeder sends nothing */
    int ends;   /* the shutdown waits for the last answers */
};

static struct sherd_ref feeder_ref;
static atomic_int feeder_ready;
static uint32_t twice;         /* N > 0: every Nth command is delivered twice */
static uint32_t patience = 20; /* seconds until a command without an answer is sent again */

static void send_command(struct sherd_ctx *ctx, const struct feeder *feeder,
                         uint32_t index)
{
    uint32_t number = feeder->sendings[index].number;
    const struct flight *flight = &flights[number / 2];
    const struct command command = { number / 2, flight->delay };
    const struct sherd_bytes body = { &command, sizeof command };
    const char *airport = number % 2 ? flight->destination : flight->origin;
    uint32_t msg = number % 2 ? ARRIVED : DEPARTED;

    sherd_entity_ask(ctx, "Airport", airport, msg, body, index,
                     1000 * patience);
    if (twice && number % twice == 0)
        sherd_entity_tell(ctx, "Airport", airport, msg, body);
}

static void report(struct sherd_ctx *ctx, struct feeder *feeder)
{
    uint64_t now = sherd_now(ctx);
    uint64_t oldest = feeder->wait_max;

    for (uint32_t i = 0; i < WINDOW; i++)
        if (feeder->sendings[i].busy && now - feeder->sendings[i].since > oldest)
            oldest = now - feeder->sendings[i].since;
    flockfile(stdout); /* another thread may print at the same time */
    printf("feed acked %" PRIu32 " retried %" PRIu32 " wait_ms %" PRIu64
           " open %" PRIu32 " next %" PRIu32,
           feeder->acked, feeder->retried, oldest, feeder->busy,
           feeder->next);
    for (uint32_t i = 0; i < WINDOW; i++)
        if (feeder->sendings[i].busy)
            printf(" %" PRIu32, feeder->sendings[i].number);
    printf("\n");
    funlockfile(stdout);
    feeder->wait_max = 0;
    feeder->reported = now;
}

/* Returns commands that no airport has received, so that another node can send them. */
static void give_back(uint32_t first, uint32_t end)
{
    if (first < end)
        printf("unsent %" PRIu32 " %" PRIu32 "\n", first, end);
}

static void feed(struct sherd_ctx *ctx, struct feeder *feeder)
{
    uint64_t now = sherd_now(ctx);

    feeder->credit += (double)(now - feeder->ticked) * feeder->rate / 1000.0;
    if (feeder->credit > WINDOW)
        feeder->credit = WINDOW;
    feeder->ticked = now;
    for (uint32_t i = 0; i < WINDOW && feeder->next < feeder->end &&
                         feeder->credit >= 1.0;
         i++) {
        if (feeder->sendings[i].busy)
            continue;
        feeder->sendings[i] = (struct sending){ feeder->next++, now, 1 };
        feeder->busy++;
        feeder->sent++;
        feeder->credit -= 1.0;
        send_command(ctx, feeder, i);
    }
    if (now - feeder->reported >= REPORT_EACH)
        report(ctx, feeder);
    if (feeder->next == feeder->end && !feeder->busy) {
        report(ctx, feeder);
        printf("fed\n");
        feeder->feeding = 0;
        if (feeder->ends)
            sherd_shutdown_done(ctx, SHERD_CLUSTER_LEAVE);
        return;
    }
    sherd_timer(ctx, TICK, 1);
}

static void start_feed(struct sherd_ctx *ctx, struct feeder *feeder,
                       const struct sherd_msg *msg)
{
    uint32_t numbers[3];

    memcpy(numbers, msg->body.data, sizeof numbers);
    feeder->next = numbers[0];
    feeder->end = numbers[1] < flight_count * 2 ? numbers[1] : flight_count * 2;
    feeder->rate = numbers[2];
    feeder->ticked = feeder->reported = sherd_now(ctx);
    feeder->credit = 0;
    feeder->feeding = 1;
    if (feeder->closed) {
        give_back(feeder->next, feeder->end);
        feeder->end = feeder->next;
    }
    feed(ctx, feeder);
}

/* Stops the feeder after this node has handed off its shards. It waits for open answers and returns
 * the commands that it has not sent. */
static void close_feeder(struct feeder *feeder)
{
    if (feeder->closed)
        return;
    feeder->closed = 1;
    if (feeder->feeding) {
        give_back(feeder->next, feeder->end);
        feeder->end = feeder->next;
    }
    printf("closed %" PRIu32 "\n", feeder->sent);
}

/* The shutdown's task in its phase cluster-leave. The region has taken commands until now. */
static void leave(struct sherd_ctx *ctx, struct feeder *feeder)
{
    close_feeder(feeder);
    feeder->ends = feeder->feeding;
    if (!feeder->ends)
        sherd_shutdown_done(ctx, SHERD_CLUSTER_LEAVE);
}

/* The shutdown's first task, before the hand-off begins. */
static void begin_to_leave(struct sherd_ctx *ctx, const struct feeder *feeder)
{
    printf("leaving %" PRIu32 "\n", feeder->sent);
    sherd_shutdown_done(ctx, SHERD_BEFORE_SERVICE_UNBIND);
}

static void print_total(uint32_t index, const struct sherd_msg *msg)
{
    struct totals totals = { 0 };

    if (msg->kind == SHERD_ANSWER && msg->body.size == sizeof totals) {
        memcpy(&totals, msg->body.data, sizeof totals);
        printf("total %s %" PRIu32 " %" PRIu32 " %" PRId64 "\n",
               airports[index], totals.departures, totals.arrivals,
               totals.delay);
    } else {
        printf("total %s failed %s, %s %s\n", airports[index],
               sherd_reason_text(msg->reason), sherd_stage_text(msg->stage),
               msg->where);
    }
}

static void answered(struct sherd_ctx *ctx, struct feeder *feeder,
                     const struct sherd_msg *msg)
{
    struct sending *sending;
    uint64_t waited;

    if (msg->tag >= WINDOW) {
        print_total(msg->tag - WINDOW, msg);
        if (!--feeder->totals_open)
            printf("totals\n");
        return;
    }
    sending = &feeder->sendings[msg->tag];
    if (msg->kind == SHERD_NO_ANSWER && feeder->closed &&
        msg->reason == SHERD_REASON_SHUTTING_DOWN) { /* another node sends the command */
        feeder->retried++;
        give_back(sending->number, sending->number + 1);
        sending->busy = 0;
        feeder->busy--;
        return;
    }
    if (msg->kind == SHERD_NO_ANSWER) {
        feeder->retried++;
        fprintf(stderr, "airports: sends a command again: %s, %s %s\n",
                sherd_reason_text(msg->reason), sherd_stage_text(msg->stage),
                msg->where);
        send_command(ctx, feeder, msg->tag);
        return;
    }
    waited = sherd_now(ctx) - sending->since;
    if (waited > feeder->wait_max)
        feeder->wait_max = waited;
    sending->busy = 0;
    feeder->busy--;
    feeder->acked++;
}

static void start_feeder(struct sherd_ctx *ctx, struct feeder *feeder,
                         const struct sherd_msg *msg)
{
    memcpy(&feeder->system, msg->body.data, sizeof feeder->system);
    if (sherd_shutdown_task(ctx, SHERD_BEFORE_SERVICE_UNBIND, "feeder") ||
        sherd_shutdown_task(ctx, SHERD_CLUSTER_LEAVE, "answers"))
        abort(); /* it cannot fail: one actor adds one task to each of two phases */
    feeder_ref = sherd_self(ctx);
    atomic_store(&feeder_ready, 1);
}

static enum sherd_next feeder_receive(struct sherd_ctx *ctx, void *self,
                                      const struct sherd_msg *msg)
{
    struct feeder *feeder = self;

    switch (msg->kind) {
    case SHERD_STARTED:
        start_feeder(ctx, feeder, msg);
        break;
    case SHERD_SHUTDOWN:
        if (msg->msg == SHERD_CLUSTER_LEAVE)
            leave(ctx, feeder);
        else
            begin_to_leave(ctx, feeder);
        break;
    case SHERD_TIMER:
        if (feeder->feeding)
            feed(ctx, feeder);
        break;
    case SHERD_ANSWER:
    case SHERD_NO_ANSWER:
        answered(ctx, feeder, msg);
        break;
    case SHERD_MESSAGE:
        if (msg->msg == FEED)
            start_feed(ctx, feeder, msg);
        else if (msg->msg == RATE)
            memcpy(&feeder->rate, msg->body.data, sizeof feeder->rate);
        else if (msg->msg == ASK_TOTALS)
            for (uint32_t i = 0; i < airport_count; i++, feeder->totals_open++)
                sherd_entity_ask(ctx, "Airport", airports[i], GET_TOTALS,
                                 (struct sherd_bytes){ NULL, 0 }, WINDOW + i,
                                 1000 * patience);
        break;
    default:
        break;
    }
    fflush(stdout);
    return SHERD_CONTINUE;
}

/* ---- commands ---- */

static void print_status(struct sherd_system *system)
{
    struct sherd_status status;

    if (sherd_get_status(system, &status)) {
        printf("status failed\n");
        return;
    }
    flockfile(stdout);
    for (int i = 0; i < SHERD_COUNTER_COUNT; i++)
        printf("counter %" PRIu64 " %s\n", status.counters[i],
               sherd_counter_text((enum sherd_counter)i));
    printf("ignored %u\n", atomic_load(&ignored));
    printf("status up %d ready %d shards %" PRIu32 " entities %" PRIu64
           " coordinator %s held %" PRIu64 " held_ms %" PRIu64
           " fenced %" PRIu64 " events %" PRIu64 " members",
           status.up, sherd_is_ready(system), status.types[0].shards_here,
           status.types[0].entities_here,
           *status.types[0].coordinator ? status.types[0].coordinator : "none",
           status.held_total, status.held_ms_max, status.fenced,
           status.events);
    for (uint32_t i = 0; i < status.member_count; i++)
        printf(" %s/%d/%d", status.members[i].address,
               status.members[i].status, status.members[i].reachable);
    printf("\n");
    for (int i = 1; i < SHERD_REASON_COUNT; i++)
        if (status.undelivered[i])
            printf("undelivered %" PRIu64 " %s\n", status.undelivered[i],
                   sherd_reason_text((enum sherd_reason)i));
    funlockfile(stdout);
    sherd_status_free(&status);
}

static int tell_feeder(struct sherd_system *system, uint32_t msg,
                       const void *data, size_t size)
{
    while (!atomic_load(&feeder_ready))
        ; /* the feeder starts within microseconds */
    return sherd_system_tell(system, feeder_ref, msg,
                             (struct sherd_bytes){ data, size });
}

/* Returns whether a signal asks the node to leave. Every thread blocks these signals, so they stay
 * pending. */
static int is_to_leave(void)
{
    sigset_t told;

    return sigpending(&told) || sigismember(&told, SIGTERM) ||
           sigismember(&told, SIGINT);
}

/* Returns 0 when the node has ended or must leave. */
static int goes_on(struct sherd_system *system)
{
    struct sherd_status status;
    int error = sherd_get_status(system, &status);

    sherd_status_free(&status);
    return error != SHERD_ESTATE && !is_to_leave();
}

/* Returns the next line of standard input. Returns null at the end of the input, or when the node
 * must end, which is checked every look_ms milliseconds. */
static const char *next_line(struct sherd_system *system, int look_ms,
                             char *line, int size)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    while (poll(&input, 1, look_ms) == 0) /* stdin has no buffer that could hide a line from poll */
        if (!goes_on(system))
            return NULL;
    return is_to_leave() ? NULL : fgets(line, size, stdin);
}

static int run_command(struct sherd_system *system, const char *line)
{
    uint32_t numbers[3];
    char address[128];

    if (sscanf(line, "commands %" SCNu32 " %" SCNu32 " %" SCNu32, &numbers[0],
               &numbers[1], &numbers[2]) == 3)
        return tell_feeder(system, FEED, numbers, sizeof numbers);
    if (sscanf(line, "rate %" SCNu32, &numbers[0]) == 1)
        return tell_feeder(system, RATE, numbers, sizeof numbers[0]);
    if (sscanf(line, "closing %" SCNu32, &numbers[0]) == 1) {
        atomic_store(&closing_ms, numbers[0]);
        return 0;
    }
    if (sscanf(line, "down %127s", address) == 1)
        return sherd_down(system, address);
    if (!strcmp(line, "totals\n"))
        return tell_feeder(system, ASK_TOTALS, NULL, 0);
    if (!strcmp(line, "status\n"))
        print_status(system);
    else if (strcmp(line, "keep\n"))
        printf("unknown command: %s", line);
    return 0;
}

static void run_commands(struct sherd_system *system)
{
    char buffer[256];
    const char *line;
    int keep = 0;
    int leaving = 0;
    int error;

    setvbuf(stdin, NULL, _IONBF, 0);
    while ((line = next_line(system, leaving ? LOOK_LEAVING : LOOK, buffer,
                             sizeof buffer)) != NULL) {
        if (!strcmp(line, "leave\n")) {
            leaving = 1; /* the node still takes instructions, such as rate */
            sherd_leave(system);
            continue;
        }
        if (!strcmp(line, "keep\n")) {
            keep = 1;
            /* The node outlives the terminal. setsid fails only if this is already a session. */
            (void)setsid();
            if (!freopen("/dev/null", "w", stdout)) /* the reader of the pipe ends */
                break;
        }
        error = run_command(system, line);
        if (error)
            printf("error %s\n", sherd_strerror(error));
        fflush(stdout);
    }
    while (keep && goes_on(system))
        (void)poll(NULL, 0, LOOK);
    sherd_leave(system);
}

/* ---- the program ---- */

static void usage(FILE *to)
{
    fprintf(to,
            "usage: airports --port N [--seed HOST:PORT]... --journal FILE\n"
            "                --input FILE [--lanes N] [--config FILE]\n"
            "                [--name CLUSTER] [--shards N] [--twice N] [--patience SECONDS]\n");
}

enum { SEEDS_MAX = 7 };

/* The parsed command line. */
struct arguments {
    struct sherd_options options;
    const char *seeds[SEEDS_MAX + 1]; /* the last one is null */
    size_t seed_count;
    const char *input;
    char journal[4096];
    uint32_t shards; /* shards of the entity type */
};

/* Reads a whole number from `least` to `most`. Prints an error and returns 1 if the text is
 * another. */
static int read_number(const char *name, const char *text, uint32_t least,
                       uint32_t most, uint32_t *number)
{
    char *end;
    long long value = strtoll(text, &end, 10);

    if (end == text || *end || value < least || value > most) {
        fprintf(stderr,
                "airports: --%s %s: not a number from %" PRIu32 " to %" PRIu32
                "\n",
                name, text, least, most);
        return 1;
    }
    *number = (uint32_t)value;
    return 0;
}

static int take_argument(struct arguments *arguments, int option,
                         const char *value)
{
    uint32_t port;

    switch (option) {
    case 'p':
        if (read_number("port", value, 1, 65535, &port))
            return 1;
        arguments->options.port = (uint16_t)port;
        return 0;
    case 's':
        if (arguments->seed_count == SEEDS_MAX) {
            fprintf(stderr, "airports: --seed: at most %d\n", SEEDS_MAX);
            return 1;
        }
        arguments->seeds[arguments->seed_count++] = value;
        return 0;
    case 'j':
        if (snprintf(arguments->journal, sizeof arguments->journal, "%s%s",
                     strncmp(value, "postgres:", 9) ? "sqlite:" : "",
                     value) < (int)sizeof arguments->journal)
            return 0;
        fprintf(stderr, "airports: --journal: the path is too long\n");
        return 1;
    case 'i':
        arguments->input = value;
        return 0;
    case 'n':
        return read_number("lanes", value, 1, 64, &arguments->options.lanes);
    case 'c':
        arguments->options.config_file = value;
        return 0;
    case 'm':
        arguments->options.name = value;
        return 0;
    case 'd':
        return read_number("shards", value, 1, 10000, &arguments->shards);
    case 't':
        return read_number("twice", value, 1, UINT32_MAX, &twice);
    case 'a':
        return read_number("patience", value, 1, 3600, &patience);
    default: /* getopt_long has printed the error */
        return 1;
    }
}

static int read_arguments(struct arguments *arguments, int argc, char **argv)
{
    static const struct option known[] = {
        { "port", required_argument, NULL, 'p' },
        { "seed", required_argument, NULL, 's' },
        { "journal", required_argument, NULL, 'j' },
        { "input", required_argument, NULL, 'i' },
        { "lanes", required_argument, NULL, 'n' },
        { "config", required_argument, NULL, 'c' },
        { "name", required_argument, NULL, 'm' },
        { "shards", required_argument, NULL, 'd' },
        { "twice", required_argument, NULL, 't' },
        { "patience", required_argument, NULL, 'a' },
        { NULL, 0, NULL, 0 },
    };
    int option;

    while ((option = getopt_long(argc, argv, "", known, NULL)) != -1)
        if (take_argument(arguments, option, optarg))
            return 1;
    if (optind != argc) {
        fprintf(stderr, "airports: unexpected argument %s: only options are taken\n", argv[optind]);
        return 1;
    }
    if (!arguments->input || !arguments->options.port) {
        fprintf(stderr, "airports: --input and --port are required\n");
        return 1;
    }
    arguments->options.seed_nodes = arguments->seeds;
    arguments->options.alone = !arguments->seed_count;
    arguments->options.journal = arguments->journal;
    return 0;
}

static int run(struct sherd_system *system, uint32_t shards)
{
    const struct sherd_entity_type airport = {
        .name = "Airport",
        .behavior = { .name = "airport",
                      .state_size = sizeof(struct airport),
                      .receive = airport_receive,
                      .apply = airport_apply,
                      .release = airport_release },
        .shards = shards,
        .stop_msg = CLOSE,
    };
    const struct sherd_behavior feeder = { .name = "feeder",
                                           .state_size = sizeof(struct feeder),
                                           .receive = feeder_receive };
    int error = sherd_entity_register(system, &airport);

    if (!error)
        error = sherd_start(system);
    if (!error)
        error = sherd_system_spawn(
            system, &feeder, (struct sherd_bytes){ &system, sizeof system }, NULL);
    if (error)
        return error;
    run_commands(system);
    error = sherd_wait(system);
    printf("ignored %u\nleft %d\n", atomic_load(&ignored), error);
    return error;
}

int main(int argc, char **argv)
{
    struct arguments arguments = { .options = { .name = "Airports" },
                                   .journal = "memory",
                                   .shards = 60 };
    struct sherd_system *system = NULL;
    sigset_t ends;
    int error;

    if (argc == 2 && !strcmp(argv[1], "--help")) {
        usage(stdout);
        return 0;
    }
#ifdef WITH_POSTGRES
    (void)sherd_postgres_register(); /* the first call cannot fail */
#endif
    if (read_arguments(&arguments, argc, argv)) {
        usage(stderr);
        return 2;
    }
    if (read_flights(arguments.input))
        return 1;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL); /* cannot fail; is_to_leave reads these signals */
    error = sherd_open(&system, &arguments.options);
    if (!error)
        error = run(system, arguments.shards);
    if (error)
        fprintf(stderr, "airports: %s\n", sherd_strerror(error));
    sherd_close(system);
    free(flights);
    return error != 0;
}
