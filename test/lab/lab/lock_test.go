package lab

import (
	"errors"
	"os"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
)

func TestLockIsHeldByOne(t *testing.T) {
	path := filepath.Join(t.TempDir(), "locks", "x")
	first, err := acquire(path, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := acquire(path, false); !errors.Is(err, errHeld) {
		t.Errorf("second: got %v, want %v", err, errHeld)
	}
	first.release()
	if _, err := os.Stat(path); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the file is left: %v", err)
	}
	again, err := acquire(path, false)
	if err != nil {
		t.Fatalf("after its release: %v", err)
	}
	again.release()
}

// TestLockExcludesWhileItsFileComesAndGoes: only one process has the lock at a time,
// although each release removes the file while others wait for it.
func TestLockExcludesWhileItsFileComesAndGoes(t *testing.T) {
	path := filepath.Join(t.TempDir(), "x")
	var wg sync.WaitGroup
	var inside, total atomic.Int32
	for range 8 {
		wg.Go(func() {
			for range 50 {
				l, err := acquire(path, true)
				if err != nil {
					t.Error(err)
					return
				}
				if n := inside.Add(1); n != 1 {
					t.Errorf("%d inside", n)
				}
				inside.Add(-1)
				total.Add(1)
				l.release()
			}
		})
	}
	wg.Wait()
	if total.Load() != 400 {
		t.Errorf("%d rounds, want 400", total.Load())
	}
}
