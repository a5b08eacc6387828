package archive

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"deployer/engine"
	"deployer/engine/hostpath"
	"deployer/tasks/file"
	"deployer/tasks/hostfile"
	"deployer/tasks/receipt"
)

// Apply unpacks, and writes the receipt last: after a kill the next run starts again, and
// keeps members that are unpacked already.
func (u *Unpack) Apply(ctx context.Context, sys engine.System, _ engine.Change) (engine.Output, error) {
	dest, err := hostfile.Resolve(sys, u.Dest, u.Follow)
	if err != nil {
		return nil, err
	}
	if err := u.makeDest(ctx, sys, dest); err != nil {
		return nil, err
	}
	source, rec, err := u.open(ctx, sys, dest)
	if err != nil {
		return nil, err
	}
	defer func() { _ = source.Close() }()
	dir, err := hostfile.OpenDir(sys, dest)
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	uid, gid, err := hostfile.Access{Owner: u.Owner, Group: u.Group}.IDs(sys)
	if err != nil {
		return nil, err
	}
	into := &extractor{
		sys: sys, root: dir.Root, path: dir.Path(), uid: uid, gid: gid,
		known: map[string]bool{}, modes: map[string]fs.FileMode{}, made: map[string]string{},
	}
	if err := u.unpack(ctx, source, into); err != nil {
		return nil, fmt.Errorf("unpacking %s: %w", u.name(), err)
	}
	if err := syncAll(dir); err != nil {
		return nil, err
	}
	rec.Members = into.made
	if err := receipt.Write(sys, u.receiptPath(), rec); err != nil {
		return nil, err
	}
	return engine.Output{"members": len(into.made), "written": into.changed}, nil
}

func (u *Unpack) makeDest(ctx context.Context, sys engine.System, dest string) error {
	d := &file.Directory{Path: dest}
	change, err := d.Check(ctx, sys)
	if err != nil || !change.Needed {
		return err
	}
	d.Owner, d.Group = u.Owner, u.Group
	_, err = d.Apply(ctx, sys, change)
	return err
}

// open returns the archive as a file, with its receipt. It first writes a blob to a file
// without a name, because the digest is known at the end of the blob only, and a damaged
// archive must not be unpacked in part.
func (u *Unpack) open(ctx context.Context, sys engine.System, dest string) (*os.File, record, error) {
	if u.From != "" {
		return u.openLocal(sys)
	}
	blob, err := sys.Blob(ctx, u.Blob)
	if err != nil {
		return nil, record{}, fmt.Errorf("fetching %s: %w", u.name(), err)
	}
	defer blob.Close()
	dir, err := hostfile.OpenDir(sys, dest)
	if err != nil {
		return nil, record{}, err
	}
	defer dir.Close()
	temp := hostfile.TempName("archive") + rand.Text()[:10]
	f, err := dir.OpenFile(temp, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, record{}, err
	}
	_, err = io.Copy(f, blob)
	if err = errors.Join(err, dir.Remove(temp)); err == nil {
		_, err = f.Seek(0, io.SeekStart)
	}
	if err != nil {
		_ = f.Close()
		return nil, record{}, fmt.Errorf("fetching %s: %w", u.name(), err)
	}
	return f, record{SHA256: u.Blob}, nil
}

func (u *Unpack) openLocal(sys engine.System) (*os.File, record, error) {
	f, err := hostfile.Open(sys, u.From)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, record{}, fmt.Errorf("there is no archive %s on the host", u.From)
	}
	if err != nil {
		return nil, record{}, err
	}
	stamp, err := receipt.Take(sys, u.From)
	if err == nil {
		var sum string
		if sum, err = hostfile.SHA256(sys, u.From); err == nil {
			return f, record{SHA256: sum, Source: &stamp}, nil
		}
	}
	_ = f.Close()
	return nil, record{}, err
}

func (u *Unpack) unpack(ctx context.Context, source *os.File, into *extractor) error {
	info, err := source.Stat()
	if err != nil {
		return err
	}
	which := selection{strip: u.Strip, include: u.Include, exclude: u.Exclude}
	err = each(source, info.Size(), func(m member) error {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		name, err := which.place(m.name)
		if err != nil || name == "" {
			return err
		}
		if m.hard {
			if m.link, err = which.place(m.link); err != nil {
				return err
			}
			if m.link == "" {
				return fmt.Errorf("%s is a hard link to what is left out: leave it out too", name)
			}
		}
		return into.extract(name, m)
	})
	if err != nil {
		return err
	}
	if len(into.made) == 0 {
		return errors.New("nothing in it was chosen: look at strip_components, include and exclude")
	}
	return into.finish()
}

// syncAll makes all written files durable with one call; a call for each of thousands of
// small files would take minutes.
func syncAll(dir *hostpath.Dir) error {
	f, err := dir.OpenFile(".", os.O_RDONLY, 0)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return unix.Syncfs(int(f.Fd()))
}
