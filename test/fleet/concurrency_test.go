package fleet

import (
	"context"
	"net"
	"os"
	"runtime"
	"sync"
	"testing"
	"time"
)

// rendezvous holds hosts back until enough of them are there at once.
type rendezvous struct {
	mu    sync.Mutex
	here  int
	want  int
	full  chan struct{}
	limit time.Duration
}

// wait blocks until the wanted number of hosts has called it. Later calls return at
// once.
func (m *rendezvous) wait(ctx context.Context, _ *Host, _ string) {
	m.mu.Lock()
	m.here++
	if m.here == m.want {
		close(m.full)
	}
	m.mu.Unlock()
	select {
	case <-m.full:
	case <-time.After(m.limit):
	case <-ctx.Done():
	}
}

// TestForks checks that a run processes as many hosts in parallel as forks allows and
// never more, and that it leaves no goroutines and files. It is not parallel, as other
// tests would disturb the count.
func TestForks(t *testing.T) {
	const forks = 7
	warmUp(t)
	goroutines, files := runtime.NumGoroutine(), openFiles(t)
	m := &rendezvous{want: forks, full: make(chan struct{}), limit: 10 * time.Second}
	tr := newSiteRuns(t, fleetSize/2, Options{Before: m.wait})
	tr.site.Forks = forks
	tr.c.JournalDir = memoryDir(t)
	started, opened := runtime.NumGoroutine(), openFiles(t)

	report, _ := tr.run()
	tr.changed(report, firstChanges)
	if busy := tr.fleet.Busy(); busy != forks {
		t.Errorf("%d hosts were worked on at once, want %d", busy, forks)
	}
	waitForNoLeaks(t, "after the run", started, opened)
	tr.fleet.Close()
	waitForNoLeaks(t, "after the fleet is closed", goroutines, files)
}

// warmUp opens what the runtime opens for the first connection of a process and
// keeps.
func warmUp(t *testing.T) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
}

// waitForNoLeaks waits until the numbers of goroutines and open files are as before;
// those of a closed connection may take a moment to end.
func waitForNoLeaks(t *testing.T, when string, goroutines, files int) {
	t.Helper()
	deadline := time.Now().Add(10 * time.Second)
	for {
		g, f := runtime.NumGoroutine(), openFiles(t)
		if g <= goroutines && f <= files {
			return
		}
		if time.Now().After(deadline) {
			stacks := make([]byte, 1<<20)
			t.Fatalf("%s there are %d goroutines, %d before, and %d open files, %d before\n%s",
				when, g, goroutines, f, files, stacks[:runtime.Stack(stacks, true)])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	entries, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	return len(entries)
}
