package sherd.interop;

import ${toolkit}.actor.AbstractActor;
import ${toolkit}.event.Logging;

/**
 * The logger. Prints a line for each event: log LEVEL SOURCE: TEXT, and the exception if there is
 * one. Prints debug events only of the replicator and of compression tables.
 */
final class Lines extends AbstractActor {
    private static void say(String level, Logging.LogEvent event, Throwable thrown) {
        Node.say("log " + level + " " + event.logSource() + ": " + event.message() + (thrown == null ? "" : " " + thrown));
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder()
                .match(Logging.InitializeLogger.class,
                        start -> getSender().tell(Logging.loggerInitialized(), getSelf()))
                .match(Logging.Error.class, event -> say("ERROR", event, event.cause()))
                .match(Logging.Warning.class, event -> say("WARNING", event, null))
                .match(Logging.Debug.class, event -> {
                    if (event.logSource().contains("Replicator")
                            || String.valueOf(event.message()).contains("compression table")) {
                        say("DEBUG", event, null);
                    }
                })
                .match(Logging.LogEvent.class, event -> say("INFO", event, null))
                .build();
    }
}
