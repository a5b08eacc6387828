//go:build lab

package e2e

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"
	sshagent "golang.org/x/crypto/ssh/agent"

	"deployer/engine/remote"
	"deployer/engine/transport/ssh"
	"deployer/engine/transport/ssh/sshconfig"
	"deployer/test/lab/command"
)

// configuredTarget returns the target of a host with a client configuration.
func configuredTarget(r *sshHost, config, host string) ssh.Target {
	r.t.Helper()
	c, err := ssh.ReadClientConfig(r.file("config", config))
	if err != nil {
		r.t.Fatal(err)
	}
	t, err := c.Apply(ssh.Target{Host: host, NoAgent: true})
	if err != nil {
		r.t.Fatal(err)
	}
	return t
}

// login returns the settings that all hosts of the configurations share.
func login(r *sshHost) string {
	return "Host *\n  User root\n  IdentityFile " + r.Files.Key() + "\n  UserKnownHostsFile " + r.Files.KnownHosts() + "\n  HostKeyAlias " + r.host + "\n"
}

func twoHops(r *sshHost) {
	t := configuredTarget(r, `
Host near
  HostName 172.31.0.11
Host middle far
  HostName 127.0.0.1
Match originalhost middle
  ProxyJump near
Host far
  ProxyJump middle
`+login(r), "far")
	if len(t.Bastions) != 2 {
		r.t.Fatalf("%d hops", len(t.Bastions))
	}
	if uid, _ := r.requireRoot(t, remote.NoBecome, ""); uid != "0" {
		r.t.Errorf("uid %s", uid)
	}
}

func proxyCommand(r *sshHost) {
	through := strings.Join(r.Enter("ssh", "-F", r.Files.SSHConfig(), "-W", "%h:%p", r.host), " ")
	r.requireRoot(configuredTarget(r, "Host far\n  HostName 127.0.0.1\n  ProxyCommand "+through+"\n"+login(r), "far"), remote.NoBecome, "")
}

// serveAgent serves an SSH agent with one key and returns its socket.
func serveAgent(r *sshHost, key sshagent.AddedKey) string {
	r.t.Helper()
	ring := sshagent.NewKeyring()
	if err := ring.Add(key); err != nil {
		r.t.Fatal(err)
	}
	l, err := net.Listen("unix", filepath.Join(r.t.TempDir(), "agent"))
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _ = sshagent.ServeAgent(ring, c) }()
		}
	}()
	return l.Addr().String()
}

func sshAgent(r *sshHost) {
	pem, err := os.ReadFile(r.Files.Key())
	if err != nil {
		r.t.Fatal(err)
	}
	key, err := gossh.ParseRawPrivateKey(pem)
	if err != nil {
		r.t.Fatal(err)
	}
	target := r.target("root")
	target.Keys, target.NoAgent = []string{}, false
	target.AgentSocket = serveAgent(r, sshagent.AddedKey{PrivateKey: key})
	d := r.dialer()
	var all sync.WaitGroup
	for range 20 {
		all.Go(func() {
			c, err := d.Dial(r.t.Context(), target)
			if err != nil {
				r.t.Error(err)
				return
			}
			_ = c.Close()
		})
	}
	all.Wait()
}

// TestClientConfigMatchesOpenSSH compares the parsed client configuration with the
// output of `ssh -G`.
func TestClientConfigMatchesOpenSSH(t *testing.T) {
	for name, config := range map[string]string{
		"hosts":       "User first\nHost a b\n Port 1\n User second\nHost *.x !a\n Port 2\nHost *\n Port 3\n IdentityFile one\n IdentityFile two\nHost a\n IdentityFile three\n IdentityFile one\n",
		"negated":     "Host !a *\n Port 2\nHost !b\n Port 3\nHost * !c\n User x\n",
		"quotes":      "Host \"a\" 'c'\n IdentityFile \"with a blank\"\n IdentityFile 'other \"quotes\"'\n UserKnownHostsFile \"k 1\" k2\n User \"u\" # comment\n",
		"equals":      "Host=a\nPort=5\nUser = u\n\tHostName\treal\n",
		"match":       "HostName %h.example\nMatch host a.example user root\n Port 1\nMatch originalhost a,b !host *.example\n Port 2\nMatch host *.exampl? user other,root\n User u\nMatch user u\n IdentitiesOnly yes\nMatch all\n Port 4\n",
		"final":       "Match final host real\n Port 7\n User late\nHost a\n HostName real\nMatch final all\n Port 8\n IdentityFile f\nHost *\n User early\n",
		"canonical":   "Match canonical\n Port 7\nMatch canonical all\n Port 8\nHost *\n Port 9\n",
		"exec":        "Match exec \"test %h = a\"\n Port 1\nMatch host b exec \"test %n-%r-%p-%% = b-root-22-%%\"\n Port 2\nMatch !exec false host c\n Port 3\nHostName real\nMatch exec \"test %h = real\"\n User u\nBindAddress 192.0.2.7\n",
		"jump":        "Host a\n ProxyJump u@j:22,k\nHost b\n ProxyCommand nc %h %p # no comment\n ProxyJump j\nHost *\n ProxyCommand other\n ProxyJump late\n",
		"host keys":   "Host a\n StrictHostKeyChecking accept-new\n HostKeyAlias x\nHost b\n StrictHostKeyChecking no\n HashKnownHosts yes\nHost *\n StrictHostKeyChecking yes\n GlobalKnownHostsFile /g\n",
		"rest":        "ConnectTimeout 30\nAddressFamily inet6\nCertificateFile c1\nCertificateFile c2\nIdentityAgent /s\nIdentitiesOnly yes\n",
		"localuser":   "Match localuser root\n Port 6\nMatch localuser nobody\n User x\n",
		"odd spacing": "   HOST   a\t b  \n\n#Port 1\n  pOrT   2   \r\nhost *\r\n port 3\r\n",
	} {
		path := filepath.Join(t.TempDir(), "config")
		if err := os.WriteFile(path, []byte(config), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := sshconfig.Read(sshconfig.Source{Path: path})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		for _, host := range []string{"a", "b", "c", "d.x"} {
			settings, err := c.For(sshconfig.Query{Host: host, DefaultUser: "root", LocalUser: "root", Exec: matchExec})
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			compare(t, name+", host "+host, settings, effectiveConfig(t, path, host), effectiveConfig(t, "/dev/null", host))
		}
	}
}

// matchExec runs a command of Match exec.
func matchExec(line string) (bool, error) {
	return exec.Command("/bin/sh", "-c", line).Run() == nil, nil
}

// effectiveConfig returns the values of each keyword from `ssh -G`.
func effectiveConfig(t *testing.T, path, host string) map[string][]string {
	t.Helper()
	out, err := command.Output(t.Context(), "ssh", "-G", "-F", path, host)
	if err != nil {
		t.Fatal(err)
	}
	says := map[string][]string{}
	for line := range strings.Lines(out) {
		keyword, value, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		says[keyword] = append(says[keyword], value)
	}
	return says
}

// compare checks that the parsed settings equal those of ssh, and that ssh has its
// default where the parser has none.
func compare(t *testing.T, where string, ours sshconfig.Settings, theirs, defaults map[string][]string) {
	t.Helper()
	truth := strings.NewReplacer("yes", "true", "no", "false")
	for _, keyword := range []string{"hostname", "user", "port", "identityfile", "certificatefile", "userknownhostsfile", "globalknownhostsfile", "hostkeyalias",
		"stricthostkeychecking", "identitiesonly", "connecttimeout", "addressfamily", "identityagent", "hashknownhosts", "proxyjump", "proxycommand"} {
		want := theirs[keyword]
		var got []string
		switch first := ours.First(keyword); {
		case first.Args == nil:
			got = defaults[keyword]
		case keyword == "identityfile" || keyword == "certificatefile":
			for _, v := range ours[keyword] {
				got = append(got, v.Text())
			}
		case keyword == "proxyjump" || keyword == "proxycommand":
			if earliest, v := ours.Earliest("proxyjump", "proxycommand"); earliest == keyword {
				got = []string{v.Text()}
			}
		case keyword == "hostname":
			got = []string{strings.ReplaceAll(first.Text(), "%h", strings.TrimPrefix(where[strings.LastIndex(where, " "):], " "))}
		case keyword == "stricthostkeychecking" && first.Text() != "accept-new":
			got = []string{truth.Replace(first.Text())}
		default:
			got = []string{strings.Join(first.Args, " ")}
		}
		if strings.Join(got, "\n") != strings.Join(want, "\n") {
			t.Errorf("%s: %s is %q, ssh says %q", where, keyword, got, want)
		}
	}
}
