/* Lists the families of metrics: one table for the answer of /metrics, docs/protocol/metrics.md and
 * the checks of the dashboards and alerts (tools/metrics).
 *
 * X(id, name, type, unit, labels, panel, alert, help)
 * name: without _total and _info, which the writer adds to samples of counters and infos.
 * unit: the last word of the name, or "".
 * panel: O, S, N: on the dashboard overview, sharding or node.
 * alert: of packaging/prometheus/sherd-alerts.yml, or "". */
#ifndef SHERD_MGMT_METRICS_TABLE_H
#define SHERD_MGMT_METRICS_TABLE_H

/* The node and its process. */
#define METRICS_NODE(X) \
    X(METRIC_BUILD, "sherd_build", INFO, "", "version", "O1", "SherdSeveralVersions", \
      "The version of the library.") \
    X(METRIC_CPU, "process_cpu_seconds", COUNTER, "seconds", "", "N1", "", \
      "CPU time of the process, user and system.") \
    X(METRIC_RSS, "process_resident_memory_bytes", GAUGE, "bytes", "", "N1", "", \
      "Resident memory of the process.") \
    X(METRIC_START, "process_start_time_seconds", GAUGE, "seconds", "", "N1", "SherdRestarts", \
      "The start of the process, in seconds since 1970.") \
    X(METRIC_FDS, "process_open_fds", GAUGE, "", "", "N2", "SherdOpenFiles", \
      "Open file descriptors of the process.") \
    X(METRIC_FDS_MAX, "process_max_fds", GAUGE, "", "", "N2", "", \
      "The limit of open file descriptors.") \
    X(METRIC_UP, "sherd_node_up", GAUGE, "", "", "O2", "", \
      "1: the node is a member with the status Up.") \
    X(METRIC_READY, "sherd_node_ready", GAUGE, "", "", "O2", "SherdNotReady", \
      "1: the readiness check of the node passes.") \
    X(METRIC_STALLED, "sherd_lane_stalled_seconds", GAUGE, "seconds", "lane", "N4", "SherdLaneStalled", \
      "The age of the turn that a thread is in: lane 0 is control.") \
    X(METRIC_BUSY, "sherd_lane_busy_seconds", COUNTER, "seconds", "lane", "N4", "SherdLaneBusy", \
      "Time in turns: lane 0 is control.") \
    X(METRIC_TURNS, "sherd_turn_seconds", HISTOGRAM, "seconds", "", "N4", "SherdSlowTurns", \
      "Turns of control.") \
    X(METRIC_CERTIFICATE, "sherd_tls_certificate_expiry_timestamp_seconds", GAUGE, "seconds", "", "N2", "SherdCertificateExpires", \
      "The end of the certificate for TLS between nodes, in seconds since 1970.") \
    X(METRIC_REQUESTS, "sherd_management_requests", COUNTER, "", "code", "N6", "SherdManagementErrors", \
      "Answers of the management, by class of status.")

/* The cluster, as the node sees it. */
#define METRICS_CLUSTER(X) \
    X(METRIC_MEMBERS, "sherd_members", GAUGE, "", "status", "O2", "", \
      "Members of the cluster, as this node sees them.") \
    X(METRIC_UNREACHABLE, "sherd_members_unreachable", GAUGE, "", "", "O2", "SherdUnreachable", \
      "Unreachable members, as this node sees them.") \
    X(METRIC_DISAGREEING, "sherd_members_disagreeing", GAUGE, "", "", "N3", "SherdDisagreement", \
      "Members that have not seen the version of the membership that this node has.") \
    X(METRIC_LEADER, "sherd_leader", GAUGE, "", "", "O2", "SherdLeaders", \
      "1: the node is the leader of its data center.") \
    X(METRIC_EVENTS_TOLD, "sherd_member_events", COUNTER, "", "event", "O3", "", \
      "Changes of members that this node has seen.") \
    X(METRIC_DECISIONS, "sherd_resolver_decisions", COUNTER, "", "outcome", "O3", "SherdDowned", \
      "Decisions of the split brain resolver here: members downed, nothing stable, turned round.") \
    X(METRIC_PHI, "sherd_failure_detector_phi_max", GAUGE, "", "", "N3", "SherdHeartbeatsLate", \
      "The highest phi of the members that this node monitors.")

/* Messages, asks and jobs. */
#define METRICS_MESSAGES(X) \
    X(METRIC_SENT, "sherd_messages_sent", COUNTER, "", "", "O4", "", \
      "Messages that actors and threads of this node made.") \
    X(METRIC_DELIVERED, "sherd_messages_delivered", COUNTER, "", "", "O4", "", \
      "Messages given to actors and entities of this node.") \
    X(METRIC_UNDELIVERED, "sherd_messages_undelivered", COUNTER, "", "reason", "O5", "SherdUndelivered", \
      "Messages that ended on this node without being delivered.") \
    X(METRIC_WAITING, "sherd_messages_waiting", GAUGE, "", "where", "O5", "", \
      "Messages that wait: in mailboxes, in the region, or as effects until their event is durable.") \
    X(METRIC_MESSAGE_BYTES, "sherd_message_memory_bytes", GAUGE, "bytes", "", "N5", "SherdMessageMemory", \
      "Memory that was made for messages.") \
    X(METRIC_SLOW, "sherd_handlers_slow", COUNTER, "", "", "S2", "SherdSlowHandlers", \
      "Handlers that took longer than slow-handler.report-after.") \
    X(METRIC_FAILED, "sherd_handlers_failed", COUNTER, "", "", "S2", "SherdFailedHandlers", \
      "Handlers that ended with SHERD_FAIL.") \
    X(METRIC_ASKS, "sherd_asks_open", GAUGE, "", "", "S3", "", \
      "Open asks of actors of this node.") \
    X(METRIC_ASKS_LATE, "sherd_asks_timed_out", COUNTER, "", "stage", "S3", "SherdAsksTimedOut", \
      "Asks without an answer in time, by how far the message was known to have come.") \
    X(METRIC_HANDLERS, "sherd_handler_seconds", HISTOGRAM, "seconds", "type", "S2", "SherdHandlerTimes", \
      "Time of an entity's handler: one sample in about 64 messages, the mean of these.") \
    X(METRIC_JOBS, "sherd_jobs_open", GAUGE, "", "", "N5", "SherdJobs", \
      "Jobs whose end their actor has not got.") \
    X(METRIC_REFUSALS, "sherd_refusals", COUNTER, "", "what", "N9", "", \
      "Frames, messages, calls and values that this node did not accept, did not send, or refused at a limit.")

/* Entities, shards and coordinators. */
#define METRICS_SHARDING(X) \
    X(METRIC_ENTITIES, "sherd_entities", GAUGE, "", "type", "S4", "", \
      "Running entities of this node.") \
    X(METRIC_STARTS, "sherd_entity_starts", COUNTER, "", "type", "S4", "", \
      "Started incarnations of entities.") \
    X(METRIC_STOPS, "sherd_entity_stops", COUNTER, "", "type cause", "S4", "SherdEntitiesFail", \
      "Ended incarnations of entities.") \
    X(METRIC_ENTITY_BYTES, "sherd_entity_memory_bytes", GAUGE, "bytes", "", "N5", "", \
      "Memory of actors and entities: slots, tables and states.") \
    X(METRIC_RECOVERIES, "sherd_recoveries_waiting", GAUGE, "", "", "S5", "SherdRecoveries", \
      "Recoveries that wait for others.") \
    X(METRIC_SHARDS, "sherd_shards", GAUGE, "", "type state", "S6", "SherdShardsStarting", \
      "Shards of this node.") \
    X(METRIC_REGISTERED, "sherd_region_registered", GAUGE, "", "type", "S1", "SherdNotRegistered", \
      "1: the region is registered with a coordinator.") \
    X(METRIC_BUFFER, "sherd_region_buffer_ratio", GAUGE, "ratio", "type", "S7", "SherdRegionBuffer", \
      "Messages that wait in the region, of those that may; of the fullest lane.") \
    X(METRIC_COORDINATOR, "sherd_coordinator_active", GAUGE, "", "type", "S1", "SherdCoordinators", \
      "1: the coordinator is on this node, and active.") \
    X(METRIC_UNPLACED, "sherd_coordinator_unplaced_shards", GAUGE, "", "type", "S1", "SherdUnplacedShards", \
      "Wanted shards without a home, as the coordinator on this node knows.") \
    X(METRIC_HANDOFFS, "sherd_handoffs_open", GAUGE, "", "type", "S8", "", \
      "Open hand-offs of the coordinator on this node.")

/* Storage. */
#define METRICS_STORAGE(X) \
    X(METRIC_FENCED, "sherd_fenced_writes", COUNTER, "", "", "O5", "SherdFencedWrites", \
      "Writes that the journal refused because the shard has a newer owner.") \
    X(METRIC_EVENTS, "sherd_journal_events", COUNTER, "", "", "N7", "", \
      "Events that the journal stored for this node.") \
    X(METRIC_COMMITS, "sherd_journal_commit_seconds", HISTOGRAM, "seconds", "", "N7", "SherdSlowJournal", \
      "Appends of events, from the request to the result.") \
    X(METRIC_DDATA, "sherd_ddata_bytes", GAUGE, "bytes", "", "N8", "SherdDistributedData", \
      "Bytes of all values of distributed data, as sent.") \
    X(METRIC_DURABLE, "sherd_durable_failing", GAUGE, "", "", "N8", "SherdDurableFailing", \
      "1: durable keys cannot be stored or loaded.")

#define METRICS(X) \
    METRICS_NODE(X) \
    METRICS_CLUSTER(X) \
    METRICS_MESSAGES(X) \
    METRICS_SHARDING(X) \
    METRICS_STORAGE(X)

enum metric {
#define X(id, ...) id,
    METRICS(X)
#undef X
    METRIC_COUNT
};

enum metric_type { METRIC_GAUGE, METRIC_COUNTER, METRIC_INFO, METRIC_HISTOGRAM };

_Static_assert(METRIC_COUNT <= 60, "too many families of metrics");

#endif
