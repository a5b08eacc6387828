//go:build lab

package e2e

import (
	"context"
	"encoding/json"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"deployer/cmd/deployer/agents"
	"deployer/engine"
	"deployer/engine/agent/agenttest"
	"deployer/engine/remote"
	"deployer/engine/transport"
	"deployer/engine/transport/ssh"
	"deployer/test/lab/lab"
	"deployer/test/lab/plan"
)

// sshHost is a real host with OpenSSH, with the keys and files of a client.
type sshHost struct {
	*lab.Lab
	t        *testing.T
	host     string
	binaries *remote.Binaries
}

func newSSHHost(t *testing.T) *sshHost {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	l, err := lab.Up(ctx, plan.Spec{Name: "e2e-transport", Hosts: 1}, lab.Options{Tied: true, Packages: []string{"opendoas", "fish", "tcsh"}})
	if err != nil {
		t.Fatalf("booting the host: %v", err)
	}
	t.Cleanup(func() {
		if err := l.Down(context.WithoutCancel(t.Context())); err != nil {
			t.Errorf("removing the host: %v", err)
		}
	})
	return &sshHost{Lab: l, t: t, host: l.Hosts[0].Name, binaries: remote.NewBinaries(agents.Embedded{})}
}

// on returns the same host for a subtest.
func (r *sshHost) on(t *testing.T) *sshHost {
	part := *r
	part.t = t
	return &part
}

// runScript runs a script on the host without SSH.
func (r *sshHost) runScript(script string) string {
	r.t.Helper()
	out, err := r.Exec(context.WithoutCancel(r.t.Context()), r.host, "sh", "-ec", script)
	if err != nil {
		r.t.Fatalf("%s: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(out)
}

// restartSSH restarts the SSH server. Unlike a reload, a restart returns when the
// server listens; reset-failed lifts systemd's limit of restarts.
const restartSSH = "systemctl reset-failed ssh; systemctl restart ssh"

// sshd changes the configuration of the SSH server until the end of the subtest.
func (r *sshHost) sshd(lines ...string) {
	r.t.Helper()
	const file = "/etc/ssh/sshd_config.d/50-part.conf"
	r.runScript("cat >" + file + " <<'END'\n" + strings.Join(lines, "\n") + "\nEND\nsshd -t; " + restartSSH)
	r.t.Cleanup(func() { r.runScript("rm -f " + file + "; " + restartSSH) })
}

// put writes a file on the host until the end of the subtest.
func (r *sshHost) put(path, mode, content string) {
	r.t.Helper()
	r.runScript("cat >" + path + " <<'END'\n" + content + "\nEND\nchmod " + mode + " " + path)
	r.t.Cleanup(func() { r.runScript("rm -f " + path) })
}

// target returns the SSH target of a user on the host.
func (r *sshHost) target(user string) ssh.Target {
	return ssh.Target{Host: r.host, Address: r.Hosts[0].Address.String(), User: user, Keys: []string{r.Files.Key()}, NoAgent: true,
		KnownHosts: []string{r.Files.KnownHosts()}, Timeout: 20 * time.Second}
}

func (r *sshHost) dialer() *ssh.Dialer {
	d := ssh.NewDialer(ssh.Options{Net: r.Lab.Dial})
	r.t.Cleanup(func() { _ = d.Close() })
	return d
}

func (r *sshHost) dial(t ssh.Target) transport.Conn {
	r.t.Helper()
	c, err := r.dialer().Dial(r.t.Context(), t)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = c.Close() })
	return c
}

// requireRoot starts the agent, runs a program with it, and returns the uid and the
// directory of the agent.
func (r *sshHost) requireRoot(t ssh.Target, become remote.Become, password string) (uid, dir string) {
	r.t.Helper()
	s, err := r.agent(t, become, password)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = s.Close() }()
	out := shell(r.t, s, "id -u; readlink /proc/$PPID/exe; echo hijack 2>/dev/null >/dev/tty; true")
	uid, rest, _ := strings.Cut(out, "\n")
	return uid, filepath.Dir(filepath.Dir(strings.TrimSpace(rest)))
}

func (r *sshHost) agent(t ssh.Target, become remote.Become, password string) (*remote.Session, error) {
	r.t.Helper()
	c, err := r.dialer().Dial(r.t.Context(), t)
	if err != nil {
		return nil, err
	}
	return remote.Connect(r.t.Context(), c, remote.Options{Host: r.host, Binaries: r.binaries, Become: become, Password: password})
}

// requireRefusal checks that connecting fails with an error of a kind that contains all of
// want.
func (r *sshHost) requireRefusal(t ssh.Target, become remote.Become, password string, kind transport.Kind, want ...string) {
	r.t.Helper()
	s, err := r.agent(t, become, password)
	if err == nil {
		_ = s.Close()
		r.t.Fatal("it worked")
	}
	if transport.KindOf(err) != kind {
		r.t.Errorf("%s, want %s: %v", transport.KindOf(err), kind, err)
	}
	for _, w := range want {
		if !strings.Contains(err.Error(), w) {
			r.t.Errorf("%q is not in: %v", w, err)
		}
	}
}

// listen listens on an address that the host can reach.
func (r *sshHost) listen() (net.Listener, error) {
	return r.Lab.Listen(net.JoinHostPort(plan.Controller().String(), "0"))
}

// file writes a file for the controller.
func (r *sshHost) file(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.t.TempDir(), name)
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// shell runs a shell line with the agent and returns its output.
func shell(t *testing.T, s *remote.Session, line string) string {
	t.Helper()
	args, err := json.Marshal(map[string]any{"Cmd": line})
	if err != nil {
		t.Fatal(err)
	}
	result, err := agenttest.RunOne(t.Context(), s, "e2e", engine.Step{ID: "1", Name: "a command", Module: "shell", Args: args}, false)
	if err != nil || result.Failure != nil {
		t.Fatalf("%s: %v, %+v", line, err, result.Failure)
	}
	out, _ := result.Output["stdout"].(string)
	return strings.TrimSpace(out)
}
