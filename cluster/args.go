package cluster

import (
	"fmt"
	"maps"
	"slices"
	"time"
)

// extraArgs is the key of every component's overrides that holds flags.
const extraArgs = "extra_args"

// flags returns a component's flags as a sorted list of --name=value: defaults
// first, extra_args over them. A null removes a flag; a list gives the flag
// once for each element, in order.
func flags[V any](defaults map[string]V, overrides map[string]any) []string {
	all := make(map[string]any, len(defaults))
	for k, v := range defaults {
		all[k] = v
	}
	all = merge(all, section(overrides, extraArgs))
	out := []string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		values, isList := all[name].([]any)
		if !isList {
			values = []any{all[name]}
		}
		for _, v := range values {
			out = append(out, fmt.Sprintf("--%s=%s", name, flagText(v)))
		}
	}
	return out
}

func flagText(v any) string {
	switch v := v.(type) {
	case time.Duration:
		return shortDuration(v)
	case float64: // numbers that passed through JSON
		if v == float64(int64(v)) {
			return fmt.Sprint(int64(v))
		}
	}
	return fmt.Sprint(v)
}

// shortDuration formats a duration in the single unit that fits, which nginx, HAProxy
// and Go all parse: 500ms, 1s, 10m. Only Go parses its own form 10m0s.
func shortDuration(d time.Duration) string {
	switch {
	case d%time.Hour == 0 && d != 0:
		return fmt.Sprintf("%dh", d/time.Hour)
	case d%time.Minute == 0 && d != 0:
		return fmt.Sprintf("%dm", d/time.Minute)
	case d%time.Second == 0:
		return fmt.Sprintf("%ds", d/time.Second)
	default:
		return fmt.Sprintf("%dms", d/time.Millisecond)
	}
}
