package artifact

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"deployer/engine"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Apply unpacks the blob to temporary files, renames those that differ, and writes
// the receipt last, so that a run after a kill starts over. A file with the right
// content stays, so that its time does not change and nothing restarts.
func (i *Install) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	if err := receipt.Claim(sys); err != nil {
		return nil, err
	}
	blob, err := sys.Blob(ctx, i.Blob)
	if err != nil {
		return nil, fmt.Errorf("fetching %s: %w", i.name(), err)
	}
	defer blob.Close()
	s := &stage{sys: sys, mode: i.mode(), files: map[string]*staged{}}
	defer s.discard()
	if i.Dest != "" {
		err = s.add(i.Dest, blob, true)
	} else {
		err = unpack(blob, i.Members, s)
	}
	if err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", i.name(), err)
	}
	changed, rec, err := s.commit(i.published())
	if err != nil {
		return nil, fmt.Errorf("installing %s: %w", i.name(), err)
	}
	if err := receipt.Write(sys, i.receiptPath(), rec); err != nil {
		return nil, err
	}
	return engine.Output{"installed": changed}, nil
}

// stage has the temporary files that were not renamed yet.
type stage struct {
	sys   engine.System
	mode  string
	files map[string]*staged // by destination
}

type staged struct {
	temp  *hostfile.Temp
	sum   string
	exact bool
}

// add writes one member to its destination's temporary file. When two members have
// the same destination, the one with the exact name wins.
func (s *stage) add(dest string, content io.Reader, exact bool) error {
	if old, ok := s.files[dest]; ok {
		if old.exact == exact {
			return fmt.Errorf("more than one member of the archive fits %s: name its whole path", dest)
		}
		if old.exact {
			return nil
		}
		old.temp.Discard()
		delete(s.files, dest)
	}
	if err := hostfile.Parents(s.sys, dest); err != nil {
		return err
	}
	temp, err := hostfile.Create(s.sys, dest)
	if err != nil {
		return err
	}
	h := sha256.New()
	f := &staged{temp: temp, exact: exact}
	s.files[dest] = f
	if _, err := io.Copy(io.MultiWriter(temp, h), content); err != nil {
		return err
	}
	f.sum = hex.EncodeToString(h.Sum(nil))
	return nil
}

func (s *stage) discard() {
	for _, f := range s.files {
		f.temp.Discard()
	}
}

// commit renames the files and returns the destinations that changed.
func (s *stage) commit(blob string) (changed []string, rec record, err error) {
	changed = []string{}
	rec = record{Blob: blob, Files: map[string]installed{}}
	for dest, f := range s.files {
		same, err := s.same(dest, f)
		if err != nil {
			return nil, rec, err
		}
		if !same {
			changed = append(changed, dest)
			if err := s.rename(dest, f); err != nil {
				return nil, rec, err
			}
		}
		stamp, err := receipt.Take(s.sys, dest)
		if err != nil {
			return nil, rec, err
		}
		rec.Files[dest] = installed{Stamp: stamp, SHA256: f.sum}
	}
	slices.Sort(changed)
	return changed, rec, nil
}

// same reports whether the destination has the content already; its mode is
// then corrected.
func (s *stage) same(dest string, f *staged) (bool, error) {
	info, err := hostfile.Lstat(s.sys, dest)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, err
	}
	if !info.Mode().IsRegular() {
		return false, nil
	}
	if sum, err := hostfile.SHA256(s.sys, dest); err != nil || sum != f.sum {
		return false, err
	}
	access := hostfile.Access{Mode: s.mode}
	if differences, err := access.Differences(s.sys, info); err != nil || len(differences) == 0 {
		return true, err
	}
	if err := s.sys.Backup(dest); err != nil {
		return false, err
	}
	return true, access.SetFile(s.sys, dest, info)
}

func (s *stage) rename(dest string, f *staged) error {
	if err := s.sys.Backup(dest); err != nil {
		return err
	}
	if err := f.temp.KeepLabel(); err != nil {
		return err
	}
	if err := f.temp.Set(s.sys, hostfile.Access{Mode: s.mode}); err != nil {
		return err
	}
	return f.temp.Commit()
}
