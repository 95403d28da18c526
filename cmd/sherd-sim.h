/* Declares what the files of the program sherd-sim share. Each command has its own file;
 * sherd-sim.c has the table of options. */
#ifndef SHERD_CMD_SIM_H
#define SHERD_CMD_SIM_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/vec.h"
#include "sim/seed/options.h"
#include "sim/run/run.h"
#include "sim/faults/schedule.h"
#include "sim/world/world.h"

#define JOBS_MAX 256
#define EXIT_USAGE 2 /* wrong options; 1 means a broken rule */

/* The values of the options; each command uses its own. */
struct command {
    struct options_wish wish;
    uint64_t seed_first, seed_last;
    bool has_seeds;
    uint64_t time_limit;      /* s of wall time, 0 = none */
    uint32_t jobs;
    const char *report;       /* folder */
    bool fails_fast;
    uint64_t until;           /* ns */
    uint64_t until_event;     /* 0: until, or the end */
    const char *log;          /* see sherd-sim-replay.c */
    const char *dump;
    bool twice;
    bool steps;
    struct steps *taken; /* the steps that bench --steps took; may be null */
    const char *schedule;     /* path */
    uint64_t budget;          /* s */
    const char *out;          /* path */
    const char *mutant;
    uint64_t seeds_max;
    const char *sizes;        /* list of bench and scale */
    VEC(const char *) sets;   /* NAME=VALUE */
    const char *const *words; /* arguments that are no options, without the command's name */
    int word_count;
};

int command_run(const struct command *command);
int command_replay(const struct command *command);
int command_shrink(const struct command *command);
int command_zoo(const struct command *command);
int command_cover(const struct command *command);
int command_bench(const struct command *command);
int command_scale(const struct command *command);

/* Prints one line on standard error. Returns EXIT_USAGE. */
int usage_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* Writes the build id of this program into text (size BUILD_TEXT_MAX). Returns text. */
#define BUILD_TEXT_MAX 64
const char *build_text(char *text, size_t size);
/* Returns `status`, or another if the output could not be written. */
int output_status(int status);
/* Measures clusters of one size. Returns an exit status. */
typedef int measure_size(const struct command *command, uint64_t nodes,
                         uint64_t seed);
/* The same in a child process, whose memory ends with it. */
int run_apart(measure_size *measure, const struct command *command,
              uint64_t nodes, uint64_t seed);
/* Returns the next number of a list such as 5,50,1000, and moves *text after it. 0: the end, or
 * malformed with *text null. */
uint64_t next_size(const char **text);
/* Whether all numbers of a list are sizes of clusters. False: reported. */
bool sizes_good(const char *sizes);
bool parse_seed(const char *text, uint64_t *seed);
/* Draws the seed's options and applies --set. False: reported. */
bool command_options(const struct command *command, uint64_t seed,
                     struct options *options);
/* Prints the command that repeats a seed. */
void print_replay(const struct command *command, uint64_t seed);
/* Prints a FAIL line, followed by the command that repeats it. */
void print_failure(const struct command *command, uint64_t seed,
                   const char *line);
void print_violations(const struct command *command,
                      const struct run_result *result);
/* Reads the run that the command line names. Returns 0, or an exit status after a report. */
int read_case(const struct command *command, struct options *options,
              struct schedule *schedule);
/* sherd-sim-stop.c. stop_watch keeps SIGINT, SIGTERM and SIGHUP from ending this process.
 * stop_signal returns the first; 0: none. */
void stop_watch(void);
int stop_signal(void);
/* The process is killed when a signal comes. 0: it has ended. */
void stop_worker(uint32_t index, pid_t process);
/* Call it in the worker. */
void stop_ignore(void);
/* Data that a dead worker leaves, shared with its parent. */
struct last_words {
    struct world_place place; /* written by the run */
    char text[512];           /* of the failed check; "": none */
};

/* Makes this process's checks write to `words`, and limits its processor time. */
void words_keep(struct last_words *words, uint64_t limit_s);
/* Writes the FAIL line of a process that died (size VERDICT_LINE_MAX). */
void words_line(const struct last_words *words, uint64_t seed, int status,
                char *line, size_t size);
void *shared_new(size_t size); /* zeroed memory that children share */
void shared_free(void *memory, size_t size);
/* Writes the FAIL line of two runs with different digests (size VERDICT_LINE_MAX). */
void different_line(const struct run_result *again, char *line, size_t size);
/* sherd-sim-case.c. Appends a file to text. False: it cannot be read or exceeds `most` bytes, which
 * was reported. */
bool file_read(const char *path, size_t most, struct buf *text);
/* False: reported. The schedule must be empty before a read; options keep values that the file does
 * not set. */
bool case_read(const char *path, struct options *options,
               struct schedule *schedule);
bool case_write(const char *path, const struct options *options,
                const struct schedule *schedule, const char *comment);
/* Appends a word of a command line, with quotes if a shell needs them. */
void put_word(struct buf *text, const char *word);
/* Appends the command that repeats a case with this process's bug. */
void case_put_replay(struct buf *text, uint64_t seed, const char *path);

#endif
