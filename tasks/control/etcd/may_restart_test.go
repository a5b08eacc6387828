package etcd

import (
	"strings"
	"testing"
	"time"
)

// TestMayRestart checks that the action of a host whose member serves waits for the others,
// that of a member that is down does not, and a dry run asks nobody.
func TestMayRestart(t *testing.T) {
	for name, c := range map[string]struct {
		host  string
		down  []string
		check bool
		want  string
	}{
		"all serve":           {host: "m2"},
		"another is down":     {"m2", []string{"m1"}, false, "etcd of m2 is not changed: timeout after 600ms: member m1 does not serve: without m2 only 1 of 3"},
		"in a dry run":        {"m2", []string{"m1"}, true, ""},
		"its own is down":     {host: "m1", down: []string{"m1"}},
		"no majority is left": {host: "m3", down: []string{"m1", "m2"}},
	} {
		f := newFake("m1", "m2", "m3")
		for _, host := range c.down {
			f.up[host] = false
		}
		s := run(t, f, c.host, nil)
		s.Check = c.check
		_, err := (&MayRestart{Timeout: 600 * time.Millisecond}).Check(t.Context(), s)
		if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want %q", name, err, c.want)
		}
	}
}

// TestRestartWaitsForTheQuorum checks that the wait ends when the missing member is back.
func TestRestartWaitsForTheQuorum(t *testing.T) {
	f := newFake("m1", "m2", "m3")
	f.up["m1"] = false
	waited := false
	err := WaitMayRestart(t.Context(), f.open, hostsOf("m1", "m2", "m3"), hostsOf("m2")[0], time.Minute, func(text string) {
		waited = strings.Contains(text, "m1 does not serve")
		f.start("m1")
	})
	if err != nil || !waited {
		t.Errorf("%v, waited: %t", err, waited)
	}
}
