package sherd.interop;

import java.time.Duration;
import java.util.TreeMap;
import java.util.stream.Collectors;
import ${toolkit}.actor.ActorSystem;
import ${toolkit}.cluster.sharding.ShardRegion;
import ${toolkit}.pattern.Patterns;
import scala.concurrent.duration.FiniteDuration;

/**
 * Asks a region of another node about its shards, as the toolkit's own tools do. Commands are lines
 * that begin with "query"; PATH is the region's:
 *
 * <pre>
 * query state PATH    prints: state SHARD:ID,ID SHARD:ID failed N
 * query stats PATH    prints: stats SHARD:COUNT SHARD:COUNT failed N
 * query cluster PATH  prints: cluster A:COUNT A:COUNT, a sum for each region
 * query regions PATH  prints: regions A A
 * </pre>
 */
final class Queries {
    private static final Duration PATIENCE = Duration.ofSeconds(20);

    private Queries() {
    }

    private static String counts(ShardRegion.ShardRegionStats stats) {
        return new TreeMap<>(stats.getStats()).entrySet().stream().map(entry -> entry.getKey() + ":" + entry.getValue()).collect(
                Collectors.joining(" "));
    }

    private static String told(Object answer) {
        if (answer instanceof ShardRegion.CurrentShardRegionState state) {
            return "state " + state.getShards().stream().map(shard -> shard.shardId() + ":" + shard.getEntityIds().stream().sorted()
                    .collect(Collectors.joining(","))).sorted().collect(Collectors.joining(" ")) + " failed " + state.failed().size();
        }
        if (answer instanceof ShardRegion.ShardRegionStats stats) {
            return "stats " + counts(stats) + " failed " + stats.failed().size();
        }
        if (answer instanceof ShardRegion.ClusterShardingStats cluster) {
            return "cluster " + cluster.getRegions().entrySet().stream().map(entry -> Node.place(entry.getKey()) + ":"
                    + entry.getValue().getStats().values().stream().mapToInt(count -> (Integer) count).sum()).sorted().collect(
                            Collectors.joining(" "));
        }
        if (answer instanceof ShardRegion.CurrentRegions regions) {
            return "regions " + regions.getRegions().stream().map(Node::place).sorted().collect(Collectors.joining(" "));
        }
        return "query " + answer;
    }

    static void run(ActorSystem system, String[] words) {
        Object query = switch (words[1]) {
            case "state" -> ShardRegion.getShardRegionStateInstance();
            case "stats" -> ShardRegion.getRegionStatsInstance();
            case "cluster" -> new ShardRegion.GetClusterShardingStats(FiniteDuration.create(5, "s"));
            default -> ShardRegion.getCurrentRegionsInstance();
        };
        Patterns.ask(system.actorSelection(words[2]), query, PATIENCE).whenComplete(
                (answer, error) -> Node.say(error == null ? told(answer) : "query " + error));
    }
}
