// Package containerd talks to a host's containerd through its ctr program.
package containerd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
	"deployer/tasks/poll"
)

// startWait bounds how long an import waits for a containerd that is just
// starting. A restart with many containers took containerd seconds, never a
// minute; a minute without a socket means that it does not start.
const startWait = time.Minute

// pollEvery is the time between two attempts to reach containerd.
const pollEvery = 100 * time.Millisecond

// Client runs ctr for the containerd of a host, in the namespace k8s.io of the kubelet.
type Client struct {
	sys    engine.System
	argv   []string
	socket string
}

// Connect returns a client without a connection. ctr and socket are the host's
// paths; when they are empty, ctr is /usr/local/bin/ctr if that exists and otherwise
// searched in the search path, and socket is /run/containerd/containerd.sock.
func Connect(sys engine.System, ctr, socket string) Client {
	socket = cmp.Or(socket, "/run/containerd/containerd.sock")
	if ctr == "" {
		ctr = "ctr"
		// sudo's secure_path has no /usr/local/bin on some distributions
		if _, err := os.Stat(sys.Path("/usr/local/bin/ctr")); err == nil {
			ctr = "/usr/local/bin/ctr"
		}
	}
	return Client{sys: sys, socket: socket, argv: []string{ctr, "--address", socket, "--namespace", "k8s.io"}}
}

// Run runs ctr with args and returns its standard output.
func (c Client) Run(ctx context.Context, args ...string) (string, error) {
	return hostcmd.Run(ctx, c.sys, append(c.argv[:len(c.argv):len(c.argv)], args...)...)
}

// load imports a tarball by containerd's client (--local), not by its transfer
// service: 8.5 against 16 ms of processor time for each MB (containerd 2.2.1, two
// images each). load holds a lease, so that no content is collected meanwhile. An image
// has its name before it is unpacked; a run that is killed in between leaves no
// receipt and imports again, and the kubelet's container would unpack it itself
// (containerd internal/cri/opts, WithNewSnapshot).
func (c Client) load(ctx context.Context, tarball string, labels []string) error {
	args := []string{"images", "import", "--local", "--digests=false"}
	for _, label := range labels {
		args = append(args, "--label", label)
	}
	_, err := c.Run(ctx, append(args, tarball)...)
	return err
}

// Load imports a tarball and gives its images labels, each as key=value, instead
// of those that images of the same names had. Load waits up to a minute for a
// containerd that is starting.
func (c Client) Load(ctx context.Context, tarball string, labels ...string) error {
	deadline := time.Now().Add(startWait)
	for {
		if err := c.await(ctx, deadline); err != nil {
			return err
		}
		err := c.load(ctx, tarball, labels)
		if err == nil || !starting(err) || time.Now().After(deadline) {
			return err
		}
		if err := poll.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// await waits until a process accepts connections on the socket.
func (c Client) await(ctx context.Context, deadline time.Time) error {
	for {
		var d net.Dialer
		conn, err := d.DialContext(ctx, "unix", c.sys.Path(c.socket))
		if err == nil {
			return conn.Close()
		}
		if time.Now().After(deadline) {
			return fmt.Errorf("containerd does not answer on %s after %s (look at journalctl -u containerd): %w", c.socket, startWait, err)
		}
		if err := poll.Sleep(ctx, pollEvery); err != nil {
			return err
		}
	}
}

// starting reports whether an error is that of a containerd that starts or restarts, and not
// one about the image.
func starting(err error) bool {
	failure, ok := errors.AsType[*engine.Failure](err)
	if !ok {
		return false
	}
	for _, sign := range []string{"connection refused", "Unavailable", "code = Unknown desc = EOF", "no such file or directory\": unavailable", "transport is closing"} {
		if strings.Contains(failure.Detail, sign) || strings.Contains(failure.Message, sign) {
			return true
		}
	}
	return false
}
