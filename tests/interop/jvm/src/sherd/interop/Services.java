package sherd.interop;

import java.time.Duration;
import java.util.HashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.ExtendedActorSystem;
import ${toolkit}.actor.PoisonPill;
import ${toolkit}.actor.Props;
import ${toolkit}.actor.typed.javadsl.Adapter;
import ${toolkit}.actor.typed.receptionist.Receptionist;
import ${toolkit}.actor.typed.receptionist.ServiceKey;
import ${toolkit}.cluster.Cluster;
import ${toolkit}.cluster.client.ClusterClientReceptionist;
import ${toolkit}.cluster.ddata.DistributedData;
import ${toolkit}.cluster.ddata.ORMultiMapKey;
import ${toolkit}.cluster.ddata.RemovedNodePruning;
import ${toolkit}.cluster.ddata.Replicator;
import ${toolkit}.cluster.pubsub.DistributedPubSub;
import ${toolkit}.cluster.pubsub.DistributedPubSubMediator;
import ${toolkit}.cluster.singleton.ClusterSingletonManager;
import ${toolkit}.cluster.singleton.ClusterSingletonManagerSettings;
import ${toolkit}.cluster.singleton.ClusterSingletonProxy;
import ${toolkit}.cluster.singleton.ClusterSingletonProxySettings;
import ${toolkit}.pattern.Patterns;
import scala.jdk.javaapi.CollectionConverters;

/**
 * Uses the services that a cluster of the toolkit has beside sharding. Commands are lines that begin
 * with "service":
 *
 * <pre>
 * service begin          starts the pub-sub mediator, the receptionists of cluster clients and of typed
 *                        actors, and distributed data
 * service single ROLE    starts the manager of a singleton with this role ("-": any), and its proxy
 * service to TEXT        sends a String to the singleton
 * service register NAME  registers an actor with the receptionist of typed actors
 * service replicas       prints the nodes that have data in the replicator of that receptionist:
 *                        service replicas A,A or none
 * service publish TEXT   publishes a String to all mediators
 * </pre>
 */
@SuppressWarnings("deprecation") // the receptionist of cluster clients, which clusters still use
final class Services {
    private static final String TOPIC = "news";
    private static final int KEYS = 5; // distributed-key-count
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private final ActorSystem system;
    private final Map<String, ActorRef> actors = new HashMap<>();
    private ActorRef proxy;

    Services(ActorSystem system) {
        this.system = system;
    }

    private ActorRef actor(String name) {
        return actors.computeIfAbsent(name, key -> system.actorOf(Props.create(Echo.class), key));
    }

    private void begin() {
        ActorRef subscriber = actor("subscriber");
        DistributedPubSub.get(system).mediator().tell(new DistributedPubSubMediator.Subscribe(TOPIC, subscriber), subscriber);
        ClusterClientReceptionist.get(system).registerService(actor("client"));
        DistributedData.get(system);
        register("any");
    }

    private void single(String role) {
        ClusterSingletonManagerSettings manager = ClusterSingletonManagerSettings.create(system);
        ClusterSingletonProxySettings settings = ClusterSingletonProxySettings.create(system);
        if (!role.equals("-")) {
            manager = manager.withRole(role);
            settings = settings.withRole(role);
        }
        system.actorOf(ClusterSingletonManager.props(Props.create(Echo.class), PoisonPill.getInstance(), manager), "single");
        proxy = system.actorOf(ClusterSingletonProxy.props("/user/single", settings), "proxy");
    }

    private void register(String name) {
        Adapter.toTyped(system).receptionist().tell(
                Receptionist.register(ServiceKey.create(Object.class, name), Adapter.<Object>toTyped(actor(name))));
    }

    /** Asks for all keys of the receptionist, one after the other, and prints the nodes at the end. */
    private void replicas(int number, Set<String> places) {
        if (number == KEYS) {
            Node.say("service replicas " + (places.isEmpty() ? "none" : String.join(",", places)));
            return;
        }
        ActorRef replicator = ((ExtendedActorSystem) system).provider().resolveActorRef(
                Cluster.get(system).selfAddress() + "/system/clusterReceptionist/replicator");
        Patterns.ask(replicator, new Replicator.Get<>(ORMultiMapKey.create("ReceptionistKey_" + number), Replicator.readLocal()),
                PATIENCE).whenComplete((answer, error) -> {
                    if (answer instanceof Replicator.GetSuccess<?> found && found.dataValue() instanceof RemovedNodePruning data) {
                        CollectionConverters.asJava(data.modifiedByNodes()).forEach(node -> places.add(Node.place(node.address())));
                    }
                    replicas(number + 1, places);
                });
    }

    void run(String line) {
        String[] words = line.split(" ");
        switch (words[1]) {
            case "begin" -> begin();
            case "single" -> single(words[2]);
            case "to" -> proxy.tell(words[2], ActorRef.noSender());
            case "register" -> register(words[2]);
            case "replicas" -> replicas(0, new TreeSet<>());
            case "publish" -> DistributedPubSub.get(system).mediator().tell(
                    new DistributedPubSubMediator.Publish(TOPIC, words[2]), ActorRef.noSender());
            default -> Node.say("unknown command: " + line);
        }
    }
}
