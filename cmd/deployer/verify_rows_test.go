package main

import (
	"bytes"
	"strings"
	"testing"

	"deployer/tasks/control/report"
)

func TestPrintRows(t *testing.T) {
	node := func(host string) report.Row { return report.OK("node", host, "Ready") }
	for name, c := range map[string]struct {
		rows []report.Row
		want []string
	}{
		"a skipped check does not count": {
			rows: []report.Row{report.Skip("node", "old", "the node is not in the inventory"), node("m1"), node("m2")},
			want: []string{"node   ok 2 of 2, 1 skipped  Ready\n", "healthy: 2 checks passed, 1 skipped\n"},
		},
		"no checks": {
			rows: []report.Row{report.Skip("DNS outside", "", "no name was given")},
			want: []string{"DNS outside  skipped  no name was given\n", "healthy: 0 checks passed, 1 skipped\n"},
		},
		"problems": {
			rows: []report.Row{node("m1"), report.Bad("node", "m2", "not Ready").Advised("look at it"), report.Skip("node", "old", "unknown"), report.Bad("API", "", "no answer")},
			want: []string{"node   BAD 1 of 2, 1 skipped  Ready\n", "API    BAD 1 of 1             no answer\n",
				"BAD  m2  node: not Ready\n     look at it\n", "BAD  cluster  API: no answer\n", "not healthy: 2 of 3 checks found problems, 1 skipped\n"},
		},
	} {
		t.Run(name, func(t *testing.T) {
			var out bytes.Buffer
			if err := printRows(&out, c.rows); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("misses %q:\n%s", want, out.String())
				}
			}
		})
	}
}
