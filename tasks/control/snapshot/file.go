package snapshot

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"go.etcd.io/bbolt"
	"go.etcd.io/etcd/api/v3/mvccpb"
)

// Verified has the properties of a snapshot file that is whole.
type Verified struct {
	SHA256 string // of the file, in hex
	Bytes  int64
}

// Verify fails unless the file is a snapshot that is whole: its last 32 bytes are the
// SHA-256 of the rest (etcd server/etcdserver/api/v3rpc/maintenance.go). A copy of a
// member's database has no digest, and is refused as well.
func Verify(path string) (Verified, error) {
	f, err := os.Open(path)
	if err != nil {
		return Verified{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return Verified{}, fmt.Errorf("reading the snapshot: %w", err)
	}
	const page = 512 // the size of a database is a multiple of it
	size := info.Size() - sha256.Size
	if size <= 0 || size%page != 0 {
		return Verified{}, fmt.Errorf("%s is no whole snapshot of etcd: it has %d bytes, and no digest at its end; take another snapshot", path, info.Size())
	}
	sum := sha256.New()
	if _, err := io.CopyN(sum, f, size); err != nil {
		return Verified{}, fmt.Errorf("reading %s: %w", path, err)
	}
	want := make([]byte, sha256.Size)
	if _, err := io.ReadFull(f, want); err != nil {
		return Verified{}, fmt.Errorf("reading %s: %w", path, err)
	}
	if !bytes.Equal(sum.Sum(nil), want) {
		return Verified{}, fmt.Errorf("%s is damaged: its digest is not that of its content; take another snapshot", path)
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
func each(path string, visit func(key string, value []byte)) (revision int64, err error) {
	db, err := bbolt.Open(path, 0o400, &bbolt.Options{ReadOnly: true, Timeout: 10 * time.Second})
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
