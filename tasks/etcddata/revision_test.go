package etcddata

import (
	"encoding/binary"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"go.etcd.io/bbolt"

	"deployer/tasks/tasktest"
)

// put writes values under consecutive revisions up to last.
func put(t testing.TB, db *bbolt.DB, first, last int64, size int) {
	t.Helper()
	err := db.Update(func(tx *bbolt.Tx) error {
		b, err := tx.CreateBucketIfNotExists(keyBucket)
		if err != nil {
			return err
		}
		for r := first; r <= last; r++ {
			key := binary.BigEndian.AppendUint64(nil, uint64(r))
			key = binary.BigEndian.AppendUint64(append(key, '_'), 0)
			if r%7 == 0 {
				key = append(key, 't')
			}
			if err := b.Put(key, make([]byte, size)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// create makes a database with the buckets of etcd.
func create(t testing.TB, path string) *bbolt.DB {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	db, err := bbolt.Open(path, 0o600, &bbolt.Options{NoSync: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	err = db.Update(func(tx *bbolt.Tx) error {
		for _, name := range []string{"alarm", "auth", "cluster", "lease", "members", "meta"} {
			if _, err := tx.CreateBucket([]byte(name)); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return db
}

func revision(t *testing.T, path string) int64 {
	t.Helper()
	f, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	got, err := lastRevision(f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestLastRevision reads databases that bbolt has written: without keys, within the
// bucket's value, on one page, in trees of branches, with values of several pages,
// and after a bump.
func TestLastRevision(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name  string
		bytes int
		steps []int64
	}{
		{"no keys", 1, nil},
		{"a bucket within its value", 1, []int64{2}},
		{"one page", 10, []int64{20}},
		{"branches", 10, []int64{20_000, 20_001, 60_000}},
		{"values of several pages", 20_000, []int64{50, 51}},
	} {
		path := filepath.Join(t.TempDir(), "db")
		db := create(t, path)
		if got := revision(t, path); got != 0 {
			t.Errorf("%s: revision %d without keys", tt.name, got)
		}
		last := int64(1)
		for _, next := range tt.steps {
			put(t, db, last+1, next, tt.bytes)
			last = next
			if got := revision(t, path); got != last { // bbolt has the file locked
				t.Errorf("%s: revision %d, want %d", tt.name, got, last)
			}
		}
		const bump = 5_000_000_000
		put(t, db, last+bump, last+bump, 0)
		if got := revision(t, path); got != last+bump {
			t.Errorf("%s: revision %d after the bump, want %d", tt.name, got, last+bump)
		}
	}
}

// TestDatabaseInUse reads while another goroutine writes and deletes: each result is a
// revision that was the newest at some time between its begin and its end.
func TestDatabaseInUse(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := create(t, path)
	put(t, db, 1, 500, 100)
	var mu sync.Mutex
	written := int64(500)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for r := int64(501); r < 1500; r++ {
			put(t, db, r, r, 100)
			_ = db.Update(func(tx *bbolt.Tx) error {
				k, _ := tx.Bucket(keyBucket).Cursor().First()
				return tx.Bucket(keyBucket).Delete(k)
			})
			mu.Lock()
			written = r
			mu.Unlock()
		}
	}()
	for {
		select {
		case <-done:
			return
		default:
		}
		mu.Lock()
		low := written
		mu.Unlock()
		f, err := os.Open(path)
		if err != nil {
			t.Fatal(err)
		}
		got, err := lastRevision(f)
		_ = f.Close()
		mu.Lock()
		high := written + 1
		mu.Unlock()
		if err != nil && strings.Contains(err.Error(), "during each attempt") {
			continue
		}
		if err != nil || got < low || got > high {
			t.Fatalf("revision %d, %v; want one of %d to %d", got, err, low, high)
		}
	}
}

// TestDamagedDatabases: random damage gives an error or a number, and no panic.
func TestDamagedDatabases(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "db")
	db := create(t, path)
	put(t, db, 1, 3000, 30)
	if err := db.Close(); err != nil {
		t.Fatal(err)
	}
	good, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(1, 2))
	for range 3000 {
		data := append([]byte{}, good...)
		for range 1 + random.IntN(40) {
			data[random.IntN(len(data))] = byte(random.Uint32())
		}
		if random.IntN(4) == 0 {
			data = data[:random.IntN(len(data))]
		}
		_, _ = lastRevision(strings.NewReader(string(data)))
	}
	for want, data := range map[string][]byte{"no database of bbolt": {}, "first pages are damaged": make([]byte, 1<<20)} {
		if _, err := lastRevision(strings.NewReader(string(data))); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}

// TestRevisionOfADataDirectory: the highest revision of the data in use and of
// replaced data counts, data that was never served does not count, and links are not
// followed.
func TestRevisionOfADataDirectory(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	module := &Revision{DataDir: "/var/lib/etcd"}
	check := func(want int64, unreadable ...string) {
		t.Helper()
		change, err := module.Check(t.Context(), sys)
		if err != nil || change.Needed {
			t.Fatalf("%+v, %v", change, err)
		}
		got := change.Output["unreadable"].([]string)
		if change.Output["revision"] != want || len(got) != len(unreadable) {
			t.Errorf("%v, want %d and %v", change.Output, want, unreadable)
		}
		for i := range unreadable {
			if !strings.Contains(got[i], unreadable[i]) {
				t.Errorf("unreadable: %s, want %s", got[i], unreadable[i])
			}
		}
	}
	check(0)
	for name, last := range map[string]int64{"": 40, "before-1": 1_000_000_040, "removed-2": 50, "restored-3": 9_000_000_000, "restoring-4": 9_000_000_000, "other": 9_000_000_000} {
		db := create(t, sys.Path(filepath.Join("/var/lib/etcd", name, database)))
		put(t, db, last, last, 10)
	}
	check(1_000_000_040)
	if err := os.RemoveAll(sys.Path("/var/lib/etcd/before-1")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sys.Path("/var/lib/etcd/restored-3"), sys.Path("/var/lib/etcd/before-1")); err != nil {
		t.Fatal(err)
	}
	sys.Write(t, "/var/lib/etcd/before-5/member/snap/db", "nonsense", 0o600)
	if err := os.MkdirAll(sys.Path("/var/lib/etcd/before-6/member/snap"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(sys.Path("/var/lib/etcd/restored-3/member/snap/db"), sys.Path("/var/lib/etcd/before-6/member/snap/db")); err != nil {
		t.Fatal(err)
	}
	check(50, "before-5/member/snap/db: it is no database", "before-6/member/snap/db: it is no regular file")
	if _, err := (&Revision{DataDir: "etcd"}).Check(t.Context(), sys); err == nil || !strings.Contains(err.Error(), "not absolute") {
		t.Errorf("a relative directory: %v", err)
	}
}
