package sherd.interop;

import java.util.concurrent.CompletionStage;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.ClassicActorSystemProvider;

/** Starts the toolkit's management by HTTP. Its classes are found by name, because only Pekko's are on the class path. */
final class Managed {
    private Managed() {}

    static void start(ActorSystem system) {
        try {
            Class<?> type = Class.forName("${toolkit}.management.javadsl.PekkoManagement");
            Object management = type.getMethod("get", ClassicActorSystemProvider.class).invoke(null, system);
            CompletionStage<?> bound = (CompletionStage<?>) type.getMethod("start").invoke(management);
            bound.whenComplete((uri, failure) -> Node.say("managed " + (failure == null ? uri : failure)));
        } catch (ReflectiveOperationException failure) {
            throw new IllegalStateException(failure);
        }
    }
}
