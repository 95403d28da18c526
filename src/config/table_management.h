/* Lists the keys of the management by HTTP, with the macros of table.c. Akka's have the defaults of
 * Akka Management 1.1.4 and Pekko Management 1.1.1, but TCP is off unless hostname or port is set. */
#ifndef SHERD_CONFIG_TABLE_MANAGEMENT_H
#define SHERD_CONFIG_TABLE_MANAGEMENT_H

#define MANAGEMENT_ROUTES(name, what) \
    TEXT("management.http.routes." name, "on", YES, what "; empty or null: they are left out; any other text is on")

#define MANAGEMENT_CHECK(name, what) \
    TEXT("management.health-checks.readiness-checks." name, "on", YES, what "; empty or null: not asked")

#define MANAGEMENT_ROWS \
    SPAN_MS("cluster.sharding.healthcheck.disabled-after", "off", OFF, YES, \
            "types are not awaited any more when the node has been up for this time; 10 s in Pekko's later releases") \
    TEXT("management.http.hostname", "", YES, "a name or a port opens TCP: address that it listens on and is known by; `127.0.0.1` if only the port is set") \
    COUNT("management.http.port", "default", "default", 0, 65535, YES, "port of TCP; 0: any; `default`: 8558, with Pekko's protocol 7626") \
    TEXT("management.http.bind-hostname", "", YES, "address to listen on instead; `0.0.0.0`: all") \
    COUNT("management.http.bind-port", "", "|", 0, 65535, YES, "port to listen on instead; 0: any") \
    TEXT("management.http.base-path", "", YES, "prefix of all paths") \
    MANAGEMENT_ROUTES("cluster-management", "paths below `/cluster`") \
    MANAGEMENT_ROUTES("cluster-bootstrap", "`/bootstrap/seed-nodes`") \
    MANAGEMENT_ROUTES("health-checks", "the health checks") \
    MANAGEMENT_ROUTES("loglevels", "`/loglevel`") \
    SWITCH("management.http.route-providers-read-only", "on", YES, "on: TCP refuses to change anything") \
    TEXT("management.health-checks.startup-path", "startup", YES, "path of the check that the node was ready once") \
    TEXT("management.health-checks.readiness-path", "ready", YES, "path of the check that the node is ready") \
    TEXT("management.health-checks.liveness-path", "alive", YES, "path of the check that the node runs") \
    SPAN_MS("management.health-checks.check-timeout", "1 s", NULL, NOT_YET, "checks read stored facts, so they take no time") \
    MANAGEMENT_CHECK("cluster-membership", "ready only in `ready-states`") \
    MANAGEMENT_CHECK("sharding", "ready only when the types of `cluster.sharding.healthcheck.names` have registered") \
    LIST("management.cluster.health-check.ready-states", "[\"Up\", \"WeaklyUp\"]", YES, "statuses of a member that is ready") \
    TEXT("management.socket", "auto", YES, "path of the Unix socket; `auto`: in the runtime folder of the user; `off`: none") \
    TEXT("management.http.tokens-file", "", YES, "file with a line `ROLE SHA256 NAME` for each token, mode 0600 or 0400") \
    CHOICE("management.http.tls", "auto", "auto|off|own", YES, \
           "`auto`: the certificate of the nodes, if these talk by TLS; `own`: the next three files") \
    TEXT("management.http.certificate", "", YES, "PEM file, with the certificates up to the CA") \
    TEXT("management.http.key", "", YES, "PEM file with its key") \
    TEXT("management.http.client-ca", "", YES, "PEM file of the CAs of clients") \
    TEXT("management.http.client-crl", "", YES, "PEM file of these CAs' revocation lists; empty: no check") \
    LIST("management.http.client-roles", "[]", YES, "`CN = ROLE`: rights of client certificates, such as `CN=ops = operate`") \
    SWITCH("management.dashboard", "on", YES, "on: browsers get a page at `/`, which shows what the caller may read") \
    LIST("management.http.allowed-hosts", "[]", YES, "further names that requests may give as their host") \
    SWITCH("management.http.open-read", "off", YES, "on: everybody may read, also from other hosts") \
    COUNT("management.http.connections", "64", NULL, 1, 1024, YES, "connections at a time, on TCP and on the socket") \
    COUNT("management.http.streams", "16", NULL, 1, 256, YES, "streams of events at a time")

#endif
