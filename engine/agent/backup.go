package agent

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/engine/hostpath"
)

// backUp backs up the file at the record's path. Directories above the path that do
// not exist get records too: the step will create them.
func (k *backupWriter) backUp(line BackupRecord, root string) error {
	line.Kind, line.Name = kindFile, filepath.Clean("/"+line.Name)
	missing, err := missingAbove(root, line.Name)
	if err != nil {
		return fmt.Errorf("backing up file %s: %w", line.Name, err)
	}
	for _, dir := range missing {
		above := line
		above.Name = dir
		if err := k.add(above, func(*BackupRecord) error { return nil }); err != nil {
			return err
		}
	}
	return k.add(line, func(l *BackupRecord) error {
		n, err := hostpath.Open(root, l.Name)
		if isMissing(err) {
			return nil
		}
		if err != nil {
			return err
		}
		defer n.Close()
		if l.File, err = describe(n); err != nil {
			return err
		}
		switch {
		case l.File.Mode.IsRegular():
			if l.Lost = backupRefusal(k.dir, l.File.Size); l.Lost != "" {
				l.File = nil
				return nil
			}
			l.Data = fmt.Sprintf("%06d", k.lines)
			to := filepath.Join(k.dir, "kept", l.Data)
			if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
				return err
			}
			return copyContent(n, to)
		case l.File.Mode&fs.ModeSymlink == 0 && !l.File.Mode.IsDir():
			l.File, l.Lost = nil, "it is a special file ("+l.File.Mode.Type().String()+")"
		}
		return nil
	})
}

// copyContent copies the content of a file to a path. A partial copy of an attempt
// that died is overwritten; a copy that fails is removed.
func copyContent(n *hostpath.Node, to string) error {
	in, err := n.File()
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_TRUNC, 0o600)
	if err != nil {
		return err
	}
	err = errors.Join(restrictToOwner(out), copySynced(out, in), out.Close())
	if err != nil {
		_ = os.Remove(to)
	}
	if errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) {
		err = fmt.Errorf("%w: free some space there; without a backup the file is not changed", err)
	}
	return err
}

// missingAbove lists the directories above path that do not exist, the topmost
// first.
func missingAbove(root, path string) ([]string, error) {
	var out []string
	for dir := filepath.Dir(path); dir != "/"; dir = filepath.Dir(dir) {
		_, err := hostpath.Lstat(root, dir)
		if err == nil {
			break
		}
		if !isMissing(err) {
			return nil, err
		}
		out = append([]string{dir}, out...)
	}
	return out, nil
}

// Backup backs up the file at a path before the step changes it; see engine.System.
func (s *system) Backup(path string) error {
	k, err := s.backups()
	if k == nil || err != nil {
		return err
	}
	return k.backUp(s.line("", path), s.Path("/"))
}

// BackupState backs up the state of a resource other than a file; see engine.System.
func (s *system) BackupState(kind, name string, now engine.State) error {
	k, err := s.backups()
	if k == nil || err != nil {
		return err
	}
	if s.step.server.registry[kind].Restorer == nil {
		return fmt.Errorf("backing up %s %s: its kind has no restorer; this is a bug of the module", kind, name)
	}
	return k.add(s.line(kind, name), func(l *BackupRecord) error {
		l.State = now
		return nil
	})
}

// MarkIrreversible records that a resource cannot be restored, with the reason; see
// engine.System.
func (s *system) MarkIrreversible(name, why string) error {
	k, err := s.backups()
	if k == nil || err != nil {
		return err
	}
	line := s.line("lost", name)
	line.Lost = why
	return k.add(line, func(*BackupRecord) error { return nil })
}

// backupWriter returns the writer of the step's run; nil in a dry run, which changes
// nothing.
func (s *system) backups() (*backupWriter, error) {
	if s.step.check {
		return nil, nil
	}
	return s.step.server.state.backupWriter(s.step.run)
}

func (s *system) line(kind, name string) BackupRecord {
	return BackupRecord{Step: s.step.step.ID, Kind: kind, Name: name, Secret: s.step.secret()}
}

// secret reports whether the contents that the step handles are secret.
func (r *stepRun) secret() bool {
	if r.step.Secret || r.applied == nil {
		return r.step.Secret
	}
	for _, e := range r.applied.Effects {
		if e.Secret {
			return true
		}
	}
	return false
}

// recordAfter records the present state of each resource that the step has backed
// up. It is also called for a step that failed, or that found the work of an earlier
// attempt done.
func (r *stepRun) recordAfter(ctx context.Context) error {
	if r.check {
		return nil
	}
	k, err := r.server.state.backupWriter(r.run)
	if err != nil {
		return err
	}
	sys := &system{step: r}
	for _, line := range k.unfinished(r.step.ID) {
		if line.Kind == kindFile {
			line.File, err = describeWithDigest(sys.Path("/"), line.Name)
		} else {
			line.State, err = r.server.registry[line.Kind].Restorer.Read(ctx, sys, line.Name)
		}
		if err == nil {
			err = k.recordAfter(line)
		}
		if err != nil {
			return fmt.Errorf("reading the new state of %s %s: %w", line.Kind, line.Name, err)
		}
	}
	return nil
}
