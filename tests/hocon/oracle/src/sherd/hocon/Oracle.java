package sherd.hocon;

import com.typesafe.config.Config;
import com.typesafe.config.ConfigException;
import com.typesafe.config.ConfigFactory;
import com.typesafe.config.ConfigList;
import com.typesafe.config.ConfigObject;
import com.typesafe.config.ConfigParseOptions;
import com.typesafe.config.ConfigValue;
import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;

/**
 * Prints what a configuration file means to lightbend/config: reads names of files from the standard
 * input, and writes one line for each, the resolved tree or the error.
 */
final class Oracle {
    private Oracle() {}

    /** One character for each byte, so that texts sort by their bytes. */
    private static String bytes(String text) {
        return new String(text.getBytes(StandardCharsets.UTF_8), StandardCharsets.ISO_8859_1);
    }

    private static void putText(StringBuilder out, String bytes) {
        out.append('"');
        for (char c : bytes.toCharArray()) {
            if (c < ' ' || c == '"' || c == '\\') out.append(String.format("\\x%02x", (int) c));
            else out.append(c);
        }
        out.append('"');
    }

    private static void putObject(StringBuilder out, ConfigObject object) {
        List<String> names = new ArrayList<>();
        for (String name : object.keySet()) names.add(bytes(name));
        Collections.sort(names);
        out.append('{');
        String between = "";
        for (String name : names) {
            out.append(between);
            putText(out, name);
            out.append(": ");
            put(out, object.get(new String(name.getBytes(StandardCharsets.ISO_8859_1), StandardCharsets.UTF_8)));
            between = ", ";
        }
        out.append('}');
    }

    private static void put(StringBuilder out, ConfigValue value) {
        switch (value.valueType()) {
            case OBJECT:
                putObject(out, (ConfigObject) value);
                break;
            case LIST:
                out.append('[');
                String between = "";
                for (ConfigValue item : (ConfigList) value) {
                    out.append(between);
                    put(out, item);
                    between = ", ";
                }
                out.append(']');
                break;
            case NULL:
                out.append("null");
                break;
            default:
                putText(out, bytes(value.atKey("x").getString("x")));
        }
    }

    private static String print(String path) {
        try {
            Config config = ConfigFactory.parseFile(new File(path), ConfigParseOptions.defaults().setAllowMissing(false));
            StringBuilder out = new StringBuilder();
            putObject(out, config.resolve().root());
            return out.toString();
        } catch (ConfigException | StackOverflowError e) {
            return "error: " + e.toString().replace('\n', ' ').replace('\r', ' ');
        }
    }

    public static void main(String[] arguments) throws IOException {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        PrintStream out = new PrintStream(System.out, false, StandardCharsets.ISO_8859_1);
        for (String path = in.readLine(); path != null; path = in.readLine()) out.print(print(path) + "\n");
        out.flush();
    }
}
