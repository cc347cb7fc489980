import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import com.fasterxml.jackson.databind.node.ArrayNode;
import com.fasterxml.jackson.databind.node.ObjectNode;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.time.Instant;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.header.Header;
import org.apache.kafka.common.header.internals.RecordHeader;
import org.apache.kafka.common.serialization.ByteArrayDeserializer;
import org.apache.kafka.common.serialization.ByteArraySerializer;

/**
 * Java's own client, for tests of what other languages write and read. Records are lines of JSON with bytes in base64:
 * `produce BROKERS TOPIC` reads them from the input, `consume BROKERS TOPIC COUNT` writes the first COUNT of the topic.
 */
public class JavaClient {
    static final ObjectMapper JSON = new ObjectMapper();
    static final Duration POLL = Duration.ofMillis(100);
    /** A reader gives up when no record comes for so long. */
    static final Duration PATIENCE = Duration.ofSeconds(60);

    public static void main(String[] words) throws Exception {
        switch (words[0]) {
            case "produce" -> produce(words[1], words[2]);
            case "consume" -> consume(words[1], words[2], Integer.parseInt(words[3]));
            default -> throw new IllegalArgumentException("unknown command " + words[0]);
        }
    }

    static void produce(String brokers, String topic) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "acks", "all");
        try (var input = new BufferedReader(new InputStreamReader(System.in));
            var producer = new KafkaProducer<>(settings, new ByteArraySerializer(), new ByteArraySerializer())) {
            for (String line = input.readLine(); line != null; line = input.readLine())
                producer.send(read(topic, JSON.readTree(line))).get();
        }
    }

    static void consume(String brokers, String topic, int count) throws Exception {
        Map<String, Object> settings = Map.of("bootstrap.servers", brokers, "enable.auto.commit", "false");
        try (var consumer = new KafkaConsumer<>(settings, new ByteArrayDeserializer(), new ByteArrayDeserializer())) {
            int partitions = consumer.partitionsFor(topic).size();
            List<TopicPartition> all = IntStream.range(0, partitions).mapToObj(p -> new TopicPartition(topic, p)).toList();
            consumer.assign(all);
            consumer.seekToBeginning(all);
            Instant lastAt = Instant.now();
            for (int seen = 0; seen < count; ) {
                if (lastAt.plus(PATIENCE).isBefore(Instant.now()))
                    throw new IllegalStateException("the topic has only " + seen + " of " + count + " records");
                for (ConsumerRecord<byte[], byte[]> each : consumer.poll(POLL)) {
                    System.out.println(write(each));
                    seen++;
                    lastAt = Instant.now();
                }
            }
        }
    }

    static ProducerRecord<byte[], byte[]> read(String topic, JsonNode line) throws Exception {
        var partition = line.path("partition").isInt() ? (Integer) line.get("partition").asInt() : null;
        var timestamp = line.path("timestamp").isNumber() ? (Long) line.get("timestamp").asLong() : null;
        var produced = new ProducerRecord<>(topic, partition, timestamp, bytes(line.get("key")), bytes(line.get("value")));
        for (JsonNode header : line.withArray("headers"))
            produced.headers().add(new RecordHeader(header.get(0).asText(), bytes(header.get(1))));
        return produced;
    }

    static ObjectNode write(ConsumerRecord<byte[], byte[]> consumed) {
        ObjectNode line = JSON.createObjectNode();
        line.put("partition", consumed.partition()).put("timestamp", consumed.timestamp());
        line.put("key", consumed.key()).put("value", consumed.value());
        ArrayNode headers = line.putArray("headers");
        for (Header header : consumed.headers()) headers.addArray().add(header.key()).add(header.value());
        return line;
    }

    static byte[] bytes(JsonNode text) throws Exception {
        return text == null || text.isNull() ? null : text.binaryValue();
    }
}
