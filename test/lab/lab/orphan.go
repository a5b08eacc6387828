package lab

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"deployer/test/lab/plan"
)

// settle waits until no command that adds parts to the lab is running. When a process is
// killed while it creates a lab, the podman that it started continues, and would create
// a container after the lab's removal.
func settle(ctx context.Context, name string) error {
	const longest = time.Minute // many times the duration of the start of a container
	ctx, cancel := context.WithTimeout(ctx, longest)
	defer cancel()
	for {
		left, err := orphans("/proc", name)
		if err != nil || len(left) == 0 {
			return err
		}
		if wait(ctx) != nil {
			return fmt.Errorf("a process still works on lab %s: %s", name, left[0])
		}
	}
}

// orphans lists the command lines of processes that create parts of the lab.
func orphans(proc, name string) ([]string, error) {
	paths, err := filepath.Glob(filepath.Join(proc, "[0-9]*", "cmdline"))
	if err != nil {
		return nil, err
	}
	var found []string
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil || len(text) == 0 {
			continue // the process has ended, or is a kernel thread
		}
		argv := strings.Split(string(bytes.TrimRight(text, "\x00")), "\x00")
		if adds(argv, name) {
			found = append(found, strings.Join(argv, " "))
		}
	}
	return found, nil
}

// adds reports whether a command line creates a part of the lab: ip on one of its
// namespaces, or the container engine's run or start of one of its containers.
func adds(argv []string, name string) bool {
	switch filepath.Base(argv[0]) {
	case "ip":
	case "podman", "docker":
		if !slices.Contains(argv, "run") && !slices.Contains(argv, "start") {
			return false
		}
	default:
		return false
	}
	return slices.ContainsFunc(argv[1:], func(arg string) bool {
		if lab, ok := strings.CutPrefix(arg, "--name="); ok {
			arg = lab
		}
		lab, ok := plan.LabOf(arg)
		return ok && lab == name
	})
}
