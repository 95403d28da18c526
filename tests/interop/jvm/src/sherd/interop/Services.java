package sherd.interop;

import java.util.HashMap;
import java.util.Map;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.PoisonPill;
import ${toolkit}.actor.Props;
import ${toolkit}.actor.typed.javadsl.Adapter;
import ${toolkit}.actor.typed.receptionist.Receptionist;
import ${toolkit}.actor.typed.receptionist.ServiceKey;
import ${toolkit}.cluster.client.ClusterClientReceptionist;
import ${toolkit}.cluster.ddata.DistributedData;
import ${toolkit}.cluster.pubsub.DistributedPubSub;
import ${toolkit}.cluster.pubsub.DistributedPubSubMediator;
import ${toolkit}.cluster.singleton.ClusterSingletonManager;
import ${toolkit}.cluster.singleton.ClusterSingletonManagerSettings;
import ${toolkit}.cluster.singleton.ClusterSingletonProxy;
import ${toolkit}.cluster.singleton.ClusterSingletonProxySettings;

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
 * service publish TEXT   publishes a String to all mediators
 * </pre>
 */
@SuppressWarnings("deprecation") // the receptionist of cluster clients, which clusters still use
final class Services {
    private static final String TOPIC = "news";

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

    void run(String line) {
        String[] words = line.split(" ");
        switch (words[1]) {
            case "begin" -> begin();
            case "single" -> single(words[2]);
            case "to" -> proxy.tell(words[2], ActorRef.noSender());
            case "register" -> register(words[2]);
            case "publish" -> DistributedPubSub.get(system).mediator().tell(
                    new DistributedPubSubMediator.Publish(TOPIC, words[2]), ActorRef.noSender());
            default -> Node.say("unknown command: " + line);
        }
    }
}
