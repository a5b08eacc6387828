package ssh

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"deployer/engine/transport"
	"deployer/engine/transport/sshtest"
)

// TestMatchExecRunsEachCommandOnce: a command without a token runs once for all
// hosts, with the user's shell.
func TestMatchExecRunsEachCommandOnce(t *testing.T) {
	dir := t.TempDir()
	t.Setenv("SHELL", "/bin/sh")
	log := filepath.Join(dir, "log")
	c, err := readConfig(t, "Match exec \"echo same >>"+log+"\"\n  User ops\nMatch exec \"echo %h >>"+log+"; test %h = b\"\n  Port 7\nMatch exec \"exit 3\"\n  Port 9\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, host := range []string{"a", "b", "a"} {
		got, err := c.Apply(Target{Host: host})
		if want := map[string]int{"a": 22, "b": 7}[host]; err != nil || got.Login() != "ops" || got.SSHPort() != want {
			t.Errorf("%s: %+v, %v", host, got, err)
		}
	}
	ran, err := os.ReadFile(log)
	if err != nil || string(ran) != "same\na\nb\n" {
		t.Errorf("ran %q, %v", ran, err)
	}
	t.Setenv("SHELL", "/nowhere/shell")
	c, err = readConfig(t, "\nMatch exec true\n  Port 9\n")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := c.Apply(Target{Host: "a"}); err == nil || !strings.Contains(err.Error(), `config:2: Match exec "true": `) || !strings.Contains(err.Error(), "/nowhere/shell") {
		t.Errorf("got %v", err)
	}
}

func TestBindAddress(t *testing.T) {
	seen := ""
	s := newSite(t, sshtest.Config{})
	c, err := readConfig(t, "BindAddress 127.0.0.9\n")
	if err != nil {
		t.Fatal(err)
	}
	target, err := c.Apply(s.target)
	if err != nil {
		t.Fatal(err)
	}
	conn, err := dialer(t, Options{}).Dial(t.Context(), target)
	if err != nil {
		t.Fatal(err)
	}
	seen, _, err = net.SplitHostPort(conn.(*Conn).client.LocalAddr().String())
	if err != nil || seen != "127.0.0.9" {
		t.Errorf("comes from %s, %v", seen, err)
	}
	_ = conn.Close()
	target.BindAddress = "192.0.2.1"
	_, err = dialer(t, Options{}).Dial(t.Context(), target)
	if transport.KindOf(err) == "" || !strings.Contains(err.Error(), "from BindAddress 192.0.2.1: ") {
		t.Errorf("got %v", err)
	}
}
