import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.opensearch.common.settings.Settings;
import org.opensearch.node.InternalSettingsPreparer;
import org.opensearch.node.Node;
import org.opensearch.transport.Netty4Plugin;

/**
 * One OpenSearch node with HTTP, of the libraries alone: `TestNode FOLDER HTTP_PORT TRANSPORT_PORT`. The distribution has
 * more modules, and checks of the machine at its start, which a test on the loopback address does not need.
 */
final class TestNode extends Node {
    private TestNode(Settings settings) {
        super(
            InternalSettingsPreparer.prepareEnvironment(settings, Map.of(), null, () -> "test"),
            List.of(Netty4Plugin.class),
            false
        );
    }

    public static void main(String[] words) throws Exception {
        Settings settings = Settings.builder()
            .put("path.home", Path.of(words[0]).toString())
            .put("cluster.name", "test")
            .put("node.name", "test")
            .put("network.host", "127.0.0.1")
            .put("http.port", words[1])
            .put("transport.port", words[2])
            .put("http.type", "netty4")
            .put("transport.type", "netty4")
            .put("discovery.type", "single-node")
            .put("cluster.routing.allocation.disk.threshold_enabled", false)
            .put("node.store.allow_mmap", false)
            .build();
        TestNode node = new TestNode(settings);
        node.start();
        Thread.currentThread().join();
    }
}
