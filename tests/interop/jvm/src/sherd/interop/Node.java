package sherd.interop;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigFactory;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.List;
import java.util.stream.IntStream;
import ${toolkit}.actor.ActorRef;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.actor.Address;
import ${toolkit}.actor.AddressFromURIString;
import ${toolkit}.actor.ExtendedActorSystem;
import ${toolkit}.actor.Identify;
import ${toolkit}.actor.PoisonPill;
import ${toolkit}.actor.Props;
import ${toolkit}.cluster.Cluster;
import ${toolkit}.cluster.ClusterEvent;
import ${toolkit}.cluster.Member;
import ${toolkit}.cluster.ddata.DistributedData;
import ${toolkit}.cluster.ddata.GCounter;
import ${toolkit}.cluster.ddata.GCounterKey;
import ${toolkit}.cluster.ddata.Key;
import ${toolkit}.cluster.ddata.Replicator;
import ${toolkit}.pattern.Patterns;

/**
 * Runs a node of a cluster. It reads commands from standard input and prints events and answers to
 * standard output.
 *
 * <pre>
 * Node NAME KEY=VALUE...     name of the actor system, and settings below the toolkit's prefix
 *
 * status             prints: status self A leader A seen A,... members A/Status/reachable/uid ...
 * join A             joins the cluster of the node at this address
 * leave [A]          makes this node, or the node at this address, leave
 * down A             declares a member down
 * prepare            prepares the shutdown of the whole cluster
 * data ...           uses distributed data: see Data
 * remember ...       uses the stores of remembered entities: see Remembering
 * shard ...          uses the toolkit's own sharding: see Shards
 * service ...        uses the toolkit's other services: see Services
 * count MS           increments a counter of distributed data with WriteAll; prints: counted true,
 *                    or counted false after this time
 * text PATH TEXT     sends a String to the actor with this path; the sender is an actor whose name
 *                    is not a number
 * select PATH TEXT   sends a String through an ActorSelection, which may have patterns
 * query ...          see Queries
 * select ask PATH TEXT   asks in the same way; prints: answer TEXT
 * bytes PATH HEX     sends an array of bytes from the same actor
 * ask PATH TEXT      asks with a String; prints: answer TEXT
 * number PATH N SIZE sends a message with this number and this many bytes
 * numbers PATH N M   sends messages with the numbers N to M, without bytes
 * identify PATH      asks whether the actor exists; prints: identity PATH is PATH
 * watches PATH N     watches N actors whose paths begin with PATH
 * watch PATH         watches the actor with this path, which need not exist; unwatch PATH
 * poison PATH        stops the actor with this path
 * stop [stranger]    stops the node's own actor, or the actor whose name is not a number
 * </pre>
 *
 * Other lines: {@code event ...} of the cluster, {@code log LEVEL SOURCE: TEXT}, {@code got ...},
 * {@code terminated PATH}, {@code removed}. An address A is written "host:port". At the end of its
 * input, the process ends at once.
 */
public final class Node {
    private static final Duration ASK_PATIENCE = Duration.ofSeconds(20);
    private static final Key<GCounter> COUNTER = GCounterKey.create("counter");

    private final ActorSystem system;
    private final Cluster cluster;
    private final ActorRef echo;
    private final ActorRef stranger;
    private Data data; // null before the first use, as the next three
    private ActorRef remembering;
    private Shards shards;
    private Services services;

    private Node(String name, Config config) {
        system = ActorSystem.create(name, config);
        cluster = Cluster.get(system);
        echo = system.actorOf(Props.create(Echo.class), Echo.NAME);
        stranger = system.actorOf(Props.create(Echo.class), "stranger");
        ActorRef watcher = system.actorOf(Props.create(Events.class), "events");
        cluster.subscribe(watcher, ClusterEvent.initialStateAsEvents(), ClusterEvent.MemberEvent.class,
                ClusterEvent.ReachabilityEvent.class, ClusterEvent.DataCenterReachabilityEvent.class,
                ClusterEvent.LeaderChanged.class);
        if (config.hasPath("${prefix}.interop-manage")) {
            Managed.start(system);
        }
        cluster.registerOnMemberRemoved(() -> say("removed"));
        system.registerOnTermination(() -> say("ended"));
    }

    static synchronized void say(String line) {
        System.out.println(line.replace('\n', ' '));
        System.out.flush();
    }

    /** Returns "host:port". */
    static String place(Address address) {
        return address.host().getOrElse(() -> "") + ":" + address.port().getOrElse(() -> 0);
    }

    private Address address(String place) {
        Address self = cluster.selfAddress();
        return AddressFromURIString.parse(self.protocol() + "://" + self.system() + "@" + place);
    }

    /** Returns a reference to the path, without a check that the actor exists. */
    private ActorRef find(String path) {
        return ((ExtendedActorSystem) system).provider().resolveActorRef(path);
    }

    private Data data() {
        if (data == null) {
            data = new Data(system);
        }
        return data;
    }

    private void remember(String line) {
        String[] words = line.split(" ");
        if (words[1].equals("begin")) {
            remembering = ((ExtendedActorSystem) system).systemActorOf(
                    Props.create(Remembering.class, () -> new Remembering(words[2], words[3])), "sharding");
        } else {
            remembering.tell(line, ActorRef.noSender());
        }
    }

    private void shard(String line) {
        if (line.equals("shard begin")) {
            shards = new Shards(system);
        } else {
            shards.run(line);
        }
    }

    private void service(String line) {
        if (services == null) {
            services = new Services(system);
        }
        services.run(line);
    }

    private void select(String[] words) {
        if (words[1].equals("ask")) {
            Patterns.ask(system.actorSelection(words[2]), words[3], ASK_PATIENCE).whenComplete(
                    (answer, error) -> say("answer " + (error == null ? answer : error)));
        } else {
            system.actorSelection(words[1]).tell(words[2], stranger);
        }
    }

    private void count(Duration patience) {
        DistributedData data = DistributedData.get(system);
        Patterns.ask(data.replicator(), new Replicator.Update<>(COUNTER, GCounter.create(), new Replicator.WriteAll(patience),
                counter -> counter.increment(data.selfUniqueAddress(), 1)), ASK_PATIENCE).whenComplete(
                (answer, error) -> say("counted " + (answer instanceof Replicator.UpdateSuccess)));
    }

    private void status() {
        ClusterEvent.CurrentClusterState state = cluster.state();
        StringBuilder line = new StringBuilder("status self " + place(cluster.selfAddress()) + " leader "
                + (state.getLeader() == null ? "none" : place(state.getLeader())) + " seen ");
        List<String> seen = new ArrayList<>();
        state.getSeenBy().forEach(address -> seen.add(place(address)));
        line.append(seen.isEmpty() ? "none" : String.join(",", seen)).append(" members");
        for (Member member : state.getMembers()) {
            line.append(' ').append(place(member.address())).append('/').append(member.status()).append('/')
                    .append(state.getUnreachable().contains(member) ? 0 : 1).append('/')
                    .append(member.uniqueAddress().longUid());
        }
        say(line.toString());
    }

    private void run(String line) {
        String[] words = line.split(" ");
        String argument = words.length > 1 ? words[1] : "";
        switch (words[0]) {
            case "status" -> status();
            case "join" -> cluster.join(address(argument));
            case "leave" -> cluster.leave(argument.isEmpty() ? cluster.selfAddress() : address(argument));
            case "down" -> cluster.down(address(argument));
            case "prepare" -> cluster.prepareForFullClusterShutdown();
            case "data" -> data().run(line);
            case "remember" -> remember(line);
            case "shard" -> shard(line);
            case "service" -> service(line);
            case "select" -> select(words);
            case "query" -> Queries.run(system, words);
            case "count" -> count(Duration.ofMillis(Integer.parseInt(argument)));
            case "text" -> find(argument).tell(words[2], stranger);
            case "bytes" -> find(argument).tell(HexFormat.of().parseHex(words[2]), stranger);
            case "ask" -> Patterns.ask(find(argument), words[2], ASK_PATIENCE).whenComplete(
                    (answer, error) -> say("answer " + (error == null ? answer : error)));
            case "number" -> find(argument).tell(
                    new Numbered(Integer.parseInt(words[2]), Numbered.pattern(Integer.parseInt(words[3]))), echo);
            case "numbers" -> IntStream.rangeClosed(Integer.parseInt(words[2]), Integer.parseInt(words[3]))
                    .forEach(number -> find(argument).tell(new Numbered(number, new byte[0]), echo));
            case "identify" -> system.actorSelection(argument).tell(new Identify(argument), echo);
            case "watch" -> echo.tell(new Echo.Watch(find(argument), true), ActorRef.noSender());
            case "watches" -> IntStream.range(0, Integer.parseInt(words[2])).forEach(number ->
                    echo.tell(new Echo.Watch(find(argument + number), true), ActorRef.noSender()));
            case "unwatch" -> echo.tell(new Echo.Watch(find(argument), false), ActorRef.noSender());
            case "poison" -> find(argument).tell(PoisonPill.getInstance(), echo);
            case "stop" -> system.stop(argument.isEmpty() ? echo : stranger);
            default -> say("unknown command: " + line);
        }
    }

    public static void main(String[] args) throws IOException {
        StringBuilder settings = new StringBuilder();
        for (int i = 1; i < args.length; i++) {
            settings.append("${prefix}.").append(args[i]).append('\n');
        }
        Node node = new Node(args[0], ConfigFactory.parseString(settings.toString()).withFallback(ConfigFactory.load()));
        BufferedReader input = new BufferedReader(new InputStreamReader(System.in));
        for (String line = input.readLine(); line != null; line = input.readLine()) {
            try {
                node.run(line);
            } catch (RuntimeException error) {
                say("error " + error);
            }
        }
        Runtime.getRuntime().halt(0);
    }
}
