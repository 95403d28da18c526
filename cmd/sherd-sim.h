/* The parts of the program sherd-sim: one file for each command, one table of options (sherd-sim.c). */
#ifndef SHERD_CMD_SIM_H
#define SHERD_CMD_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "sim/options.h"
#include "sim/run.h"
#include "sim/schedule.h"
#include "sim/world.h"

#define JOBS_MAX 256
#define EXIT_USAGE 2 /* wrong options; 1 is a violation */

/* What the options say; each command uses its own. */
struct command {
    struct options_wish wish;
    uint64_t seed_first, seed_last;
    bool has_seeds;
    uint64_t time_limit;      /* s of wall time, 0 = none */
    uint32_t jobs;
    const char *report;       /* a folder */
    bool fails_fast;
    uint64_t until;           /* ns */
    uint64_t until_event;     /* 0: until, or the end */
    const char *log;          /* a specification */
    const char *dump;
    bool twice;
    bool steps;
    struct steps *taken; /* of the bench that runs: steps; null: nobody asks */
    const char *schedule;     /* a file */
    uint64_t budget;          /* s */
    const char *out;          /* a file */
    const char *mutant;
    uint64_t seeds_max;
    const char *sizes;        /* of the bench */
    VEC(const char *) sets;   /* NAME=VALUE */
    const char *const *words; /* what is no option, without the command's name */
    int word_count;
};

int command_run(const struct command *command);
int command_replay(const struct command *command);
int command_shrink(const struct command *command);
int command_zoo(const struct command *command);
int command_cover(const struct command *command);
int command_bench(const struct command *command);
int command_scale(const struct command *command);

/* One line on standard error, "sherd-sim: ...". Returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* sherd-sim-build.c: the linker's hash of this program into text (size BUILD_TEXT_MAX); returns text. */
#define BUILD_TEXT_MAX 64
const char *build_text(char *text, size_t size);
/* The exit status of a process that ends with this one: another where not all could be printed; told. */
int output_status(int status);
/* Measures clusters of one size; an exit status. */
typedef int measure_size(const struct command *command, uint64_t nodes,
                         uint64_t seed);
/* The same in a process of its own: its memory is its own too, and goes with it. */
int run_apart(measure_size *measure, const struct command *command,
              uint64_t nodes, uint64_t seed);
/* The next number of a list as 5,50,1000, and *text behind it; 0: there is none, and *text is null where it is wrong. */
uint64_t next_size(const char **text);
/* Whether all numbers of a list are sizes of clusters. False: told. */
bool sizes_good(const char *sizes);
/* A seed from a word. False: it is none. */
bool parse_seed(const char *text, uint64_t *seed);
/* The seed's options, with what was set by hand. False: one of those is wrong; told. */
bool command_options(const struct command *command, uint64_t seed,
                     struct options *options);
/* The command line that repeats a seed, on standard output. */
void print_replay(const struct command *command, uint64_t seed);
/* A FAIL line, and behind it, on the same line, the command that repeats it. */
void print_failure(const struct command *command, uint64_t seed,
                   const char *line);
/* The failures of a run that its checkers told, one line each. */
void print_violations(const struct command *command,
                      const struct run_result *result);
/* Options and faults of the run that the command line means. 0, or an exit status: told what is wrong. */
int read_case(const struct command *command, struct options *options,
              struct schedule *schedule);
/* sherd-sim-stop.c. The first signal of those that a person ends a program with (SIGINT, SIGTERM, SIGHUP): 0 until one has come. From
 * stop_watch() on they do not end this process. */
void stop_watch(void);
int stop_signal(void);
/* A process that runs a seed, told to the above: it is killed when one comes, and is not asked itself. 0: it has ended. */
void stop_worker(uint32_t index, pid_t process);
/* In that process. */
void stop_ignore(void);
/* What a process that runs a seed leaves when it dies; shared with who waits for it. */
struct last_words {
    struct world_place place; /* the run's settings have it */
    char text[512];           /* of the check that ended it; "": of none */
};

/* This process' checks speak to `words`, and a run of more processor time than that ends it. */
void words_keep(struct last_words *words, uint64_t limit_s);
/* The FAIL line of a process that has ended so before it was done (size VERDICT_LINE_MAX is enough). */
void words_line(const struct last_words *words, uint64_t seed, int status,
                char *line, size_t size);
void *shared_new(size_t size); /* zeroed memory that children share */
void shared_free(void *memory, size_t size);
/* Two runs of one seed had different digests: the FAIL line, of the second one (size VERDICT_LINE_MAX is enough). */
void different_line(const struct run_result *again, char *line, size_t size);
/* sherd-sim-case.c. All bytes of a file behind those of the text. False: it cannot be read, or has more than `most`; told. */
bool file_read(const char *path, size_t most, struct buf *text);
/* False: told what is wrong. The schedule is empty before a read; options come with what the file leaves as
 * it is. */
bool case_read(const char *path, struct options *options,
               struct schedule *schedule);
bool case_write(const char *path, const struct options *options,
                const struct schedule *schedule, const char *comment);
/* A word of a command line, in quotes where a shell would take it for something else. */
void put_word(struct buf *text, const char *word);
/* The line that repeats a case in a program with the bug that this process has. */
void case_put_replay(struct buf *text, uint64_t seed, const char *path);

#endif
