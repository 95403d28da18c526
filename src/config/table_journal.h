/* Lists the keys of recoveries, snapshots, deliveries and a journal in PostgreSQL, with the macros of table.c. */
#ifndef SHERD_CONFIG_TABLE_JOURNAL_H
#define SHERD_CONFIG_TABLE_JOURNAL_H

#define JOURNAL_ROWS \
    TEXT("journal.postgres.url", "", YES, "libpq's URL or `key=value` pairs") \
    TEXT("journal.postgres.password-file", "", YES, "file with the password, mode 0600") \
    TEXT("journal.postgres.schema", "sherd", YES, "schema of the tables") \
    CHOICE("journal.postgres.create-schema", "auto", "auto|check", YES, "whether missing tables are created") \
    SPAN_MS("journal.postgres.group-timeout", "10 s", NULL, YES, "a group of writes waits this long for the server") \
    SPAN_MS("journal.postgres.connect-timeout", "5 s", NULL, YES, "limit for one connection attempt") \
    CHOICE("journal.postgres.on-lost", "stop", "stop|halt", YES, "a loss of acknowledged events ends the shard, or all writes for the type") \
    SWITCH("journal.postgres.allow-loss", "off", YES, "on: accepts settings that lose acknowledged events in a crash") \
    CHOICE("journal.postgres.synchronous-commit", "on", "on|remote_apply|remote_write|local|off", YES, "PostgreSQL's `synchronous_commit`, set for each connection") \
    COUNT("journal.max-concurrent-recoveries", "50", NULL, 1, 4096, YES, \
          "number of entities of a node that recover at a time, at least one and at most 64 for each lane") \
    COUNT("journal.long-replay-events", "100000", OFF, 1, 1000000000, YES, \
          "a recovery that reads so many events is counted, and logged once a minute for each type") \
    SIZE("journal.snapshot-size-max", "16 MiB", NULL, YES, "a state with a larger image gets no snapshot; at most 16 MiB") \
    SPAN_MS("delivery.repeat-interval", "5 s", NULL, YES, "a delivery without an answer is repeated after this time, then after twice the time") \
    SPAN_MS("delivery.repeat-interval-max", "1 minute", NULL, YES, "the longest time between two repetitions") \
    SPAN_MS("delivery.give-up-after", "5 days", NULL, YES, "a delivery ends without an answer after this time") \
    SPAN_MS("delivery.forget-after", "7 days", NULL, YES, \
            "a receiver may forget a sender that was silent for this time; at least `give-up-after`") \
    COUNT("delivery.commands-max", "1000", NULL, 1, 100000, YES, "an entity keeps so many commands of `sherd_once`") \
    SPAN_MS("delivery.commands-max-age", "1 h", NULL, YES, "for this time")

#endif
