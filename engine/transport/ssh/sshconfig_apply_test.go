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
  IdentityFile %d/%r-%n
  IdentitiesOnly yes
  CertificateFile ~/signed
  ConnectTimeout 7
  ProxyJump jump,admin@[2001:db8::1]:99
Host jump
  HostName jump.example
  ProxyJump outer
  UserKnownHostsFile ~/known /etc/known
  GlobalKnownHostsFile none
Host circle
  ProxyJump circle
Host behind-command
  ProxyCommand connect --to %h:%p --as '%r' %%
  ProxyJump jump
Host direct
  ProxyJump none
  ProxyCommand never
Host keys
  IdentityFile none
  IdentityAgent none
  UserKnownHostsFile /dev/null
  StrictHostKeyChecking no
Host agent
  IdentityAgent ${HOME}/agent.sock
  HostKeyAlias cluster
  HashKnownHosts yes
  AddressFamily inet6
  StrictHostKeyChecking ask
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
	outer := Target{Host: "bastion outer", Address: "outer", User: "everybody", LaxKeys: true}
	jump := Target{Host: "bastion jump", Address: "jump.example", User: "everybody", LaxKeys: true, KnownHosts: []string{"/home/u/known", "/etc/known", "/dev/null"}}
	slow := func(t Target) Target { t.Timeout = 7 * time.Second; return t }
	v6 := Target{Host: "bastion 2001:db8::1", Address: "2001:db8::1", User: "admin", Port: 99, LaxKeys: true}
	for name, tt := range map[string]struct{ in, want Target }{
		"settings of a Host block": {Target{Host: "m1"}, Target{Host: "m1", Address: "real.example", User: "ops", Port: 2222,
			Keys: []string{"/home/u/.ssh/one", "/home/u/ops-m1"}, LaxKeys: true, KeysOnly: true, Certificates: []string{"/home/u/signed"},
			Timeout: 7 * time.Second, Bastions: []Target{slow(outer), slow(jump), slow(v6)}}},
		"the inventory wins": {
			Target{Host: "x", Address: "10.0.0.1", User: "me", Port: 22, Keys: []string{"k"}, Timeout: time.Second, KnownHosts: []string{"f"}, Bastions: []Target{{Host: "b", Address: "10.0.0.9"}}},
			Target{Host: "x", Address: "real.example", User: "me", Port: 22, Keys: []string{"k"}, KeysOnly: true, Certificates: []string{"/home/u/signed"},
				Timeout: time.Second, KnownHosts: []string{"f"}, Bastions: []Target{{Host: "b", Address: "10.0.0.9", User: "everybody", LaxKeys: true}}}},
		"the first hop of the inventory has hops of its own": {
			Target{Host: "x", Bastions: []Target{{Host: "j", Address: "jump"}, {Host: "j2", Address: "jump"}}},
			Target{Host: "x", User: "everybody", LaxKeys: true, Bastions: []Target{outer, named(jump, "j"), named(jump, "j2")}}},
		"the inventory sets no bastion": {Target{Host: "m1", Bastions: []Target{}, Keys: []string{"k"}, Timeout: 1},
			Target{Host: "m1", Address: "real.example", User: "ops", Port: 2222, Keys: []string{"k"}, KeysOnly: true, Certificates: []string{"/home/u/signed"}, Timeout: 1, Bastions: []Target{}}},
		"only the Host * block":              {Target{Host: "other"}, Target{Host: "other", User: "everybody", LaxKeys: true}},
		"ProxyCommand before ProxyJump":      {Target{Host: "behind-command"}, Target{Host: "behind-command", User: "everybody", LaxKeys: true, ProxyCommand: "connect --to behind-command:22 --as 'everybody' %"}},
		"ProxyJump none before other values": {Target{Host: "direct"}, Target{Host: "direct", User: "everybody", LaxKeys: true}},
		"IdentityFile none": {Target{Host: "keys"}, Target{Host: "keys", User: "everybody", Keys: []string{}, LaxKeys: true, NoAgent: true,
			HostKeys: AcceptNew, KnownHosts: []string{"/dev/null", "/etc/ssh/ssh_known_hosts"}}},
		"the inventory sets strict host keys": {Target{Host: "keys", HostKeys: Strict, KnownHosts: []string{"f"}}, Target{Host: "keys", User: "everybody", Keys: []string{}, LaxKeys: true, NoAgent: true,
			HostKeys: Strict, KnownHosts: []string{"f"}}},
		"agent and host keys": {Target{Host: "agent"}, Target{Host: "agent", User: "everybody", LaxKeys: true, AgentSocket: "/home/u/agent.sock",
			HostKeyAlias: "cluster", HashKnownHosts: true, Family: 6, HostKeys: Strict}},
	} {
		got, err := c.Apply(tt.in)
		if err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if diff := cmp.Diff(tt.want, got); diff != "" {
			t.Errorf("%s: %s", name, diff)
		}
	}
}

func named(t Target, host string) Target {
	t.Host = host
	return t
}

func TestInvalidClientConfig(t *testing.T) {
	for line, want := range map[string]string{
		"ProxyJump a":                         "ProxyJump of bastion a goes in a circle, or over more than 8 hosts",
		"Port many":                           `config:1: Port "many" is not from 1 to 65535`,
		"ProxyJump b:0":                       `config:1: ProxyJump "b:0" has no such port`,
		"ProxyJump b,,c":                      `config:1: ProxyJump "" names no host`,
		"ConnectTimeout soon":                 `config:1: ConnectTimeout "soon" is not a time such as`,
		"StrictHostKeyChecking perhaps":       `config:1: StrictHostKeyChecking "perhaps" is none of`,
		"AddressFamily ipx":                   `config:1: AddressFamily "ipx" is none of`,
		"IdentityFile ~/%Z":                   `config:1: "/home/u/%Z" has an unknown token`,
		"IdentityFile ${NO_SUCH_VARIABLE}/id": "config:1: the environment variable NO_SUCH_VARIABLE is not set",
		"HostName %n":                         `config:1: "%n" has an unknown token`,
		"ProxyCommand nc %x":                  `config:1: "nc %x" has an unknown token`,
		"User a;b\nProxyCommand nc %r":        `config:2: ProxyCommand: "a;b" is not safe to put into a command`,
		"Match localnetwork 10.0.0.0/8":       "config:1: Match localnetwork is not supported",
	} {
		c, err := readConfig(t, line+"\n")
		if err != nil {
			t.Fatal(err)
		}
		if _, err = c.Apply(Target{Host: "a"}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v, want %q", line, err, want)
		}
	}
	if _, err := ReadClientConfig("/nowhere/config"); err == nil || !strings.Contains(err.Error(), "/nowhere/config") {
		t.Errorf("got %v", err)
	}
}

func TestClientConfigSaysWhere(t *testing.T) {
	c, err := readConfig(t, "User x\nHost m1\nUser y\nIdentityFile a\nIdentityFile b\nProxyCommand a b\n")
	if err != nil {
		t.Fatal(err)
	}
	settings, err := c.Explain(Target{Host: "m1"})
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range settings {
		got = append(got, s.Keyword+"="+s.Value+" "+s.Place[strings.LastIndex(s.Place, "/")+1:])
	}
	if diff := cmp.Diff([]string{"User=x config:1", "IdentityFile=a config:4", "IdentityFile=b config:5", "ProxyCommand=a b config:6"}, got); diff != "" {
		t.Error(diff)
	}
}

func TestWithoutClientConfig(t *testing.T) {
	t.Setenv("HOME", t.TempDir()) // without a file
	for _, path := range []string{"", NoClientConfig} {
		c, err := ReadClientConfig(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.Apply(Target{Host: "no-such-host.invalid"})
		got.HashKnownHosts = false // Debian's /etc/ssh/ssh_config sets it for all hosts
		if diff := cmp.Diff(Target{Host: "no-such-host.invalid", LaxKeys: true}, got); diff != "" || err != nil {
			t.Errorf("%q: %v %s", path, err, diff)
		}
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
