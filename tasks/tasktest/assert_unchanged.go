package tasktest

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"deployer/engine"
)

// tree describes all files of a host by path: type, mode, owner, link and content.
// Files of the kernel are left out.
func (s *System) tree(t testing.TB) map[string]string {
	t.Helper()
	out := map[string]string{}
	err := filepath.WalkDir(s.Root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := "/" + strings.TrimPrefix(strings.TrimPrefix(path, s.Root), "/")
		if d.IsDir() && slices.Contains([]string{"/proc", "/sys", "/dev"}, name) {
			return fs.SkipDir
		}
		out[name], err = describeFile(path, d)
		return err
	})
	if err != nil {
		t.Fatalf("reading the files of the host: %v", err)
	}
	return out
}

func describeFile(path string, d fs.DirEntry) (string, error) {
	info, err := d.Info()
	if err != nil {
		return "", err
	}
	stat := info.Sys().(*syscall.Stat_t)
	text := fmt.Sprintf("%s %d:%d", info.Mode(), stat.Uid, stat.Gid)
	switch {
	case info.Mode()&fs.ModeSymlink != 0:
		to, err := os.Readlink(path)
		return text + " -> " + to, err
	case info.Mode().IsRegular():
		content, err := os.ReadFile(path)
		return fmt.Sprintf("%s inode %d: %s", text, stat.Ino, content), err
	}
	return text, nil
}

// different returns the paths at which two trees differ, sorted.
func different(before, after map[string]string) []string {
	var out []string
	for path, was := range before {
		if after[path] != was {
			out = append(out, path)
		}
	}
	for path := range after {
		if _, known := before[path]; !known {
			out = append(out, path)
		}
	}
	return slices.Compact(slices.Sorted(slices.Values(out)))
}

// assertUnchanged runs a check, and fails the test if the check has changed the
// host.
func assertUnchanged(t testing.TB, sys engine.System, check func()) {
	t.Helper()
	s, ok := sys.(*System)
	if !ok {
		check()
		return
	}
	before, kept := s.tree(t), len(s.Kept())
	check()
	changed := slices.DeleteFunc(different(before, s.tree(t)), isOwnState)
	if len(changed) > 0 {
		t.Errorf("the check has changed %q", changed)
	}
	if len(s.Kept()) != kept {
		t.Errorf("the check backs up %q as if it would change it", s.Kept()[kept:])
	}
}

// isOwnState reports whether a path is deployer's own state, or above it: receipts,
// which repeat what the host has anyway, and temporary files of a check.
func isOwnState(path string) bool {
	const state = "/var/lib/deployer"
	return within(path, state) || within(state, path)
}

// temporary is part of the name of each temporary file.
const temporary = ".deployer-"

// assertPredicted fails the test when apply changes a file that its check did not
// list, or that has no backup. Changes by programs do not count.
func assertPredicted(t testing.TB, sys engine.System, change engine.Change, apply func()) {
	t.Helper()
	s, ok := sys.(*System)
	if !ok {
		apply()
		return
	}
	before, ran := s.tree(t), s.commands()
	apply()
	if s.commands() > ran {
		return
	}
	kept := map[string]bool{}
	for _, path := range s.Kept() {
		kept[filepath.Clean(path)] = true
	}
	targets := map[string]bool{}
	for _, e := range change.Effects {
		targets[filepath.Clean(e.Target)] = true
	}
	for _, path := range different(before, s.tree(t)) {
		switch {
		case isOwnState(path):
		case strings.Contains(path, temporary): // of a killed attempt
		case before[path] != "" && !isLeaf(before[path]): // a directory with a new entry
		case !covered(path, targets):
			t.Errorf("%s has changed, and the check only listed %q", path, slices.Sorted(maps.Keys(targets)))
		case !covered(path, kept):
			t.Errorf("%s has changed and has no backup: only %q have", path, slices.Sorted(maps.Keys(kept)))
		}
	}
}

// isLeaf reports whether a description is that of a file or link: a directory
// changes with its entries.
func isLeaf(portrait string) bool { return !strings.HasPrefix(portrait, "d") }

// covered reports whether a path is in `by`, below a path in it, or above one.
func covered(path string, by map[string]bool) bool {
	for known := range by {
		if within(path, known) || within(known, path) {
			return true
		}
	}
	return false
}

func within(path, dir string) bool {
	return path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/")
}
