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

// tree describes all files of a host, by path: type, mode, owner, link, content.
// What the kernel makes of its own accord is left out.
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
		t.Fatalf("looking at the host: %v", err)
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

// different are the paths at which two trees differ, sorted.
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

// assertUnchanged runs a check, and fails the test when it has changed the host.
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
		t.Errorf("the check keeps %q as if it would change it", s.Kept()[kept:])
	}
}

// isOwnState tells what is deployer's own, or above it: receipts, which say nothing that
// is not so without them, and room for what only lasts as long as a check.
func isOwnState(path string) bool {
	const state = "/var/lib/deployer"
	return within(path, state) || within(state, path)
}

// temporary is part of the name of each temporary file.
const temporary = ".deployer-"

// assertPredicted fails the test when what an apply has changed was not in what its check
// found, or cannot be put back. What programs change is not the module's to say.
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
		case strings.Contains(path, temporary): // left by a try that died
		case before[path] != "" && !isLeaf(before[path]): // a directory with something new in it
		case !covered(path, targets):
			t.Errorf("%s has changed, and the check has only foreseen %q", path, slices.Sorted(maps.Keys(targets)))
		case !covered(path, kept):
			t.Errorf("%s has changed and cannot be put back: only %q were kept", path, slices.Sorted(maps.Keys(kept)))
		}
	}
}

// isLeaf tells a file or link from a directory, which changes with what is in it.
func isLeaf(portrait string) bool { return !strings.HasPrefix(portrait, "d") }

// covered tells whether a path is one of some, below one of them, or a directory
// above one that had to be made.
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
