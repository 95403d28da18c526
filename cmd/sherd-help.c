/* Prints help texts, the manual page and the shell's completion from the table of commands. */
#include "sherd.h"

#include <string.h>

static const char *const exits[] = {
    "Success; nothing is damaged.",
    "The command worked, and found damage, a warning, or not what was asked for.",
    "Wrong arguments.",
    "The journal or the node cannot be reached; standard error says why.",
    "Refused: nodes use the journal, its content does not fit the command, or the node refuses.",
    "No answer in time.",
    "The answer was printed, and members are missing from it.",
    "The cluster cannot do its work.",
};
#define EXITS (sizeof exits / sizeof *exits)

const struct cmd_option *cmd_option_at(const struct cmd_command *command, uint32_t index)
{
    const struct cmd_option *found = NULL;

    if (index < CMD_OPTIONS_MAX)
        found = &command->options[index];
    else if (command->asks_node)
        found = &cmd_node_options[index - CMD_OPTIONS_MAX];
    return found && found->name ? found : NULL;
}

const struct cmd_command *cmd_find(const char *group, const char *name)
{
    for (const struct cmd_command *at = cmd_commands; at->name; at++)
        if (strcmp(at->name, name) == 0 && !at->group == !group && (!group || strcmp(at->group, group) == 0))
            return at;
    return NULL;
}

const struct cmd_group *cmd_find_group(const char *name)
{
    for (const struct cmd_group *at = cmd_groups; at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

/* Prints a paragraph in lines of at most 80 bytes. */
static void print_wrapped(FILE *out, const char *text, unsigned indent)
{
    unsigned column = 0;

    while (*text) {
        size_t size = strcspn(text, " ");

        if (column && column + 1 + size > 80) {
            (void)fputc('\n', out);
            column = 0;
        }
        if (!column)
            column = (unsigned)fprintf(out, "%*s", (int)indent, "");
        else
            column += (unsigned)fprintf(out, " ");
        column += (unsigned)fprintf(out, "%.*s", (int)size, text);
        text += size + (text[size] == ' ');
    }
    (void)fputc('\n', out);
}

static void print_name(FILE *out, const struct cmd_command *command)
{
    (void)fprintf(out, "sherd %s%s%s", command->group ? command->group : "", command->group ? " " : "",
                  command->name);
}

static void print_options(FILE *out, const struct cmd_command *command)
{
    bool is_first = true;

    for (uint32_t i = 0; i < CMD_OPTIONS_MAX + CMD_NODE_OPTIONS_MAX; i++) {
        const struct cmd_option *option = cmd_option_at(command, i);
        char name[40];

        if (i == CMD_OPTIONS_MAX)
            is_first = true;
        if (!option)
            continue;
        if (is_first)
            (void)fputc('\n', out);
        is_first = false;
        (void)snprintf(name, sizeof name, "--%s %s", option->name, option->value ? option->value : ""); /* may be cut */
        (void)fprintf(out, "  %c%c%c %-18s %s\n", option->letter ? '-' : ' ', option->letter ? option->letter : ' ',
                      option->letter ? ',' : ' ', name, option->help);
    }
}

void cmd_print_usage(FILE *out, const struct cmd_command *command, bool is_short)
{
    (void)fputs("usage: ", out);
    print_name(out, command);
    for (int i = 0; i < CMD_OPTIONS_MAX && command->options[i].name; i++)
        (void)fprintf(out, " [--%s%s%s]", command->options[i].name, command->options[i].value ? " " : "",
                      command->options[i].value ? command->options[i].value : "");
    (void)fprintf(out, "%s%s%s\n", command->asks_node ? " [OPTION]..." : "", command->arguments[0] ? " " : "",
                  command->arguments);
    if (is_short) {
        (void)fputs("Try --help.\n", out);
        return;
    }
    (void)fputc('\n', out);
    print_wrapped(out, command->text, 0);
    if (command->group) {
        (void)fputc('\n', out);
        print_wrapped(out, cmd_find_group(command->group)->text, 0);
    }
    print_options(out, command);
    (void)fputs("\nExit status:\n", out);
    for (size_t i = 0; i < EXITS; i++)
        (void)fprintf(out, "  %zu  %s\n", i, exits[i]);
}

static bool is_in(const struct cmd_command *command, const char *group)
{
    return group ? command->group && strcmp(command->group, group) == 0 : !command->group;
}

static void list_commands(FILE *out, const char *group)
{
    for (const struct cmd_command *at = cmd_commands; at->name; at++)
        if (is_in(at, group))
            (void)fprintf(out, "  %-14s %s\n", at->name, at->summary);
}

void cmd_print_help(FILE *out, const char *group)
{
    if (group) {
        (void)fprintf(out, "usage: sherd %s COMMAND [OPTION]... ARGUMENT...\n\n", group);
        print_wrapped(out, cmd_find_group(group)->text, 0);
        (void)fputc('\n', out);
        list_commands(out, group);
        (void)fprintf(out, "\nsherd %s COMMAND --help describes a command.\n", group);
        return;
    }
    (void)fputs("usage: sherd COMMAND ...\n\n", out);
    for (const struct cmd_group *at = cmd_groups; at->name; at++)
        (void)fprintf(out, "  %-14s %s\n", at->name, at->summary);
    list_commands(out, NULL);
    (void)fputs("\nsherd COMMAND --help describes a command.\n", out);
}

/* ---- the manual page ---- */

/* Each sentence is a line, as mdoc wants it; a leading '.' cannot occur. */
static void print_sentences(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\\')
            (void)fputs("\\e", out);
        else if (text[0] == '.' && text[1] == ' ')
            (void)fputs(".\n", out), text++;
        else
            (void)fputc(*text, out);
    }
    (void)fputc('\n', out);
}

static void man_options(FILE *out, const struct cmd_option *options, int most)
{
    (void)fputs(".Bl -tag -width Ds -compact\n", out);
    for (int i = 0; i < most && options[i].name; i++) {
        (void)fputs(".It", out);
        if (options[i].letter)
            (void)fprintf(out, " Fl %c ,", options[i].letter);
        (void)fprintf(out, " Fl -%s", options[i].name);
        if (options[i].value)
            (void)fprintf(out, " Ar %s", options[i].value);
        (void)fprintf(out, "\n%s.\n", options[i].help);
    }
    (void)fputs(".El\n", out);
}

static void man_command(FILE *out, const struct cmd_command *command)
{
    (void)fputs(".It ", out);
    if (command->group)
        (void)fprintf(out, "Cm %s ", command->group);
    (void)fprintf(out, "Cm %s", command->name);
    for (int i = 0; i < CMD_OPTIONS_MAX && command->options[i].name; i++) {
        (void)fprintf(out, " Oo Fl -%s", command->options[i].name);
        if (command->options[i].value)
            (void)fprintf(out, " Ar %s", command->options[i].value);
        (void)fputs(" Oc", out);
    }
    (void)fprintf(out, "%s%s\n", command->arguments[0] ? " Ar " : "", command->arguments);
    print_sentences(out, command->text);
    if (command->options[0].name)
        man_options(out, command->options, CMD_OPTIONS_MAX);
}

static void man_list(FILE *out, const char *group)
{
    (void)fputs(".Bl -tag -width Ds\n", out);
    for (const struct cmd_command *at = cmd_commands; at->name; at++)
        if (is_in(at, group))
            man_command(out, at);
    (void)fputs(".El\n", out);
}

enum cmd_exit cmd_man(const struct cmd_call *call)
{
    FILE *out = stdout;

    (void)call;
    (void)fputs(".\\\" Describes the program sherd. Made by `sherd man`.\n"
                ".Dd November 30, 2026\n.Dt SHERD 1\n.Os\n.Sh NAME\n.Nm sherd\n"
                ".Nd look at a cluster of Sherd, act on it, and inspect what its nodes store\n.Sh SYNOPSIS\n.Nm\n"
                ".Ar command\n.Op Fl -help\n.Op Ar option ...\n.Op Ar argument ...\n", out);
    for (const struct cmd_group *at = cmd_groups; at->name; at++) {
        (void)fprintf(out, ".Sh COMMANDS: %s\n", at->name);
        print_sentences(out, at->text);
        man_list(out, at->name);
    }
    (void)fputs(".Sh OTHER COMMANDS\n", out);
    man_list(out, NULL);
    (void)fputs(".Sh OPTIONS OF COMMANDS THAT ASK A NODE\n", out);
    man_options(out, cmd_node_options, CMD_NODE_OPTIONS_MAX);
    (void)fputs(".Sh EXIT STATUS\n.Bl -tag -width Ds -compact\n", out);
    for (size_t i = 0; i < EXITS; i++)
        (void)fprintf(out, ".It %zu\n%s\n", i, exits[i]);
    (void)fputs(".El\n.Sh SEE ALSO\n.Xr sherd 7 ,\ndocs/guide/command.md, docs/guide/files.md, docs/protocol/journal.md\n", out);
    return CMD_GOOD;
}

/* ---- completion ---- */

static void list_words(FILE *out, const char *group)
{
    for (const struct cmd_command *at = cmd_commands; at->name; at++)
        if (is_in(at, group))
            (void)fprintf(out, " %s", at->name);
}

enum cmd_exit cmd_completion(const struct cmd_call *call)
{
    FILE *out = stdout;

    (void)call;
    (void)fputs("_sherd() {\n    local words=\"--help\" key=\"${COMP_WORDS[1]} ${COMP_WORDS[2]}\"\n"
                "    if [ \"$COMP_CWORD\" = 1 ]; then\n        words=\"", out);
    for (const struct cmd_group *at = cmd_groups; at->name; at++)
        (void)fprintf(out, "%s ", at->name);
    list_words(out, NULL);
    (void)fputs("\"\n    elif [ \"$COMP_CWORD\" = 2 ]; then\n        case ${COMP_WORDS[1]} in\n", out);
    for (const struct cmd_group *at = cmd_groups; at->name; at++) {
        (void)fprintf(out, "        %s) words=\"", at->name);
        list_words(out, at->name);
        (void)fputs("\";;\n", out);
    }
    (void)fputs("        esac\n    else\n        case $key in\n", out);
    for (const struct cmd_command *at = cmd_commands; at->name; at++) {
        if (!at->group)
            continue;
        (void)fprintf(out, "        \"%s %s\") words=\"--help", at->group, at->name);
        for (uint32_t i = 0; i < CMD_OPTIONS_MAX + CMD_NODE_OPTIONS_MAX; i++)
            if (cmd_option_at(at, i))
                (void)fprintf(out, " --%s", cmd_option_at(at, i)->name);
        (void)fputs("\";;\n", out);
    }
    (void)fputs("        esac\n    fi\n"
                "    COMPREPLY=($(compgen -W \"$words\" -- \"${COMP_WORDS[COMP_CWORD]}\"))\n}\n"
                "complete -o default -F _sherd sherd\n", out);
    return CMD_GOOD;
}
