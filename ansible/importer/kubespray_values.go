package importer

import (
	"fmt"
	"slices"
	"strings"
)

func same(v any) (any, bool) { return v, true }

// version prefixes a version with v where Kubespray leaves that out.
func version(v any) (any, bool) { return "v" + strings.TrimPrefix(fmt.Sprint(v), "v"), true }

// milliseconds converts an interval of etcd, which is a number or text of milliseconds.
func milliseconds(v any) (any, bool) { return fmt.Sprintf("%vms", v), true }

func number(v any) (any, bool) {
	n, ok := pythonLiteral(fmt.Sprint(v)).v.(int)
	return n, ok
}

func boolean(v any) (any, bool) {
	b, ok := plain11(fmt.Sprint(v)).v.(bool)
	return b, ok
}

// alwaysOrNever converts the switch of Typha.
func alwaysOrNever(v any) (any, bool) {
	on, ok := boolean(v)
	return map[any]string{true: "always", false: "never"}[on], ok
}

// capitalized converts a word to Calico's spelling: warning to Warning.
func capitalized(v any) (any, bool) {
	word := fmt.Sprint(v)
	return strings.ToUpper(word[:1]) + strings.ToLower(word[1:]), true
}

func oneOf(allowed ...string) func(any) (any, bool) {
	return func(v any) (any, bool) { return v, slices.Contains(allowed, fmt.Sprint(v)) }
}

func sysctls(v any) (any, bool) {
	list, ok := v.([]any)
	out := map[string]any{}
	for _, e := range list {
		m, isMap := e.(map[string]any)
		if !isMap {
			return nil, false
		}
		out[fmt.Sprint(m["name"])] = fmt.Sprint(m["value"])
	}
	return out, ok
}

// mirrors converts [{prefix, mirrors: [{host, ...}]}] to a mapping from prefix to hosts.
func mirrors(v any) (any, bool) {
	list, ok := v.([]any)
	out := map[string]any{}
	for _, e := range list {
		m, _ := e.(map[string]any)
		var hosts []any
		all, _ := m["mirrors"].([]any)
		for _, mirror := range all {
			if h, isMap := mirror.(map[string]any); isMap {
				hosts = append(hosts, h["host"])
			}
		}
		if m["prefix"] == nil || hosts == nil {
			return nil, false
		}
		out[fmt.Sprint(m["prefix"])] = hosts
	}
	return out, ok
}

func commas(v any) (any, bool) {
	list, ok := v.([]any)
	var out []string
	for _, e := range list {
		out = append(out, fmt.Sprint(e))
	}
	return strings.Join(out, ","), ok
}

// proxyURL marks the URL of a proxy as a secret when it has a password.
func proxyURL(v any) (any, bool) {
	text := fmt.Sprint(v)
	if strings.Contains(text, "@") {
		return secret(text), true
	}
	return text, true
}

// split converts a text with commas to a list.
func split(v any) (any, bool) {
	if list, ok := v.([]any); ok {
		return list, true
	}
	var out []any
	for part := range strings.SplitSeq(fmt.Sprint(v), ",") {
		if part = strings.TrimSpace(part); part != "" {
			out = append(out, part)
		}
	}
	return out, true
}
