/* Runs the commands with which a user of sherd-conform breaks and mends the store. */
#define _POSIX_C_SOURCE 200809L
#include "sherd-conform.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#define CANNOT 77

void conform_round(uint32_t round)
{
    char text[16];

    (void)snprintf(text, sizeof text, "%u", (unsigned)round); /* fits */
    check(setenv("SHERD_CONFORM_ROUND", text, 1) == 0);
}

/* Returns the exit status. The last line of the output is the reason. */
static int run_command(struct run *run, const char *command, const char *fault)
{
    char *line = run->told;
    char words[1024];
    FILE *output;
    int status;

    check(setenv("SHERD_CONFORM_TYPE", run->type, 1) == 0);
    if (snprintf(words, sizeof words, "%s %s", command, fault) >= (int)sizeof words)
        return 1; /* such a command is a mistake */
    (void)fflush(stdout);
    output = popen(words, "r");
    check(output != NULL);
    (void)snprintf(line, sizeof run->told, "the command ends with an error: %.120s", words);
    while (fgets(line, sizeof run->told, output))
        line[strcspn(line, "\n")] = 0;
    status = pclose(output);
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

bool conform_break(struct run *run, const char *fault)
{
    int status;

    if (!run->breaks || !run->mends) {
        run->skipped = "no way to do this to the store was given (--break, --mend)";
        return false;
    }
    run->broken = fault;
    status = run_command(run, run->breaks, fault);
    if (status == 0)
        return true;
    run->broken = NULL;
    if (status == CANNOT)
        run->skipped = run->told;
    else
        run->failed = run->told;
    return false;
}

bool conform_mend(struct run *run)
{
    const char *fault = run->broken;

    run->broken = NULL;
    if (!fault || run_command(run, run->mends, fault) == 0)
        return true;
    if (!run->failed)
        run->failed = run->told;
    return false;
}
