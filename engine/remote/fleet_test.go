package remote

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	gossh "golang.org/x/crypto/ssh"

	"deployer/engine"
	"deployer/engine/agent"
	"deployer/engine/agent/agenttest"
	"deployer/engine/remote/fakehost"
	"deployer/engine/transport/ssh"
	"deployer/engine/transport/sshtest"
)

// TestFleetOfFakeHosts connects to a fleet of fake hosts, each behind its own SSH
// server, in parallel.
func TestFleetOfFakeHosts(t *testing.T) {
	dir := t.TempDir()
	key := filepath.Join(dir, "key")
	writeKey(t, key)
	hostKey, err := sshtest.NewKey()
	if err != nil {
		t.Fatal(err)
	}
	dialer := ssh.NewDialer(ssh.Options{})
	defer dialer.Close()
	binaries := ownBinaries()
	var all sync.WaitGroup
	for i := range 50 {
		name, root := fmt.Sprintf("n%02d", i), filepath.Join(dir, fmt.Sprint(i))
		if err := os.Mkdir(root, 0o755); err != nil {
			t.Fatal(err)
		}
		server, err := sshtest.Start(sshtest.Config{HostKeys: []gossh.Signer{hostKey}, Exec: func(ctx context.Context, c sshtest.Command) int {
			opts := agent.ServeOptions{Root: root, Facts: func() engine.Facts { return engine.Facts{Hostname: name} }}
			serve := func() error { return agent.Serve(ctx, c.Stdin, c.Stdout, testRegistry(), opts) }
			if err := fakehost.Answer(c.Line, c.Stdout, serve); err != nil {
				return 1
			}
			return 0
		}})
		if err != nil {
			t.Fatal(err)
		}
		defer server.Close()
		all.Go(func() {
			address, port := splitPort(t, server.Addr)
			target := ssh.Target{Host: name, Address: address, Port: port, Keys: []string{key}, HostKeys: ssh.AcceptNew,
				KnownHosts: []string{filepath.Join(dir, "known")}}
			if err := useHost(t, dialer, target, binaries); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if got, err := os.ReadFile(root + "/f"); string(got) != name {
				t.Errorf("%s: got %q, %v", name, got, err)
			}
		})
	}
	all.Wait()
}

func useHost(t *testing.T, d *ssh.Dialer, target ssh.Target, binaries *Binaries) error {
	conn, err := d.Dial(t.Context(), target)
	if err != nil {
		return err
	}
	s, err := Connect(t.Context(), conn, Options{Host: target.Host, Binaries: binaries, Become: Sudo, Password: rightPassword})
	if err != nil {
		return err
	}
	defer s.Close()
	if s.Facts().Hostname != target.Host {
		return fmt.Errorf("facts of %q", s.Facts().Hostname)
	}
	_, err = agenttest.RunOne(t.Context(), s, "r1", agenttest.Step(t, "a", "write", agenttest.Write{Path: "/f", Content: target.Host}), false)
	return err
}

func TestFakeHostRefusesOtherCommands(t *testing.T) {
	for _, line := range []string{"", "uname -a", "sh -c 'a' deployer 'b' c d"} {
		err := fakehost.Answer(line, nil, func() error { return errors.New("served") })
		if !errors.Is(err, fakehost.ErrUnknownCommand) {
			t.Errorf("%q: %v", line, err)
		}
	}
}
