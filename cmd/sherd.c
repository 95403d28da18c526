/* Runs the program sherd: finds the command in the table, and reads its options and arguments. */
#include "sherd.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum cmd_exit cmd_fail(enum cmd_exit exit, const char *format, ...)
{
    va_list arguments;

    (void)fflush(stdout);
    (void)fputs("sherd: ", stderr);
    va_start(arguments, format);
    (void)vfprintf(stderr, format, arguments);
    va_end(arguments);
    (void)fputc('\n', stderr);
    return exit;
}

static int index_of(const struct cmd_command *command, const char *option, size_t size)
{
    for (uint32_t i = 0; i < CMD_OPTIONS_MAX + CMD_NODE_OPTIONS_MAX; i++) {
        const struct cmd_option *at = cmd_option_at(command, i);

        if (at && strlen(at->name) == size && strncmp(at->name, option, size) == 0)
            return (int)i;
    }
    return -1;
}

static int index_of_letter(const struct cmd_command *command, char letter)
{
    for (uint32_t i = 0; i < CMD_OPTIONS_MAX + CMD_NODE_OPTIONS_MAX; i++) {
        const struct cmd_option *at = cmd_option_at(command, i);

        if (at && at->letter == letter)
            return (int)i;
    }
    return -1;
}

const char *cmd_value(const struct cmd_call *call, const char *option)
{
    int at = index_of(call->command, option, strlen(option));

    return at < 0 ? NULL : call->values[at];
}

bool cmd_number(const struct cmd_call *call, const char *option, uint64_t *number)
{
    const char *text = cmd_value(call, option);
    uint64_t value = 0;

    if (!text)
        return true;
    for (const char *at = text; *at; at++) {
        unsigned digit = (unsigned)(unsigned char)*at - '0';

        if (digit > 9 || value > ((uint64_t)INT64_MAX - digit) / 10) {
            value = 0;
            break;
        }
        value = value * 10 + digit;
    }
    if (value == 0) {
        (void)cmd_fail(CMD_USAGE, "--%s needs a number of at least 1, not \"%.40s\"", option, text);
        return false;
    }
    *number = value;
    return true;
}

/* Reads one option at words[*at], with its value: --name VALUE, --name=VALUE, -n VALUE. */
static bool read_option(struct cmd_call *call, char **words, int count, int *at)
{
    bool is_short = words[*at][1] != '-';
    const char *word = words[*at] + (is_short ? 1 : 2);
    const char *equals = is_short ? NULL : strchr(word, '=');
    size_t size = equals ? (size_t)(equals - word) : strlen(word);
    const struct cmd_option *option;
    int which = !is_short  ? index_of(call->command, word, size)
                : word[1] ? -1
                           : index_of_letter(call->command, word[0]);

    if (which < 0) {
        (void)cmd_fail(CMD_USAGE, "unknown option \"%.40s\"", words[*at]);
        return false;
    }
    option = cmd_option_at(call->command, (uint32_t)which);
    if (!option->value && equals) {
        (void)cmd_fail(CMD_USAGE, "--%s takes no value", option->name);
        return false;
    }
    call->values[which] = equals ? equals + 1 : "";
    if (option->value && !equals) {
        if (*at + 1 >= count) {
            (void)cmd_fail(CMD_USAGE, "--%s needs a value", option->name);
            return false;
        }
        call->values[which] = words[++*at];
    }
    return true;
}

static enum cmd_exit run(const struct cmd_command *command, char **words, int count)
{
    struct cmd_call call = { .command = command };
    bool ends = false; /* after "--" everything is an argument */
    bool good = true;
    enum cmd_exit exit;

    for (int i = 0; i < count && good; i++) {
        if (!ends && strcmp(words[i], "--help") == 0) {
            cmd_print_usage(stdout, command, false);
            return CMD_GOOD;
        }
        if (!ends && strcmp(words[i], "--") == 0)
            ends = true;
        else if (!ends && words[i][0] == '-' && words[i][1])
            good = read_option(&call, words, count, &i);
        else if (call.count < command->most)
            call.arguments[call.count++] = words[i];
        else
            good = false;
    }
    if (!good || call.count < command->least) {
        cmd_print_usage(stderr, command, true);
        return CMD_USAGE;
    }
    if (command->group && !cmd_place_is_readable(&call))
        return CMD_USAGE;
    exit = command->run(&call);
    if (fflush(stdout) != 0 && exit == CMD_GOOD)
        return cmd_fail(CMD_UNREACHABLE, "standard output cannot be written");
    return exit;
}

static bool is_help(const char *word)
{
    return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0 || strcmp(word, "help") == 0;
}

int main(int argc, char **argv)
{
    const struct cmd_group *group = argc > 1 ? cmd_find_group(argv[1]) : NULL;
    const struct cmd_command *command = NULL;

    if (argc > 1 && !group)
        command = cmd_find(NULL, argv[1]);
    if (argc > 2 && group)
        command = cmd_find(group->name, argv[2]);
    if (command)
        return (int)run(command, argv + (group ? 3 : 2), argc - (group ? 3 : 2));
    if (argc > 1 && is_help(argv[argc > 2 && group ? 2 : 1])) {
        cmd_print_help(stdout, group ? group->name : NULL);
        return CMD_GOOD;
    }
    if (argc > 1 && (!group || argc > 2))
        (void)cmd_fail(CMD_USAGE, "unknown command \"%.40s\"", argv[group ? 2 : 1]);
    cmd_print_help(stderr, group ? group->name : NULL);
    return CMD_USAGE;
}
