// Package etcddata has the module that reads the revision of the data of an etcd member from
// its files. A member that has no majority serves no client, and its process holds the lock
// of its database, so neither etcd's client nor etcdutl can be asked.
package etcddata

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// Revision is the module `etcd_revision`: it reads the highest revision of the databases in
// a data directory, those of the member and those that replacements have kept there
// (before-ID, removed-ID). Revision changes nothing. A process may use the database meanwhile; what
// it has written to its log in the last 100 ms may be missing.
//
// Output: revision, 0 without a readable database; unreadable, one text for each database
// that could not be read.
type Revision struct {
	DataDir string `yaml:"data_dir" rule:"path" required:"true" doc:"etcd's data directory"`
}

var _ engine.Module = (*Revision)(nil)

// ReadOnly is true.
func (*Revision) ReadOnly() bool { return true }

// database is the path of the database in a data directory.
const database = "member/snap/db"

// Check reads the revisions. A database that is damaged is no error: a restore is for it.
func (r *Revision) Check(_ context.Context, sys engine.System) (engine.Change, error) {
	if !filepath.IsAbs(r.DataDir) {
		return engine.Change{}, fmt.Errorf("data_dir %q is not absolute", r.DataDir)
	}
	entries, err := os.ReadDir(sys.Path(r.DataDir))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return engine.Change{}, fmt.Errorf("looking for databases of etcd: %w", err)
	}
	paths := []string{filepath.Join(r.DataDir, database)}
	for _, e := range entries {
		// restored-ID and restoring-ID hold data that was never served.
		if e.IsDir() && (strings.HasPrefix(e.Name(), "before-") || strings.HasPrefix(e.Name(), "removed-")) {
			paths = append(paths, filepath.Join(r.DataDir, e.Name(), database))
		}
	}
	highest, unreadable := int64(0), []string{}
	for _, path := range paths {
		found, err := revisionOf(sys, path)
		switch {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			unreadable = append(unreadable, fmt.Sprintf("%s: %v", path, err))
		default:
			highest = max(highest, found)
		}
	}
	slices.Sort(unreadable)
	return engine.NoChange(engine.Output{"revision": highest, "unreadable": unreadable}), nil
}

// revisionOf reads the revision of one database. etcd's user controls the directory, so a
// link in it is not followed.
func revisionOf(sys engine.System, path string) (int64, error) {
	node, err := hostpath.Open(sys.Path("/"), path)
	if err != nil {
		return 0, err
	}
	defer node.Close()
	info, err := node.Stat()
	if err != nil {
		return 0, err
	}
	if !info.Mode().IsRegular() {
		return 0, errors.New("it is no regular file")
	}
	f, err := node.File()
	if err != nil {
		return 0, err
	}
	defer f.Close()
	return lastRevision(f)
}

// Apply is never called.
func (*Revision) Apply(context.Context, engine.System, engine.Change) (engine.Output, error) {
	return nil, nil
}
