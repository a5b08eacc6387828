// Package etcdsnapshot has the module that saves a snapshot of etcd on a host that runs a
// member.
package etcdsnapshot

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"deployer/engine"
	"deployer/engine/hostpath"
	"deployer/tasks/hostcmd"
	"deployer/tasks/hostfile"
)

// Snapshot saves the data of the host's member to a file of its own, verifies the file,
// and removes the oldest snapshots. A revert of the run leaves the snapshot and its
// directory.
type Snapshot struct {
	Dir      string `yaml:"dir" rule:"path" required:"true" doc:"directory of the snapshots; made with mode 0700 when it is missing, and not removed by a revert; only root may be able to write to it and to its parents"`
	Name     string `yaml:"name" rule:"filename" required:"true" doc:"name of the snapshot, such as the run; the file has the suffix .db"`
	DataDir  string `yaml:"data_dir" rule:"path" required:"true" doc:"etcd's data directory, for the size of the database"`
	Endpoint string `yaml:"endpoint" rule:"url" required:"true" doc:"client URL of the member"`
	CA       string `yaml:"ca" rule:"path" required:"true" doc:"path of the certificate of etcd's authority"`
	Cert     string `yaml:"cert" rule:"path" required:"true" doc:"path of a client certificate"`
	Key      string `yaml:"key" rule:"path" required:"true" doc:"path of its key"`
	Keep     int    `yaml:"keep" range:"0.." doc:"number of snapshots that stay in the directory; default 5"`
	MaxMiB   int64  `yaml:"max_mib" range:"0.." doc:"size in MiB of all snapshots in the directory, beyond which the oldest are removed, never the new one; default no limit"`
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
	switch info, err := hostfile.Lstat(sys, s.path()); {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return engine.Change{}, fmt.Errorf("looking for the snapshot: %w", err)
	case !info.Mode().IsRegular():
		return engine.Change{}, fmt.Errorf("%s is no regular file: remove it", s.path())
	default:
		dir, err := s.open(sys)
		if err != nil {
			return engine.Change{}, err
		}
		dir.Close()
		found, err := verify(ctx, sys, s.path())
		if err != nil {
			return engine.Change{}, fmt.Errorf("%w; the file exists as %s: remove it, and take another snapshot", err, s.path())
		}
		out, err := s.output(sys, found)
		return engine.NoChange(out), err
	}
	if err := s.checkSpace(sys); err != nil {
		return engine.Change{}, err
	}
	change := engine.Changed(engine.Effect{Kind: engine.EffectFile, Target: s.path(), Action: "save a snapshot of etcd"})
	change.Output = engine.Output{"path": s.path()}
	return change, nil
}

// open opens the directory of the snapshots. It fails when another user can write to
// the directory or replace it: etcdctl would follow a link of that user.
func (s *Snapshot) open(sys engine.System) (*hostpath.Dir, error) {
	dir, err := hostfile.OpenDir(sys, s.Dir)
	if err != nil {
		return nil, fmt.Errorf("opening the directory of snapshots: %w", err)
	}
	for path := dir.Path(); path != "/"; path = filepath.Dir(path) {
		info, err := hostfile.Lstat(sys, path)
		if err == nil && !private(info) {
			err = fmt.Errorf("other users than root can write to %s: keep snapshots in a directory that only root can write to, and its parents as well", path)
		}
		if err != nil {
			dir.Close()
			return nil, fmt.Errorf("checking the directory of snapshots: %w", err)
		}
	}
	return dir, nil
}

// private reports whether only root and the agent's own user can write to a directory or
// replace its entries.
func private(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && (stat.Uid == 0 || int(stat.Uid) == os.Geteuid()) && (info.Mode().Perm()&0o022 == 0 || info.Mode()&fs.ModeSticky != 0)
}

// makeDir makes the directory of the snapshots, mode 0700, when it is missing.
func (s *Snapshot) makeDir(sys engine.System) error {
	parent, err := hostfile.MakeDir(sys, filepath.Dir(s.Dir))
	if err != nil {
		return fmt.Errorf("making the directory of snapshots: %w", err)
	}
	defer parent.Close()
	made, err := parent.Mkdir(filepath.Base(s.Dir), 0o700)
	switch {
	case err == nil:
		made.Close()
	case !errors.Is(err, fs.ErrExist):
		return fmt.Errorf("making the directory of snapshots: %w", err)
	}
	return nil
}

func (s *Snapshot) checkSpace(sys engine.System) error {
	info, err := hostfile.Stat(sys, filepath.Join(s.DataDir, "member/snap/db"))
	if err != nil {
		return fmt.Errorf("reading the size of etcd's database: %w", err)
	}
	path := s.Dir
	for path != "/" && !exists(sys, path) { // in a check the directory may not be there yet
		path = filepath.Dir(path)
	}
	free, err := freeSpace(sys, path)
	if err != nil {
		return fmt.Errorf("reading the free space of %s: %w", path, err)
	}
	if free < info.Size()+spare {
		return fmt.Errorf("%s has %d MiB free, and a snapshot of etcd's database of %d MiB with %d MiB to spare does not fit: make room there",
			path, free>>20, info.Size()>>20, int64(spare)>>20)
	}
	return nil
}

// freeSpace returns the free space of the file system of a directory in bytes.
func freeSpace(sys engine.System, path string) (int64, error) {
	dir, err := hostfile.OpenDir(sys, path)
	if err != nil {
		return 0, err
	}
	defer dir.Close()
	self, err := dir.Root.Open(".")
	if err != nil {
		return 0, err
	}
	defer self.Close()
	var fsys syscall.Statfs_t
	if err := syscall.Fstatfs(int(self.Fd()), &fsys); err != nil {
		return 0, err
	}
	return int64(fsys.Bavail) * fsys.Bsize, nil //nolint:gosec,unconvert // sizes of file systems; Bsize differs between architectures
}

func exists(sys engine.System, path string) bool {
	_, err := hostfile.Stat(sys, path)
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
// The output has path, revision, keys, bytes (of the file) and sha256.
func (s *Snapshot) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := s.makeDir(sys); err != nil {
		return nil, err
	}
	dir, err := s.open(sys)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	temp := "." + s.Name + partial
	path := filepath.Join(dir.Path(), temp)
	if err := removePartial(dir, temp); err != nil {
		return nil, err
	}
	defer removePartial(dir, temp) //nolint:errcheck // the next run removes it
	if _, err := hostcmd.Run(ctx, sys, "/usr/local/bin/etcdctl", "--endpoints="+s.Endpoint, "--cacert="+s.CA, "--cert="+s.Cert, "--key="+s.Key,
		"--command-timeout="+saveTimeout.String(), "snapshot", "save", sys.Path(path)); err != nil {
		return nil, fmt.Errorf("saving a snapshot of etcd: %w", err)
	}
	if err := restrict(dir, temp); err != nil {
		return nil, err
	}
	found, err := verify(ctx, sys, path)
	if err != nil {
		return nil, err
	}
	if err := dir.Rename(temp, s.Name+suffix); err != nil {
		return nil, err
	}
	if err := s.prune(dir); err != nil {
		return nil, fmt.Errorf("removing old snapshots of etcd: %w", err)
	}
	return s.output(sys, found)
}

// restrict makes a file readable by root only.
func restrict(dir *hostpath.Dir, name string) error {
	node, err := dir.Open(name)
	if err != nil {
		return err
	}
	defer node.Close()
	return node.Chmod(0o600)
}

// output describes the saved snapshot. etcdutl counts the bytes of the database only, without the
// digest behind it, so the size of the file is read.
func (s *Snapshot) output(sys engine.System, found status) (engine.Output, error) {
	info, err := hostfile.Lstat(sys, s.path())
	if err != nil {
		return nil, fmt.Errorf("describing the snapshot: %w", err)
	}
	sum, err := hostfile.SHA256(sys, s.path())
	if err != nil {
		return nil, fmt.Errorf("describing the snapshot: %w", err)
	}
	return engine.Output{"path": s.path(), "revision": found.Revision, "keys": found.TotalKey, "bytes": info.Size(), "sha256": sum}, nil
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
func removePartial(dir *hostpath.Dir, own string) error {
	for _, name := range []string{own, own + partial} {
		if err := dir.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a partial snapshot: %w", err)
		}
	}
	files, err := regularFiles(dir)
	if err != nil {
		return fmt.Errorf("looking for partial snapshots: %w", err)
	}
	for _, f := range files {
		if !strings.HasPrefix(f.Name(), ".") || !strings.HasSuffix(f.Name(), partial) || strings.HasPrefix(f.Name(), ".scheduled-") || time.Since(f.ModTime()) < abandonedAfter {
			continue
		}
		if err := dir.Remove(f.Name()); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return fmt.Errorf("removing a partial snapshot: %w", err)
		}
	}
	return nil
}

// file is a regular file of a directory.
type file struct {
	fs.FileInfo
	name string
}

// Name returns the name in the directory.
func (f file) Name() string { return f.name }

// regularFiles returns the regular files of a directory, without those that are removed
// meanwhile.
func regularFiles(dir *hostpath.Dir) ([]file, error) {
	names, err := dir.Names()
	if err != nil {
		return nil, err
	}
	var out []file
	for _, name := range names {
		if info, err := dir.Lstat(name); err == nil && info.Mode().IsRegular() {
			out = append(out, file{info, name})
		}
	}
	return out, nil
}

// saveTimeout is the maximum duration of a save: etcd's largest recommended database of
// 8 GiB at 15 MB/s.
const saveTimeout = 10 * time.Minute

// prune removes the oldest snapshots beyond Keep and MaxMiB, never the new one.
func (s *Snapshot) prune(dir *hostpath.Dir) error {
	keep := s.Keep
	if keep < 1 {
		keep = DefaultKeep
	}
	files, err := regularFiles(dir)
	if err != nil {
		return err
	}
	var total int64
	files = slices.DeleteFunc(files, func(f file) bool {
		if f.Name() == s.Name+suffix {
			total = f.Size()
			return true
		}
		return !strings.HasSuffix(f.Name(), suffix) || strings.HasPrefix(f.Name(), ".")
	})
	slices.SortFunc(files, func(a, b file) int { return b.ModTime().Compare(a.ModTime()) })
	for i, f := range files {
		total += f.Size()
		if i+1 < keep && (s.MaxMiB <= 0 || total <= s.MaxMiB<<20) {
			continue
		}
		if err := dir.Remove(f.Name()); err != nil {
			return err
		}
	}
	return nil
}
