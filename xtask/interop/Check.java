import com.google.common.hash.Funnels;
import java.io.BufferedReader;
import java.io.ByteArrayInputStream;
import java.io.DataInputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.function.Predicate;
import org.apache.datasketches.memory.Memory;
import org.apache.hadoop.util.bloom.Key;
import org.apache.hive.common.util.BloomKFilter;
import org.apache.orc.OrcFile;
import org.apache.orc.OrcProto;
import org.apache.orc.TypeDescription;
import org.apache.orc.util.BloomFilterIO;
import org.apache.parquet.column.values.bloomfilter.BlockSplitBloomFilter;
import org.apache.parquet.io.api.Binary;

/** Opens a filter by the library that the format belongs to, and prints the queries on stdin that it finds. */
class Check {
    public static void main(String[] args) throws Exception {
        byte[] bytes = Files.readAllBytes(Path.of(args[1]));
        Predicate<String> filter = open(args[0], bytes);
        var in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        var out = new PrintStream(System.out, false, StandardCharsets.UTF_8);
        for (String key; (key = in.readLine()) != null; ) {
            if (filter.test(key)) {
                out.println(key);
            }
        }
        out.flush();
    }

    static byte[] utf8(String key) {
        return key.getBytes(StandardCharsets.UTF_8);
    }

    static Predicate<String> open(String format, byte[] bytes) throws Exception {
        var in = new ByteArrayInputStream(bytes);
        switch (format) {
            case "guava": {
                var funnel = Funnels.stringFunnel(StandardCharsets.UTF_8);
                return com.google.common.hash.BloomFilter.readFrom(in, funnel)::mightContain;
            }
            case "spark":
                return org.apache.spark.util.sketch.BloomFilter.readFrom(in)::mightContainString;
            case "datasketches": {
                var memory = Memory.wrap(bytes);
                return org.apache.datasketches.filters.bloomfilter.BloomFilter.heapify(memory)::query;
            }
            case "hadoop": {
                var filter = new org.apache.hadoop.util.bloom.BloomFilter();
                filter.readFields(new DataInputStream(in));
                return key -> filter.membershipTest(new Key(utf8(key)));
            }
            case "hive":
                return BloomKFilter.deserialize(in)::testString;
            case "orc": {
                var message = OrcProto.BloomFilter.parseFrom(bytes);
                var encoding = OrcProto.ColumnEncoding.newBuilder().setKind(OrcProto.ColumnEncoding.Kind.DIRECT_V2).setBloomEncoding(1);
                var filter = BloomFilterIO.deserialize(OrcProto.Stream.Kind.BLOOM_FILTER_UTF8, encoding.build(),
                        OrcFile.WriterVersion.ORC_135, TypeDescription.Category.STRING, message);
                return filter::testString;
            }
            case "parquet": {
                // What stands behind the header is whole blocks, a power of two of them.
                int size = Integer.highestOneBit(bytes.length);
                byte[] bitset = java.util.Arrays.copyOfRange(bytes, bytes.length - size, bytes.length);
                var filter = new BlockSplitBloomFilter(bitset);
                return key -> filter.findHash(filter.hash(Binary.fromString(key)));
            }
            default:
                throw new IllegalArgumentException(format);
        }
    }
}
