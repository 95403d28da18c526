package sherd.interop;

import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashSet;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.CompletionStage;
import ${toolkit}.actor.AbstractActor;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.cluster.ddata.Replicator;
import ${toolkit}.cluster.ddata.ReplicatorSettings;
import ${toolkit}.cluster.sharding.ClusterShardingSettings;
import ${toolkit}.cluster.sharding.internal.DDataRememberEntitiesCoordinatorStore;
import ${toolkit}.cluster.sharding.internal.DDataRememberEntitiesShardStore;
import ${toolkit}.cluster.sharding.internal.RememberEntitiesCoordinatorStore;
import ${toolkit}.cluster.sharding.internal.RememberEntitiesShardStore;
import ${toolkit}.pattern.Patterns;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Runs the toolkit's own stores of remembered entities, without a region. They use a replicator at
 * sharding's path, /system/sharding/ROLEReplicator. Commands are lines that begin with "remember":
 *
 * <pre>
 * remember begin ROLE PLACE             starts the replicator for members with ROLE (-: for all
 *                                       members) at the path of PLACE
 * remember TAG shards TYPE              prints all shards that ever started: data TAG shards A,B
 * remember TAG addshard TYPE SHARD      adds a shard; prints: data TAG stored
 * remember TAG load TYPE SHARD          prints the entities: data TAG entities A,B
 * remember TAG change TYPE SHARD +A,-B  starts A and stops B; prints: data TAG stored
 * remember TAG get KEY LEVEL, keys ...  as the commands in Data
 * </pre>
 */
final class Remembering extends AbstractActor {
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final int MAJORITY_MIN = 5;

    private final ActorRef replicator;
    private final Data data;
    private final ClusterShardingSettings settings;

    Remembering(String role, String place) {
        var config = getContext().getSystem().settings().config().getConfig("${prefix}.cluster.sharding.distributed-data");
        ReplicatorSettings of = ReplicatorSettings.apply(config);
        replicator = getContext().actorOf(Replicator.props(role.equals("-") ? of : of.withRole(role)),
                URLEncoder.encode(place, StandardCharsets.UTF_8) + "Replicator");
        data = new Data(getContext().getSystem(), replicator);
        settings = ClusterShardingSettings.create(getContext().getSystem());
    }

    @Override
    public Receive createReceive() {
        return receiveBuilder().match(String.class, this::run).build();
    }

    private static String list(scala.collection.immutable.Set<String> items) {
        Set<String> sorted = new TreeSet<>(CollectionConverters.asJava(items));
        return sorted.isEmpty() ? "none" : String.join(",", sorted);
    }

    private static String result(Object answer) {
        if (answer instanceof RememberEntitiesShardStore.RememberedEntities found) {
            return "entities " + list(found.entities());
        }
        if (answer instanceof RememberEntitiesCoordinatorStore.RememberedShards found) {
            return "shards " + list(found.entities());
        }
        return answer instanceof RememberEntitiesShardStore.UpdateDone || answer instanceof RememberEntitiesCoordinatorStore.UpdateDone
                ? "stored" : answer.toString();
    }

    private void tell(String tag, ActorRef store, CompletionStage<Object> answer) {
        var system = getContext().getSystem();
        answer.whenComplete((result, error) -> {
            Node.say("data " + tag + " " + (error == null ? result(result) : error));
            system.stop(store);
        });
    }

    private static scala.collection.immutable.Set<String> those(String sign, String changes) {
        Set<String> ids = new HashSet<>();
        Arrays.stream(changes.split(",")).filter(change -> change.startsWith(sign)).forEach(change -> ids.add(change.substring(1)));
        return CollectionConverters.asScala(ids).toSet();
    }

    private ActorRef shardStore(String type, String shard) {
        return getContext().actorOf(DDataRememberEntitiesShardStore.props(shard, type, settings, replicator, MAJORITY_MIN));
    }

    private ActorRef coordinatorStore(String type) {
        return getContext().actorOf(DDataRememberEntitiesCoordinatorStore.props(type, settings, replicator, MAJORITY_MIN));
    }

    private void run(String line) {
        String[] words = line.split(" ", 6);
        switch (words[2]) {
            case "shards" -> {
                ActorRef store = coordinatorStore(words[3]);
                tell(words[1], store, Patterns.ask(store, RememberEntitiesCoordinatorStore.GetShards$.MODULE$, PATIENCE));
            }
            case "addshard" -> {
                ActorRef store = coordinatorStore(words[3]);
                tell(words[1], store, Patterns.ask(store, new RememberEntitiesCoordinatorStore.AddShard(words[4]), PATIENCE));
            }
            case "load" -> {
                ActorRef store = shardStore(words[3], words[4]);
                tell(words[1], store, Patterns.ask(store, RememberEntitiesShardStore.GetEntities$.MODULE$, PATIENCE));
            }
            case "change" -> {
                ActorRef store = shardStore(words[3], words[4]);
                var change = new RememberEntitiesShardStore.Update(those("+", words[5]), those("-", words[5]));
                tell(words[1], store, Patterns.ask(store, RememberEntitiesShardStore.GetEntities$.MODULE$, PATIENCE)
                        .thenCompose(found -> Patterns.ask(store, change, PATIENCE)));
            }
            default -> data.run(line);
        }
    }
}
