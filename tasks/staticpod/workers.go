package staticpod

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/httpcheck"
)

const (
	workersEvery = 100 * time.Millisecond
	// A worker that cannot use its configuration ends at once; one that has run for
	// this long serves.
	workerStays = 500 * time.Millisecond
)

// workers waits for a new worker process.
type workers struct {
	sys    engine.System
	main   string          // process id of their parent
	before map[string]bool // workers before the signal
	since  map[string]time.Time
}

// try returns nil when a new worker has stayed, and a *httpcheck.PermanentError when the main
// process has ended.
func (w *workers) try(context.Context) error {
	now, err := children(w.sys, w.main)
	if err != nil {
		return err
	}
	if _, err := os.Stat(w.sys.Path("/proc/" + w.main)); err != nil {
		return &httpcheck.PermanentError{Err: fmt.Errorf("its main process %s has ended", w.main)}
	}
	seen := w.since
	w.since = map[string]time.Time{}
	for id := range now {
		if w.before[id] {
			continue
		}
		first, ok := seen[id]
		if !ok {
			first = time.Now()
		}
		if time.Since(first) >= workerStays {
			return nil
		}
		w.since[id] = first
	}
	if len(w.since) > 0 {
		return fmt.Errorf("its new worker processes have just started")
	}
	return fmt.Errorf("process %s has started no worker process", w.main)
}

// children returns the child processes of a process. Each is identified by its number and
// its start time, as in "4711 at 129837" (proc_pid_stat(5), fields 1 and 22).
func children(sys engine.System, parent string) (map[string]bool, error) {
	files, err := filepath.Glob(sys.Path("/proc") + "/[0-9]*/stat")
	if err != nil {
		return nil, err
	}
	out := map[string]bool{}
	for _, file := range files {
		data, err := os.ReadFile(file)
		if err != nil {
			continue // the process has ended
		}
		// The name in parentheses may have spaces and parentheses of its own.
		line := string(data)
		i := strings.LastIndexByte(line, ')')
		if i < 0 {
			continue
		}
		fields := strings.Fields(line[i+1:]) // from field 3 on
		const state, ppid, start = 0, 1, 19
		if len(fields) > start && fields[ppid] == parent && fields[state] != "Z" {
			out[filepath.Base(filepath.Dir(file))+" at "+fields[start]] = true
		}
	}
	return out, nil
}
