/* Airports: the program that each node process of the demonstration runs. A sharded, persistent entity for each airport, fed
 * with the flights of a file, and a feeder that sends them and waits for every answer.
 *
 *   airports --port N [--seed HOST:PORT]... --journal FILE --input FILE [--lanes N] [--config FILE] [--name CLUSTER]
 *            [--shards N] [--twice N] [--patience SECONDS]
 *
 * --patience: a command without an answer is sent again after so long (20), also where the machine stood still meanwhile.
 * --twice: every Nth command is delivered twice, so that a test sees whether that is found.
 *
 * It reads commands, one a line, from standard input and writes one line for each answer:
 *   commands FROM TO RATE  sends commands FROM..TO-1, RATE a second; a flight has two, numbered twice its line in the file and
 *                        one more
 *   rate RATE            another pace
 *   closing MS           an airport takes so long to close, from here on
 *   status               members, shards, entities
 *   totals               asks every airport of the file for its totals
 *   down HOST:PORT       declares a member dead
 *   leave                hands its shards off and leaves the cluster; so does the end of the input. It is fed meanwhile, until
 *                        its shards are gone: what it was given and did not send by then is said in lines "unsent FROM TO"
 *   keep                 goes on without input; SIGTERM and SIGINT mean leave
 * Lines written: feed, fed, leaving, unsent, closed, counter, ignored, status, undelivered, total, totals, left; see the
 * functions that print them. */
#include <sherd/sherd.h>

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

enum { DEPARTED = 1, ARRIVED, GET_TOTALS, DONE, TOTALS, CLOSE }; /* messages; DEPARTED and ARRIVED are events too */
enum { FEED = 100, RATE, STATUS, ASK_TOTALS };          /* to the feeder */
enum { TICK = 1 };

#define WINDOW 1024         /* commands without an answer yet */
#define REPORT_EACH 20      /* ms; what was acknowledged after the last report is not known outside */
#define AIRPORTS_MAX 1000
#define LOOK 500            /* ms between two looks whether the node has ended, or is to end */
#define LOOK_LEAVING 20     /* ms, once it leaves */
#define CLOSING 20          /* ms that an airport takes to close, before it moves or is passivated, unless told */

/* ---- the entity ---- */

struct command {
    uint32_t flight; /* the line in the file, from 0 */
    int32_t delay;   /* minutes */
};

struct totals {
    uint32_t departures;
    uint32_t arrivals;
    int64_t delay;   /* of departures, minutes in all */
};

static atomic_uint closing_ms = CLOSING;
static atomic_uint ignored; /* commands that were there already, of all airports that have been here */

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
    if (msg->msg == CLOSE) { /* what comes from here on waits for the next home */
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
        sherd_reply(ctx, DONE, (struct sherd_bytes){ NULL, 0 }); /* leaves when it is durable */
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

/* False: there are AIRPORTS_MAX already. */
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

/* Null, or what is wrong with the line. */
static const char *read_flight(const char *line, struct flight *flight)
{
    if (strchr(line, '"'))
        return "quoted fields are not read";
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

/* A command on its way; its index is the tag of its ask. */
struct sending {
    uint32_t number; /* flight * 2 + (1: arrival) */
    uint64_t since;  /* ms */
    int busy;
};

struct feeder {
    struct sherd_system *system;
    uint32_t next, end; /* commands: two for each flight */
    uint32_t rate;
    double credit;
    uint64_t ticked;
    struct sending sendings[WINDOW];
    uint32_t busy;
    uint32_t sent, acked, retried;
    uint64_t wait_max; /* ms, since the last line */
    uint64_t reported;
    uint32_t totals_open;
    int feeding;
    int closed; /* this node leaves and hosts nothing any more: nothing is sent */
    int ends;   /* and goes on to end when all answers are here */
};

static struct sherd_ref feeder_ref;
static atomic_int feeder_ready;
static uint32_t twice;         /* > 0: every so many-th command is delivered twice */
static uint32_t patience = 20; /* s; then the command is sent again */

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
    flockfile(stdout); /* one line, whatever another thread prints */
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

/* Commands that went nowhere: somebody else may send them, and it is no second time. */
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

/* The shards of this node are gone, and it is about to be: what is on its way is waited for, the rest is others'. */
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

/* Its region took commands until its shards were gone. */
static void leave(struct sherd_ctx *ctx, struct feeder *feeder)
{
    close_feeder(feeder);
    feeder->ends = feeder->feeding;
    if (!feeder->ends)
        sherd_shutdown_done(ctx, SHERD_CLUSTER_LEAVE);
}

/* Before the hand-off begins. */
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
        msg->reason == SHERD_REASON_SHUTTING_DOWN) { /* another node sends it again */
        feeder->retried++;
        give_back(sending->number, sending->number + 1);
        sending->busy = 0;
        feeder->busy--;
        return;
    }
    if (msg->kind == SHERD_NO_ANSWER) {
        feeder->retried++;
        fprintf(stderr, "airports: again: %s, %s %s\n",
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
        abort(); /* one actor, one task of each */
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
    printf("status up %d shards %" PRIu32 " entities %" PRIu64
           " coordinator %s held %" PRIu64 " held_ms %" PRIu64
           " fenced %" PRIu64 " events %" PRIu64 " members",
           status.up, status.types[0].shards_here,
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
        ; /* the actor starts within microseconds */
    return sherd_system_tell(system, feeder_ref, msg,
                             (struct sherd_bytes){ data, size });
}

/* A signal, which every thread blocks, says that it is to leave. */
static int is_to_leave(void)
{
    sigset_t told;

    return sigpending(&told) || sigismember(&told, SIGTERM) ||
           sigismember(&told, SIGINT);
}

/* False when the node has ended, or is to leave. */
static int goes_on(struct sherd_system *system)
{
    struct sherd_status status;
    int error = sherd_get_status(system, &status);

    sherd_status_free(&status);
    return error != SHERD_ESTATE && !is_to_leave();
}

/* The next line of standard input; null at its end, or when the node does not go on: it is looked at so often. */
static const char *next_line(struct sherd_system *system, int look_ms,
                             char *line, int size)
{
    struct pollfd input = { .fd = STDIN_FILENO, .events = POLLIN };

    while (poll(&input, 1, look_ms) == 0) /* stdin is not buffered: no line is hidden from poll */
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
            leaving = 1; /* and is told its pace meanwhile */
            sherd_leave(system);
            continue;
        }
        if (!strcmp(line, "keep\n")) {
            keep = 1;
            (void)setsid(); /* the end of the terminal is none of its; fails only if it is so already */
            if (!freopen("/dev/null", "w", stdout)) /* who read it goes */
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

/* What the command line says. */
struct arguments {
    struct sherd_options options;
    const char *seeds[SEEDS_MAX + 1]; /* ended by null */
    size_t seed_count;
    const char *input;
    char journal[4096];
    uint32_t shards; /* of the type; 0: as configured */
};

/* A whole number from `least` to `most`. */
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
        if (snprintf(arguments->journal, sizeof arguments->journal, "sqlite:%s",
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
    default: /* getopt_long has said what is wrong */
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
            system, &feeder, (struct sherd_bytes){ &system, sizeof system });
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
    if (read_arguments(&arguments, argc, argv)) {
        usage(stderr);
        return 2;
    }
    if (read_flights(arguments.input))
        return 1;
    (void)sigemptyset(&ends);
    (void)sigaddset(&ends, SIGTERM);
    (void)sigaddset(&ends, SIGINT);
    (void)sigprocmask(SIG_BLOCK, &ends, NULL); /* fails only for a wrong word; see goes_on */
    error = sherd_open(&system, &arguments.options);
    if (!error)
        error = run(system, arguments.shards);
    if (error)
        fprintf(stderr, "airports: %s\n", sherd_strerror(error));
    sherd_close(system);
    free(flights);
    return error != 0;
}
