package main

import (
	"bytes"
	"strings"
	"testing"
)

func TestDocListsInternalModulesOnlyWithAll(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		args     []string
		internal bool
	}{
		{[]string{"doc"}, false},
		{[]string{"doc", "--all"}, true},
	} {
		var out, problems bytes.Buffer
		if code := run(t.Context(), tt.args, strings.NewReader(""), &out, &problems); code != 0 {
			t.Fatalf("%v: exit code %d: %s", tt.args, code, &problems)
		}
		for name, want := range map[string]bool{"text_block": true, "script": true, "script_run": tt.internal, "ca_load": tt.internal} {
			if got := strings.Contains(out.String(), "\n"+name+" "); got != want {
				t.Errorf("%v: %s is listed: %v, want %v", tt.args, name, got, want)
			}
		}
	}
}
