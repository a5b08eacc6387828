package packages

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"deployer/engine"
	"deployer/tasks/receipt"
)

// lockSigns are in what apt, dpkg, rpm, dnf and zypper say when another of
// their kind is at work.
var lockSigns = []string{
	"Could not get lock", "Unable to lock", "Unable to acquire the dpkg frontend lock", "frontend lock was locked",
	"can't create transaction lock", "Failed to obtain the transaction lock", "System management is locked",
}

// patient runs a package manager again while another one holds its lock.
func patient(ctx context.Context, sys engine.System, limit time.Duration, run func() error) error {
	deadline := time.Now().Add(limit)
	tick := time.NewTicker(max(min(2*time.Second, limit/10), time.Millisecond))
	defer tick.Stop()
	for said := ""; ; {
		err := run()
		failure, ok := errors.AsType[*engine.Failure](err)
		if !ok || !says(failure, lockSigns...) {
			return err
		}
		if time.Now().After(deadline) {
			return &engine.Failure{Message: fmt.Sprintf("another package manager has been at work for %s: %s", limit, holder(failure)), Detail: failure.Detail}
		}
		if text := "waiting for another package manager: " + holder(failure); text != said {
			said = text
			sys.Progress(text)
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-tick.C:
		}
	}
}

// holder is the line that says who holds the lock, as far as the manager does.
func holder(failure *engine.Failure) string {
	for line := range strings.Lines(failure.Detail) {
		for _, sign := range lockSigns {
			if strings.Contains(line, sign) {
				return strings.TrimSpace(strings.TrimPrefix(line, "E: "))
			}
		}
	}
	return failure.Message
}

// listsReceipt is written when the lists of packages were read.
func listsReceipt() string { return receipt.Path("packages", "lists") }

// freshen reads the lists of packages again when they are older than valid, or
// than a file that says where packages come from.
func freshen(ctx context.Context, sys engine.System, m manager, valid time.Duration) error {
	info, err := os.Stat(sys.Path(listsReceipt()))
	if err == nil && age(info) < valid && !sourcesNewer(sys, m, info.ModTime()) {
		return nil
	}
	return refresh(ctx, sys, m)
}

// age is large for a file from the future: the clock was set.
func age(info os.FileInfo) time.Duration {
	if since := time.Since(info.ModTime()); since >= 0 {
		return since
	}
	return time.Duration(1<<63 - 1)
}

func refresh(ctx context.Context, sys engine.System, m manager) error {
	sys.Progress("reading the lists of packages again")
	if err := m.refresh(ctx, sys); err != nil {
		return err
	}
	return receipt.Write(sys, listsReceipt(), map[string]string{"run": sys.RunID()})
}

// sourcesNewer looks at the files, and at their directory for what was removed.
func sourcesNewer(sys engine.System, m manager, than time.Time) bool {
	for _, path := range m.sources() {
		below, err := filepath.Glob(filepath.Join(sys.Path(path), "*"))
		if err != nil {
			return true
		}
		for _, p := range append(below, sys.Path(path)) {
			if info, err := os.Stat(p); err == nil && info.ModTime().After(than) {
				return true
			}
		}
	}
	return false
}
