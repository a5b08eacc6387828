//go:build lab

package e2e

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/test/harness"
	"deployer/test/lab/plan"
)

// TestRefusals checks hosts and settings that deployer refuses: the message names the
// host and the remedy, the exit code is the documented one, and no host is changed.
func TestRefusals(t *testing.T) {
	s := newSite(t, plan.Spec{Masters: 1, Minions: 2})
	pristine, err := os.ReadFile(s.Inventory)
	if err != nil {
		t.Fatal(err)
	}
	ssh := func(set map[string]any) func(map[string]any) {
		return func(inv map[string]any) {
			for k, v := range set {
				harness.Section(inv, "ssh")[k] = v
			}
		}
	}
	cases := []struct {
		name    string
		prepare func(t *testing.T)
		edit    func(map[string]any)
		code    int
		want    []string // in the output
	}{
		{
			name: "unreachable host",
			prepare: func(t *testing.T) {
				if err := s.Partition(t.Context(), "n2"); err != nil {
					t.Fatal(err)
				}
				t.Cleanup(func() {
					if err := s.Heal(context.WithoutCancel(t.Context()), "n2"); err != nil {
						t.Error(err)
					}
				})
			},
			edit: func(inv map[string]any) { harness.Section(inv, "ssh")["connect_timeout"] = "2s" },
			code: 4, want: []string{"UNREACHABLE  n2", "check the network"},
		},
		{
			name: "wrong key",
			prepare: func(t *testing.T) {
				s.Shell("n1", "true")
				if _, err := s.Ctl(t.Context(), "ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", filepath.Join(filepath.Dir(s.Inventory), "stranger")); err != nil {
					t.Fatal(err)
				}
			},
			edit: ssh(map[string]any{"key": "stranger", "agent": false}),
			code: 4, want: []string{"m1", "n1", "n2", "ssh.key"},
		},
		{
			name: "changed host key",
			prepare: func(t *testing.T) {
				known, err := os.ReadFile(s.Files.KnownHosts())
				if err != nil {
					t.Fatal(err)
				}
				// With swapped keys of n1 and n2 both hosts show a key that is not
				// the known one.
				n1, n2 := s.Address("n1"), s.Address("n2")
				swapped := strings.NewReplacer(n1, n2, n2, n1).Replace(string(known))
				if err := os.WriteFile(filepath.Join(filepath.Dir(s.Inventory), "known_hosts"), []byte(swapped), 0o600); err != nil {
					t.Fatal(err)
				}
			},
			edit: ssh(map[string]any{"known_hosts": "known_hosts"}),
			code: 4, want: []string{"n1", "n2", "known_hosts"},
		},
		{
			name: "sudo needs a password",
			edit: ssh(map[string]any{"user": "pw", "become": "sudo"}),
			code: 4, want: []string{"m1", "become_password"},
		},
		{
			name:    "full disk",
			prepare: func(t *testing.T) { fillDisk(t, s, "n1") },
			code:    4, want: []string{"n1", "disk"},
		},
		{ // the last one: the package stays away
			name:    "package that no source offers",
			prepare: func(*testing.T) { s.purge("n2", "conntrack") },
			code:    4, want: []string{"preflight found 1 problem on 1 host; nothing was changed", "n2  packages  not installed: conntrack; and no package source offers them"},
		},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			if err := os.WriteFile(s.Inventory, pristine, 0o600); err != nil {
				t.Fatal(err)
			}
			if c.edit != nil {
				s.Edit(c.edit)
			}
			if c.prepare != nil {
				c.prepare(t)
			}
			o := s.Deployer("install")
			if o.Code != c.code {
				t.Errorf("exit %d, want %d\n%s", o.Code, c.code, o.All())
			}
			for _, w := range c.want {
				if !strings.Contains(o.All(), w) {
					t.Errorf("output does not say %q:\n%s", w, o.All())
				}
			}
			for _, h := range []string{"m1", "n1", "n2"} {
				out, err := s.Exec(t.Context(), h, "sh", "-c", "find /etc/kubernetes /etc/containerd /usr/local/bin -type f 2>/dev/null; true")
				if err != nil || strings.TrimSpace(out) != "" {
					t.Errorf("%s was touched: %s %v", h, out, err)
				}
			}
		})
	}
}

// fillDisk mounts a small, full file system on the data directory of containerd.
func fillDisk(t *testing.T, s *site, host string) {
	t.Helper()
	s.Shell(host, "mkdir -p /var/lib/containerd && mount -t tmpfs -o size=16m tmpfs /var/lib/containerd && dd if=/dev/zero of=/var/lib/containerd/fill bs=1M count=16 2>/dev/null || true")
	t.Cleanup(func() {
		if _, err := s.SSH(context.WithoutCancel(t.Context()), host, "umount /var/lib/containerd"); err != nil {
			t.Error(err)
		}
	})
}
