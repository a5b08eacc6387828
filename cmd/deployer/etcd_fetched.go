package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"time"

	"deployer/engine/journal"
	"deployer/runs"
)

// removeFetchedSnapshot removes the copies of a snapshot and its keys that a restore has
// fetched, from a host or an object store, when no resume needs them any more. removeFetchedSnapshot leaves
// files of the user, and does nothing for other runs.
func removeFetchedSnapshot(r *runs.Run) error {
	dir, err := fetchedSnapshots()
	reads := r.Verb == journal.VerbEtcdRestore || r.Verb == journal.VerbEtcdRestoreHosts || r.Verb == journal.VerbEtcdReaddress
	if err != nil || !reads {
		return err
	}
	for _, variable := range []string{"etcd_restore_snapshot", "etcd_restore_keys"} {
		file, _ := r.Extra[variable].(string)
		if filepath.Dir(file) != dir {
			continue
		}
		if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the copy of the backup: %w", err)
		}
	}
	return nil
}

// fetchedSnapshots returns the directory of the copies of snapshots, and of their keys, that
// restores have fetched from hosts and object stores.
func fetchedSnapshots() (string, error) {
	state, err := journal.Dir()
	return filepath.Join(filepath.Dir(state), "etcd-restore"), err
}

// resumableFor is the time after which the copies of a restore that never ended are removed.
// deployer resume needs them until then.
const resumableFor = 7 * 24 * time.Hour

// removeAbandonedSnapshots removes the copies of snapshots and keys that restores have fetched
// which did not end. removeAbandonedSnapshots leaves files of other names.
func removeAbandonedSnapshots() error {
	dir, err := fetchedSnapshots()
	if err != nil {
		return err
	}
	entries, err := os.ReadDir(dir)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking for copies of abandoned restores: %w", err)
	}
	for _, e := range entries {
		info, err := e.Info()
		if err != nil || !info.Mode().IsRegular() || time.Since(info.ModTime()) < resumableFor || !fetchedName.MatchString(e.Name()) {
			continue
		}
		if err := os.Remove(filepath.Join(dir, e.Name())); err != nil && !errors.Is(err, os.ErrNotExist) {
			return fmt.Errorf("removing the copy of an abandoned restore: %w", err)
		}
	}
	return nil
}

// fetchedName matches the names of copies, ID.db, ID.mac and ID.keys.age, and of partial downloads.
var fetchedName = regexp.MustCompile(`^[0-9]{8}-[0-9]{6}\.(db|mac|keys\.age)(\.part)?$`)

// fetchSnapshot copies a snapshot of a host to this machine, as ID.db, and returns its path.
func (o runOptions) fetchSnapshot(ctx context.Context, e env, r *runs.Run, host, path, id string) (string, error) {
	return o.fetchFile(ctx, e, r, host, path, id+".db", map[string]any{"max_mib": 16384})
}

// fetchFile copies a file of a host to the directory of fetched snapshots, and returns the path
// of the copy. arguments are further ones of the action fetch.
func (o runOptions) fetchFile(ctx context.Context, e env, r *runs.Run, host, path, name string, arguments map[string]any) (string, error) {
	dir, err := fetchedSnapshots()
	if err != nil {
		return "", err
	}
	file := filepath.Join(dir, name)
	arguments["src"], arguments["dest"], arguments["flat"] = path, file, true
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	given, err := o.resolve()
	if err != nil {
		return "", err
	}
	given.Verb, given.Limit = "fetch", host
	fetch, err := newRunner(e).Task(map[string]any{"name": "a file of the backup", "fetch": arguments}, given)
	if err != nil {
		return "", err
	}
	fetch.ShareCredentials(r)
	done, err := runWithDisplay(ctx, fetch, o.progressDisplay(e.stderr, fetch.Hosts), fetch.Do)
	if err != nil {
		return "", err
	}
	for _, h := range done.Broken() {
		return "", &exitError{exitFailed, fmt.Errorf("reading %s from %s: %s", path, h.Host, h.Failure.Message)}
	}
	return file, nil
}
