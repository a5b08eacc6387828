package undo

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"deployer/engine/agent/statedir"
)

// LeftFile is a file of the host as the last run that changed it left it.
type LeftFile struct {
	Path string `json:"path"`
	Run  string `json:"run"`
	File *File  `json:"file,omitempty"` // nil: the run removed it
}

// leftFile is the file of the state directory with what runs left whose records are gone.
const leftFile = "left.json"

// LeftFiles returns the files that runs have changed, each as the last of them left it, by path. It
// leaves out files of interrupted steps, whose state nobody knows, and those that a service makes again.
func LeftFiles(dir *statedir.Dir) (map[string]LeftFile, error) {
	out, err := readLeft(dir)
	if err != nil {
		return nil, err
	}
	return out, mergeLeft(dir, out, dir.Runs())
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

// mergeLeft adds what runs left, in the order in which they began.
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
			if line.Kind != kindFile {
				continue
			}
			// A step that has begun has left nothing yet.
			delete(into, line.Name)
			if line.Left && !line.Regenerated {
				into[line.Name] = LeftFile{Path: line.Name, Run: run, File: line.File}
			}
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
	list := make([]LeftFile, 0, len(all))
	for _, l := range all {
		list = append(list, l)
	}
	slices.SortFunc(list, func(a, b LeftFile) int { return cmp.Compare(a.Path, b.Path) })
	text, err := json.Marshal(list)
	if err != nil {
		return err
	}
	path := filepath.Join(s.dir.Path, leftFile)
	if err := os.WriteFile(path+".part", text, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".part", path)
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
