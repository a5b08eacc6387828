package ssh

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

const clientConfig = `
Host m1 10.0.0.1
  HostName real.example
  User ops
  Port 2222
  IdentityFile ~/.ssh/one
  IdentityFile %d/two
  ConnectTimeout 7
  ProxyJump jump,admin@[2001:db8::1]:99
Host jump
  HostName jump.example
  ProxyJump outer
  UserKnownHostsFile ~/known /etc/known
Host circle
  ProxyJump circle
Host bad
  Port many
Host *
  User everybody
`

func readConfig(t *testing.T, text string) (*ClientConfig, error) {
	t.Helper()
	t.Setenv("HOME", "/home/u")
	path := filepath.Join(t.TempDir(), "config")
	write(t, path, text)
	return ReadClientConfig(path)
}

func TestClientConfig(t *testing.T) {
	c, err := readConfig(t, clientConfig)
	if err != nil {
		t.Fatal(err)
	}
	hops := []Target{
		{Host: "outer", User: "everybody"},
		{Host: "jump", Address: "jump.example", User: "everybody", KnownHosts: []string{"/home/u/known", "/etc/known"}},
		{Host: "2001:db8::1", User: "admin", Port: 99},
	}
	for name, tt := range map[string]struct{ in, want Target }{
		"by name": {Target{Host: "m1"}, Target{Host: "m1", Address: "real.example", User: "ops", Port: 2222,
			Keys: []string{"/home/u/.ssh/one", "/home/u/two"}, Timeout: 7 * time.Second, Bastions: hops}},
		"the inventory wins": {
			Target{Host: "x", Address: "10.0.0.1", User: "me", Port: 22, Keys: []string{"k"}, Timeout: time.Second, Bastions: []Target{{Host: "b"}}},
			Target{Host: "x", Address: "real.example", User: "me", Port: 22, Keys: []string{"k"}, Timeout: time.Second, Bastions: []Target{{Host: "b"}}}},
		"not mentioned": {Target{Host: "other"}, Target{Host: "other", User: "everybody"}},
	} {
		got, err := c.Apply(tt.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
	for host, text := range map[string]string{"circle": "goes in a circle", "bad": `Port "many" of bad is not a port`} {
		if _, err := c.Apply(Target{Host: host}); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: got %v", host, err)
		}
	}
}

func TestClientConfigThatCannotBeRead(t *testing.T) {
	if _, err := ReadClientConfig("/nowhere/config"); err == nil || !strings.Contains(err.Error(), "/nowhere/config") {
		t.Errorf("got %v", err)
	}
}

func move(t *testing.T, from, to string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(from, to); err != nil {
		t.Fatal(err)
	}
}
