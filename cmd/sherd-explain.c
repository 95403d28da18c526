/* Asks why a thing is as it is, and prints what was found and what to do. */
#define _GNU_SOURCE
#include "sherd-ask.h"

#include <string.h>

static void print_text(const char *before, const json_t *finding, const char *field)
{
    const char *text = json_string_value(json_object_get(finding, field));
    char clean[1024];

    if (!text || !*text)
        return;
    rows_clean(text, clean, sizeof clean);
    (void)printf("%s%s\n", before, clean);
}

static enum cmd_exit exit_of(const json_t *finding)
{
    const char *severity = json_string_value(json_object_get(finding, "severity"));

    if (severity && strcmp(severity, "critical") == 0)
        return CMD_CRITICAL;
    return severity && strcmp(severity, "warning") == 0 ? CMD_FINDINGS : CMD_GOOD;
}

static enum cmd_exit print_findings(const struct cmd_call *call, struct client *client, const json_t *answer)
{
    const json_t *findings = json_object_get(answer, "findings");
    enum cmd_exit worst = CMD_GOOD;
    size_t index;
    const json_t *finding, *name;

    (void)call;
    (void)client;
    json_array_foreach(findings, index, finding) {
        char before[40];

        (void)snprintf(before, sizeof before, "%-5s", json_string_value(json_object_get(finding, "rule")));
        print_text(before, finding, "text");
        print_text("     because: ", finding, "cause");
        print_text("     do: ", finding, "remedy");
        if (exit_of(finding) > worst)
            worst = exit_of(finding);
    }
    if (!json_array_size(findings))
        print_text("", answer, "text");
    json_array_foreach(json_object_get(answer, "notKnown"), index, name) {
        char clean[128];

        rows_clean(json_is_string(name) ? json_string_value(name) : "?", clean, sizeof clean);
        (void)printf("not known: %s\n", clean);
    }
    return worst;
}

static enum cmd_exit explain(const struct cmd_call *call, const char *const names[2])
{
    char *path = client_path("/api/v1/explain?of=%s", call->command->name);

    for (uint32_t i = 0; i < call->count; i++)
        path = client_path_add(path, names[i], call->arguments[i]);
    return ask_run(call, (struct ask){ .path = path, .print = print_findings });
}

enum cmd_exit cmd_explain_node(const struct cmd_call *call)
{
    return explain(call, (const char *const[]){ "node", NULL });
}

enum cmd_exit cmd_explain_shard(const struct cmd_call *call)
{
    return explain(call, (const char *const[]){ "type", "shard" });
}

enum cmd_exit cmd_explain_entity(const struct cmd_call *call)
{
    return explain(call, (const char *const[]){ "type", "id" });
}
