package identity

import (
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/tasktest"
)

func TestHostname(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Mkdir(t, "/etc")
	sys.Write(t, "/proc/sys/kernel/hostname", "old\n", 0o644)
	sys.Exec = tasktest.Script(map[string]tasktest.Answer{
		"hostname -- m1": {Do: func(engine.Command) { sys.Write(t, "/proc/sys/kernel/hostname", "m1\n", 0o644) }},
	})
	change := tasktest.Converge(t, sys, &Hostname{Name: "m1"})
	if diff := cmp.Diff([]string{"/etc/hostname: create", `hostname: set "old" -> "m1"`}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if err := os.Chmod(sys.Path("/etc/hostname"), 0o600); err != nil {
		t.Fatal(err)
	}
	if change, err := (&Hostname{Name: "m1"}).Check(t.Context(), sys); err != nil || change.Needed {
		t.Errorf("the file has another mode: %+v, %v", change, err)
	}
	for _, bad := range []string{"", "M1", "a_b", "-a", "a-", "a..b", strings.Repeat("a", 64)} {
		if _, _, err := tasktest.Run(t, sys, &Hostname{Name: bad}); err == nil {
			t.Errorf("%q is taken for a host name", bad)
		}
	}
}

func TestHostsEntry(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		have, want string
		entry      HostsEntry
	}{
		"new": {
			"127.0.0.1\tlocalhost\n", "127.0.0.1\tlocalhost\n10.0.0.1\tapi api.example\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api", "api.example"}},
		},
		"no newline at the end": {
			"127.0.0.1 localhost", "127.0.0.1 localhost\n10.0.0.1\tapi\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api"}},
		},
		"another address": {
			"10.0.0.9 api # old\n::1 ip6\n", "10.0.0.1\tapi\n::1 ip6\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api"}},
		},
		"shared line": {
			"# api is here\n127.0.1.1 m1 api # mine\n", "# api is here\n10.0.0.1\tapi\n127.0.1.1\tm1 # mine\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api"}},
		},
		"twice": {
			"10.0.0.1 api\n10.0.0.2 api\n", "10.0.0.1\tapi\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api"}},
		},
		"absent": {
			"10.0.0.1 api other\n", "10.0.0.1\tother\n",
			HostsEntry{Address: "10.0.0.1", Names: []string{"api"}, State: "absent"},
		},
		"the last line goes": {"10.0.0.1 api\n", "", HostsEntry{Address: "10.0.0.1", Names: []string{"api"}, State: "absent"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			sys.Write(t, "/etc/hosts", tt.have, 0o644)
			tasktest.Converge(t, sys, &tt.entry)
			if diff := cmp.Diff(tt.want, sys.Read(t, "/etc/hosts")); diff != "" {
				t.Error(diff)
			}
		})
	}
	sys := tasktest.New(t)
	for want, h := range map[string]*HostsEntry{
		"address":       {Address: "x", Names: []string{"a"}},
		"names is":      {Address: "::1"},
		"not a host":    {Address: "::1", Names: []string{"a b"}},
		"want present ": {Address: "::1", Names: []string{"a"}, State: "x"},
	} {
		if _, _, err := tasktest.Run(t, sys, h); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
}

// TestHostsEntryWithOtherSpacingIsUnchanged: only the spacing differs.
func TestHostsEntryWithOtherSpacingIsUnchanged(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	sys.Write(t, "/etc/hosts", "10.0.0.1   api   # by hand\n", 0o644)
	if change := tasktest.Check(t, sys, &HostsEntry{Address: "10.0.0.1", Names: []string{"api"}}); change.Needed {
		t.Errorf("wants %+v", change.Effects)
	}
}
