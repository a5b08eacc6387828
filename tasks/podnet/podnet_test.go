package podnet

import (
	"net"
	"strings"
	"testing"

	"deployer/tasks/tasktest"
)

// listen accepts connections at an address until the test ends.
func listen(t *testing.T, address string) string {
	t.Helper()
	l, err := net.Listen("tcp", address)
	if err != nil {
		t.Error(err)
		return ""
	}
	t.Cleanup(func() { _ = l.Close() })
	return l.Addr().String()
}

// TestConnectionsBelongToTheNamespace: the same address is that of the host or of the pod, by the
// namespace from which it is dialled.
func TestConnectionsBelongToTheNamespace(t *testing.T) {
	t.Parallel()
	pod := tasktest.NewNetwork(t)
	onHost := Target{Address: listen(t, "127.0.0.1:0")}
	var inPod Target
	pod.Do(func() { inPod.Address = listen(t, "127.0.0.1:0") })
	for name, c := range map[string]struct {
		target    Target
		namespace string
		refused   bool
	}{
		"host to host": {onHost, "", false}, "pod to host": {onHost, pod.Path, true},
		"pod to pod": {inPod, pod.Path, false}, "host to pod": {inPod, "", true},
	} {
		conn, err := c.target.Reach(t.Context(), c.namespace)
		if (err != nil) != c.refused || err != nil && !strings.Contains(err.Error(), "connection refused") {
			t.Errorf("%s: %v", name, err)
		}
		if err == nil {
			_ = conn.Close()
		}
	}
	if _, err := onHost.Reach(t.Context(), "/proc/0/ns/net"); err == nil {
		t.Error("a pod that has ended reaches the host")
	}
}

// TestNameServer: a name server is reached when it answers the query, also after a lost one.
func TestNameServer(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answer func(try int, query []byte) []byte
		want   string // empty: reached
	}{
		"answers":             {func(_ int, q []byte) []byte { return append(q[:2:2], make([]byte, 10)...) }, ""},
		"loses one":           {func(try int, q []byte) []byte { return append(q[:2:2], make([]byte, 10*min(try, 1))...) }, ""},
		"answers others only": {func(_ int, q []byte) []byte { return append([]byte{q[0] + 1, q[1]}, make([]byte, 10)...) }, "no answer within 2.5s"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			l, err := net.ListenPacket("udp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = l.Close() })
			go func() {
				buffer := make([]byte, 512)
				for try := 0; ; try++ {
					n, from, err := l.ReadFrom(buffer)
					if err != nil {
						return
					}
					if n != 17 {
						t.Errorf("a query of %d bytes, want 17", n)
					}
					_, _ = l.WriteTo(c.answer(try, buffer[:n]), from)
				}
			}()
			target := Target{Address: l.LocalAddr().String(), DNS: true}
			conn, err := target.Reach(t.Context(), "")
			if got := ""; err != nil {
				got = err.Error()
				if got != c.want {
					t.Errorf("error %q, want %q", got, c.want)
				}
				return
			}
			_ = conn.Close()
			if c.want != "" {
				t.Errorf("reached, want %q", c.want)
			}
		})
	}
}
