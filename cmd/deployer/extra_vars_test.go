package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestExtraVars(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "vars.yaml")
	if err := os.WriteFile(file, []byte("release: v2\nports: [80, 443]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	got, err := extraVars([]string{"release=1.10", "replicas=3", "debug=true", "zip=0123", "equal=a=b", "@" + file, "{nested: {a: 1}}"})
	if err != nil {
		t.Fatal(err)
	}
	want := map[string]any{"release": "v2", "replicas": 3, "debug": true, "zip": "0123", "equal": "a=b", "ports": []any{80, 443}, "nested": map[string]any{"a": 1}}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if got, _ := extraVars([]string{"release=1.10"}); got["release"] != "1.10" {
		t.Errorf("a version is %v, want it as text", got["release"])
	}
	for arg, want := range map[string]string{
		"release":        "none of NAME=VALUE",
		"=x":             "none of NAME=VALUE",
		"@/nowhere":      "no such file",
		"{a: [}":         "--extra-vars:1:",
		"{a: 1, a: 2}":   "twice",
		"@" + file + "x": "no such file",
	} {
		if _, err := extraVars([]string{arg}); err == nil || !strings.Contains(err.Error(), want) || exitCode(err) != exitUsage {
			t.Errorf("%s: error %v, want %q", arg, err, want)
		}
	}
}
