package artifact

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/receipt"
	"deployer/tasks/tasktest"
)

func hexOf(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// archive returns a tar.gz with the given pairs of name and content.
func archive(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	z := gzip.NewWriter(&out)
	w := tar.NewWriter(z)
	for i := 0; i < len(files); i += 2 {
		h := &tar.Header{Name: files[i], Typeflag: tar.TypeReg, Mode: 0o755, Size: int64(len(files[i+1]))}
		if strings.HasSuffix(files[i], "/") {
			h.Typeflag = tar.TypeDir
		}
		if err := w.WriteHeader(h); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := z.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func TestSecondRunFetchesNothing(t *testing.T) {
	t.Parallel()
	etcd := archive(t, "etcd-v3.6.8-linux-amd64/", "", "etcd-v3.6.8-linux-amd64/etcd", "E", "etcd-v3.6.8-linux-amd64/etcdctl", "C", "etcd-v3.6.8-linux-amd64/README.md", "R")
	cni := archive(t, "./", "", "./bridge", "B", "./ptp", "P")
	containerd := archive(t, "bin/", "", "bin/containerd", "D", "bin/ctr", "T")
	tests := map[string]struct {
		blob    []byte
		dest    string
		members map[string]string
		want    map[string]string
	}{
		"single file":       {[]byte("K"), "/usr/local/bin/kubelet", nil, map[string]string{"/usr/local/bin/kubelet": "K"}},
		"below a version":   {etcd, "", map[string]string{"etcd": "/usr/local/bin/etcd", "etcdctl": "/b/etcdctl"}, map[string]string{"/usr/local/bin/etcd": "E", "/b/etcdctl": "C"}},
		"with the version":  {etcd, "", map[string]string{"etcd-v3.6.8-linux-amd64/etcd": "/b/etcd"}, map[string]string{"/b/etcd": "E"}},
		"dot names":         {cni, "", map[string]string{"./bridge": "/opt/cni/bin/bridge", "ptp": "/opt/cni/bin/ptp"}, map[string]string{"/opt/cni/bin/bridge": "B", "/opt/cni/bin/ptp": "P"}},
		"whole directory":   {containerd, "", map[string]string{"bin/": "/usr/local/bin/"}, map[string]string{"/usr/local/bin/containerd": "D", "/usr/local/bin/ctr": "T"}},
		"everything":        {cni, "", map[string]string{"./": "/opt/cni/bin/"}, map[string]string{"/opt/cni/bin/bridge": "B", "/opt/cni/bin/ptp": "P"}},
		"directory further": {archive(t, "v1/bin/a", "A", "v1/doc/b", "B"), "", map[string]string{"bin/": "/x/"}, map[string]string{"/x/a": "A"}},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			m := &Install{Name: "thing 1", Blob: sys.AddBlob(tt.blob), Dest: tt.dest, Members: tt.members}
			tasktest.Converge(t, sys, m)
			for path, content := range tt.want {
				if got := sys.Read(t, path); got != content {
					t.Errorf("%s has %q, want %q", path, got, content)
				}
				info, err := os.Stat(sys.Path(path))
				if err != nil || info.Mode().Perm() != 0o755 {
					t.Errorf("%s: %v, %v; want mode 0755", path, info, err)
				}
			}
			if got := len(sys.Fetched()); got != 1 {
				t.Errorf("%d transfers, want 1", got)
			}
		})
	}
}

func TestUpgradeReplacesOnlyWhatDiffers(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	members := map[string]string{"a": "/b/a", "c": "/b/c"}
	tasktest.Converge(t, sys, &Install{Blob: sys.AddBlob(archive(t, "a", "A1", "c", "same")), Members: members})
	before, err := receipt.Take(sys, "/b/c")
	if err != nil {
		t.Fatal(err)
	}
	m := &Install{Blob: sys.AddBlob(archive(t, "a", "A2", "c", "same")), Members: members}
	_, out, err := tasktest.Run(t, sys, m)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]string{"/b/a"}, out["installed"]); diff != "" {
		t.Error(diff)
	}
	if after, err := receipt.Take(sys, "/b/c"); err != nil || after != before {
		t.Errorf("the unchanged file was touched: %+v, then %+v, %v", before, after, err)
	}
	if tasktest.Check(t, sys, m).Needed {
		t.Error("not settled after an upgrade")
	}
}

func TestDriftIsRepaired(t *testing.T) {
	t.Parallel()
	drifts := map[string]func(t *testing.T, path string) error{
		"removed": func(_ *testing.T, path string) error { return os.Remove(path) },
		"changed": func(_ *testing.T, path string) error { return os.WriteFile(path, []byte("xxxx"), 0o755) },
		"mode":    func(_ *testing.T, path string) error { return os.Chmod(path, 0o644) },
		"replaced by a link": func(_ *testing.T, path string) error {
			if err := os.Remove(path); err != nil {
				return err
			}
			return os.Symlink("/bin/true", path)
		},
	}
	for name, drift := range drifts {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			sys := tasktest.New(t)
			m := &Install{Blob: sys.AddBlob(archive(t, "a", "good")), Members: map[string]string{"a": "/b/a"}}
			tasktest.Converge(t, sys, m)
			if err := drift(t, sys.Path("/b/a")); err != nil {
				t.Fatal(err)
			}
			tasktest.Converge(t, sys, m)
			if got := sys.Read(t, "/b/a"); got != "good" {
				t.Errorf("content %q", got)
			}
		})
	}
}

// TestFileWithNewTimeIsHashedAndNotFetched: backup programs may change times.
func TestFileWithNewTimeIsHashedAndNotFetched(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	m := &Install{Blob: sys.AddBlob(archive(t, "a", "good")), Members: map[string]string{"a": "/b/a"}}
	tasktest.Converge(t, sys, m)
	sys.Write(t, "/b/a", "good", 0o755)
	if change := tasktest.Check(t, sys, m); change.Needed {
		t.Errorf("wants %+v", change.Effects)
	}
}

func TestRunAfterAKillBeforeTheReceipt(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	m := &Install{Blob: sys.AddBlob([]byte("K")), Dest: "/b/k"}
	tasktest.Converge(t, sys, m)
	if err := os.Remove(sys.Path(m.receiptPath())); err != nil {
		t.Fatal(err)
	}
	if tasktest.Check(t, sys, m).Needed {
		t.Error("a single file is known by its digest, receipt or not")
	}
}

func TestErrors(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	blob := sys.AddBlob(archive(t, "x/a", "1", "y/a", "2"))
	sys.Mkdir(t, "/b/dir")
	for want, m := range map[string]*Install{
		`no member "b"; it has x/a, y/a`:   {Blob: blob, Members: map[string]string{"b": "/b/b"}},
		"more than one member":             {Blob: blob, Members: map[string]string{"a": "/b/a"}},
		"want either dest or members":      {Blob: blob},
		"not an absolute path":             {Blob: blob, Dest: "b"},
		"both end in a slash, or neither":  {Blob: blob, Members: map[string]string{"x/": "/b/x"}},
		"octal":                            {Blob: blob, Dest: "/b/x", Mode: "x"},
		"fetching blob 0123":               {Blob: "0123", Dest: "/b/x"},
		"/b/dir is a directory":            {Blob: blob, Dest: "/b/dir"},
		"unpacking blob":                   {Blob: sys.AddBlob([]byte("\x1f\x8bnonsense")), Members: map[string]string{"a": "/b/a"}},
		"blob is missing":                  {Dest: "/b/x"},
		"it has no files at all":           {Blob: sys.AddBlob(archive(t)), Members: map[string]string{"a": "/b/a"}},
		`no member "z"; it has a, b, c, d`: {Blob: sys.AddBlob(archive(t, "a", "", "b", "", "c", "", "d", "")), Members: map[string]string{"z": "/b/a"}},
	} {
		_, _, err := tasktest.Run(t, sys, m)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("error %v, want %q", err, want)
		}
	}
	if entries, err := os.ReadDir(sys.Path("/b")); err != nil || len(entries) != 1 {
		t.Errorf("left behind: %v, %v", entries, err)
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{Artifacts: map[string]engine.Blob{"etcd v3": {Digest: "abc", Size: 7}}}
	kind, m, err := (&Artifact{Name: "etcd", Version: "v3", Dest: "/b/etcd", Mode: "0700"}).Prepare(context.Background(), c)
	if err != nil || kind != "blob_install" {
		t.Fatal(kind, err)
	}
	if diff := cmp.Diff(&Install{Name: "etcd v3", Blob: "abc", Dest: "/b/etcd", Mode: "0700"}, m); diff != "" {
		t.Error(diff)
	}
	if _, _, err = (&Artifact{Name: "etcd", Version: "v4"}).Prepare(context.Background(), c); err == nil || !strings.Contains(err.Error(), "finding artifact etcd v4") {
		t.Errorf("error %v", err)
	}
}

// TestArchiveMembersOutsideOfTheDirectoryAreRejected: a name in an archive does not lead
// out of the directory that the archive is unpacked to.
func TestArchiveMembersOutsideOfTheDirectoryAreRejected(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	m := &Install{Blob: sys.AddBlob(archive(t, "../../etc/evil", "E", "bin/../../up", "U")), Members: map[string]string{"./": "/opt/x/"}}
	tasktest.Converge(t, sys, m)
	for _, path := range []string{"/opt/x/etc/evil", "/opt/x/up"} {
		if _, err := os.Stat(sys.Path(path)); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(sys.Path("/etc")); err == nil {
		t.Error("a member was put outside")
	}
}

// TestUncompressedArchiveIsFetched: the controller sends the archive without gzip, and
// the receipt contains the digest of the published archive, so that a host which has
// unpacked the published archive has no change.
func TestUncompressedArchiveIsFetched(t *testing.T) {
	t.Parallel()
	sys := tasktest.New(t)
	published := archive(t, "bin/a", "A")
	z, err := gzip.NewReader(bytes.NewReader(published))
	if err != nil {
		t.Fatal(err)
	}
	plain, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	expanded := sys.AddBlob(plain)
	m := &Install{Name: "thing 1", Blob: expanded, Published: hexOf(published), Members: map[string]string{"bin/a": "/b/a"}}
	tasktest.Converge(t, sys, m)
	if diff := cmp.Diff([]string{expanded}, sys.Fetched()); diff != "" {
		t.Errorf("fetched: %s", diff)
	}
	without := *m
	without.Blob, without.Published = m.Published, ""
	if change := tasktest.Check(t, sys, &without); change.Needed {
		t.Errorf("another form of the same archive changes %+v", change)
	}
}
