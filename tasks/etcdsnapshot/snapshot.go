// Package etcdsnapshot has the module that saves a snapshot of etcd on a host that runs a
// member.
package etcdsnapshot

import (
	"context"
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/tasks/hostcmd"
)

// Snapshot saves the data of the host's member to a file of its own, verifies the file,
// and removes the oldest snapshots. A revert of the run leaves the snapshot and its
// directory.
type Snapshot struct {
	Dir      string `yaml:"dir" required:"true" doc:"directory of the snapshots; made with mode 0700 when it is missing, and not removed by a revert"`
	Name     string `yaml:"name" required:"true" doc:"name of the snapshot, such as the run; the file has the suffix .db"`
	DataDir  string `yaml:"data_dir" required:"true" doc:"etcd's data directory, for the size of the database"`
	Endpoint string `yaml:"endpoint" required:"true" doc:"client URL of the member"`
	CA       string `yaml:"ca" required:"true" doc:"path of the certificate of etcd's authority"`
	Cert     string `yaml:"cert" required:"true" doc:"path of a client certificate"`
	Key      string `yaml:"key" required:"true" doc:"path of its key"`
	Keep     int    `yaml:"keep" doc:"number of snapshots that stay in the directory; default 5"`
	MaxMiB   int64  `yaml:"max_mib" doc:"size in MiB of all snapshots in the directory, beyond which the oldest are removed, never the new one; default no limit"`
}

var _ engine.Module = (*Snapshot)(nil)

// DefaultKeep is the number of snapshots that stay in the directory.
const DefaultKeep = 5

// spare is the space that must stay free beside the snapshot, in bytes: the host also
// installs binaries, and etcd stops to write on a full disk.
const spare = 512 << 20

const suffix = ".db"

func (s *Snapshot) path() string { return filepath.Join(s.Dir, s.Name+suffix) }

// Check fails when the file system has no room for a snapshot of the database. A snapshot
// that exists, as after a lost connection, is verified and described as by Apply.
func (s *Snapshot) Check(ctx context.Context, sys engine.System) (engine.Change, error) {
	if s.Name != filepath.Base(s.Name) || strings.HasPrefix(s.Name, ".") {
		return engine.Change{}, fmt.Errorf("name %q is not the name of a file", s.Name)
	}
	if info, err := os.Lstat(sys.Path(s.path())); err == nil {
		if !info.Mode().IsRegular() {
			return engine.Change{}, fmt.Errorf("%s is no regular file: remove it", s.path())
		}
		found, err := verify(ctx, sys, s.path())
		if err != nil {
			return engine.Change{}, fmt.Errorf("%w; the file exists as %s: remove it, and take another snapshot", err, s.path())
		}
		return engine.NoChange(s.output(found)), nil
	}
	if err := s.checkSpace(sys); err != nil {
		return engine.Change{}, err
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: s.path(), Action: "save a snapshot of etcd"})
	change.Output = engine.Output{"path": s.path()}
	return change, nil
}

func (s *Snapshot) checkSpace(sys engine.System) error {
	db := filepath.Join(s.DataDir, "member/snap/db")
	info, err := os.Stat(sys.Path(db))
	if err != nil {
		return fmt.Errorf("reading the size of etcd's database: %w", err)
	}
	dir := s.Dir
	for dir != "/" && !exists(sys, dir) { // in a check the directory may not be there yet
		dir = filepath.Dir(dir)
	}
	var fsys syscall.Statfs_t
	if err := syscall.Statfs(sys.Path(dir), &fsys); err != nil {
		return fmt.Errorf("reading the free space of %s: %w", dir, err)
	}
	if free := int64(fsys.Bavail) * fsys.Bsize; free < info.Size()+spare { //nolint:gosec,unconvert // sizes of file systems; Bsize differs between architectures
		return fmt.Errorf("%s has %d MiB free, and a snapshot of etcd's database of %d MiB with %d MiB to spare does not fit: make room there",
			dir, free>>20, info.Size()>>20, int64(spare)>>20)
	}
	return nil
}

func exists(sys engine.System, path string) bool {
	_, err := os.Stat(sys.Path(path))
	return err == nil
}

// status is the output of etcdutl for a snapshot.
type status struct {
	Hash      uint32 `json:"hash"`
	Revision  int64  `json:"revision"`
	TotalKey  int64  `json:"totalKey"`
	TotalSize int64  `json:"totalSize"`
}

// Apply saves the snapshot under a temporary name, which it has until it is verified.
// The output has path, revision, keys and bytes.
func (s *Snapshot) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := os.MkdirAll(sys.Path(s.Dir), 0o700); err != nil {
		return nil, fmt.Errorf("making the directory of snapshots: %w", err)
	}
	temp := filepath.Join(s.Dir, "."+s.Name+partial)
	if err := s.removePartial(sys, temp); err != nil {
		return nil, err
	}
	defer s.removePartial(sys, temp) //nolint:errcheck // the next run removes it
	if _, err := hostcmd.Run(ctx, sys, "/usr/local/bin/etcdctl", "--endpoints="+s.Endpoint, "--cacert="+s.CA, "--cert="+s.Cert, "--key="+s.Key,
		"--command-timeout="+saveTimeout.String(), "snapshot", "save", sys.Path(temp)); err != nil {
		return nil, fmt.Errorf("saving a snapshot of etcd: %w", err)
	}
	if err := os.Chmod(sys.Path(temp), 0o600); err != nil {
		return nil, err
	}
	found, err := verify(ctx, sys, temp)
	if err != nil {
		return nil, err
	}
	if err := os.Rename(sys.Path(temp), sys.Path(s.path())); err != nil {
		return nil, err
	}
	if err := s.prune(sys); err != nil {
		return nil, fmt.Errorf("removing old snapshots of etcd: %w", err)
	}
	return s.output(found), nil
}

func (s *Snapshot) output(found status) engine.Output {
	return engine.Output{"path": s.path(), "revision": found.Revision, "keys": found.TotalKey, "bytes": found.TotalSize}
}

// verify returns the status of a snapshot, and an error for one that is damaged or empty.
func verify(ctx context.Context, sys engine.System, path string) (status, error) {
	text, err := hostcmd.Run(ctx, sys, "/usr/local/bin/etcdutl", "snapshot", "status", sys.Path(path), "--write-out=json")
	if err != nil {
		return status{}, fmt.Errorf("verifying the snapshot of etcd: %w", err)
	}
	var found status
	if err := json.Unmarshal([]byte(text), &found); err != nil {
		return status{}, fmt.Errorf("verifying the snapshot of etcd: reading the output of etcdutl: %w", err)
	}
	if found.Revision < 1 || found.TotalKey < 1 {
		return status{}, fmt.Errorf("verifying the snapshot of etcd: it has revision %d and %d keys", found.Revision, found.TotalKey)
	}
	return found, nil
}

// partial ends the name of a snapshot that is not verified yet, which begins with a dot.
// etcdctl writes to that name with the ending once more.
const partial = ".part"

// abandonedAfter is the age of the last write at which a partial snapshot of another run was
// left by a process that was killed: backups take no lock, and several may run at a time. It
// is longer than a save lasts.
const abandonedAfter = time.Hour

// removePartial removes the temporary files of this snapshot, and those that killed runs have
// left in the directory. removePartial leaves those of the host's timer, whose script removes them.
func (s *Snapshot) removePartial(sys engine.System, own string) error {
	for _, path := range []string{own, own + partial} {
		if err := os.Remove(sys.Path(path)); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("removing a partial snapshot: %w", err)
		}
	}
	entries, err := os.ReadDir(sys.Path(s.Dir))
	if err != nil {
		return fmt.Errorf("looking for partial snapshots: %w", err)
	}
	for _, e := range entries {
		if !e.Type().IsRegular() || !strings.HasPrefix(e.Name(), ".") || !strings.HasSuffix(e.Name(), partial) || strings.HasPrefix(e.Name(), ".scheduled-") {
			continue
		}
		if info, err := e.Info(); err != nil || time.Since(info.ModTime()) < abandonedAfter {
			continue
		}
		if err := os.Remove(filepath.Join(sys.Path(s.Dir), e.Name())); err != nil && !os.IsNotExist(err) {
			return fmt.Errorf("removing a partial snapshot: %w", err)
		}
	}
	return nil
}

// saveTimeout is the maximum duration of a save: etcd's largest recommended database of
// 8 GiB at 15 MB/s.
const saveTimeout = 10 * time.Minute

// prune removes the oldest snapshots beyond Keep and MaxMiB, never the new one.
func (s *Snapshot) prune(sys engine.System) error {
	keep := s.Keep
	if keep < 1 {
		keep = DefaultKeep
	}
	entries, err := os.ReadDir(sys.Path(s.Dir))
	if err != nil {
		return err
	}
	entries = slices.DeleteFunc(entries, func(e fs.DirEntry) bool {
		return !e.Type().IsRegular() || !strings.HasSuffix(e.Name(), suffix) || strings.HasPrefix(e.Name(), ".") || e.Name() == s.Name+suffix
	})
	age := func(e fs.DirEntry) time.Time {
		if info, err := e.Info(); err == nil {
			return info.ModTime()
		}
		return time.Time{}
	}
	size := func(path string) int64 {
		if info, err := os.Lstat(path); err == nil {
			return info.Size()
		}
		return 0
	}
	slices.SortFunc(entries, func(a, b fs.DirEntry) int { return age(b).Compare(age(a)) })
	total := size(sys.Path(s.path()))
	for i, e := range entries {
		total += size(filepath.Join(sys.Path(s.Dir), e.Name()))
		if i+1 < keep && (s.MaxMiB <= 0 || total <= s.MaxMiB<<20) {
			continue
		}
		if err := os.Remove(filepath.Join(sys.Path(s.Dir), e.Name())); err != nil {
			return err
		}
	}
	return nil
}
