package componentconfig

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"deployer/cluster"
)

// valueTypes maps the flags of a program whose values are no texts to their types, such as
// int64; nil when there is no table for the version.
func valueTypes(program, version string) map[string]string {
	parts := strings.SplitN(version, ".", 3)
	if len(parts) < 2 {
		return nil
	}
	raw, err := flagTables.ReadFile(fmt.Sprintf("flags/%s-%s.%s-types.txt", program, parts[0], parts[1]))
	if err != nil {
		return nil
	}
	types := map[string]string{}
	for line := range strings.Lines(string(raw)) {
		if name, kind, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			types[name] = kind
		}
	}
	return types
}

// etcdChoices are the values of etcd's flags that take one of a few texts, and without one of
// which etcd does not start (server/embed/config.go: Validate; client/pkg/logutil;
// client/pkg/tlsutil/versions.go).
var etcdChoices = map[string][]string{
	"auto-compaction-mode": {"periodic", "revision"},
	"log-format":           {"json", "console"},
	"log-level":            {"debug", "info", "warn", "error", "dpanic", "panic", "fatal"},
	"tls-max-version":      {"", "TLS1.2", "TLS1.3"},
	"tls-min-version":      {"", "TLS1.2", "TLS1.3"},
}

// wrongValue returns the reason why the value of a flag is wrong; empty when no
// reason is known. given is false for a flag without a value.
func wrongValue(program string, types map[string]string, name, value string, given bool) string {
	if choices := etcdChoices[name]; program == "etcd" && choices != nil && !slices.Contains(choices, value) {
		return "is not one of " + strings.Join(slices.DeleteFunc(slices.Clone(choices), func(c string) bool { return c == "" }), ", ")
	}
	kind := types[name]
	if kind == "bool" && !given {
		return ""
	}
	number, err := parseFlag(kind, value)
	if quota, isInt := number.(int64); program == "etcd" && name == "quota-backend-bytes" && isInt && err == nil && (quota < 0 || quota > cluster.MaxEtcdQuota) {
		return "is not from 0 to " + strconv.Itoa(cluster.MaxEtcdQuota)
	}
	if err != nil {
		return map[string]string{
			"bool": "is not true or false", "duration": "is not a duration such as 500ms or 2h",
			"int": "is not a whole number", "int32": "is not a whole number", "int64": "is not a whole number", "float": "is not a number",
			"uint": "is not a whole number of at least 0", "uint32": "is not a whole number from 0 to 4294967295", "uint64": "is not a whole number of at least 0",
		}[kind]
	}
	return ""
}

// parseFlag parses the value of a flag as package flag does. Any value of an unknown type is
// right.
func parseFlag(kind, value string) (any, error) {
	switch kind {
	case "bool":
		return strconv.ParseBool(value)
	case "duration":
		return time.ParseDuration(value)
	case "int", "int64":
		return strconv.ParseInt(value, 0, 64)
	case "int32":
		return strconv.ParseInt(value, 0, 32)
	case "float":
		return strconv.ParseFloat(value, 64)
	case "uint", "uint64":
		return strconv.ParseUint(value, 0, 64)
	case "uint32":
		return strconv.ParseUint(value, 0, 32)
	}
	return value, nil
}
