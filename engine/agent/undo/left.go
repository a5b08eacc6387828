package undo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine/agent/statedir"
)

// LeftFile is a file of the host as the last run that changed it left it.
type LeftFile struct {
	Path  string    `json:"path"`
	Run   string    `json:"run"`
	Began time.Time `json:"began"`          // when the run began; zero when its journal is lost
	File  *File     `json:"file,omitempty"` // nil: the run removed it
	// Unknown is true when nobody knows how the run left it: a step was interrupted, or a service makes it
	// again.
	Unknown bool `json:"unknown,omitempty"`
}

// leftFile is the file of the state directory with what runs left whose records are gone.
const leftFile = "left.json"

// LeftFiles returns the files that runs have changed, each as the last of them left it, by path, without those
// of which nobody knows it.
func LeftFiles(dir *statedir.Dir) (map[string]LeftFile, error) {
	out, err := readLeft(dir)
	if err != nil {
		return nil, err
	}
	if err := mergeLeft(dir, out, dir.Runs()); err != nil {
		return nil, err
	}
	maps.DeleteFunc(out, func(_ string, l LeftFile) bool { return l.Unknown })
	return out, nil
}

// readLeft reads what runs left whose records are gone.
func readLeft(dir *statedir.Dir) (map[string]LeftFile, error) {
	out := map[string]LeftFile{}
	text, err := os.ReadFile(filepath.Join(dir.Path, leftFile))
	if errors.Is(err, fs.ErrNotExist) {
		return out, nil
	}
	if err != nil {
		return nil, err
	}
	var list []LeftFile
	if err := json.Unmarshal(text, &list); err != nil {
		return nil, fmt.Errorf("reading %s: %w", leftFile, err)
	}
	for _, l := range list {
		out[l.Path] = l
	}
	return out, nil
}

// mergeLeft adds what runs left, in the order in which they began. Records of a later run may be gone before
// those of an earlier one, which somebody has read for a revert since.
func mergeLeft(dir *statedir.Dir, into map[string]LeftFile, runs []string) error {
	began := map[string]time.Time{}
	for _, run := range runs {
		if entries, _, err := dir.JournalEntries(run); err == nil && len(entries) > 0 {
			began[run] = entries[0].Time
		}
	}
	runs = slices.Clone(runs)
	slices.SortFunc(runs, func(a, b string) int { return cmp.Or(began[a].Compare(began[b]), cmp.Compare(a, b)) })
	for _, run := range runs {
		path, err := dir.RunDir(run)
		if err != nil {
			continue // no directory of ours
		}
		lines, err := readBackupLog(path)
		if err != nil {
			return err
		}
		for _, line := range lines {
			if line.Kind != kindFile || into[line.Name].Began.After(began[run]) {
				continue
			}
			// A step that has begun has left nothing yet.
			into[line.Name] = LeftFile{Path: line.Name, Run: run, Began: began[run], File: line.File, Unknown: !line.Left || line.Regenerated}
		}
	}
	return nil
}

// keepLeft saves what runs left whose records will be removed.
func (s *Store) keepLeft(runs []string) error {
	if len(runs) == 0 {
		return nil
	}
	all, err := readLeft(s.dir)
	if err != nil {
		all = map[string]LeftFile{} // a damaged file is worth less than the run that would fail
	}
	if err := mergeLeft(s.dir, all, runs); err != nil {
		return err
	}
	text, err := json.Marshal(slices.SortedFunc(maps.Values(all), func(a, b LeftFile) int { return cmp.Compare(a.Path, b.Path) }))
	if err != nil {
		return err
	}
	return statedir.WritePrivateFile(filepath.Join(s.dir.Path, leftFile), text)
}

// Difference returns how the file at the path of the host differs from what the run left: "" when it does
// not. root is the directory of this machine that is / of the host. Files without a digest are compared
// by their size.
func (l LeftFile) Difference(root string) (string, error) {
	now, err := describeWithDigest(root, l.Path)
	if err != nil {
		return "", err
	}
	was := l.File
	switch {
	case was == nil && now == nil:
		return "", nil
	case was == nil:
		return "it is there again", nil
	case now == nil:
		return "it is gone", nil
	case was.Mode.Type() != now.Mode.Type():
		return "it is something else", nil
	case was.Link != now.Link:
		return "the link leads elsewhere", nil
	case was.Mode.IsRegular() && (was.Size != now.Size || was.Digest != "" && was.Digest != now.Digest):
		return "its content has changed", nil
	case was.Mode != now.Mode || was.UID != now.UID || was.GID != now.GID:
		return "its owner or mode has changed", nil
	}
	return "", nil
}
