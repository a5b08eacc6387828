package image

import (
	"archive/tar"
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"deployer/engine"
	"deployer/tasks/containerd"
	"deployer/tasks/tasktest"
)

// tarball returns an image tarball with the given pairs of file name and content.
func tarball(t *testing.T, files ...string) []byte {
	t.Helper()
	var out bytes.Buffer
	w := tar.NewWriter(&out)
	for i := 0; i < len(files); i += 2 {
		if err := w.WriteHeader(&tar.Header{Name: files[i], Typeflag: tar.TypeReg, Size: int64(len(files[i+1]))}); err != nil {
			t.Fatal(err)
		}
		if _, err := w.Write([]byte(files[i+1])); err != nil {
			t.Fatal(err)
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return out.Bytes()
}

func dockerSave(t *testing.T, tag string) []byte {
	return tarball(t, "layer.tar", strings.Repeat(tag, 100), "manifest.json", `[{"Config":"c","RepoTags":["`+tag+`"],"Layers":["layer.tar"]}]`)
}

// fakeContainerd is a fake of ctr; it lists the imported images.
type fakeContainerd struct {
	t        *testing.T
	sys      *tasktest.System
	mu       sync.Mutex
	refs     []string
	busy     int
	atOnce   int
	failures atomic.Int32      // number of imports that fail as though containerd were starting
	broken   bool              // imports fail for good
	labels   map[string]string // the set that an image is pinned for, by name
}

func newContainerd(t *testing.T, listen bool) *fakeContainerd {
	f := &fakeContainerd{t: t, sys: tasktest.New(t), labels: map[string]string{}}
	f.sys.Exec = f.exec
	if listen {
		f.listen()
	}
	return f
}

func (f *fakeContainerd) listen() {
	f.sys.Mkdir(f.t, "/run/containerd")
	l, err := net.Listen("unix", f.sys.Path("/run/containerd/containerd.sock"))
	if err != nil {
		f.t.Fatal(err)
	}
	f.t.Cleanup(func() { l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			c.Close()
		}
	}()
}

func (f *fakeContainerd) exec(_ context.Context, cmd engine.Command) (engine.CommandResult, error) {
	line := strings.Join(cmd.Argv, " ")
	if strings.HasSuffix(line, "images ls") {
		f.mu.Lock()
		defer f.mu.Unlock()
		var table strings.Builder
		for _, ref := range f.refs {
			digest := "sha256:" + repository(ref) + "+" + strings.TrimPrefix(ref, repository(ref)+":")
			if of, ok := strings.CutPrefix(ref, "sha256:id-of-"); ok {
				digest = "sha256:" + of
			}
			labels := "-"
			if set := f.labels[ref]; set != "" {
				labels = "deployer/pinned-for=" + set + ",io.cri-containerd.pinned=pinned"
			}
			fmt.Fprintf(&table, "%s type %s 1 MiB linux/amd64 %s\n", ref, digest, labels)
		}
		return engine.CommandResult{Stdout: table.String()}, nil
	}
	if _, refs, ok := strings.Cut(line, "images rm "); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		f.refs = slices.DeleteFunc(f.refs, func(r string) bool { return slices.Contains(strings.Fields(refs), r) })
		return engine.CommandResult{}, nil
	}
	if _, args, ok := strings.Cut(line, "images label "); ok {
		f.mu.Lock()
		defer f.mu.Unlock()
		words := strings.Fields(args) // NAME io.cri-containerd.pinned=... deployer/pinned-for=...
		if !slices.Contains(f.refs, words[0]) {
			return engine.CommandResult{Exit: 1, Stderr: "ctr: image " + strconv.Quote(words[0]) + ": not found\n"}, nil
		}
		f.labels[words[0]] = strings.TrimPrefix(words[2], "deployer/pinned-for=")
		return engine.CommandResult{}, nil
	}
	if !strings.Contains(line, "--namespace k8s.io images import --local --digests=false ") {
		return engine.CommandResult{}, errors.New("unexpected: " + line)
	}
	f.enter(1)
	defer f.enter(-1)
	time.Sleep(5 * time.Millisecond) // an import takes time; overlapping ones are counted
	if f.failures.Add(-1) >= 0 {
		return engine.CommandResult{Exit: 1, Stderr: "ctr: connection error: dial unix: connect: connection refused\n"}, nil
	}
	if f.broken {
		return engine.CommandResult{Exit: 1, Stderr: "ctr: unrecognized image format\n"}, nil
	}
	file, err := os.Open(cmd.Argv[len(cmd.Argv)-1])
	if err != nil {
		return engine.CommandResult{}, err
	}
	defer file.Close()
	refs, err := refsOf(file)
	f.mu.Lock()
	defer f.mu.Unlock()
	f.refs = append(f.refs, refs...)
	for _, ref := range refs {
		f.labels[ref] = ""
		if _, label, ok := strings.Cut(line, "--label io.cri-containerd.pinned=pinned --label deployer/pinned-for="); ok {
			f.labels[ref], _, _ = strings.Cut(label, " ")
		}
	}
	return engine.CommandResult{}, err
}

func (f *fakeContainerd) enter(n int) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.busy += n
	f.atOnce = max(f.atOnce, f.busy)
}

func TestImportIsIdempotent(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	var m Import
	for _, name := range []string{"registry.k8s.io/a:v1", "nginx:1", "docker.io/x/y:2", "localhost/z:3", "quay.io/w:4"} {
		m.Images = append(m.Images, Tarball{Name: name, Blob: f.sys.AddBlob(dockerSave(t, name))})
	}
	leftover := spool + "/of-a-killed-run.tar"
	f.sys.Write(t, leftover, "part", 0o600)
	long := time.Now().Add(-2 * time.Hour)
	if err := os.Chtimes(f.sys.Path(leftover), long, long); err != nil {
		t.Fatal(err)
	}
	change := tasktest.Converge(t, f.sys, &m)
	if got := len(change.Effects); got != 5 {
		t.Errorf("%d effects, want 5", got)
	}
	if f.atOnce != parallel {
		t.Errorf("%d imports at once, want %d", f.atOnce, parallel)
	}
	if left, err := os.ReadDir(f.sys.Path(spool)); err != nil || len(left) != 0 {
		t.Errorf("left in the spool: %v, %v", left, err)
	}
	f.refs = f.refs[1:] // the kubelet's collection of unused images took one
	fetched := len(f.sys.Fetched())
	if change := tasktest.Converge(t, f.sys, &m); len(change.Effects) != 1 {
		t.Errorf("effects %+v, want one", change.Effects)
	}
	if got := len(f.sys.Fetched()) - fetched; got != 1 {
		t.Errorf("%d transfers for one image", got)
	}
}

func TestOnlyRemovesOtherTagsOfTheRepository(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	f.refs = []string{
		"deployer.local/probe:old", "sha256:id-of-deployer.local/probe+old",
		"deployer.local/probe-of-others:old", "quay.io/probe:old", "sha256:id-of-quay.io/probe+old",
	}
	blob := f.sys.AddBlob(dockerSave(t, "deployer.local/probe:new"))
	tasktest.Converge(t, f.sys, &Import{Images: []Tarball{{Blob: blob, Only: true}}})
	want := []string{"deployer.local/probe-of-others:old", "quay.io/probe:old", "sha256:id-of-quay.io/probe+old", "deployer.local/probe:new"}
	if diff := cmp.Diff(want, f.refs); diff != "" {
		t.Error(diff)
	}
	f.refs = append(f.refs, "deployer.local/probe:older")
	change := tasktest.Converge(t, f.sys, &Import{Images: []Tarball{{Blob: blob, Only: true}}})
	if diff := cmp.Diff([]string{"deployer.local/probe:older: remove"}, tasktest.Actions(change)); diff != "" {
		t.Error(diff)
	}
	if tasktest.Check(t, f.sys, &Import{Images: []Tarball{{Blob: blob}}}).Needed {
		t.Error("without only, other versions matter")
	}
}

func TestStaleReturnsReplacedTagsOfARepository(t *testing.T) {
	t.Parallel()
	have := []containerd.Image{
		{Ref: "a/x:1", Digest: "d1"}, {Ref: "a/x:2", Digest: "d2"}, {Ref: "mine/x:1", Digest: "d1"}, {Ref: "sha256:i1", Digest: "d1"},
		{Ref: "a/x:0", Digest: "d2"}, {Ref: "sha256:i2", Digest: "d2"}, {Ref: "a:5000/x@sha256:9", Digest: "d9"},
	}
	if diff := cmp.Diff([]string{"a/x:0", "a/x:1"}, stale(have, []string{"a/x:2"})); diff != "" {
		t.Error(diff)
	}
	if got := repository("a:5000/x@sha256:9"); got != "a:5000/x" {
		t.Errorf("repository is %q", got)
	}
}

func TestWaitsForContainerdThatIsStarting(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, false)
	f.failures.Store(2)
	go func() {
		time.Sleep(150 * time.Millisecond) // it starts while the import already waits
		f.listen()
	}()
	tasktest.Converge(t, f.sys, &Import{Images: []Tarball{{Blob: f.sys.AddBlob(dockerSave(t, "a.b/c:1"))}}})
}

func TestFailuresAreReportedTogether(t *testing.T) {
	t.Parallel()
	f := newContainerd(t, true)
	f.broken = true
	_, _, err := tasktest.Run(t, f.sys, &Import{Images: []Tarball{
		{Name: "one", Blob: f.sys.AddBlob(dockerSave(t, "a.b/c:1"))},
		{Name: "two", Blob: "0123"},
		{Name: "three", Blob: f.sys.AddBlob([]byte("no tar at all, but long enough for one, because a tar has blocks of 512 bytes" + strings.Repeat(".", 1024)))},
	}})
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{"importing one: ", "unrecognized image format", "importing two: the controller has no blob", "importing three: "} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("error %v lacks %q", err, want)
		}
	}
	if left, err := filepath.Glob(f.sys.Path(spool) + "/*"); err != nil || len(left) != 0 {
		t.Errorf("left in the spool: %v, %v", left, err)
	}
}

func TestRefs(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		tarball []byte
		want    []string
	}{
		"docker save": {dockerSave(t, "index.docker.io/library/nginx:1"), []string{"docker.io/library/nginx:1"}},
		"oci with containerd's name": {
			tarball(t, "index.json", `{"manifests":[{"annotations":{"io.containerd.image.name":"a.b/c:1","org.opencontainers.image.ref.name":"1"}}]}`),
			[]string{"a.b/c:1"},
		},
		"both": {
			tarball(t, "manifest.json", `[{"RepoTags":["x:1"]}]`, "./index.json", `{"manifests":[{"annotations":{"org.opencontainers.image.ref.name":"a.b/c:1"}}]}`),
			[]string{"a.b/c:1"},
		},
		"short docker.io": {dockerSave(t, "docker.io/nginx:1"), []string{"docker.io/library/nginx:1"}},
	}
	for name, tt := range tests {
		got, err := refsOf(bytes.NewReader(tt.tarball))
		if diff := cmp.Diff(tt.want, got); diff != "" || err != nil {
			t.Errorf("%s: %v %s", name, err, diff)
		}
	}
	if _, err := refsOf(bytes.NewReader(tarball(t, "x", "y"))); err == nil {
		t.Error("a tarball without names is accepted")
	}
}

func TestPrepare(t *testing.T) {
	t.Parallel()
	c := &tasktest.Controller{Artifacts: map[string]engine.Blob{"pause 3": {Digest: "abc"}, "coredns 1": {Digest: "def"}}}
	kind, m, err := (&Image{Images: []Request{{Name: "pause", Version: "3"}, {Name: "coredns", Version: "1", Only: true}}}).Prepare(context.Background(), c)
	if err != nil || kind != "image_import" {
		t.Fatal(kind, err)
	}
	want := &Import{Images: []Tarball{{Name: "pause 3", Blob: "abc"}, {Name: "coredns 1", Blob: "def", Only: true}}}
	if diff := cmp.Diff(want, m); diff != "" {
		t.Error(diff)
	}
	if _, _, err := (&Image{}).Prepare(context.Background(), c); err == nil {
		t.Error("no image is accepted")
	}
}
