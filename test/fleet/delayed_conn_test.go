package fleet

import (
	"bufio"
	"net"
	"testing"
	"time"
)

// TestLatency checks that connecting and the first answer of a host cost one round trip
// each.
func TestLatency(t *testing.T) {
	const latency = 30 * time.Millisecond
	f, err := Start(1, Options{Dir: memoryDir(t), Latency: latency})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(f.Close)
	began := time.Now()
	conn, err := net.Dial("tcp", net.JoinHostPort(f.Hosts[0].Address, f.port()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	version, err := bufio.NewReader(conn).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	if took := time.Since(began); took < 2*latency {
		t.Errorf("the host answered within %v, its network needs %v", took, 2*latency)
	}
	if got := f.Traffic(); got.Connections != 1 || got.Peak != 1 || got.Received != 0 || got.Sent < int64(len(version)) {
		t.Errorf("traffic is %+v", got)
	}
	f.Forget()
	if got, want := f.Traffic(), (Traffic{Peak: 1}); got != want { // the connection is still open
		t.Errorf("traffic is %+v, want %+v", got, want)
	}
}
