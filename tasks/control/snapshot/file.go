package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
	"golang.org/x/sys/unix"
)

// Verified has the properties of a snapshot file that is whole.
type Verified struct {
	SHA256 string // of the file, in hex
	Bytes  int64
}

// File is an open snapshot that is whole. Everything is read from one descriptor, so that another
// file that gets its name later has no effect. The caller closes it.
type File struct {
	Verified
	file *os.File
}

// Open opens a snapshot. It fails unless the file is whole: its last 32 bytes are the SHA-256 of
// the rest (etcd server/etcdserver/api/v3rpc/maintenance.go). A copy of a member's database
// has no digest, and is refused as well.
func Open(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("reading the snapshot: %w", err)
	}
	v, err := verify(f)
	if err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return &File{v, f}, nil
}

// Close closes the file.
func (f *File) Close() { _ = f.file.Close() }

// Verify is Open that closes the file.
func Verify(path string) (Verified, error) {
	f, err := Open(path)
	if err != nil {
		return Verified{}, err
	}
	f.Close()
	return f.Verified, nil
}

// IsWhole reports whether a file of this size in bytes can be a snapshot: a database, whose size is a
// multiple of 512 bytes, and the digest behind it.
func IsWhole(size int64) bool {
	const page = 512
	size -= sha256.Size
	return size > 0 && size%page == 0
}

func verify(f *os.File) (Verified, error) {
	info, err := f.Stat()
	if err != nil {
		return Verified{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	size := info.Size() - sha256.Size
	if !IsWhole(info.Size()) {
		return Verified{}, fmt.Errorf("%s is no whole snapshot of etcd: it has %d bytes, and no digest at its end; take another snapshot", f.Name(), info.Size())
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, size); err != nil {
		return Verified{}, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, want); err != nil {
		return Verified{}, fmt.Errorf("reading %s: %w", f.Name(), err)
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return Verified{}, fmt.Errorf("%s is damaged: its digest is not that of its content; take another snapshot", f.Name())
	}
	sum.Write(want)
	return Verified{SHA256: hex.EncodeToString(sum.Sum(nil)), Bytes: info.Size()}, nil
}

// keyBucket has the values of all keys by revision (etcd server/storage/schema/bucket.go).
var keyBucket = []byte("key")

// The form of a revision (etcd server/storage/mvcc/revision.go): two numbers of 8 bytes with
// a character between them, and another one behind that of a deletion.
const (
	revisionBytes = 8 + 1 + 8
	deletionBytes = revisionBytes + 1
)

// each calls visit for the newest value of each key that exists, in no order, and returns
// the revision of the snapshot. A value is valid during the call only.
func (f *File) each(visit func(key string, value []byte)) (revision int64, err error) {
	path := f.file.Name()
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: 10 * time.Second, OpenFile: f.again})
	if err != nil {
		return 0, fmt.Errorf("reading the snapshot %s: %w", path, err)
	}
	defer db.Close()
	err = db.View(func(tx *bbolt.Tx) error {
		b := tx.Bucket(keyBucket)
		if b == nil {
			return errors.New("it has no keys")
		}
		newest := map[string][]byte{} // encoded, in the memory that bbolt maps
		if err := b.ForEach(func(k, v []byte) error {
			if len(k) < revisionBytes {
				return fmt.Errorf("a revision has %d bytes", len(k))
			}
			revision = int64(binary.BigEndian.Uint64(k)) //nolint:gosec // etcd counts in int64
			var kv mvccpb.KeyValue
			if err := kv.Unmarshal(v); err != nil {
				return err
			}
			if len(k) == deletionBytes {
				delete(newest, string(kv.Key))
			} else {
				newest[string(kv.Key)] = v
			}
			return nil
		}); err != nil {
			return err
		}
		for key, v := range newest {
			var kv mvccpb.KeyValue
			if err := kv.Unmarshal(v); err != nil {
				return err
			}
			visit(key, kv.Value)
		}
		return nil
	})
	if err != nil {
		return 0, fmt.Errorf("reading the snapshot %s: %w", path, err)
	}
	return revision, nil
}

// again returns the open file, whatever has its name by now, with a descriptor of its own.
func (f *File) again(string, int, fs.FileMode) (*os.File, error) {
	fd, err := unix.FcntlInt(f.file.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), f.file.Name()), nil //nolint:gosec // not negative
}
